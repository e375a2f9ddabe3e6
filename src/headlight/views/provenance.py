"""Provenance of a result, and names as pages write them."""

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from unicodedata import east_asian_width

import numpy as np
import xarray as xr

from headlight.catalogue import find_ours
from headlight.catalogue.questions import questions
from headlight.files import printable
from headlight.result.kinds import KINDS, MULTI_KIND
from headlight.version import __version__
from headlight.vocabulary import ATTENTION, CORPUS_LABEL, MODEL_LABEL, base_name

_SOURCE = {
    "model": "model",
    "revision": "revision",
    "kind": "attention",
    "corpus": "corpus",
    "corpus_digest": "corpus digest",
    "corpus_share": "share of the corpus, about",
    "examples": "examples",
    "tokens": "tokens",
    "created": "created",
    "format": "result format",
}
_OBJECTS = ("versions", "settings")
# Shown elsewhere on a page, or of use to programs only.
_SILENT = (
    "title",
    "command",
    "stage",
    "category_names",
    "pieces",
    "passages",
    "picture",
    MODEL_LABEL,
    CORPUS_LABEL,
    "query_category_names",
    KINDS,
    MULTI_KIND,
)


@dataclass(frozen=True, slots=True)
class Provenance:
    """The command, how to cite, and lists of names and values."""

    command: str
    citation: str
    source: list[tuple[str, str]]
    versions: list[tuple[str, str]]
    settings: list[tuple[str, str]]


def provenance(attributes: Mapping[str, object], command: str | None = None) -> Provenance:
    """Return the origin of a result by its attributes.

    Args:
        attributes: Of a result; ``versions`` and ``settings`` hold JSON objects.
        command: The command that made the page; by default the one the result remembers.
    """
    facts = [
        (label, str(attributes[name])) for name, label in _SOURCE.items() if name in attributes
    ]
    others = [
        (str(name).replace("_", " "), _said(_parsed(value)))
        for name, value in attributes.items()
        if name not in (*_SOURCE, *_OBJECTS, *_SILENT)
    ]
    return Provenance(
        command or str(attributes.get("command", "")),
        _citation(str(attributes.get("stage", ""))),
        facts + others,
        _items(attributes.get("versions")),
        _items(attributes.get("settings")),
    )


def _citation(stage: str) -> str:
    """Return how Headlight is cited, and the papers of the study or question."""
    row = questions().get(stage) or find_ours("survey" if stage == "reading" else stage)
    methods = f" Methods: {row.papers}." if row and row.papers else ""
    return f"The Headlight developers. Headlight, version {__version__}.{methods}"


def _items(text: object) -> list[tuple[str, str]]:
    """Names and values of a JSON object, or of a mapping; other text as one item."""
    if not text:
        return []
    values = text
    if not isinstance(values, Mapping):
        try:
            values = json.loads(str(text))
        except (ValueError, RecursionError):
            return [("", str(text))]
    if not isinstance(values, Mapping):
        return [("", str(text))]
    return [(str(name), _said(value)) for name, value in values.items()]


def _said(value: object) -> str:
    """A setting in words: a list as its items, and what is not set as such."""
    if value is None:
        return "not set"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_said(each)}" for name, each in value.items())
    if isinstance(value, list | tuple):
        between = "; " if any(isinstance(each, list | Mapping) for each in value) else ", "
        return between.join(map(_said, value)) or "none"
    return str(value)


def _parsed(value: object) -> object:
    """Parse an attribute of a file: a JSON object or list, an array, or itself."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, str) and value.startswith(("{", "[")):
        with suppress(ValueError, RecursionError):
            return json.loads(value)
    return value


def model_name(attributes: Mapping[str, object]) -> str:
    """Return the name of a result's model in a title: as users named it, or its `base_name`."""
    return str(attributes.get(MODEL_LABEL) or base_name(attributes.get("model", "a model")))


def text_title(attributes: Mapping[Any, object], between: str = " ") -> str:
    """Return what titles call what was read: both texts, or the first message of the user.

    Args:
        attributes: of a result on one text.
        between: what stands between two texts.
    """
    texts = [str(attributes.get(name, "")) for name in ("text", "pair")]
    try:
        messages = json.loads(str(attributes["chat"]))["messages"]
        users = [str(each["content"]) for each in messages if each["role"] == "user"]
    except (KeyError, TypeError, ValueError, RecursionError):  # no chat, or a changed file
        return between.join(filter(None, texts))
    return f"Chat: {next(filter(None, users), texts[0])}"


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
        is_qualified = MULTI_KIND in attributes or kind == "cross"
        return cls(
            model_name(attributes),
            str(attributes.get(CORPUS_LABEL) or base_name(attributes["corpus"]))
            if "corpus" in attributes
            else None,
            f"{ATTENTION.get(kind, kind)}: " if is_qualified else "",
        )

    def __str__(self) -> str:
        read = "" if self.corpus is None else f" reading {self.corpus}"
        return f"{self.kind}{self.model}{read}"


LEAD = 2
"""Sentences above a picture."""

SHORT = 150
"""Letters of a finding where there is room for the strongest alone."""

INTERVAL = re.compile(r" \(95%: [^()]*\)")
"""An interval in a sentence."""

_END = re.compile(r"(?<=[.?!])(?<!al\.)(?<!e\.g\.)(?<!i\.e\.)(?<!Eq\.)(?<!cf\.) (?=\S)")
"""Blank at the end of a sentence, and not of an abbreviation."""


def sentences_of(text: str) -> list[str]:
    """The sentences of a text of ours."""
    return [each for each in _END.split(text) if each]


def short_sentence(text: str) -> str:
    """Return the first sentence of a finding without its intervals, and of a long one the claim."""
    first = INTERVAL.sub("", (sentences_of(text) or [""])[0])
    claim = re.split(r": | \(", first, maxsplit=1)[0]
    return first if len(first) <= SHORT or claim == first else f"{claim}."


def lead_and_rest(text: str) -> tuple[str, str]:
    """The sentences that stand above a picture, and those that are folded away."""
    sentences = sentences_of(text)
    return " ".join(sentences[:LEAD]), " ".join(sentences[LEAD:])


def shortened(text: str, most: int) -> str:
    """The printable text, cut to ``most`` columns; wide characters count as two."""
    printed = printable(text)
    if sum(map(_columns, printed)) <= most:
        return printed
    room, prefix = most - 1, ""
    for character in printed:
        room -= _columns(character)
        if room < 0:
            break
        prefix += character
    return prefix + "…"


def _columns(character: str) -> int:
    return 2 if east_asian_width(character) in "WF" else 1
