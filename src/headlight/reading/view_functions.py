"""Functions that the view of a text may call on a model, for the app and notebooks.

A function is given a model, the observed reading, and an object that a browser sent. It yields its
steps, each an object that JSON can hold: ``what`` is done, ``done`` and ``of`` how much of how
much, ``part`` a part of the result; and at last the ``result``. A caller that does not request the
next step ends the function. The page of a view shows what needs a function only where it can be
had.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import xarray

from headlight.capture import CapturedModel, Kind
from headlight.chats import Chat
from headlight.errors import UsageError
from headlight.reading.edits import edits_of
from headlight.reading.head_removal import each_head_removed
from headlight.reading.origin import text_of
from headlight.reading.what_if import what_if
from headlight.settings import require_choice
from headlight.vocabulary import head_name

Step = dict[str, Any]
Params = Mapping[str, Any]
Function = Callable[[CapturedModel, xarray.Dataset, Params], Iterator[Step]]


def other_attention(
    model: CapturedModel, reading: xarray.Dataset, params: Params
) -> Iterator[Step]:
    """Read the text with ``edits``; see `headlight.reading.what_if.WhatIf.as_json`."""
    text, pair, kind = _read_before(reading, params)
    edits = edits_of(params.get("edits"))
    yield {"what": "reading with its own attention, and with the other"}
    yield {"result": what_if(model, text, pair, edits=edits, kind=kind).as_json()}


def heads_in_turn(model: CapturedModel, reading: xarray.Dataset, params: Params) -> Iterator[Step]:
    """Remove each head in turn, and yield the effects head by head.

    The ``effects`` are layer, head, mean divergence, and the number of changed predictions.
    """
    text, pair, kind = _read_before(reading, params)
    heads = sum(site.heads for site in model.sites_of(kind))
    effects: list[list[float]] = []
    for effect in each_head_removed(model, text, pair, kind=kind):
        effects.append([effect.layer, effect.head, float(f"{effect.kl:.4g}"), effect.changed])
        name = head_name(effect.layer, effect.head)
        yield {"what": f"without {name}", "done": len(effects), "of": heads, "part": effects[-1]}
    yield {"result": {"effects": effects}}


def _read_before(reading: xarray.Dataset, params: Params) -> tuple[str | Chat, str | None, Kind]:
    """Return the text and the second text of a reading, and the kind that is observed."""
    kind: Any = params.get("kind")
    require_choice("kind", kind if isinstance(kind, str) else "none", Kind)
    if "answer" in reading.attrs:
        raise UsageError(
            "this text was generated, and its answer is no part of the prompt that would be read; "
            "read the prompt and the answer as one text, whose tokens may be others."
        )
    if "image" in reading.attrs:
        raise UsageError(
            "this is asked of a text alone, and a picture was read; read the text without it."
        )
    return text_of(reading.attrs), reading.attrs.get("pair") or None, kind


FUNCTIONS: Mapping[str, Function] = {"what_if": other_attention, "each_head": heads_in_turn}
