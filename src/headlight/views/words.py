"""Titles of results, and texts from outside shortened to the room there is."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from unicodedata import east_asian_width

import xarray as xr

from headlight.files import printable
from headlight.result.kinds import MULTI_KIND
from headlight.vocabulary import ATTENTION, CORPUS_LABEL, MODEL_LABEL, base_name


def model_name(attributes: Mapping[str, object]) -> str:
    """Return the name of a result's model in a title: as users named it, or its `base_name`."""
    return str(attributes.get(MODEL_LABEL) or base_name(attributes.get("model", "a model")))


@dataclass(frozen=True, slots=True)
class Subject:
    """Subject of a result: the model, the corpus, and the kind of attention if it is worth naming.

    Attributes:
        model: what it is called.
        corpus: likewise, or None.
        kind: of attention, with a colon, or nothing.
    """

    model: str
    corpus: str | None
    kind: str

    @classmethod
    def of(cls, result: xr.Dataset) -> "Subject":
        """Return the subject of a result."""
        attributes = result.attrs
        kind = str(attributes.get("kind", ""))
        told = MULTI_KIND in attributes or kind == "cross"
        return cls(
            model_name(attributes),
            str(attributes.get(CORPUS_LABEL) or base_name(attributes["corpus"]))
            if "corpus" in attributes
            else None,
            f"{ATTENTION.get(kind, kind)}: " if told else "",
        )

    def __str__(self) -> str:
        read = "" if self.corpus is None else f" reading {self.corpus}"
        return f"{self.kind}{self.model}{read}"


LEAD = 2
"""Sentences above a picture."""

SHORT = 150
"""Letters of a finding where there is room for the strongest alone."""

_INTERVAL = re.compile(r" \(95%: [^)]*\)")
_END = re.compile(r"(?<=[.?!])(?<!al\.)(?<!e\.g\.)(?<!i\.e\.)(?<!Eq\.)(?<!cf\.) (?=\S)")
"""Where a sentence ends, and not an abbreviation."""


def sentences_of(text: str) -> list[str]:
    """The sentences of a text of ours."""
    return [each for each in _END.split(text) if each]


def short_sentence(text: str) -> str:
    """Return the first sentence of a finding without its intervals, and of a long one the claim."""
    first = _INTERVAL.sub("", (sentences_of(text) or [""])[0])
    claim = re.split(r": | \(", first, maxsplit=1)[0]
    return first if len(first) <= SHORT or claim == first else f"{claim}."


def lead_and_rest(text: str) -> tuple[str, str]:
    """The sentences that stand above a picture, and those that are folded away."""
    said = sentences_of(text)
    return " ".join(said[:LEAD]), " ".join(said[LEAD:])


def shortened(text: str, most: int) -> str:
    """The printable text, cut to ``most`` columns; wide characters count as two."""
    shown = printable(text)
    if sum(map(_columns, shown)) <= most:
        return shown
    left, kept = most - 1, ""
    for character in shown:
        left -= _columns(character)
        if left < 0:
            break
        kept += character
    return kept + "…"


def _columns(character: str) -> int:
    return 2 if east_asian_width(character) in "WF" else 1
