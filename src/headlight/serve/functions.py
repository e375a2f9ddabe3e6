"""Functions that the browser may call: their table.

A function takes the `Workspace`, with the model and the readings that are held, the object that
the browser sent, and a callback for its progress. It runs in the one thread that works with the
model, and returns what the browser gets as JSON. What is asked about a reading is the table of
`headlight.reading.what_if.functions`, which notebooks have too.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol, runtime_checkable

from headlight.capture import CapturedModel
from headlight.capture.one_text import one_text
from headlight.catalogue.questions import QUESTIONS, Question
from headlight.corpora.text import require_text
from headlight.errors import UsageError
from headlight.reading import read
from headlight.reading.what_if import functions as what_if
from headlight.result.kinds import ALL
from headlight.serve.readings import CachedReading, Readings
from headlight.vocabulary import Kinds


@runtime_checkable
class OnProgress(Protocol):
    """Called at each step of the work; raises where the request has been cancelled."""

    def __call__(self, what: str, done: int = 0, of: int = 0, part: Any = None) -> None:
        """Report what is done, how much of it, and the part of the result so far."""


@dataclass(frozen=True)
class Workspace:
    """Workspace of the functions.

    Attributes:
        model: the model of the app.
        longest: tokens that a text may have, on either side.
        other: a second model, or checkpoint, that is compared with the first where that is asked
            for.
        readings: those that are held.
    """

    model: CapturedModel
    longest: int
    other: CapturedModel | None = None
    readings: Readings = field(default_factory=Readings)


Params = Mapping[str, Any]
Function = Callable[[Workspace, Params, OnProgress], dict[str, Any]]


def read_text(workspace: Workspace, params: Params, on_progress: OnProgress) -> dict[str, Any]:
    """Read ``text`` and ``pair``; gives the name of the ``reading``.

    With ``compare``, a text that takes the place of the first, or ``compare_model``, which is true
    for the other model of the app, or both, it is a reading of two.
    """
    pair = text_of(params, "pair") if params.get("pair") else None
    asked = [(workspace.model, text_of(params, "text"))]
    if params.get("compare") or params.get("compare_model"):
        text = text_of(params, "compare" if params.get("compare") else "text")
        asked.append(
            (_other_of(workspace) if params.get("compare_model") else workspace.model, text)
        )
    kinds = [_kind_of(model, pair) for model, _ in asked]
    for (model, text), kind in zip(asked, kinds, strict=True):
        require_short(model, workspace.longest, text, pair, kind)
    first, *others = (
        read(
            model,
            text,
            pair,
            kind=kind,
            command="headlight serve",
            progress=lambda done, of: on_progress("layers", done, of),
        ).dataset
        for (model, text), kind in zip(asked, kinds, strict=True)
    )
    second = others[0] if others else None
    return {"reading": workspace.readings.keep(CachedReading.of(first, on_progress, second))}


def _other_of(workspace: Workspace) -> CapturedModel:
    """The model to compare with; the browser cannot say which.

    Raises:
        UsageError: there is none.
    """
    if workspace.other is None:
        raise UsageError(
            "this app has one model; start it with --compare-model to compare it with another."
        )
    return workspace.other


def _kind_of(model: CapturedModel, pair: str | None) -> Kinds | None:
    return ALL if model.has_decoder_inputs and pair is not None else None


def require_short(
    model: CapturedModel, longest: int, text: str, pair: str | None, kind: Kinds | None
) -> None:
    """Refuse a text with more tokens than the app takes, before the model runs.

    Raises:
        UsageError: it has.
    """
    _, example = one_text(model, text, pair, kind, purpose="the app needs text")
    tokens = max(len(example.ids), len(example.target))
    if tokens > longest:
        raise UsageError(
            f"the text has {tokens} tokens, and this app takes {longest}; shorten it, or "
            "start the app with more --max-tokens."
        )


def text_of(params: Params, name: str) -> str:
    """A text that the browser sent.

    Raises:
        UsageError: it is missing, empty or none.
    """
    text = params.get(name)
    require_text(text, name)
    return str(text).strip()


def _about_reading(
    function: what_if.Function, workspace: Workspace, params: Params, on_progress: OnProgress
) -> dict[str, Any]:
    """A function about a ``reading`` that is held.

    Raises:
        UnknownNameError: the reading is gone.
    """
    dataset = workspace.readings[str(params.get("reading"))].dataset
    for step in function(workspace.model, dataset, params):
        if "result" in step:
            return dict(step["result"])
        on_progress(**step)
    raise AssertionError("a function ends with its result")


def _answer(
    question: Question, workspace: Workspace, params: Params, on_progress: OnProgress
) -> dict[str, Any]:
    """Return the answer to a question of ``text`` and ``pair``, with the ``settings`` sent.

    Raises:
        UsageError: the text is too long, or a setting is wrong.
    """
    text, pair = text_of(params, "text"), text_of(params, "pair") if params.get("pair") else None
    require_short(workspace.model, workspace.longest, text, pair, None)
    chosen = params.get("settings") or {}
    if not isinstance(chosen, Mapping):
        raise UsageError("settings must be an object.")
    settings = question.settings.from_mapping(chosen)
    on_progress(question.name)
    answer = question.answer(
        workspace.model, text, pair, settings=settings, command="headlight serve"
    )
    # JSON has no word for a number that is missing.
    told: dict[str, Any] = json.loads(json.dumps(answer.as_json()), parse_constant=lambda _: None)
    return told


FUNCTIONS: Mapping[str, Function] = {
    "read": read_text,
    **{name: partial(_answer, each) for name, each in QUESTIONS.items()},
    **{name: partial(_about_reading, each) for name, each in what_if.FUNCTIONS.items()},
}


def functions_of_view() -> list[str]:
    """Return the functions that the page of a view may call."""
    return list(what_if.FUNCTIONS)
