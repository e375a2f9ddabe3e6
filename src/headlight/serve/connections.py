"""Connections of the app, with limits on their number and on how long they keep it waiting."""

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from headlight.serve.guard import PATIENCE

LONGER = 1.0
"""Seconds after `PATIENCE` in which the guard can refuse a slow request with a sentence."""
MOST = 100
"""Maximum number of connections; beyond it, the one that has been waited for longest is closed."""


class LimitedConnection(H11Protocol):
    """Connection that is closed if it keeps the app waiting too long, or others need its place.

    The app waits while the headers or the body of a request are incomplete, and while an answer is
    not read.  Connections that send half a request or read nothing then keep no client out, neither
    by their number nor by the number of files that a process may have open.
    """

    patience: float = PATIENCE
    most: int = MOST
    _timer: asyncio.TimerHandle | None = None
    _since: float = 0.0
    """Moment at which it began to wait.  Its timer does not tell: some have a second more, and
    newcomers would be closed in their place."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Make room if there are too many, and begin to wait for headers."""
        super().connection_made(transport)
        self._wait()
        connections = [
            connection
            for connection in self.connections
            if isinstance(connection, LimitedConnection)
        ]
        if len(connections) > self.most:
            waiting = [connection for connection in connections if connection._timer is not None]
            # The one that began to wait first; this one, if all others are at work.
            min(waiting, key=lambda connection: connection._since)._give_up()

    def data_received(self, data: bytes) -> None:
        """Stop waiting once a request is complete, and wait again for the next."""
        before: Any = self.cycle
        super().data_received(data)
        if self.at_work:
            self._work()
        elif self.cycle is not before:  # the headers are complete, and the body may take as long
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
        """Wait for the client to read, since no more of its answer can be sent for now."""
        super().pause_writing()
        if self._timer is None:
            self._wait()

    def resume_writing(self) -> None:
        """Stop waiting for the client, which reads again."""
        super().resume_writing()
        if self.at_work:
            self._work()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._rest()
        super().connection_lost(exc)

    @property
    def at_work(self) -> bool:
        """Whether a request is complete, and is being answered."""
        cycle: Any = self.cycle
        return cycle is not None and not cycle.response_complete and not cycle.more_body

    def _wait(self, longer: float = 0.0) -> None:
        self._since = self.loop.time()
        self._timer = self.loop.call_later(self.patience + longer, self._give_up)

    def _work(self) -> None:
        # The app still waits for a client that does not read.
        if not self.flow.write_paused:
            self._rest()

    def _rest(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        self._rest()
        self.transport.abort()
