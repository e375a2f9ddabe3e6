"""How far the gates of heads are open, and where norms are taken if a gate is a vector."""

from collections.abc import Mapping
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headlight.analysis.variables import Variable, of_mean
from headlight.capture import LayerRecord
from headlight.measures.precision import single

NEARLY_CLOSED = 0.1
"""Below this a gate hardly lets anything through."""

OF_ALL_QUERIES = ("weight", "effective", "gradient", "attribution")
"""Measures that cost no more where a gate makes f another for each query."""

VARIABLES = {
    "gate": Variable("mean of the gate of a head", interval="signed"),
    "gate_closed": Variable(f"share of the gate below {NEARLY_CLOSED}", interval="share"),
}


class GateObserver:
    """Of each layer the gates, and some queries of each text.

    Args:
        present: 1 for queries, 0 for padding.
        most: queries of a text at which norms are taken where f depends on the query; 0 for all.
    """

    def __init__(self, present: Float[Tensor, "batch query"], most: int) -> None:
        there = present.bool()
        number, count = there.cumsum(1), there.sum(1, keepdim=True).clamp_min(1)
        chosen = number * most // count > (number - 1) * most // count
        self._sample = there & chosen if most and bool((count > most).any()) else None

    def sample(self, record: LayerRecord) -> Bool[Tensor, "batch query"] | None:
        """The queries of the whole text at which norms of this layer are taken; None for all."""
        return self._sample if record.site.gate == "element" else None

    def rows(self, record: LayerRecord) -> Float[Tensor, "batch head query statistic=2"]:
        """`VARIABLES` of each query; NaN in a layer without gates."""
        if record.gate is None:
            return single(record.weight[..., :2]).new_full((*record.weight.shape[:3], 2), torch.nan)
        gate = single(record.gate)
        return torch.stack([gate.mean(-1), (gate < NEARLY_CLOSED).to(gate).mean(-1)], dim=-1)


def of_gates(found: Mapping[str, Any]) -> dict[str, Any]:
    """Variables of a result; nothing if the model has no gates."""
    if "gate" not in found:
        return {}
    variables: dict[str, Any] = {}
    for at, name in enumerate(VARIABLES):
        of = {part: values[..., at] for part, values in found["gate"].items()}
        variables |= of_mean(name, ("layer", "head"), of)
    return variables
