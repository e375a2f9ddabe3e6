"""Pairs in objects: JSON lines, and data sets of translations."""

from collections.abc import Mapping
from dataclasses import dataclass

from headlight.corpora.parallel import Column, TranslationPair, known_columns
from headlight.errors import CorpusError

TRANSLATION = "translation"
"""The key under which data sets hold a sentence in several languages."""

Row = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Keys:
    """Under which keys an object holds the two sides.

    Attributes:
        source: The key of the source, often a language.
        target: That of the target.
        inside: The key of the object that holds both; None if they lie at the top.
    """

    source: str
    target: str
    inside: str | None

    @classmethod
    def of(
        cls,
        row: Row,
        columns: tuple[Column, Column] | None,
        place: str,
        inside: str | None = None,
    ) -> "Keys":
        """Return the requested keys; else those known by their names, or the only two, in order.

        Args:
            row: The first object.
            columns: The keys asked for.
            place: Where the object is from.
            inside: The key of the object that holds both; by default `TRANSLATION`, if it is one.

        Raises:
            CorpusError: There are no such keys, or it cannot be told which are meant.
        """
        if inside is None and isinstance(row.get(TRANSLATION), Mapping):
            inside = TRANSLATION
        held = _held(row, inside, place)
        names = columns or known_columns(list(held)) or tuple(held)
        missing = [name for name in names if name not in held]
        if missing or len(names) != 2:
            wrong = (
                f"there is no key {missing[0]!r}"
                if missing
                else "it is not known which keys hold source and target"
            )
            known = ", ".join(map(repr, held)) or "none"
            raise CorpusError(f"{place}: {wrong}; name two of those there are: {known}.")
        return cls(str(names[0]), str(names[1]), inside)

    def pair(self, row: Row, place: str) -> TranslationPair:
        """The pair that an object holds.

        Raises:
            CorpusError: A key is missing, or holds no text.
        """
        held = _held(row, self.inside, place)
        for key in (self.source, self.target):
            if key not in held:
                raise CorpusError(f"{place}: there is no key {key!r}; complete the object.")
        return TranslationPair.of(place, held[self.source], held[self.target])


def _held(row: Row, inside: str | None, place: str) -> Row:
    held = row if inside is None else row.get(inside)
    if not isinstance(held, Mapping):
        raise CorpusError(
            f"{place}: the key {inside!r} must hold an object with the text of each language, such "
            'as {"de": ..., "en": ...}; name the column that does.'
        )
    return held
