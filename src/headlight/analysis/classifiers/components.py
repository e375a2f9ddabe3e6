"""Components of attention that are replaced at once, and which of their rows and keys take part."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float64
from torch import Tensor

from headlight.analysis.batch_texts import Texts
from headlight.analysis.positions import array
from headlight.analysis.settings import Scope
from headlight.capture import AttentionSite, LayerRecord
from headlight.shapes import Weight

Component = tuple[int | None, int | None]
"""A layer and a head; None for all of them."""

KeyMask = Bool[Tensor, "batch 1 query key"]
"""Which keys take part in each row; none in rows that stay as they are."""


def components_of(by: Sequence[Scope], sites: Sequence[AttentionSite]) -> list[Component]:
    """Return the components whose attention is replaced at once, in the order of results."""
    found: list[Component] = []
    if "all" in by:
        found.append((None, None))
    if "layer" in by:
        found += [(site.layer, None) for site in sites]
    if "head" in by:
        found += [(site.layer, head) for site in sites for head in range(site.heads)]
    return found


def name_of(component: Component) -> str:
    """``all``, ``L3`` or ``L3H7``."""
    layer, head = component
    if layer is None:
        return "all"
    return f"L{layer}" if head is None else f"L{layer}H{head}"


def key_mask(texts: Texts, rows: Bool[Tensor, "batch query"], record: LayerRecord) -> KeyMask:
    """The keys of each of these rows that are real, and that its query sees."""
    keys = (texts.keys >= 0)[:, None, None].expand(-1, 1, rows.shape[1], -1)
    if record.visible is not None:
        keys = keys & record.visible[:, None]
    return keys & rows[:, None, :, None]


def mean_largest(weight: Weight, keys: KeyMask) -> Float64[np.ndarray, "batch head"]:
    """The mean over rows of the largest weight among the keys that take part; NaN for no row."""
    there = keys.any(-1)
    highest = array(weight.masked_fill(~keys, 0).amax(-1)) * array(there)
    number = array(there).sum(-1)
    return np.where(number > 0, highest.sum(-1) / np.maximum(number, 1), np.nan)


@dataclass(frozen=True)
class ByComponent:
    """Values of each layer and head, from which those of every component are means.

    Attributes:
        layers: of each layer that is looked at, ``batch head``.
    """

    layers: dict[int, Float64[np.ndarray, "batch _"]]

    def of(self, component: Component) -> Float64[np.ndarray, " batch"]:
        """The mean over the heads of a component."""
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


def by_scope(
    values: Float64[np.ndarray, "*cell place"],
    components: Sequence[Component],
    sites: Sequence[AttentionSite],
) -> dict[str, tuple[tuple[str, ...], Float64[np.ndarray, "*cells"]]]:
    """Values over components as axes and numbers of all, of layers and of heads; else NaN."""
    at = {component: number for number, component in enumerate(components)}
    found: dict[str, tuple[tuple[str, ...], Float64[np.ndarray, "*cells"]]] = {}
    if (None, None) in at:
        found[""] = ((), values[..., at[None, None]])
    layers = [at[site.layer, None] for site in sites if (site.layer, None) in at]
    if layers:
        found["layer_"] = (("layer",), values[..., layers])
    if (sites[0].layer, 0) in at:
        heads = max(site.heads for site in sites)
        cells = np.full((*values.shape[:-1], len(sites), heads), np.nan)
        for row, site in enumerate(sites):
            numbers = [at[site.layer, head] for head in range(site.heads)]
            cells[..., row, : site.heads] = values[..., numbers]
        found["head_"] = (("layer", "head"), cells)
    return found
