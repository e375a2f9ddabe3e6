"""The second self-check: the parts add up to what leaves the attention blocks, on real input."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial

import torch
from torch import Tensor

from headlight.capture.hooks import hooked
from headlight.capture.record import AttentionSite, LayerRecord
from headlight.capture.residual import Place, Residual
from headlight.capture.residuals.tracing import allowed_error, missed, relative_error
from headlight.errors import UnsupportedModelError


class ResidualCheck:
    """Compares what records say with what the model computes, while it runs."""

    def __init__(self) -> None:
        self.error = 0.0
        """The largest so far, relative to the norm of what leaves the block."""
        self.compared = 0
        """How often."""
        self._expected: dict[Place, tuple[AttentionSite, Residual]] = {}

    def visit(self, record: LayerRecord) -> None:
        """Told of a record with its residual: what leaves the block is seen next."""
        residual = record.residual
        assert residual is not None  # noqa: S101 - the capture was asked for it
        if residual.site.output is not None and not residual.site.parallel:
            self._expected[residual.site.output] = record.site, residual

    @contextmanager
    def watching(self, places: Iterable[Place | None]) -> Iterator[None]:
        """Within the block, compare what is seen at these places.

        Raises:
            UnsupportedModelError: the parts do not add up to it.
        """
        known = {place for place in places if place is not None}
        with hooked(place.watch(partial(self._compare, place)) for place in known):
            yield

    def _compare(self, place: Place, seen: Tensor) -> None:
        if place not in self._expected:
            return
        site, residual = self._expected.pop(place)
        # Where float64 is, which not all devices have.
        expected = residual.to(torch.device("cpu")).to(torch.float64).output
        found = seen.to(expected).reshape(expected.shape)
        self.compared += 1
        error, allowed = relative_error(expected, found), allowed_error(seen.dtype)
        self.error = max(self.error, error)
        if not error <= allowed:
            raise UnsupportedModelError(f"{site.name}: {missed(error, allowed)}.")
