"""Formats of the files in which answers of one text and results of studies are kept.

A row makes a suffix of `save` and of the options of commands, a file in the folders of runs, and
what help says of both.  Nothing here needs torch.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from operator import methodcaller
from typing import Any

from headlight.catalogue.registry import WRITERS as GROUP, rows_of_packages

RESULT = "result.nc"
"""File of the result in the folder of a run, which all others are made from."""

REPORT = "report.html"
"""File of the page of the result."""

TABLES = "tables"
"""Folder of the tables of the result."""


@dataclass(frozen=True, kw_only=True)
class Writer:
    """Format of files, declared once.

    Attributes:
        name: Suffix of the files, without its dot.
        sentence: Content of the files, for the help.
        write: Function of an answer, or of the result of a study; both have ``dataset``.  Returns
            a text or bytes; for a folder several, by the names of its files.
        questions: Names of the questions whose answers have this format; by default all.
        run_path: Path in the folder of a run at which every study writes its result in this format;
            that of a folder of files ends in a slash.  By default there is none.
    """

    name: str
    sentence: str
    write: Callable[[Any], Any]
    questions: tuple[str, ...] | None = None
    run_path: str | None = None


WRITERS: Mapping[str, Writer] = {
    row.name: row
    for row in (
        Writer(name="html", sentence="a page", write=methodcaller("to_html"), run_path=REPORT),
        Writer(name="json", sentence="every number as JSON", write=methodcaller("to_json")),
        Writer(
            name="csv",
            sentence="a table of passages or pairs",
            write=methodcaller("to_csv"),
            questions=("similarity", "sources"),
            run_path=f"{TABLES}/",
        ),
        Writer(
            name="svg", sentence="a picture", write=methodcaller("to_svg"), questions=("routes",)
        ),
        Writer(
            name="nc",
            sentence="every number as NetCDF",
            write=methodcaller("to_netcdf"),
            run_path=RESULT,
        ),
    )
}
"""Rows by name, in the order of the help."""


@cache
def _rows() -> dict[str, Writer]:
    return {**WRITERS, **rows_of_packages(GROUP, Writer, WRITERS)}


def writers(question: str) -> dict[str, Writer]:
    """Return the formats of the answers of a question by suffix, those of other packages last."""
    return {
        f".{row.name}": row
        for row in _rows().values()
        if row.questions is None or question in row.questions
    }


def run_writers() -> dict[str, Writer]:
    """Return the formats of the results of studies by path in the folder of a run, files first."""
    rows = {row.run_path: row for row in _rows().values() if row.run_path is not None}
    return {path: rows[path] for path in sorted(rows, key=lambda path: path.endswith("/"))}


def run_contents() -> list[str]:
    """Return what a run writes of its result, as help says it: ``report.html``, ``CSV tables``."""
    return [
        f"{row.name.upper()} {path.rstrip('/')}" if path.endswith("/") else path
        for path, row in run_writers().items()
    ]


def described(formats: Mapping[str, Writer]) -> str:
    """Return formats as the help lists them: ``.svg (a picture), .nc (every number as NetCDF)``."""
    return ", ".join(f"{suffix} ({row.sentence})" for suffix, row in formats.items())


def in_words(suffixes: Mapping[str, Writer]) -> str:
    """Return suffixes as a phrase: ``.html, .json or .nc``."""
    *first, last = suffixes
    return f"{', '.join(first)} or {last}"
