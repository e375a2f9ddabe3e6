"""Norms, weights and how they go together, layer by layer, while a batch runs through the model."""

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from headlight.capture import LayerRecord
from headlight.measures import Scores
from headlight.pool import membership
from headlight.reduce import Accumulator, Count, Tally
from headlight.surveys.observer import array, moments, stacked


class NormsObserver:
    """Sees the attention of one batch; what it keeps of a layer is one number per token and head.

    Nothing of the size of the weights is formed: ‖αf(x)‖ = α‖f(x)‖, so that what a key receives in
    norm is what it receives in weight times its length.

    Args:
        queries: the category of each attending position; −1 for padding.
        keys: the same of the attended positions, sinks being told apart.
        categories: how many categories there are.
    """

    def __init__(
        self,
        queries: Int64[Tensor, "batch query"],
        keys: Int64[Tensor, "batch key"],
        categories: int,
    ) -> None:
        self._present = (queries >= 0).float()
        self._keys = keys
        self._members = membership(keys, categories)
        self._seen: dict[int, dict[str, Tensor]] = {}

    def visit(self, record: LayerRecord) -> None:
        """Look at one layer."""
        scores = Scores(record, precision=torch.float32)
        norm = scores.vector_norm
        received = (self._present[:, None, None] @ scores.weight.float())[:, :, 0].to(norm.dtype)
        mean = received / self._present.sum(-1)[:, None, None]
        members = self._members.to(norm.dtype)
        seen = {
            "weight": mean @ members,
            "weighted_norm": (mean * norm) @ members,
            "category_norm": (norm @ members) / members.sum(1)[:, None],  # NaN where there is none
            "vector_norm": self._tokens(norm.transpose(1, 2)),
        }
        if record.input is not None:
            seen["input_norm"] = self._tokens(scores.input_norm)
        self._seen[record.site.layer] = seen

    def tally(self) -> Tally:
        """The statistics of the batch."""
        layers = [self._seen[layer] for layer in sorted(self._seen)]
        names = [name for name in layers[0] if all(name in layer for layer in layers)]
        found: dict[str, Accumulator] = {
            name: moments(stacked([layer[name] for layer in layers])) for name in names
        }
        found["tokens"] = Count((self._members.shape[2],))
        found["tokens"].update(array(self._members.sum(1)))
        return Tally(found)

    def _tokens(self, per_key: Float[Tensor, "batch key *rest"]) -> Float[Tensor, "token *rest"]:
        """The keys of all documents in one row, padding left out."""
        return per_key[self._keys >= 0]
