"""Pages as a browser's parser sees them: elements, attributes and texts."""

from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from html.parser import HTMLParser
from unittest.mock import patch

import xarray
from matplotlib.layout_engine import ConstrainedLayoutEngine

from headlight.views.parts import Drawing
from headlight.views.result_page import study_page

VOID = {"meta", "br", "link", "img", "input", "hr"}


@dataclass
class Element:
    """One element with the text directly inside it."""

    tag: str
    attributes: dict[str, str | None]
    text: str = ""
    inside: tuple[str, ...] = field(default=())


class Page(HTMLParser):
    """All elements of a page, in order; fails when tags do not match."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[Element] = []
        self._open: list[Element] = []
        self.feed(text)
        self.close()
        assert [element.tag for element in self._open] == []

    def handle_starttag(self, tag, attrs):
        inside = tuple(element.tag for element in self._open)
        element = Element(tag, dict(attrs), inside=inside)
        self.elements.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_endtag(self, tag):
        assert self._open, f"</{tag}> closes nothing"
        assert self._open[-1].tag == tag
        self._open.pop()

    def handle_data(self, data):
        if self._open:
            self._open[-1].text += data

    def all(self, tag: str) -> list[Element]:
        """The elements of a tag."""
        return [element for element in self.elements if element.tag == tag]

    def by_id(self, name: str) -> Element:
        """The element with an id."""
        return next(e for e in self.elements if e.attributes.get("id") == name)


BLANK = '<svg width="9pt" height="9pt" viewBox="0 0 9 9"></svg>'


PICTURE = Drawing.svg


def with_pictures() -> AbstractContextManager[object]:
    """Return a block in which pages have their pictures, whatever a test has in their place."""
    return patch.object(Drawing, "svg", PICTURE)


def sketch(drawing: Drawing) -> str:
    """Make the figure of a drawing, and return an empty picture in its place."""
    if drawing.drawn:
        return drawing.drawn
    with patch.object(ConstrainedLayoutEngine, "execute"):
        drawing.draw()
    return BLANK


def undrawn_page(result: xarray.Dataset) -> Page:
    """The page of a result with frames without pictures, which are most of its cost."""
    with patch.object(Drawing, "svg", BLANK):
        return Page(study_page(result))
