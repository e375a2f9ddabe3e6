"""Whether the pictures of a page can be read on a dark page, by what a browser shows of them."""

from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from headlight.views.colour import contrast

TEXTS = """(img) => {
  const bytes = Uint8Array.from(atob(img.src.split(",")[1]), (each) => each.charCodeAt(0));
  const read = new DOMParser().parseFromString(new TextDecoder().decode(bytes), "image/svg+xml");
  const svg = document.importNode(read.documentElement, true);
  Object.assign(svg.style, { position: "absolute", left: 0, top: 0, width: `${img.clientWidth}px`, height: "auto" });
  document.body.append(svg);
  const { left, top } = svg.getBoundingClientRect();
  const boxes = [...svg.querySelectorAll("text")].filter((text) => text.textContent.trim()).map((text) => {
    const box = text.getBoundingClientRect();
    return [text.textContent, box.left - left, box.top - top, box.right - left, box.bottom - top];
  });
  svg.remove();
  return boxes;
}"""  # noqa: E501
"""What a drawing says, and where, in pixels from its upper left corner."""

SCALE = 4
"""Pixels of a screenshot for one of the page, so that thin strokes of letters are whole ones."""


def check_dark_pictures(browser: Any, path: Path) -> int:
    """Open a page on a dark screen; no picture is white, and all their texts can be read.

    Returns:
        How many pictures there were.
    """
    page = browser.new_page(
        viewport={"width": 1440, "height": 1000}, color_scheme="dark", device_scale_factor=SCALE
    )
    page.goto(path.as_uri())
    # Those that are shown in turn are all looked at.
    page.evaluate(
        "document.querySelectorAll('[hidden]').forEach((each) => { each.hidden = false; })"
    )
    drawings = page.locator(".drawing").all()
    for drawing in drawings:
        drawing.scroll_into_view_if_needed()
        seen = np.asarray(Image.open(BytesIO(drawing.screenshot())).convert("RGB"))
        name = drawing.get_attribute("alt")
        coarse = seen[4:-4:4, 4:-4:4].astype(np.int64)
        # What is drawn may be larger than the ground, which is all around it.
        edges = np.concatenate([coarse[0], coarse[-1], coarse[:, 0], coarse[:, -1]])
        colours, counts = np.unique(edges @ (65536, 256, 1), return_counts=True)
        ground = f"#{colours[counts.argmax()]:06x}"
        assert max(bytes.fromhex(ground[1:])) < 60, f"{name}: the ground is {ground}"
        white = (coarse.min(axis=-1) > 0.85 * 255).mean()
        assert white < 0.2, f"{name}: {white:.0%} of it are white"
        for text, *box in drawing.evaluate(TEXTS):
            left, top, right, bottom = (max(0, round(SCALE * end)) for end in box)
            inside = seen[top:bottom, left:right].reshape(-1, 3)
            if len(inside):
                bright = inside.sum(axis=-1, dtype=np.int64)
                ends = (inside[bright.argmax()], inside[bright.argmin()])
                found = contrast(*(_written(each) for each in ends))
                assert found > 3, f"{name}: {text!r} has a contrast of {found:.1f}"
    page.close()
    return len(drawings)


def _written(colour: np.ndarray) -> str:
    return f"#{bytes(colour).hex()}"
