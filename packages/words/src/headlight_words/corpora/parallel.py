"""Translations: formats of several lines, and the corpus of a source."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from xml.parsers import expat

from headlight.corpora.corpus import CorpusCounts
from headlight.corpora.lines import DOCUMENT_LIMIT, Lines
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
        name: Where it is from, for messages: ``"a.txt:12"`` or ``"hf:wmt16:de-en[3]"``.
        source: What was translated; stripped, and empty where there is nothing.
        target: Its translation; stripped, and empty where there is nothing.
    """

    name: str
    source: str
    target: str

    @classmethod
    def of(cls, name: str, source: object, target: object) -> "TranslationPair":
        """The pair of what a row or an object holds; None stands for nothing.

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
    """The columns of source and target; digits become numbers.

    Raises:
        UsageError: There are not two of them, they are the same, or a number is less than 1.
    """
    if columns is None:
        return None
    column_names = [int(each) if str(each).isdecimal() else each for each in columns]
    if isinstance(columns, str) or len(column_names) != 2 or column_names[0] == column_names[1]:
        raise UsageError(
            f"source and target are in two columns; name them both, instead of {columns!r}."
        )
    for each in column_names:
        if isinstance(each, int):
            require_range("the number of a column", each, Range(minimum=1))
    return column_names[0], column_names[1]


def known_columns(available: Sequence[str]) -> tuple[str, str] | None:
    """The columns of source and target that are known by their names; None where none are."""
    return next((names for names in KNOWN if set(names) <= set(available)), None)


WORK = 10**9
"""Characters that may be looked at for one tag or comment: with each of its lines the parser begins
it again. One of half a million characters in short lines costs as much."""
LANGUAGES = 10
"""This many are named where none of them is what was asked for."""
CODES = ("bpt", "ept", "it", "ph", "ut")
"""Elements within a text that hold codes of the program that it is from, and no text."""


def memory_pairs(
    lines: Lines, counts: CorpusCounts, languages: tuple[Column, Column] | None
) -> Iterator[TranslationPair]:
    """A pair for each unit that has both languages; others are left out and counted.

    Line breaks in a text are layout, and become blanks.  Codes of other programs are left out.

    Args:
        lines: The file.
        counts: Where units are counted that lack one of the languages.
        languages: Of source and target, such as ``de`` or ``de-AT``, which stand for each other
            where there is no other.  By default the two that the first unit has: the source is what
            the header calls so, else what comes first.

    Raises:
        CorpusError: The file is not well-formed, declares entities, or has no such languages.
    """
    reader = _Reader(lines, counts)
    languages_seen: dict[str, None] = {}
    pairs = 0
    for place, texts in reader.units():
        languages_seen |= dict.fromkeys(texts)
        languages = languages or _two_languages(list(texts), reader.source, place)
        source, target = (_language(texts, str(language)) for language in languages)
        if source is None or target is None:
            counts.one_sided += 1
            continue
        pairs += 1
        yield TranslationPair.of(place, texts[source], texts[target])
    if languages_seen and not pairs:
        wanted = " and ".join(map(repr, languages or ()))
        raise CorpusError(
            f"{lines.name} has no unit in both {wanted}; name two of the languages that there "
            f"are: {_named(list(languages_seen))}."
        )


def _two_languages(available: list[str], source: str | None, place: str) -> tuple[str, str]:
    if len(available) != 2:
        raise CorpusError(
            f"{place}: the first unit has {len(available)} languages "
            f"({_named(available) or 'none'}), and not two; name those of source and target."
        )
    first = _language(available, source or available[0]) or available[0]
    return first, next(language for language in available if language != first)


def _named(languages: list[str]) -> str:
    more = len(languages) - LANGUAGES
    return ", ".join(languages[:LANGUAGES]) + (f" and {more} more" if more > 0 else "")


def _language(available: Iterable[str], wanted: str) -> str | None:
    """The language of this name, else a variety of it, else what it is a variety of."""
    parts_wanted = _parts(wanted)
    varieties = [each for each in available if _parts(each)[: len(parts_wanted)] == parts_wanted]
    wider = [each for each in available if parts_wanted[: len(_parts(each))] == _parts(each)]
    exact = [each for each in varieties if each in wider]
    return next(iter(exact + varieties + wider), None)


def _parts(language: str) -> list[str]:
    return language.lower().split("-")


class _Reader:
    """Feeds lines to the parser of the standard library, and gathers one unit after the other.

    Nothing outside the file is ever read, and a file that declares entities is refused: a few
    lines of them could stand for gigabytes.
    """

    def __init__(self, lines: Lines, counts: CorpusCounts) -> None:
        self.source: str | None = None
        self._counts = counts
        self._lines = lines
        self._ready: list[tuple[str, dict[str, str]]] = []
        self._place = ""
        self._unit: dict[str, str] | None = None
        self._language: str | None = None
        self._text: list[str] | None = None
        self._size = 0
        self._codes = 0
        self._waiting = self._work = 0
        self._parser = expat.ParserCreate()
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters
        self._parser.XmlDeclHandler = self._went_on
        self._parser.StartDoctypeDeclHandler = self._went_on
        self._parser.EndDoctypeDeclHandler = self._went_on
        self._parser.CommentHandler = self._went_on
        self._parser.ProcessingInstructionHandler = self._went_on
        self._parser.EntityDeclHandler = self._refuse_entities
        self._parser.SkippedEntityHandler = self._refuse_entities

    def units(self) -> Iterator[tuple[str, dict[str, str]]]:
        """File and line of each unit, and its texts by language."""
        for line in self._lines:
            yield from self._fed(line)
        yield from self._fed("", end=True)

    def _fed(self, line: str, end: bool = False) -> Iterator[tuple[str, dict[str, str]]]:
        if self._waiting or line.strip():
            self._waiting += len(line)
            self._work += self._waiting
        if self._work > WORK:
            raise CorpusError(
                f"{self._lines.place}: a tag or a comment goes on for {self._waiting:,} "
                "characters; the file is damaged, or no TMX."
            )
        try:
            self._parser.Parse(line, end)
        except expat.ExpatError as error:
            raise CorpusError(
                f"{self._lines.place}: the file is no well-formed XML "
                f"({expat.errors.messages[error.code]}); it is damaged, cut short, or no TMX."
            ) from error
        yield from self._ready
        self._ready.clear()

    def _went_on(self, *_: object) -> None:
        """The parser is through with what it was given before."""
        self._waiting = self._work = 0

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._went_on()
        if name == "header":
            self.source = attributes.get("srclang")
        elif name == "tu":
            self._unit, self._place = {}, self._lines.place
        elif name == "tuv":
            self._language = attributes.get("xml:lang") or attributes.get("lang")
        elif name == "seg":
            self._text, self._size, self._codes = [], 0, 0
        elif name in CODES:
            self._codes += 1

    def _end(self, name: str) -> None:
        self._went_on()
        if name == "tu" and self._unit is not None:
            self._ready.append((self._place, self._unit))
            self._unit = None
        elif name == "seg" and self._text is not None:
            self._keep(" ".join("".join(self._text).split()))
            self._text = None
        elif name in CODES:
            self._codes -= 1

    def _keep(self, text: str) -> None:
        if self._unit is None or not self._language:
            raise CorpusError(
                f"{self._lines.place}: a text must be in <tuv> with a language, in <tu>; correct "
                "the file."
            )
        self._counts.repeated += self._language in self._unit
        self._unit.setdefault(self._language, text)

    def _characters(self, text: str) -> None:
        self._went_on()
        if self._text is None or self._codes:
            return
        self._size += len(text)
        if self._size > DOCUMENT_LIMIT:
            raise CorpusError(
                f"{self._place}: a text of this unit is longer than {DOCUMENT_LIMIT:,} characters; "
                "divide it."
            )
        self._text.append(text)

    def _refuse_entities(self, name: str, *_: object) -> None:
        raise CorpusError(
            f"{self._lines.place}: the file has an entity of its own ({name}), and such are not "
            "read; write the text itself in its place."
        )
