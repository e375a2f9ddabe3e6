"""Provenance of a result: its model, its corpus, the versions, the settings, and how to cite it."""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from headlight.catalogue import find_ours
from headlight.catalogue.questions import questions
from headlight.result.kinds import KINDS, MULTI_KIND
from headlight.version import __version__
from headlight.vocabulary import CORPUS_LABEL, MODEL_LABEL

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
    """Command, citation, and lists of names and values of a result."""

    command: str
    citation: str
    source: list[tuple[str, str]]
    versions: list[tuple[str, str]]
    settings: list[tuple[str, str]]


def provenance(attributes: Mapping[str, object], command: str | None = None) -> Provenance:
    """Return the origin of a result by its attributes.

    Args:
        attributes: Attributes of a result; ``versions`` and ``settings`` hold JSON objects.
        command: Command that made the page; by default that stored in the result.
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
    row = questions().get(stage) or find_ours("survey" if stage == "reading" else stage)
    methods = f" Methods: {row.papers}." if row and row.papers else ""
    return f"The Headlight developers. Headlight, version {__version__}.{methods}"


def _items(text: object) -> list[tuple[str, str]]:
    """Return names and values of a JSON object, or of a mapping; other text as one item."""
    if not text:
        return []
    values = text
    if not isinstance(values, Mapping):
        try:
            values = json.loads(str(text))
        except (ValueError, RecursionError):  # no JSON, or nested too deeply
            return [("", str(text))]
    if not isinstance(values, Mapping):
        return [("", str(text))]
    return [(str(name), _said(value)) for name, value in values.items()]


def _said(value: object) -> str:
    """Return a setting in words: a list as its items, and an unset value as such."""
    if value is None:
        return "not set"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_said(item)}" for name, item in value.items())
    if isinstance(value, list | tuple):
        between = "; " if any(isinstance(item, list | Mapping) for item in value) else ", "
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
