"""Gates of heads: their means, and the queries for which gated norms are computed."""

from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Int64
from torch import Tensor

from headlight.observations.layer_arrays import stacked
from headlight.observations.positions import Positions
from headlight.observations.variables import Variable
from headlight.pool import over_queries
from headlight.reduce import Accumulator
from headlight.studies.survey.block_rows import BlockRows
from headlight.studies.survey.part import Outcome, Subject, Variables
from headlight.studies.survey.part_observer import PartObserver, SeenBlock, SeenLayer
from headlight.studies.survey.query_and_key_tokens import query_members
from headlight.studies.survey.text_means import means, number
from headlight.tensors import single

NEARLY_CLOSED = 0.1
"""Value below which a gate hardly lets anything through."""

VARIABLES = {
    "gate": Variable("mean of the gate of a head", interval="signed"),
    "gate_closed": Variable(f"share of the gate below {NEARLY_CLOSED}", interval="share"),
}


def query_sample(
    present: Bool[Tensor, "batch query"], most: int
) -> Bool[Tensor, "batch query"] | None:
    """Return the queries for which norms are computed if f depends on the query; None for all.

    Args:
        present: Mask of queries, without padding.
        most: Largest number of queries of a text, evenly spaced; 0 for all.
    """
    number, count = present.cumsum(1), present.sum(1, keepdim=True).clamp_min(1)
    # The quotient grows at `most` evenly spaced queries.
    chosen = number * most // count > (number - 1) * most // count
    return present & chosen if most and bool((count > most).any()) else None


class GateObserver(PartObserver):
    """Observer of the gates of each layer.

    Args:
        queries: Positions of the queries.
        units: Number of the unit of the corpus that each text belongs to.
    """

    on_device = ("_means",)

    def __init__(self, queries: Positions, units: Int64[np.ndarray, " text"]) -> None:
        self._units = units
        self._members = query_members(queries)
        self._blocks = BlockRows()
        self._means: dict[int, Tensor] = {}

    def note_block(self, block: SeenBlock) -> None:
        """Keep `VARIABLES` of each query; NaN in a layer without gates."""
        record = block.record
        if record.gate is None:
            shape = (*record.weight.shape[:3], 2)
            # A layer without gates has NaN, and so the same shape as its neighbours.
            rows = single(record.weight[..., :2]).new_full(shape, torch.nan)
        else:
            gate = single(record.gate)
            rows = torch.stack([gate.mean(-1), (gate < NEARLY_CLOSED).to(gate).mean(-1)], dim=-1)
        self._blocks.keep(record, {"gate": rows})

    def note_layer(self, layer: SeenLayer) -> None:
        """Average the rows of a layer over queries."""
        means = over_queries(self._blocks.rows["gate"], self._members)[:, :, 0]
        self._means[layer.record.site.layer] = means
        self._blocks = BlockRows()

    def members(self) -> dict[str, Accumulator]:
        """Return the statistics of the batch, by name."""
        rows = stacked([self._means[layer] for layer in sorted(self._means)])
        return means("gate", rows, self._units)


def gates(outcome: Outcome) -> Variables:
    """Return the variables of gates; nothing if the model has no gates."""
    if "gate" not in outcome.statistics:
        return {}
    variables: Variables = {}
    for at, name in enumerate(VARIABLES):
        variables |= number(name, ("layer", "head"), outcome.statistics, "gate", at)
    return variables


def observe(subject: Subject) -> PartObserver | None:
    """Return the observer of gates; None if no module has any."""
    gated = any(site.gate for site in subject.plan.sites)
    return GateObserver(subject.sides[0], subject.units) if gated else None


def attributes(outcome: Outcome) -> dict[str, Any]:
    """Return the number of queries of a text with norms, if not all of them have."""
    sampled = any(site.gate == "element" for site in outcome.plan.sites)
    return {"gated_queries": outcome.settings.gated_queries} if sampled else {}
