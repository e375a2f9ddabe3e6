"""Table of the functions that the browser may call.

A function takes the `Workspace`, with the model and the readings that are held, the object that
the browser sent, and a callback for its progress.  It runs in the one thread that works with the
model, and returns an object that the browser gets as JSON.  Functions about a reading are those of
the table of `headlight.reading.view_functions`, which notebooks have too.
"""

import json
from base64 import b64decode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from headlight.capture import CapturedModel
from headlight.capture.one_text import one_picture
from headlight.catalogue.question_settings import ReadingSettings
from headlight.catalogue.questions import QUESTIONS, Question, questions
from headlight.corpora.pictures import decode_picture
from headlight.errors import UsageError
from headlight.reading import read, view_functions as view_functions
from headlight.result.kinds import ALL
from headlight.serve.readings import CachedReading, Readings
from headlight.serve.request_queue import OnProgress
from headlight.serve.sent_texts import Params, require_few, require_short, subject_of, text_of


@dataclass(frozen=True)
class Workspace:
    """Workspace of the functions.

    Attributes:
        model: Model of the app.
        longest: Maximum number of tokens of a text, on either side.
        other: Second model, or checkpoint, to compare the first with on request.
        readings: Readings that are held.
    """

    model: CapturedModel
    longest: int
    other: CapturedModel | None = None
    readings: Readings = field(default_factory=Readings)


COMMAND = "headlight serve"
"""Command in the record of what the app reads."""

Function = Callable[[Workspace, Params, OnProgress], dict[str, Any]]


def read_text(workspace: Workspace, params: Params, on_progress: OnProgress) -> dict[str, Any]:
    """Read ``text`` and ``pair``; return the name of the ``reading``.

    The text may be messages of a chat, or their JSON.  The reading compares two if ``compare``
    holds a text in place of the first, or ``compare_model`` is true for the other model of the app,
    or both.  With ``image``, the content of a file in base64, a picture is read, with ``text``
    beside it where there is one.
    """
    if params.get("image") is not None:  # an empty file is a picture that is refused
        return _read_picture(workspace, params, on_progress)
    if workspace.model.sees and not params.get("text"):
        raise UsageError("no picture is chosen; choose one.")
    pair = text_of(params, "pair") if params.get("pair") else None
    requests = [(workspace.model, subject_of(params, "text"))]
    if params.get("compare") or params.get("compare_model"):
        text = subject_of(params, "compare" if params.get("compare") else "text")
        requests.append(
            (_other_of(workspace) if params.get("compare_model") else workspace.model, text)
        )
    settings = [
        ReadingSettings(kind=ALL if model.has_decoder_inputs and pair is not None else None)
        for model, _ in requests
    ]
    # All are measured before the first is read, which may take long.
    for (model, text), chosen in zip(requests, settings, strict=True):
        require_short(model, workspace.longest, text, pair, chosen.kind)
    first, *others = (
        read(
            model,
            text,
            pair,
            settings=chosen,
            command=COMMAND,
            progress=partial(on_progress, "layers"),
        ).dataset
        for (model, text), chosen in zip(requests, settings, strict=True)
    )
    second = others[0] if others else None
    return {"reading": workspace.readings.keep(CachedReading.of(first, on_progress, second))}


def _read_picture(workspace: Workspace, params: Params, on_progress: OnProgress) -> dict[str, Any]:
    """Read a picture, and the text beside it; return the name of the ``reading``.

    Raises:
        UsageError: It was not sent as a whole, has too many positions, or is sent with a second
            text or a comparison.
        CorpusError: It is in no format of pictures that is read.
    """
    text = subject_of(params, "text") if params.get("text") else None
    ReadingSettings().require_subject(
        text,
        params.get("pair") or None,
        audio=None,
        image=params["image"],
        compares=bool(params.get("compare") or params.get("compare_model")),
    )
    try:
        image = decode_picture(b64decode(str(params["image"]), validate=True))
    except ValueError as problem:
        raise UsageError("the picture was not sent as a whole; choose it again.") from problem
    _, example = one_picture(workspace.model, image, text)
    require_few(len(example.ids), workspace.longest)
    reading = read(
        workspace.model,
        text,
        image=image,
        command=COMMAND,
        progress=partial(on_progress, "layers"),
    )
    return {"reading": workspace.readings.keep(CachedReading.of(reading.dataset, on_progress))}


def generate_text(workspace: Workspace, params: Params, on_progress: OnProgress) -> dict[str, Any]:
    """Generate text after ``text``; return the name of the ``reading`` of both.

    Raises:
        UsageError: The text is too long, a setting is wrong, or there is a picture beside it.
    """
    if params.get("image") is not None:
        raise UsageError("a text is generated without a picture; take the picture out.")
    generation = _ask(QUESTIONS["generate"], workspace, params, on_progress)
    return {"reading": workspace.readings.keep(CachedReading.of(generation.dataset, on_progress))}


def _other_of(workspace: Workspace) -> CapturedModel:
    # Chosen where the app was started: the browser cannot name a model.
    if workspace.other is None:
        raise UsageError("this app has one model; start it with a second one to compare them.")
    return workspace.other


def _about_reading(
    function: view_functions.Function, workspace: Workspace, params: Params, on_progress: OnProgress
) -> dict[str, Any]:
    """Call a function about a ``reading`` that is held."""
    dataset = workspace.readings[str(params.get("reading"))].dataset
    for step in function(workspace.model, dataset, params):
        if "result" in step:
            return dict(step["result"])
        on_progress(**step)
    raise AssertionError("a function ends with its result")


def _answer(
    question: Question, workspace: Workspace, params: Params, on_progress: OnProgress
) -> dict[str, Any]:
    """Return the answer to a question of ``text`` and ``pair``, with the ``settings`` sent."""
    answer = _ask(question, workspace, params, on_progress)
    # JSON has no NaN, which Python writes all the same and browsers refuse.
    data: dict[str, Any] = json.loads(json.dumps(answer.as_json()), parse_constant=lambda _: None)
    return data


def _ask(question: Question, workspace: Workspace, params: Params, on_progress: OnProgress) -> Any:
    """Return the answer to a question."""
    text = subject_of(params, "text")
    pair = text_of(params, "pair") if params.get("pair") else None
    chosen = params.get("settings") or {}
    if not isinstance(chosen, Mapping):
        raise UsageError("settings must be an object.")
    settings = question.settings.from_mapping(chosen)
    room = max(0, workspace.longest - getattr(settings, "max_new_tokens", 0))
    require_short(workspace.model, room, text, pair, None)
    on_progress(question.name)
    return question.answer(workspace.model, text, pair, settings=settings, command=COMMAND)


FUNCTIONS: Mapping[str, Function] = {
    **{name: partial(_answer, row) for name, row in questions().items() if row.of_one_text},
    **{
        name: partial(_about_reading, function)
        for name, function in view_functions.FUNCTIONS.items()
    },
    # In place of their answers these return the names of readings, which the app holds.
    "read": read_text,
    "generate": generate_text,
}


def functions_of_view() -> list[str]:
    """Return the functions that the page of a view may call."""
    return list(view_functions.FUNCTIONS)
