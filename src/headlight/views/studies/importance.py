"""The study of importance: how much the loss changes with attention to each category."""

import xarray as xr

from headlight.views.exhibits import Table
from headlight.views.pictures import head_map, points_by_layer
from headlight.views.studies.parts import (
    Drawing,
    Figure,
    Section,
    Summary,
    categories,
    frame_of,
    layer_panel,
    map_of_heads,
    mean_of,
    rounded,
)


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
    values = result["importance"].sel(key_category=list(names))
    frame = frame_of(values.mean("head"), "layer", "key_category", names)

    def draw() -> Figure:
        series = {label: values.sel(key_category=name) for name, label in names.items()}
        return points_by_layer([layer_panel("Mean |∂L/∂α|", series)])

    def draw_heads() -> Figure:
        maps = [
            map_of_heads(label, values.sel(key_category=name), scale="gradient")
            for name, label in names.items()
        ]
        return head_map(maps)

    table = Table("importance", "Means over heads, by category of the key", frame)
    section = Section(
        "importance",
        "What attention the loss depends on",
        "The mean over all pairs of a query and a key of a category of |∂L/∂α|: how much the loss "
        "of the model would change with the weight. Compare shapes, not values: how the loss is "
        "scaled is a convention.",
        "Clark et al. (2019), Figure 3",
        [
            Drawing("importance", "", "Mean gradient by layer and category.", draw),
            Drawing("heads", "The same by head.", "Maps of heads by category.", draw_heads),
        ],
        [table],
    )
    return [section]
