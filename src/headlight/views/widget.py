"""The view in a notebook, whose kernel gives the cells of layers when they are asked for."""

from typing import Any

import anywidget
import traitlets
import xarray as xr

from headlight.errors import HeadlightError
from headlight.views.live import LiveView
from headlight.views.page import live_page
from headlight.views.script import joined_script

MODULES = ("bytes", "frame", "notebook")


class ReadingWidget(anywidget.AnyWidget):
    """A reading as a widget.

    What a notebook keeps is the page with the small maps of all heads. The browser asks for blobs
    by messages, ``{"ask": name, "answer": number}``, and gets ``{"answer": number}`` with the blob
    as its buffer, or with a sentence as ``refused``; notebooks do not keep messages.

    Args:
        reading: of one kind of attention, or of several.
        height: in pixels.
    """

    _esm = f"{joined_script(MODULES)}\nexport default from_notebook;\n"
    page = traitlets.Unicode().tag(sync=True)
    height = traitlets.Int().tag(sync=True)

    def __init__(self, reading: xr.Dataset, *, height: int) -> None:
        self._view = LiveView(reading)
        super().__init__(page=live_page(reading, self._view), height=height)
        self.on_msg(self._answer)

    def _answer(self, widget: Any, message: dict[str, Any], buffers: list[Any]) -> None:
        number = message.get("answer")
        try:
            blob = self._view.blob(str(message.get("ask", "")))
        except HeadlightError as refusal:
            self.send({"answer": number, "refused": str(refusal)})
        else:
            self.send({"answer": number}, [blob])
