"""How much the loss depends on attention, by category (Clark et al. 2019, Section 3.2)."""

import json
from collections.abc import Sequence
from typing import Any

import torch
import xarray
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from headlight.analysis.plan import Pass, StudyPlan
from headlight.analysis.positions import Positions, array, moments, stacked
from headlight.analysis.text_study import LossStudy
from headlight.analysis.variables import Variable, described, long_names, of_mean
from headlight.capture import Kind, LayerRecord, Objective, Prepared, Reduction, default_objective
from headlight.encode import Encoded
from headlight.encode.batch import Batch
from headlight.errors import CaptureError, CorpusError
from headlight.measures import Scores
from headlight.measures.precision import double
from headlight.pool import Membership, membership, over_keys
from headlight.reduce import Count, Tally
from headlight.studies.importance import ImportanceSettings
from headlight.vocabulary import CATEGORIES

VARIABLES = long_names(
    {
        "importance": Variable(
            "mean |∂L/∂α| of the pairs with keys of a category", "nat", interval="positive"
        ),
        "importance_std": Variable("its standard deviation over examples", "nat"),
        "importance_by_query": Variable(
            "mean |∂L/∂α| of the pairs of two categories", "nat", interval="positive"
        ),
        "examples": Variable("examples with keys of a category"),
        "loss": Variable("mean loss of a predicted token", "nat", interval="positive"),
        "loss_std": Variable("its standard deviation over examples", "nat"),
        "predicted_tokens": Variable("tokens that were predicted"),
        "masked_tokens": Variable("tokens that were hidden"),
    }
)

KEY_CATEGORIES = ("unmasked", *CATEGORIES, "masked")
"""``masked`` are the mask tokens; ``unmasked`` all others, of which the categories are parts."""

QUERY_CATEGORIES = ("all", *CATEGORIES, "masked")
"""The same for queries, but for the first, which is every token."""

Cells = Float[Tensor, "batch query_category key_category"]


class ImportanceStudy(LossStudy[ImportanceSettings]):
    """How much the loss changes with attention to tokens of each category, on a corpus.

    For a head and a category C of keys, the mean over documents of the mean over all queries i and
    all keys j in C that i can see, of |∂L/∂α_ij|.  Documents without such a pair are left out of
    that mean.  Dropout is off, and α is differentiated as what the values are multiplied with, as
    if each could change alone.  The paper does not say how the loss is scaled, so compare shapes
    with its Figure 3, not values.  It costs about one forward and one backward pass.

    Its result has ``importance[layer, head, key_category]``, its standard deviation over documents,
    the same by category of the query, in how many documents a category of keys occurs, the mean
    loss of a predicted token in nats, and how many tokens were predicted and masked.
    """

    name = "importance"
    title = "Gradient importance"
    settings_class = ImportanceSettings

    def choose_pass(self, objective: Objective | None) -> Pass:
        """A loss there always is."""
        self.objective = objective or default_objective(self.model, seed=self.settings.seed)
        return Pass(objective=self.objective)

    def observe(
        self, plan: StudyPlan[Encoded], batch: Batch, examples: Sequence[Encoded]
    ) -> "ImportanceObserver":
        """Averages gradients over pairs of positions."""
        assert isinstance(batch, Prepared)  # noqa: S101 - a pass with an objective prepares
        return ImportanceObserver(batch, plan.kind, self.objective.reduction)

    def dataset(self, plan: StudyPlan[Encoded], tally: Tally) -> xarray.Dataset:
        """Means over documents by head and category.

        Raises:
            CorpusError: nothing was predicted.
        """
        found = tally.compute()
        if not found["loss"]["count"] > 0:
            raise CorpusError(
                f"{plan.source}: nothing in it can be predicted; every text is too short."
            )
        importance = found["importance"]
        by_query = ("layer", "head", "query_category", "key_category")
        by_key = ("layer", "head", "key_category")
        variables: dict[str, Any] = {
            **of_mean(
                "importance", by_key, {name: each[:, :, 0] for name, each in importance.items()}
            ),
            "importance_std": (by_key, importance["std"][:, :, 0]),
            **of_mean("importance_by_query", by_query, importance),
            "examples": ("key_category", importance["count"][:, :, 0].max(axis=(0, 1))),
            **of_mean("loss", (), found["loss"]),
            "loss_std": ((), found["loss"]["std"]),
            "predicted_tokens": ((), found["predicted"]["total"]),
            "masked_tokens": ((), found["masked"]["total"]),
        }
        coordinates = {
            "layer": list(plan.layers),
            "head": list(range(importance["mean"].shape[1])),
            "query_category": list(QUERY_CATEGORIES),
            "key_category": list(KEY_CATEGORIES),
        }
        return described(variables, coordinates, VARIABLES).assign_attrs(
            unpredicted=int(found["unpredicted"]["total"]),
            objective=json.dumps(self.objective.settings()),
        )


run = ImportanceStudy.run


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
