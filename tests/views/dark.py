"""Whether the pictures of a page can be read on a dark page, by what a browser shows of them."""

from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.image import imread

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

TWICE = 4


def check_dark_pictures(browser: Any, path: Path) -> int:
    """Open a page on a dark screen; no picture is white, and all their texts can be read.

    Returns:
        How many pictures there were.
    """
    page = browser.new_page(
        viewport={"width": 1440, "height": 1000}, color_scheme="dark", device_scale_factor=TWICE
    )
    page.goto(path.as_uri())
    # Those that are shown in turn are all looked at.
    page.evaluate(
        "document.querySelectorAll('[hidden]').forEach((each) => { each.hidden = false; })"
    )
    drawings = page.locator(".drawing").all()
    for drawing in drawings:
        drawing.scroll_into_view_if_needed()
        seen = imread(BytesIO(drawing.screenshot()))[..., :3]
        name = drawing.get_attribute("alt")
        colours, counts = np.unique(
            (seen * 255).round().astype(np.uint8).reshape(-1, 3), axis=0, return_counts=True
        )
        ground = colours[counts.argmax()]
        assert ground.max() < 60, f"{name}: the ground is {ground}"
        white = (seen.min(axis=-1) > 0.85).mean()
        assert white < 0.2, f"{name}: {white:.0%} of it are white"
        for text, *box in drawing.evaluate(TEXTS):
            left, top, right, bottom = (max(0, round(TWICE * end)) for end in box)
            inside = seen[top:bottom, left:right].reshape(-1, 3)
            if len(inside):
                bright = inside.sum(axis=-1)
                ends = (inside[bright.argmax()], inside[bright.argmin()])
                found = contrast(*(_written(each) for each in ends))
                assert found > 3, f"{name}: {text!r} has a contrast of {found:.1f}"
    page.close()
    return len(drawings)


def _written(colour: np.ndarray) -> str:
    return "#" + "".join(f"{round(float(channel) * 255):02x}" for channel in colour)
