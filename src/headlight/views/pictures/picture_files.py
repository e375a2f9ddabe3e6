"""Pictures as files: SVG, PNG and PDF, the same bytes for the same picture."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from types import MappingProxyType
from typing import Any

from headlight.errors import UsageError
from headlight.files import write
from headlight.views.pictures.panels import BARS, panel_starts, panels_across
from headlight.views.pictures.theme import FONT, Figure, styled
from headlight.views.titles import isolated_quotes

DOTS_PER_INCH = 150
_MARGIN = 0.06

# No date, no version of matplotlib: nothing that changes from one day to the next.
_METADATA: dict[str, dict[str, None]] = {
    ".png": {"Software": None},
    ".svg": {"Date": None, "Creator": None, "Format": None, "Type": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}

# Verdana has the widths of DejaVu Sans, and is there where that is not.
_FONTS = f"'{FONT}', Verdana, sans-serif"
_TAG = re.compile(r"<[^>]*>")
# Markers of one style in a group: `<g ...>`, then `<use ... style="..."/>` each.
_ALIKE = re.compile(
    r'<g([^<>]*)>\s*(<use [^<>]*?( style="[^"]*")/>(?:\s*<use [^<>]*?\3/>)+)\s*</g>'
)
_MARKER = re.compile(r"<use [^<>]*>")
_NAME = re.compile(r'(?<=["#])m[0-9a-f]{10}(?=")')
_LONG_NUMBER = re.compile(r"(-?\d+\.\d\d)\d+")


@styled
def svg_text(figure: Figure, crop: Any = None) -> str:
    """Return the figure as an SVG document, with its texts as texts.

    A text is set by the browser, which has glyphs for scripts that the font lacks, and takes a
    fraction of the room of its outlines.

    Args:
        figure: Figure to write.
        crop: Part of the figure in inches, matplotlib's ``Bbox``; all that is drawn when None.
    """
    buffer, crop = BytesIO(), crop or _crop(figure)
    figure.savefig(buffer, format="svg", metadata=_METADATA[".svg"], bbox_inches=crop)
    text = _ALIKE.sub(_hoisted, _TAG.sub(_tidied, buffer.getvalue().decode("utf-8")))
    text = isolated_quotes(text)
    # Matplotlib names markers by hashes; numbers are shorter, and do not depend on its version.
    names: dict[str, str] = {}
    text = _NAME.sub(lambda name: names.setdefault(name.group(), f"m{len(names)}"), text)
    columns = " ".join(f"{start:.2f}" for start in _columns(figure, crop))
    about = f'data-panels="{panels_across(figure)}" data-columns="{columns}"'
    if figure.get_gid() == BARS:
        about += ' data-bars=""'
    return text.replace("<svg ", f"<svg {about} ", 1)


def _columns(figure: Figure, crop: Any) -> list[float]:
    """Return the left edges of the columns of panels, in percent of the width of the file."""
    if starts := panel_starts(figure):
        return [0.0] + [100 * (start - crop.x0) / crop.width for start in starts[1:]]
    lefts: dict[int, float] = {}  # of all that belongs to a column, in inches
    for axes in figure.axes:
        spec, box = axes.get_subplotspec(), axes.get_tightbbox()
        if spec is not None and box is not None:
            column = spec.colspan.start
            edge = float(box.x0) / figure.dpi - _MARGIN
            lefts[column] = min(edge, lefts.get(column, edge))
    return [0.0] + [100 * (lefts[at] - crop.x0) / crop.width for at in sorted(lefts)[1:]]


@styled
def save_picture(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Write the figure as ``name.svg`` and ``name.png`` into a folder that exists.

    Each file appears whole or not at all.

    Returns:
        Both files.

    Raises:
        ResultError: A file cannot be written.
    """
    crop = _crop(figure)
    paths = [folder / f"{name}{suffix}" for suffix in (".svg", ".png")]
    contents = [_content(figure, path.suffix, crop) for path in paths]
    for path, content in zip(paths, contents, strict=True):
        write(path, content)
    return paths


@dataclass(frozen=True, slots=True)
class Picture:
    """Picture that shows itself in a notebook, and can be saved.

    Attributes:
        figure: Figure of matplotlib, which can be changed before it is saved.
    """

    figure: Figure

    def save(self, path: str | Path) -> Path:
        """Write the picture in the format of the suffix: ``.png``, ``.svg`` or ``.pdf``.

        The same picture gives the same bytes, and the file appears whole or not at all.

        Returns:
            The path.

        Raises:
            UsageError: The suffix is another one.
            ResultError: The file cannot be written.
        """
        return self.savefig(path)

    def savefig(self, path: str | Path, **options: Any) -> Path:
        """Write the picture as `save` does, with options of matplotlib's ``Figure.savefig``.

        Args:
            path: Path of the file; its suffix is the format.
            options: Options of matplotlib, such as ``dpi`` or ``transparent``.

        Returns:
            The path.

        Raises:
            UsageError: The suffix is another one.
            ResultError: The file cannot be written.
        """
        path = Path(path)
        if path.suffix not in _METADATA:
            raise UsageError(
                f"{path}: a picture is saved as {', '.join(_METADATA)}; choose one of these."
            )
        write(path, _content(self.figure, path.suffix, options=options))
        return path

    def _repr_svg_(self) -> str:
        return svg_text(self.figure)


@styled
def _content(
    figure: Figure,
    suffix: str,
    crop: Any = None,
    options: Mapping[str, Any] = MappingProxyType({}),
) -> bytes:
    """Return the contents of the file of a figure; options of matplotlib come before ours."""
    crop = crop or _crop(figure)
    if suffix == ".svg" and not options:
        return svg_text(figure, crop).encode()
    buffer = BytesIO()
    ours = {"dpi": DOTS_PER_INCH, "metadata": _METADATA[suffix], "bbox_inches": crop}
    figure.savefig(buffer, **{"format": suffix[1:], **ours, **options})
    return buffer.getvalue()


def _crop(figure: Figure) -> Any:
    # Matplotlib's own "tight" would draw the figure once more for each file.
    return figure.get_tightbbox().padded(_MARGIN)


def _tidied(tag: re.Match[str]) -> str:
    # A hundredth of a point cannot be seen.
    return _LONG_NUMBER.sub(r"\1", tag.group()).replace(f"'{FONT}'", _FONTS)


def _hoisted(group: re.Match[str]) -> str:
    # A picture has thousands of markers, and matplotlib repeats the style at every one.
    about, markers, style = group.groups()
    return f"<g{about}{style}>{''.join(_MARKER.findall(markers.replace(style, '')))}</g>"
