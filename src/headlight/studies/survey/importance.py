"""Importance of heads: how much the loss depends on their attention."""

import json
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from headlight.capture import Kind, Objective, Prepared, Reduction
from headlight.errors import CaptureError, CorpusError
from headlight.measures import Scores
from headlight.observations.layer_arrays import array, stacked
from headlight.observations.positions import Positions
from headlight.observations.variables import Variable
from headlight.pool import Membership, membership, over_keys
from headlight.reduce import Accumulator, Count
from headlight.studies.survey.part import Outcome, Subject, Variables
from headlight.studies.survey.part_observer import PartObserver, SeenLayer
from headlight.studies.survey.text_means import means, number
from headlight.tensors import double
from headlight.vocabulary import CATEGORIES

IMPORTANCE_VARIABLES = {
    "importance": Variable(
        "mean |∂L/∂α| of the pairs of two categories", "nat", interval="positive"
    ),
    "loss": Variable("mean loss of a predicted token", "nat", interval="positive"),
    "predicted_tokens": Variable("tokens that were predicted"),
    "masked_tokens": Variable("tokens that were hidden"),
}

KEY_CATEGORIES = ("unmasked", *CATEGORIES, "masked")
"""Categories of keys: mask tokens are ``masked``; ``unmasked`` is the union of the categories."""

QUERY_CATEGORIES = ("all", *CATEGORIES, "masked")
"""Categories of queries, as those of keys, except that the first holds every token."""

Cells = Float[Tensor, "batch query_category key_category"]


def importance(outcome: Outcome) -> Variables:
    """Return means over documents by head and category; nothing if no loss was observed.

    For a head and a category C of keys, the mean over documents of the mean over all queries i and
    all keys j in C that i can see, of |∂L/∂α_ij|.  Documents without such a pair are left out of
    that mean.  Dropout is off, and α is differentiated as the factor of the values, as if each
    weight could change alone.  The paper does not say how the loss is scaled, so compare shapes
    with its Figure 3, not values.

    Raises:
        CorpusError: nothing was predicted.

    Source: Clark et al. (2019), Section 3.2.
    """
    statistics = outcome.statistics
    if "importance" not in statistics:
        return {}
    if not statistics["loss"]["count"] > 0:
        raise CorpusError(
            f"{outcome.plan.source}: nothing in it can be predicted; every text is too short."
        )
    dims = ("layer", "head", "importance_query", "importance_key")
    return {
        "importance_query": list(QUERY_CATEGORIES),
        "importance_key": list(KEY_CATEGORIES),
        **number("importance", dims, statistics, "importance"),
        **number("loss", (), statistics, "loss"),
        "predicted_tokens": ((), statistics["predicted"]["total"]),
        "masked_tokens": ((), statistics["masked"]["total"]),
    }


def attributes(outcome: Outcome) -> dict[str, Any]:
    """Return the number of texts without a prediction, and the settings of the objective."""
    objective = outcome.model_pass.objective
    if "importance" not in outcome.statistics or objective is None:
        return {}
    unpredicted = int(outcome.statistics["unpredicted"]["total"])
    return {"unpredicted": unpredicted, "objective": json.dumps(objective.settings())}


class ImportanceObserver(PartObserver):
    """Observer of |∂L/∂α| in one batch, averaged over the pairs of positions of each category.

    A pair counts if the query can see the key.  Documents without a prediction are left out of all
    averages, and counted.

    Args:
        batch: Batch that the model reads.
        kind: Kind of attention observed.
        reduction: Reduction of the losses of tokens to the loss of a document.
        units: Number of the unit of the corpus that each text belongs to.
    """

    on_device = ("_means", "_losses", "_predicted", "_masked")

    def __init__(
        self, batch: Prepared, kind: Kind, reduction: Reduction, units: Int64[np.ndarray, " text"]
    ) -> None:
        self._units = units
        queries, keys = Positions.for_kind(batch, kind)
        of_source = batch.masked
        none_masked = torch.zeros_like(queries.category, dtype=torch.bool)
        # Only the side that the model reads masked has mask tokens; the other keeps all categories.
        self._queries = _members(
            queries.category, of_source if queries.category is batch.category else none_masked
        )
        self._keys = _members(
            keys.category, of_source if keys.category is batch.category else none_masked
        )
        # The first category of queries is every token, masked ones included, unlike that of keys.
        self._queries[..., 0] = (queries.category >= 0).float()
        self._masked = of_source.sum(-1)
        self._predicted = batch.predicted
        self._reduction = reduction
        self._means: dict[int, Float[Tensor, "batch head query_category key_category"]] = {}
        self._losses: Float[Tensor, " batch"] | None = None

    def note_layer(self, layer: SeenLayer) -> None:
        """Observe the gradients of a layer, which come in one block; keep their averages.

        Raises:
            CaptureError: a gradient is not finite.
        """
        record = layer.record
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
        """Keep the loss of each document."""
        self._losses = losses

    def members(self) -> dict[str, Accumulator]:
        """Return averages with documents along the first axis, and the counts of tokens."""
        predicted, losses = self._predicted, self._losses
        assert losses is not None  # noqa: S101 - the model was run backward
        counted = torch.ones_like(losses, dtype=torch.bool) if predicted is None else predicted > 0
        losses = _by_token(losses, predicted, self._reduction)
        predicting = array(counted) > 0
        layers = stacked([self._means[layer] for layer in sorted(self._means)])
        return {
            **means("importance", layers[predicting], self._units[predicting]),
            **means("loss", array(losses[counted]), self._units[predicting]),
            "predicted": token_count(torch.zeros_like(counted) if predicted is None else predicted),
            "masked": token_count(self._masked),
            "unpredicted": token_count(~counted),
        }

    def _cells(self, visible: Bool[Tensor, "batch #query key"] | None) -> Cells:
        """Return the number of pairs of positions for each two categories."""
        keys, queries = double(self._keys), double(self._queries)
        visible_keys = keys.sum(1, keepdim=True) if visible is None else double(visible) @ keys
        if visible_keys.shape[1] == 1:  # all queries see the same
            return queries.sum(1)[:, :, None] * visible_keys
        return queries.mT @ visible_keys


def _members(
    category: Int64[Tensor, "batch position"], masked: Bool[Tensor, "batch position"]
) -> Membership:
    named = membership(category.masked_fill(masked, -1), len(CATEGORIES))
    return torch.cat([named.sum(-1, keepdim=True), named, masked[..., None].float()], dim=-1)


def losses_by_token(objective: Objective, output: Any, batch: Prepared) -> Float[Tensor, " batch"]:
    """Return the loss of each text, mean over its predicted tokens, in nats."""
    return _by_token(objective.loss(output, batch), batch.predicted, objective.reduction)


def _by_token(
    losses: Float[Tensor, " batch"], predicted: Int64[Tensor, " batch"] | None, reduction: Reduction
) -> Float[Tensor, " batch"]:
    # The sum over tokens is divided again, so that the printed loss is that of a token.
    if predicted is None or reduction != "sum":
        return losses
    return losses / predicted.clamp_min(1)


def token_count(numbers: Tensor) -> Count:
    """Return the sum of numbers of tokens as an accumulator."""
    count = Count()
    count.update(array(numbers))
    return count


def observe(subject: Subject) -> PartObserver:
    """Return the observer of the gradients of a batch."""
    batch, objective = subject.batch, subject.model_pass.objective
    assert isinstance(batch, Prepared)  # noqa: S101 - its pass has an objective
    assert objective is not None  # noqa: S101
    return ImportanceObserver(batch, subject.plan.kind, objective.reduction, subject.units)
