"""Whether the pictures of a page can be read on a dark page, by what a browser shows of them."""

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from headlight.views.colours import contrast

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

WITHOUT_TEXTS = """async (img) => {
  const bytes = Uint8Array.from(atob(img.src.split(",")[1]), (each) => each.charCodeAt(0));
  const read = new DOMParser().parseFromString(new TextDecoder().decode(bytes), "image/svg+xml");
  read.querySelectorAll("text").forEach((text) => text.remove());
  const left = new TextEncoder().encode(new XMLSerializer().serializeToString(read));
  img.src = `data:image/svg+xml;base64,${btoa(Array.from(left, (each) => String.fromCharCode(each)).join(""))}`;
  await img.decode();
}"""  # noqa: E501
"""Draws all but what a drawing says, in the same place."""

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
    # Those that are folded, and those that are shown in turn, are all looked at.
    page.evaluate("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
    page.evaluate(
        "document.querySelectorAll('[hidden]').forEach((each) => { each.hidden = false; })"
    )
    drawings = page.locator(".drawing").all()
    for drawing in drawings:
        drawing.scroll_into_view_if_needed()
        texts = drawing.evaluate(TEXTS)
        seen = _shot(drawing)
        drawing.evaluate(WITHOUT_TEXTS)
        under = _shot(drawing)
        name = drawing.get_attribute("alt")
        coarse = seen[4:-4:4, 4:-4:4].astype(np.int64)
        # What is drawn may be larger than the ground, which is all around it.
        edges = np.concatenate([coarse[0], coarse[-1], coarse[:, 0], coarse[:, -1]])
        colours, counts = np.unique(edges @ (65536, 256, 1), return_counts=True)
        ground = f"#{colours[counts.argmax()]:06x}"
        assert max(bytes.fromhex(ground[1:])) < 60, f"{name}: the ground is {ground}"
        white = (coarse.min(axis=-1) > 0.85 * 255).mean()
        assert white < 0.2, f"{name}: {white:.0%} of it are white"
        for text, *box in texts:
            contrast_here = _contrast(seen, under, box)
            assert contrast_here > 3, f"{name}: {text!r} has a contrast of {contrast_here:.1f}"
    page.close()
    return len(drawings)


def _shot(drawing: Any) -> np.ndarray:
    return np.asarray(Image.open(BytesIO(drawing.screenshot())).convert("RGB"))


def _contrast(seen: np.ndarray, under: np.ndarray, box: Sequence[float]) -> float:
    """Return the contrast of a text with what it covers, where its strokes are whole.

    What else is in its box, a bar or a line, is the same with and without it, and so is not looked
    at; a text that is not drawn, or outside the picture, has a contrast of 1.
    """
    left, top, right, bottom = (max(0, round(SCALE * end)) for end in box)
    pixels, below = (each[top:bottom, left:right].reshape(-1, 3) for each in (seen, under))
    change = np.abs(pixels.astype(np.int64) - below).sum(axis=-1)
    if not change.any():
        return 1.0
    # A stroke over a bar or a line may stand out while all others are lost: most decide.
    grounds = below @ np.array((65536, 256, 1))
    colours, counts = np.unique(grounds[change > 0], return_counts=True)
    at = np.where(grounds == colours[counts.argmax()], change, 0).argmax()
    return contrast(_written(pixels[at]), _written(below[at]))


def _written(colour: np.ndarray) -> str:
    return f"#{bytes(colour).hex()}"
