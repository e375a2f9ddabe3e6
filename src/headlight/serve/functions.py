"""What the browser may ask the model for: the table of functions.

A function is given the `Desk`, with the model and the readings that are held, the object that the
browser sent, and a callback for its steps. It runs in the one thread that works with the model, and
returns what the browser gets as JSON. The page of a view knows the names of all but ``read``, and
shows what needs one only where there is a host that has it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from headlight.capture import CapturedModel
from headlight.capture.one_text import one_text
from headlight.errors import UsageError
from headlight.kinds import ALL
from headlight.reading import read
from headlight.serve.readings import Kept, Readings
from headlight.settings import require_choice
from headlight.vocabulary import Kind, Kinds, head_name
from headlight.what_if import each_head_removed, edits_of, what_if


@runtime_checkable
class Told(Protocol):
    """Is told each step of the work; raises where it was cancelled meanwhile."""

    def __call__(self, what: str, done: int = 0, of: int = 0, part: Any = None) -> None:
        """What is done, how much of how much, and a part of the result that is there already."""


@dataclass(frozen=True)
class Desk:
    """What functions work with.

    Attributes:
        model: the one model of the app.
        longest: tokens that a text may have, on either side.
        readings: those that are held.
    """

    model: CapturedModel
    longest: int
    readings: Readings = field(default_factory=Readings)


Given = Mapping[str, Any]
Function = Callable[[Desk, Given, Told], dict[str, Any]]


def read_text(desk: Desk, given: Given, told: Told) -> dict[str, Any]:
    """Read ``text`` and ``pair``; gives the name of the ``reading``.

    With ``compare``, a text that takes the place of the first, it is a reading of both.
    """
    pair = text_of(given, "pair") if given.get("pair") else None
    texts = [
        text_of(given, name) for name in ("text", "compare") if name == "text" or given.get(name)
    ]
    kind: Kinds | None = ALL if desk.model.has_decoder_inputs and pair is not None else None
    for text in texts:
        require_short(desk, text, pair, kind)
    first, *others = (
        read(
            desk.model,
            text,
            pair,
            kind=kind,
            command="headlight serve",
            progress=lambda done, of: told("layers", done, of),
        ).dataset
        for text in texts
    )
    second = others[0] if others else None
    return {"reading": desk.readings.keep(Kept.of(first, told, second))}


def require_short(desk: Desk, text: str, pair: str | None, kind: Kinds | None) -> None:
    """Refuse a text with more tokens than the app takes, before the model runs.

    Raises:
        UsageError: it has.
    """
    _, example = one_text(desk.model, text, pair, kind, purpose="the app needs text")
    tokens = max(len(example.ids), len(example.target))
    if tokens > desk.longest:
        raise UsageError(
            f"the text has {tokens} tokens, and this app takes {desk.longest}; shorten it, or "
            "start the app with more --max-tokens."
        )


def text_of(given: Given, name: str) -> str:
    """A text that the browser sent.

    Raises:
        UsageError: it is missing, empty or none.
    """
    text = given.get(name)
    if not isinstance(text, str) or not text.strip():
        raise UsageError(f"there is no {name} to read; write at least one word.")
    return text.strip()


def other_attention(desk: Desk, given: Given, told: Told) -> dict[str, Any]:
    """Read the text of a ``reading`` with ``edits``; see `headlight.what_if.WhatIf.as_json`."""
    text, pair, kind = _read_before(desk, given)
    edits = edits_of(given.get("edits"))
    told("reading with its own attention, and with the other")
    return what_if(desk.model, text, pair, edits=edits, kind=kind).as_json()


def heads_in_turn(desk: Desk, given: Given, told: Told) -> dict[str, Any]:
    """Remove each head from the text of a ``reading``; what that does is told head by head.

    The ``effects`` are layer, head, mean divergence, and how many predictions become others.
    """
    text, pair, kind = _read_before(desk, given)
    heads = sum(site.heads for site in desk.model.sites_of(kind))
    effects: list[list[float]] = []
    for effect in each_head_removed(desk.model, text, pair, kind=kind):
        effects.append([effect.layer, effect.head, float(f"{effect.kl:.4g}"), effect.changed])
        name = head_name(effect.layer, effect.head)
        told(f"without {name}", len(effects), heads, part=effects[-1])
    return {"effects": effects}


def _read_before(desk: Desk, given: Given) -> tuple[str, str | None, Kind]:
    """The text and the second text of a reading that is held, and the kind that is looked at.

    Raises:
        UnknownNameError: the reading is gone, or there is no such kind.
    """
    attributes = desk.readings[str(given.get("reading"))].dataset.attrs
    kind: Any = given.get("kind")
    require_choice("kind", kind if isinstance(kind, str) else "none", Kind)
    return str(attributes["text"]), attributes.get("pair") or None, kind


FUNCTIONS: Mapping[str, Function] = {
    "read": read_text,
    "what_if": other_attention,
    "each_head": heads_in_turn,
}


def functions_of_view() -> list[str]:
    """Those that the page of a view may ask for."""
    return [name for name in FUNCTIONS if name != "read"]
