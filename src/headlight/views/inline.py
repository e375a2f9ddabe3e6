"""SVG documents as a part of a page, in which nothing can run, load or reach the rest of it."""

import re
from xml.etree import ElementTree

from markupsafe import Markup

from headlight.errors import UsageError

# fmt: off
_ELEMENTS = {
    "svg", "g", "path", "defs", "clipPath", "use", "text", "tspan", "rect", "circle", "ellipse",
    "line", "polyline", "polygon", "image", "title", "desc", "pattern", "linearGradient",
    "radialGradient", "stop",
}
_ATTRIBUTES = {
    "id", "d", "x", "y", "x1", "y1", "x2", "y2", "r", "cx", "cy", "rx", "ry", "width", "height",
    "points", "transform", "style", "viewBox", "href", "clip-path", "clip-rule", "fill",
    "fill-opacity", "fill-rule", "stroke", "stroke-width", "stroke-linejoin", "stroke-linecap",
    "stroke-dasharray", "opacity", "font-family", "font-size", "text-anchor",
    "preserveAspectRatio", "offset", "stop-color", "stop-opacity", "patternUnits",
    "patternTransform", "gradientUnits",
}
# fmt: on
_REFERENCE = re.compile(r"url\(\s*['\"]?(#?)([^)'\"]*)['\"]?\s*\)")
_IMAGE = re.compile(r"data:image/png;base64,[A-Za-z0-9+/=\s]*")


def inline_svg(svg: str, prefix: str, alternative: str) -> Markup:
    """An SVG document as an element for a page.

    What could run, load or style anything else is left out: only shapes, texts and embedded images
    stay. The ids that are referred to get a prefix, the others go.

    Args:
        svg: The document.
        prefix: Before each id; different for each picture of a page.
        alternative: What a screen reader says instead.

    Raises:
        UsageError: The text is no SVG document.
    """
    root = _parsed(svg)
    if _local(root.tag) != "svg":
        raise UsageError("the picture is no SVG: its outermost element is not 'svg'.")
    used = set(re.findall(r"#([\w.-]+)", svg))
    width = re.match(r"[\d.]+", root.get("width", ""))
    _clean(root, prefix, used)
    for name in ("width", "height", "id", "style"):
        root.attrib.pop(name, None)
    root.attrib |= {"role": "img", "aria-label": alternative, "class": "drawing"}
    # matplotlib says this with a style sheet, which would reach the whole page.
    root.set("style", "stroke-linejoin:round;stroke-linecap:butt")
    if width:
        root.attrib["style"] += f";--width:{float(width.group()) * 4 / 3:.0f}px"
    return Markup(ElementTree.tostring(root, encoding="unicode"))


def _parsed(svg: str) -> ElementTree.Element:
    """The tree of a document; one that defines entities of its own is refused."""
    if "<!ENTITY" in svg:
        raise UsageError("the picture is no plain SVG: it defines entities.")
    try:
        return ElementTree.fromstring(svg)
    except ElementTree.ParseError as error:
        raise UsageError(f"the picture is no SVG: {error}.") from error


def _clean(element: ElementTree.Element, prefix: str, used: set[str]) -> None:
    """Keep what is known to be harmless, here and below."""
    element.tag = _local(element.tag)
    element.attrib = dict(
        kept
        for name, value in element.attrib.items()
        for kept in _attribute(element.tag, _local(name), value, prefix, used)
    )
    for child in list(element):
        if isinstance(child.tag, str) and _local(child.tag) in _ELEMENTS:
            _clean(child, prefix, used)
        else:
            element.remove(child)


def _attribute(
    tag: str, name: str, value: str, prefix: str, used: set[str]
) -> list[tuple[str, str]]:
    """The attribute as it may stay: as a list of one, or of none."""
    if name not in _ATTRIBUTES:
        return []
    if name == "id":
        return [(name, prefix + value)] if value in used else []
    if name == "href":
        if value.startswith("#"):
            return [(name, f"#{prefix}{value[1:]}")]
        return [(name, value)] if tag == "image" and _IMAGE.fullmatch(value) else []
    return [(name, _REFERENCE.sub(lambda found: _within(found, prefix), value))]


def _within(reference: re.Match[str], prefix: str) -> str:
    """A reference inside the picture; one to the outside becomes none."""
    return f"url(#{prefix}{reference.group(2)})" if reference.group(1) else "none"


def _local(name: str) -> str:
    """A name without its namespace."""
    return name.rpartition("}")[2]
