"""Components of a model: all attention at once, that of a layer, that of a head."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float64

from headlight.capture import AttentionSite
from headlight.study_settings.classifiers import Scope

Component = tuple[int | None, int | None]
"""A layer and a head; None for all of them."""


def components_of(by: Sequence[Scope], sites: Sequence[AttentionSite]) -> list[Component]:
    """Return the components whose attention is replaced at once, in the order of results."""
    components: list[Component] = []
    if "all" in by:
        components.append((None, None))
    if "layer" in by:
        components += [(site.layer, None) for site in sites]
    if "head" in by:
        components += [(site.layer, head) for site in sites for head in range(site.heads)]
    return components


def name_of(component: Component) -> str:
    """Return the name of a component: ``all``, ``L3`` or ``L3H7``."""
    layer, head = component
    if layer is None:
        return "all"
    return f"L{layer}" if head is None else f"L{layer}H{head}"


def by_scope(
    values: Float64[np.ndarray, "*cell place"],
    components: Sequence[Component],
    sites: Sequence[AttentionSite],
) -> dict[str, tuple[tuple[str, ...], Float64[np.ndarray, "*cells"]]]:
    """Return axes and values by prefix: of all attention, of layers, and of heads (or NaN)."""
    at = {component: number for number, component in enumerate(components)}
    scopes: dict[str, tuple[tuple[str, ...], Float64[np.ndarray, "*cells"]]] = {}
    if (None, None) in at:
        scopes[""] = ((), values[..., at[None, None]])
    layers = [at[site.layer, None] for site in sites if (site.layer, None) in at]
    if layers:
        scopes["layer_"] = (("layer",), values[..., layers])
    if (sites[0].layer, 0) in at:
        heads = max(site.heads for site in sites)
        cells = np.full((*values.shape[:-1], len(sites), heads), np.nan)
        for row, site in enumerate(sites):
            numbers = [at[site.layer, head] for head in range(site.heads)]
            cells[..., row, : site.heads] = values[..., numbers]
        scopes["head_"] = (("layer", "head"), cells)
    return scopes
