"""How much the loss depends on attention to tokens of each category, layer by layer."""

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from headlight.analysis.positions import Positions, array, moments, stacked
from headlight.capture import Kind, LayerRecord, Prepared, Reduction
from headlight.errors import CaptureError
from headlight.measures import Scores
from headlight.measures.precision import double
from headlight.pool import Membership, membership, over_keys
from headlight.reduce import Count, Tally
from headlight.vocabulary import CATEGORIES

KEY_CATEGORIES = ("unmasked", *CATEGORIES, "masked")
"""``masked`` are the mask tokens; ``unmasked`` all others, of which the categories are parts."""

QUERY_CATEGORIES = ("all", *CATEGORIES, "masked")
"""The same for queries, but for the first, which is every token."""

Cells = Float[Tensor, "batch query_category key_category"]


class ImportanceObserver:
    """Sees |∂L/∂α| of one batch, and averages it over the pairs of positions of each category.

    A pair counts if the query can see the key.  Documents of which nothing is predicted are left
    out of all averages, and counted.

    Args:
        batch: what the model is given.
        kind: which attention is looked at.
        reduction: how the loss of a document was made.
    """

    def __init__(self, batch: Prepared, kind: Kind, reduction: Reduction) -> None:
        queries, keys = Positions.for_kind(batch, kind)
        of_source = batch.masked
        none_masked = torch.zeros_like(queries.category, dtype=torch.bool)
        self._queries = _members(
            queries.category, of_source if queries.category is batch.category else none_masked
        )
        self._keys = _members(
            keys.category, of_source if keys.category is batch.category else none_masked
        )
        self._queries[..., 0] = (queries.category >= 0).float()
        self._masked = of_source.sum(-1)
        self._predicted = batch.predicted
        self._reduction = reduction
        self._means: dict[int, Float[Tensor, "batch head query_category key_category"]] = {}
        self._losses: Float[Tensor, " batch"] | None = None

    def visit(self, record: LayerRecord) -> None:
        """Look at one layer; nothing of it is kept but its averages.

        Raises:
            CaptureError: a gradient is not finite.
        """
        rows = over_keys(Scores(record).gradient, self._keys)
        sums = self._queries.mT[:, None].to(rows.dtype) @ rows
        if not bool(sums.isfinite().all()):
            raise CaptureError(
                f"{record.site.name}: the gradient of its weights is not finite in "
                f"{str(record.weight.dtype).removeprefix('torch.')}; load the model in float32."
            )
        cells = self._cells(record.visible)[:, None]
        means = (double(sums) / cells.clamp_min(1)).masked_fill(cells == 0, torch.nan)
        self._means[record.site.layer] = means

    def note_losses(self, losses: Float[Tensor, " batch"]) -> None:
        """The loss of each document."""
        self._losses = losses

    def tally(self) -> Tally:
        """Averages with documents along the first axis, and what was predicted."""
        predicted, losses = self._predicted, self._losses
        assert losses is not None  # noqa: S101 - the model was run backward
        counted = torch.ones_like(losses, dtype=torch.bool) if predicted is None else predicted > 0
        if predicted is not None and self._reduction == "sum":
            losses = losses / predicted.clamp_min(1)
        layers = stacked([self._means[layer] for layer in sorted(self._means)])
        return Tally(
            {
                "importance": moments(layers[array(counted) > 0]),
                "loss": moments(array(losses[counted])),
                "predicted": _count(torch.zeros_like(counted) if predicted is None else predicted),
                "masked": _count(self._masked),
                "unpredicted": _count(~counted),
            }
        )

    def _cells(self, visible: Bool[Tensor, "batch #query key"] | None) -> Cells:
        """How many pairs of positions there are of each two categories."""
        keys, queries = double(self._keys), double(self._queries)
        seen = keys.sum(1, keepdim=True) if visible is None else double(visible) @ keys
        if seen.shape[1] == 1:  # all queries see the same
            return queries.sum(1)[:, :, None] * seen
        return queries.mT @ seen


def _members(
    category: Int64[Tensor, "batch position"], masked: Bool[Tensor, "batch position"]
) -> Membership:
    """All unmasked positions, those of each category, and the masked ones."""
    named = membership(category.masked_fill(masked, -1), len(CATEGORIES))
    return torch.cat([named.sum(-1, keepdim=True), named, masked[..., None].float()], dim=-1)


def _count(numbers: Tensor) -> Count:
    count = Count()
    count.update(array(numbers))
    return count
