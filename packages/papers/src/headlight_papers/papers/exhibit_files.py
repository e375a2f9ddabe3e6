"""Files of an exhibit: pictures and tables, named after it."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pandas
import xarray

from headlight.errors import ResultError
from headlight.files import read
from headlight.output_folder import OutputFolder
from headlight.result import csv_text
from headlight.views.parts import Curve, Drawing, Figure, Map, Table, curves, maps, save_picture
from headlight_papers.papers.paper_numbering import as_printed


@dataclass(eq=False)
class ExhibitWriter:
    """Files of one exhibit, all of them named after it.

    Attributes:
        folder: Folder of the files.
        exhibit: Name of the exhibit, such as ``table-1``.
        written: Names of the files so far, relative to the folder.
    """

    folder: Path
    exhibit: str
    written: list[str] = field(default_factory=list)

    def picture(
        self, draw: Callable[[], Figure], caption: str, alternative: str, name: str = ""
    ) -> Drawing:
        """Save a drawing as SVG and PNG.

        Args:
            draw: Function that draws it, as described in `headlight.views.parts`.
            caption: Caption under the picture.
            alternative: Alternative text for screen readers.
            name: Name that distinguishes it from other pictures of the exhibit.
        """
        stem = self._stem(name)
        figure = draw()
        self._output.claim([f"{stem}.svg", f"{stem}.png"])
        # The page shows the file that was saved, whose text goes along.
        svg, png = save_picture(figure, self.folder, stem)
        self.written += [svg.name, png.name]
        return Drawing(
            stem, caption, alternative, draw, drawn=read(svg, refuse_links=True).decode()
        )

    def curves(
        self, result: xarray.Dataset, *specs: Curve, columns: int | None = None, **words: str
    ) -> Drawing:
        """Draw variables of a result by layer, counted from 1; see `curves`, and `picture`."""
        return self.picture(curves(as_printed(result), *specs, columns=columns), **words)

    def maps(
        self, result: xarray.Dataset, *specs: Map, columns: int | None = None, **words: str
    ) -> Drawing:
        """Draw variables of a result by layer and head, from 1; see `maps`, and `picture`."""
        drawn = [replace(spec, named=False) for spec in specs]
        return self.picture(maps(as_printed(result), *drawn, columns=columns), **words)

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
