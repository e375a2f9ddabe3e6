"""Where a result is from, as a page says it at its foot."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from headlight.kinds import BESIDE, KINDS

_SOURCE = {
    "model": "model",
    "revision": "revision",
    "kind": "attention",
    "corpus": "corpus",
    "corpus_digest": "corpus digest",
    "examples": "examples",
    "tokens": "tokens",
    "created": "created",
    "format": "result format",
}
_OBJECTS = ("versions", "settings")
# Shown elsewhere on a page, or of use to programs only.
_SILENT = ("title", "command", "stage", "category_names", "query_category_names", KINDS, BESIDE)


@dataclass(frozen=True, slots=True)
class Provenance:
    """The command, and lists of names and values."""

    command: str
    source: list[tuple[str, str]]
    versions: list[tuple[str, str]]
    settings: list[tuple[str, str]]


def provenance(attributes: Mapping[str, object], command: str | None = None) -> Provenance:
    """What the attributes of a result say about its origin.

    Args:
        attributes: Of a result; ``versions`` and ``settings`` hold JSON objects.
        command: The command that made the page; by default the one the result remembers.
    """
    known = [
        (label, str(attributes[name])) for name, label in _SOURCE.items() if name in attributes
    ]
    others = [
        (str(name).replace("_", " "), str(value))
        for name, value in attributes.items()
        if name not in (*_SOURCE, *_OBJECTS, *_SILENT)
    ]
    return Provenance(
        command or str(attributes.get("command", "")),
        known + others,
        _items(attributes.get("versions")),
        _items(attributes.get("settings")),
    )


def _items(text: object) -> list[tuple[str, str]]:
    """Names and values of a JSON object, or of a mapping; other text as one item."""
    if not text:
        return []
    values = text
    if not isinstance(values, Mapping):
        try:
            values = json.loads(str(text))
        except json.JSONDecodeError:
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
    if isinstance(value, list | tuple) and not any(isinstance(one, list | dict) for one in value):
        return ", ".join(map(_said, value)) or "none"
    return value if isinstance(value, str) else json.dumps(value, default=str)
