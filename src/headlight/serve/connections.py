"""Connections of the app, with limits on their number and on how long they keep it waiting."""

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from headlight.serve.guard import PATIENCE

LONGER = 1.0
"""Seconds after that in which the guard refuses what is sent too slowly, in a sentence."""
MOST = 100
"""Connections at once; when there are more, who has kept the app waiting longest has to go."""


class LimitedConnection(H11Protocol):
    """A connection that is closed if it keeps the app waiting too long, or others need its place.

    It does while it sends no whole headers, or not all that follows them, and while it does not
    read its answer.  So connections that say half or read nothing keep nobody out, neither by their
    number nor by the files that a process may have open.
    """

    patience: float = PATIENCE
    most: int = MOST
    _timer: asyncio.TimerHandle | None = None
    _since: float = 0.0
    """Moment at which it began to wait.  Its timer does not tell: some are given a second more
    than others, and newcomers would have to go for them."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Make room if there are too many, and begin to wait for headers."""
        super().connection_made(transport)
        self._wait()
        others = [each for each in self.connections if isinstance(each, LimitedConnection)]
        if len(others) > self.most:
            waiting = [each for each in others if each._timer is not None]
            # Which began to wait first; when all others are at work, this one.
            min(waiting, key=lambda each: each._since)._give_up()

    def data_received(self, data: bytes) -> None:
        """Wait for a request no longer once all of it is there, and again for the next."""
        before: Any = self.cycle
        super().data_received(data)
        if self.at_work:
            self._work()
        elif self.cycle is not before:  # its headers are there, and the rest may take as long
            self._rest()
            self._wait(LONGER)
        elif self._timer is None:
            self._wait()

    def on_response_complete(self) -> None:
        """Wait for the headers of the next request, if there is one."""
        super().on_response_complete()
        if self.at_work:
            self._work()
        elif self._timer is None and not self.transport.is_closing():
            self._wait()

    def pause_writing(self) -> None:
        """Wait for the client to read, of whose answer no more can be sent for now."""
        super().pause_writing()
        if self._timer is None:
            self._wait()

    def resume_writing(self) -> None:
        """The client reads."""
        super().resume_writing()
        if self.at_work:
            self._work()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing more."""
        self._rest()
        super().connection_lost(exc)

    @property
    def at_work(self) -> bool:
        """Whether a request is there as a whole, and is being answered."""
        cycle: Any = self.cycle
        return cycle is not None and not cycle.response_complete and not cycle.more_body

    def _wait(self, longer: float = 0.0) -> None:
        self._since = self.loop.time()
        self._timer = self.loop.call_later(self.patience + longer, self._give_up)

    def _work(self) -> None:
        """Wait no longer, unless for a client that does not read."""
        if not self.flow.write_paused:
            self._rest()

    def _rest(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        self._rest()
        self.transport.abort()
