"""Studies in folders: the folder that a test names is opened, as `run_study` does it."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import xarray

from headlight.engine.folder import NOWHERE, OpenFolder, RunFolder


def opening(run: Callable[..., xarray.Dataset]) -> Callable[..., xarray.Dataset]:
    """The function of a study, which opens the folder that it is given."""

    def run_in(
        *given: Any, folder: RunFolder | OpenFolder | None = None, **more: Any
    ) -> xarray.Dataset:
        with _opened(folder) as opened:
            return run(*given, folder=opened, **more)

    return run_in


def _opened(folder: RunFolder | OpenFolder | None) -> AbstractContextManager[OpenFolder]:
    if isinstance(folder, RunFolder):
        return folder.opened()
    return nullcontext(folder or NOWHERE)
