"""Section on what attention the loss depends on."""

import xarray as xr

from headlight.views.parts import By, Columns, Curve, Drawing, Map, Section, columns, curves, maps
from headlight.views.parts.result_facts import categories


def importance_section(survey: xr.Dataset) -> Section:
    """Return mean gradients by layer, head and category of the key."""
    result = survey.sel(importance_query="all")
    names = {
        key: label
        for key, label in categories(result, "importance_key").items()
        if result["importance"].sel(importance_key=key).notnull().any()
    }
    category = By("importance_key", names)
    selected = result.sel(importance_key=list(names))
    most = float(selected["importance"].max())
    draw = curves(
        selected,
        Curve(
            "importance", panel="{importance_key}", by=category, limits=(0.0, 1.05 * most or 1.0)
        ),
    )
    draw_heads = maps(selected, Map("importance", by=category, scale="gradient"))
    table = columns(
        "importance",
        "Means over heads, by category of the key",
        selected,
        "layer",
        Columns("importance", by=category),
    )
    return Section(
        "importance",
        "What attention the loss depends on",
        "The mean over all pairs of a query and a key of a category of |∂L/∂α|: how much the loss "
        "of the model would change with the weight. Unmasked are all tokens but the mask tokens; "
        "the other categories are parts of them. Compare shapes, not values: how the loss is "
        "scaled is a convention.",
        "Clark et al. (2019), Figure 3",
        [
            Drawing("importance", "", "Mean gradient by layer and category.", draw),
            Drawing("importance_heads", "By head.", "Maps of heads by category.", draw_heads),
        ],
        [table],
    )
