"""Runs that are interrupted while the model runs."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from headlight.engine import passes


@contextmanager
def interrupted_after(batches: int) -> Iterator[None]:
    """Ctrl-C in the batch that follows so many."""
    measured, calls = passes.BatchRunner.__call__, 0

    def interrupted(self, examples):
        nonlocal calls
        calls += 1
        if calls > batches:
            raise KeyboardInterrupt
        return measured(self, examples)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passes.BatchRunner, "__call__", interrupted)
        yield
