"""What is trained in a study of token identity, and the tokens that it is trained and tested on."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor

from headlight.errors import UsageError
from headlight.studies.token_identity.lookup import Lookup
from headlight.studies.token_identity.settings import IdentitySettings
from headlight.studies.token_identity.splits import Pairs, pairs, split
from headlight.studies.token_identity.vectors import TokenVectors, tensor

Rows = Float[Tensor, "token dim"]


@dataclass(frozen=True, order=True)
class Case:
    """Maps of one kind from some layers, on one fold.

    Attributes:
        map: of `headlight.studies.token_identity.settings.MAPS`.
        loss: ``cosine`` or ``l2``.
        offset: positions from the token to what is recovered.
        fraction: share of the training sequences.
        fold: number of the split.
        layers: which are mapped, each by a map of its own.
    """

    map: str
    loss: str
    offset: int
    fraction: float
    fold: int
    layers: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Parts:
    """The pairs of tokens of the three parts of a split."""

    train: Pairs
    validation: Pairs
    test: Pairs


class Tokens:
    """The vectors as tensors on a device, and the lookup among them.

    Args:
        vectors: of all tokens.
        settings: what is recovered, and how sequences are split.
        device: where maps are trained.
    """

    def __init__(
        self, vectors: TokenVectors, settings: IdentitySettings, device: torch.device
    ) -> None:
        self.vectors = vectors
        self._settings = settings
        self._device = device
        # Made before threads share them.
        self._lookups = {
            (loss, layer): Lookup(vectors, self.goals(layer), loss)
            for loss in settings.losses
            for layer in (self.layers if settings.target == "below" else (0,))
        }

    @cached_property
    def layers(self) -> tuple[int, ...]:
        """Those that are mapped.

        Raises:
            UsageError: the model has no such layer.
        """
        count = len(self.vectors.hidden)
        asked = self._settings.layers
        for layer in asked or ():
            if not 0 <= layer < count:
                raise UsageError(f"there is no layer {layer}: layers are 0 to {count - 1}.")
        return tuple(range(count)) if asked is None else asked

    def hidden(self, layer: int) -> Rows:
        """e^l of every token."""
        return tensor(self.vectors.hidden[layer])

    def goals(self, layer: int) -> Rows:
        """What maps of this layer should give, a row for each token."""
        below = self._settings.target == "below"
        return tensor(self.vectors.below(layer) if below else self.vectors.inputs)

    def some(self, rows: Rows, numbers: Int64[np.ndarray, " pair"]) -> Float[Tensor, "pair dim"]:
        """Some of the rows, on the device."""
        return rows[torch.from_numpy(numbers)].to(self._device)

    def lookup(self, loss: str, layer: int) -> Lookup:
        """Nearest neighbours among the goals of a layer."""
        return self._lookups[loss, layer if self._settings.target == "below" else 0]

    def parts(self, case: Case) -> Parts:
        """The pairs of a case.

        Raises:
            UsageError: there are too few sequences, or they are too short for the offset.
        """
        chosen = split(len(self.vectors.lengths), case.fold, self._settings.seed, case.fraction)
        found = Parts(
            *(
                pairs(self.vectors, part, case.offset)
                for part in (chosen.train, chosen.validation, chosen.test)
            )
        )
        if not (len(found.train) and len(found.validation) and len(found.test)):
            raise UsageError(
                f"a part of fold {case.fold} has no tokens with a neighbour at {case.offset:+}; "
                "give more or longer examples."
            )
        return found
