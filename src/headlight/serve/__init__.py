"""The app and its server.

The app: texts are typed in a browser, a model reads them on this machine, the view shows them.
`make_app` makes it as an ASGI application, and `serve` runs it. What the browser may ask a model
for is the table of `headlight.serve.functions`.
"""

import ipaddress
import json
import logging
import secrets
import socket
import webbrowser
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from types import FrameType
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import (
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Route

from headlight.capture import CapturedModel
from headlight.capture.one_text import require_reader
from headlight.errors import HeadlightError, UnknownNameError, UsageError
from headlight.files import reason
from headlight.reading.prediction_targets import generates
from headlight.serve.functions import (
    FUNCTIONS,
    OnProgress,
    Step,
    Work,
    Workspace,
    functions_of_view,
)
from headlight.serve.guard import (
    LONGEST_BODY,
    LONGEST_PICTURE,
    MOST,
    Guard,
    LimitedConnection,
    host_name,
)
from headlight.views.template import app_page, app_policy

__all__ = ["make_app", "serve"]

LONGEST = 512
"""Tokens that a text may have; memory and time grow with the square of them."""


def make_app(
    model: CapturedModel,
    *,
    token: str,
    other: CapturedModel | None = None,
    longest: int = LONGEST,
    names: Collection[str] = ("localhost",),
    any_address: bool = False,
    work: Work | None = None,
) -> Guard:
    """The app of one model, or of two.

    Args:
        model: what reads.
        token: that requests have to bring.
        other: a second model, which the page can compare the first with.
        longest: tokens that a text may have, on either side.
        names: by which the app may be asked for; see `headlight.serve.guard.Guard`.
        any_address: whether it may be asked for by all addresses in numbers.
        work: where the model works; by default a thread of its own.
    """
    pictures = model.sees or model.sees_beside_text
    page = app_page(
        model.name,
        other=None if other is None else other.name,
        can=functions_of_view(),
        decoder=model.has_decoder_inputs,
        generates=generates(model),
        sees=model.sees,
        pictures=pictures,
    )
    workspace = Workspace(model, longest, other)
    addresses = _Addresses(page, workspace, work or Work())
    app = Starlette(
        routes=[
            Route("/", addresses.page),
            Route("/health", addresses.health),
            Route("/readings/{reading}", addresses.reading),
            Route("/readings/{reading}/blob/{blob:path}", addresses.blob),
            Route("/functions/{name}", addresses.function, methods=["POST"]),
            Route("/cancel", addresses.cancel, methods=["POST"]),
        ],
        exception_handlers={HeadlightError: _refused},
        lifespan=addresses.lifespan,
    )
    longest_body = LONGEST_PICTURE if pictures else LONGEST_BODY
    return Guard(app, token, names, any_address, app_policy(page), longest_body)


@dataclass(frozen=True)
class _Addresses:
    """Handlers of each address."""

    shell: str
    workspace: Workspace
    work: Work

    @asynccontextmanager
    async def lifespan(self, app: Starlette) -> AsyncIterator[None]:
        yield
        self.work.close()

    async def page(self, request: Request) -> Response:
        """The page on which a text is typed; it holds nothing yet."""
        return HTMLResponse(self.shell)

    async def health(self, request: Request) -> Response:
        """Whether the app answers."""
        return JSONResponse({"app": "headlight"})

    def reading(self, request: Request) -> Response:
        """The view of a reading, with the pictures of all heads."""
        return HTMLResponse(self.workspace.readings[request.path_params["reading"]].page)

    def blob(self, request: Request) -> Response:
        """Some cells of a reading, deflated; in a thread of its own, since they are packed now."""
        cached = self.workspace.readings[request.path_params["reading"]]
        blob = cached.view.blob(request.path_params["blob"])
        return Response(blob, 200, {"Content-Encoding": "gzip"}, "application/octet-stream")

    async def function(self, request: Request) -> Response:
        """A function of the model; its steps are sent while it works."""
        name = request.path_params["name"]
        if name not in FUNCTIONS:
            raise UnknownNameError("function", name, FUNCTIONS)
        params = await _json(request)
        own = str(params.get("request", ""))[:100]
        self.work.require_room(own)
        act: Callable[[OnProgress], Step] = partial(FUNCTIONS[name], self.workspace, params)
        return StreamingResponse(_events(self.work.steps(own, act)), media_type="text/event-stream")

    async def cancel(self, request: Request) -> Response:
        """Cancel a request by its name."""
        return JSONResponse(
            {"cancelled": self.work.cancel(str((await _json(request)).get("request")))}
        )


async def _json(request: Request) -> dict[str, Any]:
    try:
        params = await request.json()
    except (ValueError, RecursionError) as problem:
        raise UsageError("what was sent is no JSON; load the page again.") from problem
    if not isinstance(params, dict):
        raise UsageError("what was sent is no object; load the page again.")
    return params


async def _events(steps: AsyncIterator[Step]) -> AsyncIterator[str]:
    """Steps as server-sent events."""
    async for step in steps:
        yield f"data: {json.dumps(step)}\n\n"


async def _refused(request: Request, problem: Exception) -> Response:
    status = 404 if isinstance(problem, UnknownNameError) else 400
    # Starlette gives what it was told to: a refusal.
    sentence = problem.for_app() if isinstance(problem, HeadlightError) else str(problem)
    return PlainTextResponse(sentence, status)


HERE = "127.0.0.1"
AT_ONCE = 16
"""Connections that are taken before those are looked at that are there already."""


def serve(
    load: Callable[[], tuple[CapturedModel, CapturedModel | None]],
    *,
    host: str = HERE,
    port: int = 0,
    allow_remote: bool = False,
    longest: int = LONGEST,
    open_browser: bool = False,
    say: Callable[[str], None],
) -> None:
    """Run the app until Ctrl-C.

    Args:
        load: gives the model, once it is clear that the app can run, and a second one that it can
            be compared with, if any.
        host: an address of this machine.
        port: 0 for a free one.
        allow_remote: whether other machines may be able to reach it.
        longest: tokens that a text may have.
        open_browser: open the page in the browser, which other users of the machine may see the
            token of, in its command line.
        say: prints a line.

    Raises:
        UsageError: other machines could reach it and that was not allowed, the port is taken, or
            a model reads sound, or the second one pictures.
    """
    if not allow_remote and not is_loopback(host):
        raise UsageError(
            f"with the host {host}, other machines can reach the app, and what is sent is not "
            "encrypted; add --allow-remote if that is wanted, or leave --host out and forward a "
            "port by ssh."
        )
    with listening(host, port) as listener:
        model, other = load()
        for each in (model, other):
            if each is not None and (each.hears or (each.sees and each is other)):
                require_reader(each)  # refuses at once, and not each text that is typed
        token, work = secrets.token_urlsafe(24), Work()
        app = make_app(
            model,
            token=token,
            other=other,
            longest=longest,
            names=("localhost",) if is_loopback(host) else own_names(host),
            any_address=not is_loopback(host),
            work=work,
        )
        address = _address(host, listener.getsockname()[1], token)
        say(f"{model} reads at {address}")
        say("Ctrl-C ends it.")
        config = uvicorn.Config(
            app,
            access_log=False,
            log_level="warning",
            server_header=False,
            proxy_headers=False,
            ws="none",
            http=_limited(),
            backlog=AT_ONCE,
            timeout_graceful_shutdown=2,
        )
        # A page that is closed in the middle of an answer is no news.
        logging.getLogger("asyncio").setLevel(logging.ERROR)
        if open_browser:
            webbrowser.open(address)  # waits until there is an answer
        with suppress(KeyboardInterrupt):
            _Server(config, work).run(sockets=[listener])


def _limited() -> type[LimitedConnection]:
    """Connections that leave some of the files that a process may have open for everything else."""
    most = MOST
    with suppress(ImportError):  # Windows has no such limit
        import resource

        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        most = MOST if files == resource.RLIM_INFINITY else max(1, min(MOST, files // 4))

    class Connection(LimitedConnection):
        pass

    Connection.most = most
    return Connection


class _Server(uvicorn.Server):
    """Ends at once: what is still at work is cancelled."""

    def __init__(self, config: uvicorn.Config, work: Work) -> None:
        super().__init__(config)
        self._work = work

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Handle Ctrl-C and requests to end."""
        self._work.cancel_all()
        super().handle_exit(sig, frame)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address of it."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def own_names(host: str) -> tuple[str, ...]:
    """The names by which other machines may ask for the app."""
    return tuple({"localhost", host_name(host), socket.gethostname().lower()})


def listening(host: str, port: int) -> socket.socket:
    """A socket that connections wait at, also before the model is loaded.

    Raises:
        UsageError: the port is taken, or the address is none of this machine.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(64)
    except OSError as problem:
        listener.close()
        raise UsageError(
            f"the app cannot listen at {host}, port {port}: {reason(problem)}; choose another "
            "--port, or leave it out for a free one."
        ) from problem
    return listener


def _address(host: str, port: int, token: str) -> str:
    name = {"0.0.0.0": socket.gethostname(), "::": socket.gethostname()}.get(host, host)
    return f"http://{f'[{name}]' if ':' in name else name}:{port}/#token={token}"
