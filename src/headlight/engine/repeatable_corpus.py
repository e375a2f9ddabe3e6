"""Corpora that can be read more than once, and those that cannot."""

from collections.abc import Iterator
from typing import TypeVar

from headlight.corpora import Corpus
from headlight.errors import UsageError

T = TypeVar("T")


def check_repeatable(corpus: Corpus[T]) -> Corpus[T]:
    """Return a corpus, if it can be read more than once.

    Raises:
        UsageError: it cannot.
    """
    if corpus.once:
        raise UsageError(
            f"the corpus ({corpus.source}) is read more than once; give a list, or files."
        )
    return corpus


def is_read_once(source: object) -> bool:
    """Whether a corpus cannot be read again: standard input, or an iterator."""
    read_once = isinstance(source, Corpus) and source.once
    return source == "-" or isinstance(source, Iterator) or read_once
