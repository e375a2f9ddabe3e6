"""Formats by the names that studies of texts take, also those of other packages."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from headlight.catalogue.distributions import DISTRIBUTIONS
from headlight.catalogue.registry import rows_of_packages
from headlight.corpora.corpus import Corpus
from headlight.corpora.pair_corpus import open_sentence_pairs
from headlight.errors import UsageError

GROUP = "headlight.formats"
"""Group of entry points whose value is a `Format`."""


@dataclass(frozen=True, kw_only=True)
class Format:
    """Format of files, besides those that `headlight.corpora.open_corpus` reads by itself.

    Attributes:
        name: Name that is given as ``format``.
        open: Function that opens a source: a path, a pattern, a folder, ``-`` or ``hf:NAME``.
        holds: ``texts``, or ``pairs`` of texts, which a model reads together.
        sample: File that is read where no corpus is named; None without a sample.
    """

    name: str
    open: Callable[[str], Corpus]
    holds: Literal["texts", "pairs"] = "texts"
    sample: Path | None = None


_TABLE = (Format(name="pairs", open=open_sentence_pairs, holds="pairs"),)


@cache
def format_table() -> Mapping[str, Format]:
    """Return all rows by name, those of other packages last."""
    rows = {row.name: row for row in _TABLE}
    return rows | rows_of_packages(GROUP, Format, rows)


def find_format(name: str, needed: str | None = None) -> Format | None:
    """Return the format of a name, if there is one.

    Args:
        name: Name of the format.
        needed: Feature that needs the format, for the refusal; by default the format itself.

    Raises:
        UsageError: A distribution has it that is not installed.
    """
    if name in format_table():
        return format_table()[name]
    for distribution in DISTRIBUTIONS.values():
        if name in distribution.formats:
            raise UsageError(distribution.refusal(needed or f"the format {name}"))
    return None


def pair_format(name: str | None) -> Format | None:
    """Return the format of a name, if there is one that holds pairs of texts.

    Raises:
        UsageError: A distribution has it that is not installed.
    """
    row = None if name is None else find_format(name)
    return row if row and row.holds == "pairs" else None
