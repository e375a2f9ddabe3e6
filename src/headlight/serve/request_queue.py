"""Queue of requests, one after the other in one thread; each can be cancelled."""

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any, Protocol, runtime_checkable

from headlight.errors import HeadlightError, RunInterruptedError, UsageError
from headlight.reading import what_if as what_if


@runtime_checkable
class OnProgress(Protocol):
    """Callback at each step of the work; it raises an error once the request is cancelled."""

    def __call__(self, what: str, done: int = 0, of: int = 0, part: Any = None) -> None:
        """Report the current work, how much of it is done, and the part of the result so far."""


MOST = 8
"""Maximum number of requests at work or waiting."""

Step = dict[str, Any]


class Work:
    """Queue of requests, one after the other; each can be cancelled by its name."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="headlight")
        self._cancelled: dict[str, Event] = {}

    def cancel(self, request: str) -> bool:
        """Cancel a request; return whether there was one of that name."""
        event = self._cancelled.get(request)
        if event is not None:
            event.set()
        return event is not None

    def cancel_all(self) -> None:
        """Cancel all requests."""
        for event in list(self._cancelled.values()):
            event.set()

    def close(self) -> None:
        """Cancel all requests, and wait for the step that is at work."""
        self.cancel_all()
        self._thread.shutdown(cancel_futures=True)

    def require_room(self, request: str) -> None:
        """Refuse a request that cannot be taken.

        Raises:
            UsageError: There is a request of that name, or too many wait.
        """
        if not request or request in self._cancelled:
            raise UsageError("a request needs a name of its own; load the page again.")
        if len(self._cancelled) >= MOST:
            raise UsageError(f"{MOST} requests wait already; cancel some, or wait.")

    async def steps(self, request: str, act: Callable[[OnProgress], Step]) -> AsyncIterator[Step]:
        """Yield the steps of a request, and at the end its ``result``.

        A refusal is a step, too: ``refused`` is the sentence.  When no client listens any more, the
        request is cancelled.
        """
        loop, waiting = asyncio.get_running_loop(), asyncio.Queue[Step | None]()
        # Noted here and not before the generator runs: if the client has left by then, it never
        # runs, and its `finally` would not strike the name out.
        cancelled = self._cancelled[request] = Event()

        def tell(step: Step | None) -> None:  # from the thread of the model
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
