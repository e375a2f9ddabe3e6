"""The study of importance: how much the loss changes with attention to each category."""

import xarray as xr

from headlight.findings.answers import heads
from headlight.views.parts import (
    By,
    Columns,
    Curve,
    Drawing,
    Map,
    Section,
    Summary,
    categories,
    columns,
    curves,
    maps,
    mean_of,
    rounded,
)

findings = heads.importance
"""In words, which stand first."""


def summary(result: xr.Dataset) -> Summary:
    """Loss, predicted tokens, and the mean gradient by category of the key."""
    by_category = {
        name: mean_of(result["importance"].sel(key_category=name)) for name in categories(result)
    }
    counted = {"loss": float(result["loss"]), "predicted_tokens": int(result["predicted_tokens"])}
    return rounded({**counted, **by_category})


def sections(result: xr.Dataset) -> list[Section]:
    """Importance by layer and by head."""
    names = {
        key: label
        for key, label in categories(result).items()
        if result["importance"].sel(key_category=key).notnull().any()
    }
    category = By("key_category", names)
    found = result.sel(key_category=list(names))
    most = float(found["importance"].max())
    draw = curves(
        found,
        Curve("importance", panel="{key_category}", by=category, limits=(0.0, 1.05 * most or 1.0)),
    )
    draw_heads = maps(found, Map("importance", by=category, scale="gradient"))
    table = columns(
        "importance",
        "Means over heads, by category of the key",
        found,
        "layer",
        Columns("importance", by=category),
    )
    section = Section(
        "importance",
        "What attention the loss depends on",
        "The mean over all pairs of a query and a key of a category of |∂L/∂α|: how much the loss "
        "of the model would change with the weight. Unmasked are all tokens but the mask tokens; "
        "the other categories are parts of them. Compare shapes, not values: how the loss is "
        "scaled is a convention.",
        "Clark et al. (2019), Figure 3",
        [
            Drawing("importance", "", "Mean gradient by layer and category.", draw),
            Drawing("heads", "The same by head.", "Maps of heads by category.", draw_heads),
        ],
        [table],
    )
    return [section]
