"""Observer of a batch: what a study sees of it while the model runs."""

from abc import ABC, abstractmethod
from collections.abc import Mapping

from jaxtyping import Float
from torch import Tensor

from headlight.capture import Kind, LayerRecord
from headlight.capture.attribution import Attribution
from headlight.capture.plain_attention import AttentionKernel
from headlight.reduce import Tally


class Observer(ABC):
    """Observer of one batch; methods that a subclass leaves out do nothing.

    Methods are called in this order: `note_attribution`, `visit` for each layer, `note_losses`,
    `to_host`, `tally`.

    Attributes:
        wants_attention: Whether the model runs under capture and layers are visited; False for
            observers that run the model themselves.
        wants_stream: Whether records hold the input of the block.
        kernel: Kernel that computes the attention of plain calls together with the sums that the
            observer needs; None where the observer sees weights that were written.
    """

    wants_attention: bool = True
    wants_stream: bool = False
    kernel: AttentionKernel | None = None

    def note_attribution(self, attribution: Attribution) -> None:
        """Note the contributions of input tokens to the hidden tokens of all layers."""

    def visit(self, record: LayerRecord) -> None:
        """Observe one layer, or a block of its queries; layers may come in any order."""

    def note_losses(self, losses: Float[Tensor, " batch"]) -> None:
        """Note the loss of each text in nats, as the objective reduces it."""

    def to_host(self) -> None:
        """Copy what was kept to the host, all at once, so that the device is waited for once."""

    @abstractmethod
    def tally(self) -> Tally:
        """Return the tally of the batch."""


class KindsObserver(Observer):
    """Observer that hands each layer to the observer of its kind, and joins their tallies.

    Args:
        observers: Observer of each kind.
    """

    def __init__(self, observers: Mapping[Kind, Observer]) -> None:
        self._observers = observers
        self.wants_attention = any(observer.wants_attention for observer in observers.values())
        self.wants_stream = any(observer.wants_stream for observer in observers.values())

    def visit(self, record: LayerRecord) -> None:
        """Observe one layer."""
        self._observers[record.site.kind].visit(record)

    def note_losses(self, losses: Float[Tensor, " batch"]) -> None:
        """Note the loss of each text."""
        for observer in self._observers.values():
            observer.note_losses(losses)

    def to_host(self) -> None:
        """Copy what all observers have kept to the host."""
        for observer in self._observers.values():
            observer.to_host()

    def tally(self) -> Tally:
        """Return the tallies of all kinds, each under the name of its kind."""
        return Tally(
            {
                f"{kind}/{name}": member
                for kind, observer in self._observers.items()
                for name, member in observer.tally().items()
            }
        )


def tally_of_kind(tally: Tally, kind: Kind) -> Tally:
    """Return the tally of the observers of one kind."""
    start = f"{kind}/"
    return Tally(
        {
            name.removeprefix(start): member
            for name, member in tally.items()
            if name.startswith(start)
        }
    )
