"""Observers of a batch: of attention, losses, contributions, and what enters a block."""

from typing import Protocol, runtime_checkable

from jaxtyping import Float
from torch import Tensor

from headlight.capture import LayerRecord
from headlight.capture.attribution import Attribution
from headlight.reduce import Tally


@runtime_checkable
class Observer(Protocol):
    """A callback for one batch; what else it has says what it needs of the model."""

    def tally(self) -> Tally:
        """Return the tally of the batch, once the model has run."""


@runtime_checkable
class AttentionObserver(Observer, Protocol):
    """An observer of attention; without one the model is not captured."""

    def visit(self, record: LayerRecord) -> None:
        """Look at one layer; layers may come in any order."""


@runtime_checkable
class LossObserver(AttentionObserver, Protocol):
    """An observer that also wants to know the losses, where there are any."""

    def note_losses(self, losses: Float[Tensor, " batch"]) -> None:
        """The loss of each sequence in nats, as the objective reduces it; after the layers."""


@runtime_checkable
class StreamObserver(AttentionObserver, Protocol):
    """An observer whose records should say what entered the block, if it wants that."""

    wants_stream: bool


@runtime_checkable
class AttributionObserver(Observer, Protocol):
    """An observer of the contributions of all layers at once, and of their errors."""

    def note_attribution(self, attribution: Attribution) -> None:
        """Add the contributions of input tokens to the batch's hidden tokens; before the layers."""
