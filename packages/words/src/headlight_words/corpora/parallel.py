"""Pairs of a sentence and its translation, and the columns that hold them."""

from collections.abc import Sequence
from dataclasses import dataclass

from headlight.corpora.text_checks import demand_characters
from headlight.errors import CorpusError, UsageError
from headlight.settings import Range, require_range

Column = str | int
"""A column by its name or its number, from 1; also a key, or a language."""

KNOWN = (("source", "target"), ("src", "tgt"), ("src", "trg"))
"""Names of columns by which the sides are found, in this order of preference."""


@dataclass(frozen=True, slots=True)
class TranslationPair:
    """A sentence, or several, and the translation.

    Attributes:
        name: Origin of the pair, for messages: ``"a.txt:12"`` or ``"hf:wmt16:de-en[3]"``.
        source: Text that was translated; stripped, and empty where there is none.
        target: Its translation; stripped, and empty where there is none.
    """

    name: str
    source: str
    target: str

    @classmethod
    def of(cls, name: str, source: object, target: object) -> "TranslationPair":
        """Return the pair that a row or an object holds; None stands for an empty side.

        Raises:
            CorpusError: A side is no text.
        """
        return cls(name, _side(source, name), _side(target, name))


def _side(value: object, place: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise CorpusError(
            f"{place}: both sides of a pair must be text, and one is of type "
            f"{type(value).__name__}; name the two columns that hold text."
        )
    demand_characters(value, place)
    return value.strip()


def two_columns(columns: Sequence[Column] | None) -> tuple[Column, Column] | None:
    """Return the columns of source and target; digits become numbers.

    Raises:
        UsageError: There are not two of them, they are the same, or a number is less than 1.
    """
    if columns is None:
        return None
    column_names = [int(column) if str(column).isdecimal() else column for column in columns]
    if isinstance(columns, str) or len(column_names) != 2 or column_names[0] == column_names[1]:
        raise UsageError(
            f"source and target are in two columns; name them both, instead of {columns!r}."
        )
    for column in column_names:
        if isinstance(column, int):
            require_range("the number of a column", column, Range(minimum=1))
    return column_names[0], column_names[1]


def known_columns(available: Sequence[str]) -> tuple[str, str] | None:
    """Return the columns of source and target that are known by name; None where none are."""
    return next((names for names in KNOWN if set(names) <= set(available)), None)
