"""Server of the app: its address, its token, and its end."""

import ipaddress
import logging
import secrets
import socket
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from types import FrameType

import uvicorn

from headlight.capture import CapturedModel
from headlight.capture.one_text import require_reader
from headlight.errors import UsageError
from headlight.files import reason
from headlight.serve.app import LONGEST, make_app
from headlight.serve.connections import MOST, LimitedConnection
from headlight.serve.guard import host_name
from headlight.serve.request_queue import Work

HERE = "127.0.0.1"
AT_ONCE = 16
"""Connections that may wait to be accepted while the existing ones are served."""


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
        load: Function that loads the model, once it is clear that the app can run, and a second
            model to compare with, if any.
        host: Address of this machine.
        port: Port, 0 for a free one.
        allow_remote: Whether other machines may be able to reach the app.
        longest: Maximum number of tokens of a text.
        open_browser: Whether to open the page in the browser; other users of the machine may then
            see the token in its command line.
        say: Function that prints a line.

    Raises:
        UsageError: Other machines could reach the app and that was not allowed, the port is taken,
            a model reads sound, or the second model pictures.
    """
    if not allow_remote and not is_loopback(host):
        raise UsageError(
            f"with the host {host}, other machines can reach the app, and what is sent is not "
            "encrypted; add --allow-remote if that is wanted, or leave --host out and forward a "
            "port by ssh."
        )
    with listening(host, port) as listener:
        model, other = load()
        for reader in (model, other):
            if reader is not None and (reader.hears or (reader.sees and reader is other)):
                require_reader(reader)  # refuses now, and not each text that is typed
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
        # asyncio warns of every page that is closed in the middle of an answer.
        logging.getLogger("asyncio").setLevel(logging.ERROR)
        if open_browser:
            webbrowser.open(address)  # it waits at the listener until the server runs
        with suppress(KeyboardInterrupt):
            _Server(config, work).run(sockets=[listener])


def _limited() -> type[LimitedConnection]:
    """Return a class of connections that leave most files of the process to everything else."""
    most = MOST
    with suppress(ImportError):  # Windows has no such limit
        import resource

        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        most = MOST if files == resource.RLIM_INFINITY else max(1, min(MOST, files // 4))

    # A class, since uvicorn makes the connections itself and passes no limit on.
    class Connection(LimitedConnection):
        pass

    Connection.most = most
    return Connection


class _Server(uvicorn.Server):
    """Server that ends at once: requests that are still at work are cancelled."""

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
    """Return the names under which other machines may reach the app."""
    return tuple({"localhost", host_name(host), socket.gethostname().lower()})


def listening(host: str, port: int) -> socket.socket:
    """Return a socket at which connections wait, even before the model is loaded.

    Raises:
        UsageError: The port is taken, or the address is not one of this machine.
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
