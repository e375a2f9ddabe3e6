"""Formats of the files in which answers of one text are kept.

A row makes a suffix of `save` and of the options of commands, and what their help says.  Nothing
here needs torch.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from operator import methodcaller
from typing import Any

from headlight.catalogue.registry import WRITERS as GROUP, rows_of_packages


@dataclass(frozen=True, kw_only=True)
class Writer:
    """Format of files, declared once.

    Attributes:
        name: Suffix of the files, without its dot.
        sentence: Content of the files, for the help.
        write: Function of an answer, which has ``dataset``; returns a text or bytes.
        questions: Names of the questions whose answers alone have this format; empty for all.
    """

    name: str
    sentence: str
    write: Callable[[Any], str | bytes]
    questions: tuple[str, ...] = ()


WRITERS: Mapping[str, Writer] = {
    row.name: row
    for row in (
        Writer(name="html", sentence="a page", write=methodcaller("to_html")),
        Writer(name="json", sentence="every number as JSON", write=methodcaller("to_json")),
        Writer(
            name="csv",
            sentence="a table of passages",
            write=methodcaller("to_csv"),
            questions=("sources",),
        ),
        Writer(
            name="svg", sentence="a picture", write=methodcaller("to_svg"), questions=("routes",)
        ),
        Writer(name="nc", sentence="every number as NetCDF", write=methodcaller("to_netcdf")),
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
        if not row.questions or question in row.questions
    }


def described(formats: Mapping[str, Writer]) -> str:
    """Return formats as the help lists them: ``.svg (a picture), .nc (every number as NetCDF)``."""
    return ", ".join(f"{suffix} ({row.sentence})" for suffix, row in formats.items())


def in_words(suffixes: Mapping[str, Writer]) -> str:
    """Return suffixes as a phrase: ``.html, .json or .nc``."""
    *first, last = suffixes
    return f"{', '.join(first)} or {last}"
