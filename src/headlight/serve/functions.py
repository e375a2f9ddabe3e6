"""Functions that the browser may ask the model for, and the work that they do.

Functions that the browser may call: their table.
A function takes the `Workspace`, with the model and the readings that are held, the object that
the browser sent, and a callback for its progress. It runs in the one thread that works with the
model, and returns what the browser gets as JSON. What is asked about a reading is the table of
`headlight.reading.what_if`, which notebooks have too.
"""

import asyncio
import json
import secrets
from base64 import b64decode
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from threading import Event, Lock
from typing import Any, Protocol, runtime_checkable

import xarray as xr

from headlight.capture import CapturedModel
from headlight.capture.one_text import one_picture, one_text
from headlight.catalogue.questions import QUESTIONS, Question, questions
from headlight.chats import Chat, Readable, begins_as_chat, holds_chat
from headlight.corpora.pictures import decode_picture
from headlight.corpora.text import require_text
from headlight.errors import HeadlightError, RunInterruptedError, UnknownNameError, UsageError
from headlight.files import parse_json
from headlight.reading import read, what_if as what_if
from headlight.result.kinds import ALL
from headlight.views.reading.lazy import LiveView
from headlight.views.reading.page import live_page
from headlight.vocabulary import Kinds

KEPT = 3
"""Readings that are held."""

FIELDS = {"text": "text", "pair": "second text", "compare": "text to compare with"}
"""Names of the fields of the page, by those under which their texts are sent."""


@dataclass(frozen=True)
class CachedReading:
    """A reading and what the browser is given of it."""

    dataset: xr.Dataset
    view: LiveView
    page: str

    @classmethod
    def of(
        cls,
        dataset: xr.Dataset,
        on_progress: Callable[[str], None],
        second: xr.Dataset | None = None,
    ) -> "CachedReading":
        """A reading, or two, packed; ``on_progress`` is called with the name of each part."""
        view = LiveView(dataset, second=second, on_progress=on_progress)
        return cls(dataset, view, live_page(dataset, view))


class Readings:
    """The last readings, by names that nobody can guess."""

    def __init__(self) -> None:
        self._held: OrderedDict[str, CachedReading] = OrderedDict()
        self._lock = Lock()

    def keep(self, cached: CachedReading) -> str:
        """Hold a reading, and let go of the one that was looked at longest ago; gives its name."""
        name = secrets.token_urlsafe(9)
        with self._lock:
            self._held[name] = cached
            if len(self._held) > KEPT:
                self._held.popitem(last=False)
        return name

    def __getitem__(self, name: str) -> CachedReading:
        """A reading.

        Raises:
            UnknownNameError: there is none of that name, or no longer.
        """
        with self._lock:
            if name not in self._held:
                raise GoneError
            self._held.move_to_end(name)
            return self._held[name]


class GoneError(UnknownNameError):
    """A reading that is no longer held."""

    def __init__(self) -> None:
        super(UnknownNameError, self).__init__(
            f"this reading is gone, of which the last {KEPT} are kept; read the text again."
        )


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

    The text may be messages of a chat, or their JSON.  With ``compare``, a text that takes the
    place of the first, or ``compare_model``, which is true for the other model of the
    app, or both, it is a reading of two.  With ``image``, the content of a file in base64, a
    picture is read, with ``text`` beside it where there is one.
    """
    if params.get("image") is not None:  # also a file without a byte
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
    kinds: list[Kinds | None] = [
        ALL if model.has_decoder_inputs and pair is not None else None for model, _ in requests
    ]
    for (model, text), kind in zip(requests, kinds, strict=True):
        require_short(model, workspace.longest, text, pair, kind)
    first, *others = (
        read(
            model,
            text,
            pair,
            kind=kind,
            command="headlight serve",
            progress=lambda count, of: on_progress("layers", count, of),
        ).dataset
        for (model, text), kind in zip(requests, kinds, strict=True)
    )
    second = others[0] if others else None
    return {"reading": workspace.readings.keep(CachedReading.of(first, on_progress, second))}


def _read_picture(workspace: Workspace, params: Params, on_progress: OnProgress) -> dict[str, Any]:
    """Read a picture, and the text beside it; gives the name of the ``reading``.

    Raises:
        UsageError: it was not sent as a whole, has too many positions, or others are sent with it.
        CorpusError: it is no picture that is read here.
    """
    if any(params.get(name) for name in ("pair", "compare", "compare_model")):
        raise UsageError(
            "a picture is read alone or beside one text; leave the second text and comparisons out."
        )
    try:
        image = decode_picture(b64decode(str(params["image"]), validate=True))
    except ValueError as problem:
        raise UsageError("the picture was not sent as a whole; choose it again.") from problem
    text = subject_of(params, "text") if params.get("text") else None
    _, example = one_picture(workspace.model, image, text)
    _require_few(len(example.ids), workspace.longest)
    reading = read(
        workspace.model,
        text,
        image=image,
        command="headlight serve",
        progress=lambda count, of: on_progress("layers", count, of),
    )
    return {"reading": workspace.readings.keep(CachedReading.of(reading.dataset, on_progress))}


def generate_text(workspace: Workspace, params: Params, on_progress: OnProgress) -> dict[str, Any]:
    """Generate text after ``text``; gives the name of the ``reading`` of both.

    Raises:
        UsageError: the text is too long, a setting is wrong, or there is a picture beside it.
    """
    if params.get("image") is not None:
        raise UsageError("a text is generated without a picture; take the picture out.")
    generation = _ask(QUESTIONS["generate"], workspace, params, on_progress)
    return {"reading": workspace.readings.keep(CachedReading.of(generation.dataset, on_progress))}


def _other_of(workspace: Workspace) -> CapturedModel:
    """The model to compare with; the browser cannot say which."""
    if workspace.other is None:
        raise UsageError("this app has one model; start it with a second one to compare them.")
    return workspace.other


def require_short(
    model: CapturedModel, longest: int, text: Readable, pair: str | None, kind: Kinds | None
) -> None:
    """Refuse a text with more tokens than the app takes, before the model runs.

    Raises:
        UsageError: it has.
    """
    _, example = one_text(model, text, pair, kind, purpose="the app needs text")
    _require_few(max(len(example.ids), len(example.target)), longest)


def _require_few(tokens: int, longest: int) -> None:
    if tokens > longest:
        raise UsageError(
            f"the text has {tokens} tokens, and this app takes {longest}; shorten it, or start "
            "the app for longer texts."
        )


def subject_of(params: Params, name: str) -> str | Chat:
    """Return a text that the browser sent, or a chat: messages, or their JSON, as it was typed.

    Raises:
        UsageError: it is missing, empty or neither.
    """
    value = params.get(name)
    if not (begins_as_chat(value) if isinstance(value, str) else holds_chat(value)):
        return text_of(params, name)
    if isinstance(value, str):
        try:
            value = parse_json(value)
        except ValueError as problem:
            raise UsageError(
                f"the {FIELDS[name]} is no JSON of one chat ({problem}); write one list of "
                'messages: [{"role": "user", "content": "…"}].'
            ) from problem
    return Chat.of(value)


def text_of(params: Params, name: str) -> str:
    """A text that the browser sent.

    Raises:
        UsageError: it is missing, empty or none.
    """
    text = params.get(name)
    if begins_as_chat(str(text)):
        raise UsageError(
            f"the {FIELDS[name]} begins as the JSON of a chat; a chat is read as the text, or as "
            "the text to compare with."
        )
    require_text("" if text is None else text, FIELDS[name])
    return str(text).strip()


def _about_reading(
    function: what_if.Function, workspace: Workspace, params: Params, on_progress: OnProgress
) -> dict[str, Any]:
    """A function about a ``reading`` that is held."""
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
    # JSON has no word for a number that is missing.
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
    return question.answer(
        workspace.model, text, pair, settings=settings, command="headlight serve"
    )


FUNCTIONS: Mapping[str, Function] = {
    "read": read_text,
    **{name: partial(_answer, each) for name, each in questions().items() if each.of_one_text},
    **{name: partial(_about_reading, each) for name, each in what_if.FUNCTIONS.items()},
    "generate": generate_text,
}


def functions_of_view() -> list[str]:
    """Return the functions that the page of a view may call."""
    return list(what_if.FUNCTIONS)


MOST = 8
"""Requests that may wait."""

Step = dict[str, Any]


class Work:
    """Queue of requests, one after the other; each can be cancelled by its name."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="headlight")
        self._cancelled: dict[str, Event] = {}

    def cancel(self, request: str) -> bool:
        """Cancel a request; whether there was one of that name."""
        event = self._cancelled.get(request)
        if event is not None:
            event.set()
        return event is not None

    def cancel_all(self) -> None:
        """Cancel whatever is asked for."""
        for event in list(self._cancelled.values()):
            event.set()

    def close(self) -> None:
        """Cancel everything, and wait for the step that is at work."""
        self.cancel_all()
        self._thread.shutdown(cancel_futures=True)

    def require_room(self, request: str) -> None:
        """Refuse a request that cannot be taken in.

        Raises:
            UsageError: there is one of that name, or too many wait.
        """
        if not request or request in self._cancelled:
            raise UsageError("a request needs a name of its own; load the page again.")
        if len(self._cancelled) >= MOST:
            raise UsageError(f"{MOST} requests wait already; cancel some, or wait.")

    async def steps(self, request: str, act: Callable[[OnProgress], Step]) -> AsyncIterator[Step]:
        """The steps of a request, and at the end its ``result``.

        A refusal is a step, too: ``refused`` is the sentence. When nobody listens any more, the
        request is cancelled.
        """
        loop, waiting = asyncio.get_running_loop(), asyncio.Queue[Step | None]()
        # Here and not before, since of an answer that nobody waits for nothing is asked.
        cancelled = self._cancelled[request] = Event()

        def tell(step: Step | None) -> None:
            loop.call_soon_threadsafe(waiting.put_nowait, step)

        def on_progress(what: str, done: int = 0, of: int = 0, part: Any = None) -> None:
            if cancelled.is_set():
                raise RunInterruptedError("cancelled.")
            tell({"what": what, "done": done, "of": of} | ({} if part is None else {"part": part}))

        def run() -> None:
            try:
                on_progress("started")
                tell({"result": act(on_progress)})
            except HeadlightError as refusal:
                tell({"refused": refusal.for_app()})
            finally:
                tell(None)

        try:
            future = self._thread.submit(run)
            while (step := await waiting.get()) is not None:
                yield step
            future.result()
        finally:
            cancelled.set()
            self._cancelled.pop(request, None)
