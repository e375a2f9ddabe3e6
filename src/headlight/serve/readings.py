"""Readings that the app holds, and their pages."""

import secrets
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock

import xarray as xr

from headlight.errors import UnknownNameError
from headlight.reading import what_if as what_if
from headlight.views.reading.live_view import LiveView
from headlight.views.reading.page import live_page

KEPT = 3
"""Maximum number of readings that are held."""


@dataclass(frozen=True)
class CachedReading:
    """Reading with the view and the page that the browser is given."""

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
        """Pack a reading, or two, for the browser.

        Args:
            dataset: Reading.
            on_progress: Callback that gets the name of each part.
            second: Reading to compare with.
        """
        view = LiveView(dataset, second=second, on_progress=on_progress)
        return cls(dataset, view, live_page(dataset, view))


class Readings:
    """Latest readings, by names that nobody can guess."""

    def __init__(self) -> None:
        self._held: OrderedDict[str, CachedReading] = OrderedDict()
        self._lock = Lock()

    def keep(self, cached: CachedReading) -> str:
        """Hold a reading and return its name; beyond `KEPT`, release the least recently used."""
        name = secrets.token_urlsafe(9)
        with self._lock:
            self._held[name] = cached
            if len(self._held) > KEPT:
                self._held.popitem(last=False)
        return name

    def __getitem__(self, name: str) -> CachedReading:
        """Return a reading, and note that it was used.

        Raises:
            UnknownNameError: There is no reading of that name, or no longer.
        """
        with self._lock:
            if name not in self._held:
                raise GoneError
            self._held.move_to_end(name)
            return self._held[name]


class GoneError(UnknownNameError):
    """Error for a reading that is no longer held."""

    def __init__(self) -> None:
        # `UnknownNameError` would list the names that are held, which are secret.
        super(UnknownNameError, self).__init__(
            f"this reading is gone, of which the last {KEPT} are kept; read the text again."
        )
