"""The app: texts are typed in a browser, a model reads them on this machine, the view shows them.

The functions that the browser may call are in the table of `headlight.serve.functions`.
"""

import json
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

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
from headlight.errors import HeadlightError, UnknownNameError, UsageError
from headlight.reading.generation import generates
from headlight.serve.functions import FUNCTIONS, Workspace, functions_of_view
from headlight.serve.guard import LONGEST_BODY, LONGEST_PICTURE, Guard
from headlight.serve.request_queue import OnProgress, Step, Work
from headlight.views.app_page import app_page, app_policy

LONGEST = 512
"""Maximum number of tokens of a text; memory and time grow with its square."""


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
    """Make the app of one model, or of two.

    Args:
        model: Model that reads the texts.
        token: Token that requests must carry.
        other: Second model, with which the page can compare the first.
        longest: Maximum number of tokens of a text, on either side.
        names: Names of the host under which the app answers; see `headlight.serve.guard.Guard`.
        any_address: Whether the app answers under all numeric addresses.
        work: Queue in which the model works; by default a new one, with a thread of its own.
    """
    pictures = model.sees or model.sees_beside_text
    page = app_page(
        model.name,
        other=None if other is None else other.name,
        can=functions_of_view(),
        decoder=model.has_decoder_inputs,
        generates=generates(model),
        chats=bool(getattr(model.tokenizer, "chat_template", None)),
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
        """Send the page on which a text is typed; it is still empty."""
        return HTMLResponse(self.shell)

    async def health(self, request: Request) -> Response:
        """Answer, to show that the app is at work."""
        return JSONResponse({"app": "headlight"})

    def reading(self, request: Request) -> Response:
        """Send the view of a reading, with the pictures of all heads."""
        return HTMLResponse(self.workspace.readings[request.path_params["reading"]].page)

    def blob(self, request: Request) -> Response:
        """Send some cells of a reading, compressed."""
        # Not async, so that Starlette runs it in a thread: the cells are packed only now.
        cached = self.workspace.readings[request.path_params["reading"]]
        blob = cached.view.blob(request.path_params["blob"])
        return Response(blob, 200, {"Content-Encoding": "gzip"}, "application/octet-stream")

    async def function(self, request: Request) -> Response:
        """Call a function of the model, and send its steps while it works."""
        name = request.path_params["name"]
        if name not in FUNCTIONS:
            raise UnknownNameError("function", name, FUNCTIONS)
        params = await _json(request)
        request_name = str(params.get("request", ""))[:100]
        self.work.require_room(request_name)
        act: Callable[[OnProgress], Step] = partial(FUNCTIONS[name], self.workspace, params)
        steps = self.work.steps(request_name, act)
        return StreamingResponse(_events(steps), media_type="text/event-stream")

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
    async for step in steps:
        yield f"data: {json.dumps(step)}\n\n"


async def _refused(request: Request, problem: Exception) -> Response:
    status = 404 if isinstance(problem, UnknownNameError) else 400
    # Starlette passes only the errors it was registered for: refusals.
    sentence = problem.for_app() if isinstance(problem, HeadlightError) else str(problem)
    return PlainTextResponse(sentence, status)
