"""View in a notebook, whose kernel gives the cells of layers on request."""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import anywidget
import traitlets
import xarray as xr

from headlight.errors import HeadlightError, RunInterruptedError, UnknownNameError
from headlight.views.page_scripts import joined_script
from headlight.views.reading.live_view import LiveView
from headlight.views.reading.page import live_page

MODULES = ("bytes", "frame", "notebook")

Function = Callable[[Mapping[str, Any]], Iterator[dict[str, Any]]]


class ReadingWidget(anywidget.AnyWidget):
    """Reading as a widget.

    A notebook keeps the page with the small maps of all heads. The browser asks for blobs
    by messages, ``{"ask": name, "answer": number}``, and gets ``{"answer": number}`` with the blob
    as its buffer, or with a sentence as ``refused``; notebooks do not keep messages.

    ``{"call": name, "params": object, "answer": number}`` begins a function, whose first step is
    answered as ``step``; ``{"next": number}`` asks for the next one, and ``{"stop": number}`` ends
    it. Since every step is requested, the kernel is free between them, and the model never runs
    beside a cell.

    Args:
        reading: Reading of one kind of attention, or of several.
        second: Reading that it is compared with, of the same kinds.
        height: Height in pixels.
        functions: Functions that the view may request, by name: they take the parameters from
            the browser, and yield steps, of which the last is the ``result``.
    """

    _esm = f"{joined_script(MODULES)}\nexport default from_notebook;\n"
    page = traitlets.Unicode().tag(sync=True)
    height = traitlets.Int().tag(sync=True)
    can = traitlets.List(traitlets.Unicode()).tag(sync=True)

    def __init__(
        self,
        reading: xr.Dataset,
        *,
        second: xr.Dataset | None = None,
        height: int,
        functions: Mapping[str, Function] = MappingProxyType({}),
    ) -> None:
        self._view = LiveView(reading, second=second)
        self._functions = functions
        self._running: dict[str, Iterator[dict[str, Any]]] = {}
        page = live_page(reading, self._view)
        super().__init__(page=page, height=height, can=list(functions))
        self.on_msg(self._answer)

    def _answer(self, widget: Any, message: dict[str, Any], buffers: list[Any]) -> None:
        if "stop" in message:
            self._running.pop(str(message["stop"]), None)
            return
        number = message.get("next", message.get("answer"))
        try:
            if "ask" in message or not {"call", "next"} & set(message):
                self.send({"answer": number}, [self._view.blob(str(message.get("ask", "")))])
            else:
                self.send({"answer": number, "step": self._step(str(number), message)})
        except HeadlightError as refusal:
            self._running.pop(str(number), None)
            self.send({"answer": number, "refused": str(refusal)})

    def _step(self, number: str, message: dict[str, Any]) -> dict[str, Any]:
        """Return the first step of a function that is called, or the next of one that runs."""
        if "call" in message:
            name, params = str(message["call"]), message.get("params")
            if name not in self._functions:
                # The name comes from a browser, and may be of any length.
                raise UnknownNameError("function", name[:100], self._functions)
            self._running[number] = self._functions[name](
                params if isinstance(params, dict) else {}
            )
        step = next(self._running.get(number, iter(())), None)
        if step is None:
            raise RunInterruptedError("stopped.")
        if "result" in step:
            del self._running[number]
        return step
