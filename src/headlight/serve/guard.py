"""Guard of the app: checks of a request before any work."""

import asyncio
import ipaddress
import re
import secrets
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

PATIENCE = 10.0
"""Maximum seconds for the headers of a request, for its body, and without reading its answer."""

LONGEST_BODY = 1_000_000
"""Maximum number of bytes of a request."""
LONGEST_PICTURE = 14_000_000
"""Maximum number of bytes of a request with a picture, whose encoding as text adds a third."""
OPEN = ("/", "/health")
"""Paths that need no token, since they show nothing: the page is empty at first."""

SAFE = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}

Refusal = tuple[int, str]

_HOST = re.compile(
    r"(?:\[(?P<address>[0-9A-Fa-f:.]+)\]|(?P<name>[^\s\[\]:@/?#]+|[0-9A-Fa-f]*:[0-9A-Fa-f:.]+))(?::\d{1,5})?"
)
"""A name or an address, and a port; an address with colons in brackets where a port may follow."""


@dataclass(frozen=True)
class Guard:
    """Guard that lets requests reach the app only if they come from its own page.

    * A **name of the host** that is not ours is refused (421): another site may have made its name
      point here.  Numeric addresses cannot be made to.
    * Requests that **another site** makes its visitors send are refused (403): browsers say so in
      ``Sec-Fetch-Site``, and in ``Origin``, which every request with an effect must bring.
    * Without the **token**, nothing but the empty page is given (401).
    * The body must be **JSON** (415), which a form of another site cannot send, short (413), of a
      declared length (411), and complete in time (408).  It is counted, whatever was declared.

    Attributes:
        app: Guarded app.
        token: Token that a request must bring as ``Authorization: Bearer``.
        names: Names of the host, in small letters.
        any_address: Whether all numeric addresses are ours, and not loopback alone.
        policy: Content-Security-Policy of all answers.
        longest: Maximum number of bytes of a request.
    """

    app: ASGIApp
    token: str
    names: Collection[str]
    any_address: bool
    policy: str
    longest: int = LONGEST_BODY

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it; safe headers go with either."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in {**SAFE, "Content-Security-Policy": self.policy}.items():
                    headers[name] = value
            await send(message)

        refusal = self._refusal(scope, Headers(scope=scope))
        if refusal is None and scope["method"] not in ("GET", "HEAD"):
            # Read here and not in the app, so that nothing is at work before the body is complete.
            body = await _body(receive, self.longest)
            if body is None:
                return  # the client has left
            if isinstance(body, bytes):
                receive = _already(body, receive)
            else:
                refusal = body
        answer: Any = self.app if refusal is None else PlainTextResponse(refusal[1], refusal[0])
        await answer(scope, receive, send_safely)

    def _refusal(self, scope: Scope, headers: Headers) -> Refusal | None:
        method, path = scope["method"], scope["path"]
        if not self._is_own(headers.get("host", "")):
            return 421, "this app has another address; open the one that the terminal shows."
        if not _same_site(path, headers):
            return 403, "another site has sent this; open the address that the terminal shows."
        authorization = headers.get("authorization", "").encode()
        is_authorized = secrets.compare_digest(authorization, f"Bearer {self.token}".encode())
        if path not in OPEN and not is_authorized:
            return 401, "the token is missing or wrong; open the address that the terminal shows."
        if method in ("GET", "HEAD"):
            return None
        return _refused_body(headers, scope["scheme"], self.longest)

    def _is_own(self, host: str) -> bool:
        name = host_name(host)
        if name in self.names:
            return True
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return False
        return self.any_address or address.is_loopback


def host_name(host: str) -> str:
    """Return the name in ``name:port`` or ``[address]:port``; empty where it is anything else.

    The port is left out, since it differs where a port is forwarded.
    """
    match = _HOST.fullmatch(host)
    return (match["address"] or match["name"]).lower() if match else ""


def _same_site(path: str, headers: Headers) -> bool:
    # "none" is the user, who may open the empty page; old browsers send no such header.
    site = headers.get("sec-fetch-site")
    return site in (None, "same-origin") or (site == "none" and path in OPEN)


async def _body(receive: Receive, longest: int) -> bytes | Refusal | None:
    """Return the body of a request, or why it is refused; None where the client has left."""
    content = bytearray()
    try:
        async with asyncio.timeout(PATIENCE):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    return None
                content += message.get("body", b"")
                if len(content) > longest:
                    return _too_long(longest)
                if not message.get("more_body", False):
                    return bytes(content)
    except TimeoutError:
        return 408, f"what is sent took longer than {PATIENCE:g} seconds; load the page again."


def _already(body: bytes, receive: Receive) -> Receive:
    """Return a function that gives the received body, then what comes."""
    is_sent = False

    async def first() -> Message:
        nonlocal is_sent
        if is_sent:
            return await receive()
        is_sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return first


def _too_long(longest: int) -> Refusal:
    return 413, f"what is sent is longer than {longest} bytes; shorten the text, or the picture."


def _refused_body(headers: Headers, scheme: str, longest: int) -> Refusal | None:
    """Return why the body of a request is refused."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        return 415, "the app takes application/json only."
    if headers.get("origin", "").lower() != f"{scheme}://{headers['host']}".lower():
        return 403, "another site has sent this; open the address that the terminal shows."
    length = headers.get("content-length", "")
    if "transfer-encoding" in headers or not length.isdecimal():
        return 411, "the length of what is sent is missing."
    if int(length) > longest:
        return _too_long(longest)
    return None
