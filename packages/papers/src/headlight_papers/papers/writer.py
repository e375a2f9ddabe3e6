"""Writer of exhibits, whose drawings and tables are files, and the names of layers and heads."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pandas
import xarray

from headlight.errors import ResultError
from headlight.files import read
from headlight.output_folder import OutputFolder
from headlight.result import csv_text
from headlight.views.parts import Curve, Drawing, Figure, Map, Table, curves, maps, save_picture
from headlight.vocabulary import head_name as own_name

COUNTED = ("layer", "tested_layer", "head")
"""Dimensions that papers count from 1."""


def head_name(layer: int, head: int) -> str:
    """The name of a head, layer and head from 0, and the paper's, from 1: ``L7H9 (8-10)``."""
    return f"{own_name(layer, head)} ({layer + 1}-{head + 1})"


def as_printed(found: xarray.Dataset) -> xarray.Dataset:
    """A result whose layers and heads are numbered as papers print them, from 1."""
    return found.assign_coords({name: found[name] + 1 for name in COUNTED if name in found.coords})


def layer_names(found: xarray.Dataset | xarray.DataArray) -> list[str]:
    """The layers of a result."""
    return [str(int(layer) + 1) for layer in found["layer"].values]


def head_numbers(found: xarray.Dataset | xarray.DataArray) -> list[str]:
    """The heads of a layer."""
    return [str(int(head) + 1) for head in found["head"].values]


def count_heads(found: xarray.DataArray) -> int:
    """Count the heads over all layers; layers may differ in their number."""
    others = [dim for dim in found.dims if dim not in ("layer", "head")]
    return int(found.notnull().any(others).sum())


def frame_of(columns: Mapping[str, xarray.DataArray]) -> pandas.DataFrame:
    """One row for each place along the dimensions that the arrays share, one column for each.

    A column ``layer`` counts from 1; where there are heads, ``head`` has their names instead, and
    those that a layer does not have are left out.
    """
    cells = xarray.Dataset({name: one.reset_coords(drop=True) for name, one in columns.items()})
    order = [str(name) for name in next(iter(columns.values())).dims]
    frame = cells.to_dataframe(dim_order=order).reset_index()
    if "head" in frame:
        frame = frame.dropna(subset=list(columns), how="all").reset_index(drop=True)
        frame["head"] = list(map(head_name, frame.pop("layer"), frame["head"]))
    elif "layer" in frame:
        frame["layer"] += 1
    return frame


def percent(share: float) -> float | None:
    """A share in percent; None where nothing was observed."""
    return None if np.isnan(share) else 100 * float(share)


def yes_or_no(found: object) -> str:
    """Return whether a claim holds, as a word."""
    return "yes" if found else "no"


def in_words(names: list[str], most: int = 12) -> str:
    """``1, 2 and 4``; a long list is cut, and says how long it was."""
    if not names:
        return "none"
    shown = names[:most]
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(shown) + rest


@dataclass(eq=False)
class ExhibitWriter:
    """The files of one exhibit, all of them named after it.

    Attributes:
        folder: where they are written.
        exhibit: the name of the exhibit, ``table-1``.
        written: names of the files so far, relative to the folder.
    """

    folder: Path
    exhibit: str
    written: list[str] = field(default_factory=list)

    def picture(
        self, draw: Callable[[], Figure], caption: str, alternative: str, name: str = ""
    ) -> Drawing:
        """Save a drawing as SVG and PNG.

        Args:
            draw: makes it, as the functions of `headlight.views.parts` say.
            caption: what stands under it.
            alternative: what a screen reader says.
            name: tells it from other pictures of the exhibit.
        """
        stem = self._stem(name)
        figure = draw()
        self._output.claim([f"{stem}.svg", f"{stem}.png"])
        svg, png = save_picture(figure, self.folder, stem)
        self.written += [svg.name, png.name]
        return Drawing(stem, caption, alternative, draw, drawn=read(svg, own=True).decode())

    def curves(
        self, found: xarray.Dataset, *shown: Curve, columns: int | None = None, **words: str
    ) -> Drawing:
        """Draw variables of a result by layer, counted from 1; see `curves`, and `picture`."""
        return self.picture(curves(as_printed(found), *shown, columns=columns), **words)

    def maps(
        self, found: xarray.Dataset, *shown: Map, columns: int | None = None, **words: str
    ) -> Drawing:
        """Draw variables of a result by layer and head, from 1; see `maps`, and `picture`."""
        drawn = [replace(each, named=False) for each in shown]
        return self.picture(maps(as_printed(found), *drawn, columns=columns), **words)

    def table(
        self,
        frame: pandas.DataFrame,
        caption: str,
        *,
        formats: Mapping[str, str] | str = "",
        highlight: Collection[tuple[int, str]] = (),
        note: str = "",
        name: str = "",
    ) -> Table:
        """Save a table as CSV, with all its digits; for the arguments see `Table`.

        One format is that of all columns but the first, which says what a row is about.
        """
        stem = self._stem(name)
        self.keep(frame, name)
        if isinstance(formats, str):
            formats = dict.fromkeys(frame.columns[1:], formats) if formats else {}
        return Table(stem, caption, frame, formats, highlight, note)

    def keep(self, frame: pandas.DataFrame, name: str = "") -> None:
        """Save numbers as CSV that the page does not show."""
        file = f"{self._stem(name)}.csv"
        self._output.write(file, csv_text(frame).encode(errors="replace"))
        self.written.append(file)

    @property
    def _output(self) -> OutputFolder:
        return OutputFolder(self.folder, ResultError)

    def _stem(self, name: str) -> str:
        return f"{self.exhibit}-{name}" if name else self.exhibit
