"""The study of permutation: the effect of other attention on predictions."""

from functools import partial

import xarray as xr

from headlight.views.parts import (
    By,
    Columns,
    Curve,
    Drawing,
    Map,
    Section,
    Summary,
    Table,
    columns,
    curves,
    maps,
)
from headlight.views.parts.bar_charts import bars
from headlight.views.parts.result_facts import attending_rows, rounded, settings_of
from headlight_papers.findings import permutation
from headlight_papers.sharpness import by_largest_weight, spread_boxes, spread_table

findings = permutation.permutation
"""Findings in words, shown first."""

NAMES = {
    "permuted": "permuted",
    "uniform": "uniform",
    "largest": "all on the largest",
    "random": "all on a random one",
}
ATTENTION = By("change", NAMES, "attention")
JAIN = "Jain and Wallace (2019), {}"


def summary(result: xr.Dataset) -> Summary:
    """Return the accuracy, and the change of predictions by each replacement of attention."""
    numbers: Summary = {"accuracy": float(result["own_accuracy"])}
    prefix = next(prefix for prefix in ("", "layer_", "head_") if f"{prefix}tvd" in result)
    for name in map(str, result["change"].values):
        cell = result.sel(change=name)
        numbers[f"{name}_tvd"] = float(cell[f"{prefix}tvd"].mean())
        numbers[f"{name}_agreement"] = float(cell[f"{prefix}agreement"].mean())
    return rounded(numbers)


def sections(result: xr.Dataset) -> list[Section]:
    """Return the sections: changes as a whole, by layer and head, and by the largest weight."""
    parts = [_changes(result)] if "tvd" in result else []
    if "layer_tvd" in result:
        parts.append(_layers(result))
    if "head_tvd" in result:
        parts.append(_heads(result))
    return [*parts, _largest(result)]


def _settings(result: xr.Dataset) -> str:
    """Return the settings in words."""
    settings = settings_of(result)
    special_tokens = (
        "the weights of special tokens stay as they are"
        if settings.get("keep_special")
        else "special tokens take part like all others"
    )
    return (
        f"Rows of {attending_rows(result)} are replaced; {special_tokens}; of "
        f"{settings.get('shuffles', 1)} permutations of a text the median counts."
    )


def _changes(result: xr.Dataset) -> Section:
    table = columns(
        "changes",
        "Means over texts",
        result,
        ATTENTION,
        Columns("tvd", ".3f", "TVD", interval=True),
        Columns("agreement", ".1%", "same prediction"),
        Columns("accuracy", ".1%", "right"),
    )
    draw = bars(table.frame, "attention", "TVD", x_label="TVD")
    right = float(result["own_accuracy"])
    largest = float(result["largest_weight"])
    return Section(
        "changes",
        "Other attention in all layers at once",
        "The total variation distance (TVD) of the classes' probabilities with and without the "
        "model's own attention: 0 where nothing changes, 1 where all probability goes to other "
        f"classes. With its own attention the model is right in {right:.1%}; the mean largest "
        f"weight of a row is {largest:.2f}. {_settings(result)} The model was not trained again. "
        "Intervals: 95%, over documents or texts.",
        JAIN.format("Section 4.2.1"),
        [Drawing("changes", "", "Change of the predictions by other attention.", draw)],
        [table],
    )


def _layers(result: xr.Dataset) -> Section:
    draw = curves(
        result,
        Curve("layer_tvd", panel="How far the prediction moves", by=ATTENTION, y_label="TVD"),
        Curve(
            "layer_agreement", panel="Predictions that stay the same", by=ATTENTION, percent=True
        ),
    )
    return Section(
        "layers",
        "Other attention in one layer",
        "The same with the attention of one layer alone replaced, while all others compute theirs "
        f"from what reaches them. {_settings(result)}",
        JAIN.format("Section 4.2.1"),
        [Drawing("layers", "", "Change of the predictions by layer.", draw)],
        [
            columns(
                "layers",
                "TVD by layer",
                result,
                "layer",
                Columns("layer_tvd", ".3f", by=ATTENTION),
                Columns("layer_largest_weight", label="largest weight"),
            ),
            columns(
                "layer-predictions",
                "Predictions that stay the same",
                result,
                "layer",
                Columns("layer_agreement", ".1%", by=ATTENTION),
            ),
        ],
    )


def _heads(result: xr.Dataset) -> Section:
    return Section(
        "heads",
        "Other attention in one head",
        "TVD with the attention of one head alone replaced. Dark heads are those on whose weights "
        "the prediction depends.",
        JAIN.format("Section 4.2.1"),
        [
            Drawing(
                "heads",
                "",
                "Change of the predictions by head.",
                maps(result, Map("head_tvd", by=ATTENTION, unit="TVD")),
            )
        ],
        [
            columns(
                "heads",
                "TVD by head",
                result,
                ("layer", "head"),
                Columns("head_tvd", ".3f", by=ATTENTION),
                Columns("head_largest_weight", label="largest weight"),
            )
        ],
    )


def _largest(result: xr.Dataset) -> Section:
    change = NAMES[str(result["change"].values[0])]
    groups, kind = by_largest_weight(result, "tvd"), "largest weight"
    draw = partial(spread_boxes, groups, kind, "TVD")
    title = f"TVD by the largest weight; attention is {change}"
    return Section(
        "largest",
        "Does the prediction move more where attention is sharp?",
        "Texts by the mean, over the rows that are replaced, of the largest weight. If attention "
        "that is sharp mattered more, boxes would rise from left to right. Boxes are quartiles, "
        f"whiskers the 5th and 95th percentile; attention is {change}. All panels have one scale.",
        JAIN.format("Figures 6 and 7"),
        [Drawing("largest", "", "Change of the predictions by the largest weight.", draw)],
        [Table("largest", title, spread_table(groups, kind))],
    )
