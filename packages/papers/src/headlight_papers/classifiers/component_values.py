"""Values of every component, as means of those of layers and heads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from headlight.capture import AttentionSite
from headlight.observations.components import Component, by_scope


@dataclass(frozen=True)
class ByComponent:
    """Values of each layer and head, from which those of every component are means.

    Attributes:
        layers: Values of each observed layer, ``batch head``.
    """

    layers: dict[int, Float64[np.ndarray, "batch _"]]

    def select(self, component: Component) -> Float64[np.ndarray, " batch"]:
        """Return the mean over the heads of a component."""
        layer, head = component
        if layer is None:
            return np.asarray(np.concatenate(list(self.layers.values()), -1).mean(-1))
        values = self.layers[layer]
        return np.asarray(values.mean(-1) if head is None else values[:, head])


def slots_by_scope(
    slots: Mapping[str, Float64[np.ndarray, "..."]],
    components: Sequence[Component],
    sites: Sequence[AttentionSite],
) -> dict[str, tuple[tuple[str, ...], dict[str, np.ndarray]]]:
    """Return `by_scope` of what `headlight.reduce.Slots` computes, with the components last."""
    names = ("mean", "without", "whole")
    parts = {name: by_scope(slots[name], components, sites) for name in names}
    return {
        prefix: (axes, {"units": slots["units"]} | {name: parts[name][prefix][1] for name in names})
        for prefix, (axes, _) in parts["mean"].items()
    }
