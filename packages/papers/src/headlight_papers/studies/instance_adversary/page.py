"""Instance adversaries: the most different attention with nearly the same prediction."""

from dataclasses import replace
from functools import partial

import numpy as np
import xarray as xr

from headlight.views.dimensions import ByWhich
from headlight.views.parts import (
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
from headlight.views.parts.result_facts import attending_rows, rounded, settings_of
from headlight_papers.findings import instance_adversary
from headlight_papers.sharpness import (
    Groups,
    by_largest_weight,
    places_of,
    spread_boxes,
    spread_table,
)

findings = instance_adversary.instance_adversary
"""Findings in words, shown first."""

BOUND = float(np.log(2))
JAIN = "Jain and Wallace (2019), {}"
NAMES = {"jsd": "nearly the same prediction", "exact_jsd": "exactly the same output"}
NEAR = "JSD ≥ 0.6"
SPREAD = dict.fromkeys(("lower quartile", "median", "upper quartile"), ".3f")
COLUMNS = (
    Columns("jsd", ".3f", "JSD", interval=True),
    Columns("near", ".1%", NEAR),
    Columns("moved", ".4f", "TVD"),
    Columns("steps", ".0f", "steps"),
    Columns("exact_jsd", ".3f", "exact JSD"),
    Columns("exact_rows", ".1%", "rows with exact ones"),
)
"""Columns of the tables of all layers at once, of layers and of heads."""


def summary(result: xr.Dataset) -> Summary:
    """Return the distances of attention with nearly, and with exactly, the same prediction."""
    prefix = next(scope for scope in ("", "layer_", "head_") if f"{scope}jsd" in result)
    names = ("jsd", "near", "moved", "exact_jsd", "exact_rows")
    numbers: Summary = {name: float(result[f"{prefix}{name}"].mean()) for name in names}
    numbers["exact_moved"] = float(result["exact_moved"])
    return rounded(numbers)


def sections(result: xr.Dataset) -> list[Section]:
    """Return the sections: all layers, layers and heads, predicted classes, largest weights."""
    parts = [_joint_section(result)] if "jsd" in result else []
    if "layer_jsd" in result:
        parts.append(_layers(result))
    if "head_jsd" in result:
        parts.append(_heads(result))
    first = replace(parts[0], explanation=f"{EXPLANATION} {parts[0].explanation}")
    return [first, *parts[1:], _texts(result), _largest(result)]


def _settings(result: xr.Dataset) -> str:
    """Return the settings in words."""
    settings = settings_of(result)
    patience = settings.get("patience")
    until = f", until the loss has not fallen for {patience} steps" if patience else ""
    return (
        f"Rows of {attending_rows(result)} may change; ε is "
        f"{settings.get('epsilon', 0.05):g} (TVD). Of {settings.get('candidates', 5)} candidates "
        f"the best counts, after at most {settings.get('steps', 150)} steps of "
        f"size {settings.get('learning_rate', 0.05):g}{until}."
    )


EXPLANATION = (
    "JSD is the Jensen-Shannon divergence of the most different attention that was found from the "
    "model's own, in nats, the mean over rows of at least two keys: 0 for the same, ln 2 = 0.693 "
    "at most. It is a lower bound: what is not found may exist. Attention is free here to be what "
    "the model would never compute, so that a large JSD shows that other weights give the same "
    "prediction, and not that the model's own are arbitrary (Wiegreffe and Pinter 2019). The exact "
    "JSD is that of attention by which no output of any head changes, in the left null space "
    "(Brunner et al. 2020): it exists only where a text has more tokens than a head is wide."
)


def _table(result: xr.Dataset, name: str, caption: str, rows: ByWhich, scope: str) -> Table:
    return columns(name, caption, result, rows, *(column.in_scope(scope) for column in COLUMNS))


def _joint_section(result: xr.Dataset) -> Section:
    exact = float(result["exact_moved"])
    certificate = (
        f" With all exact alternatives at once the prediction moves by {exact:.1e}, which is "
        "rounding."
        if np.isfinite(exact)
        else ""
    )
    return Section(
        "all",
        "Other attention in all layers at once",
        f"{_settings(result)}{certificate} Intervals: 95%, over documents or texts.",
        JAIN.format("Section 4.2.2"),
        tables=[
            _table(
                result.expand_dims(attention=["all layers"]),
                "all",
                "Means over texts",
                "attention",
                "",
            )
        ],
    )


def _layers(result: xr.Dataset) -> Section:
    title, unit = "Most different attention", "JSD (nats)"
    draw = curves(
        result,
        *(Curve(f"layer_{name}", label, title, y_label=unit) for name, label in NAMES.items()),
    )
    return Section(
        "layers",
        "Other attention in one layer",
        "The same where the attention of one layer alone may change, and all others compute theirs "
        f"from what reaches them. {_settings(result)}",
        JAIN.format("Section 4.2.2"),
        [Drawing("layers", "", "Divergence by layer.", draw)],
        [_table(result, "layers", "By layer", "layer", "layer_")],
    )


def _heads(result: xr.Dataset) -> Section:
    draw = maps(
        result,
        *(
            Map(f"head_{name}", label, limits=(0, BOUND), unit="JSD (nats)")
            for name, label in NAMES.items()
        ),
    )
    return Section(
        "heads",
        "Other attention in one head",
        f"The same where the attention of one head alone may change. {_settings(result)}",
        JAIN.format("Section 4.2.2"),
        [Drawing("heads", "", "Divergence by head.", draw)],
        [_table(result, "heads", "By head", ("layer", "head"), "head_")],
    )


def _draw_classes(result: xr.Dataset) -> Groups:
    """Draw the divergences of single texts by place, all and by the predicted class."""
    groups = {}
    for place in places_of(result):
        points = result["points"].sel(place=place)
        jsd, exact, chosen = (
            points.sel(quantity=name).values for name in ("jsd", "exact_jsd", "predicted_class")
        )
        groups[place] = {"all texts": jsd}
        if "predicted_class" in result.coords:
            names = map(str, result["predicted_class"].values)
            groups[place] |= {name: jsd[chosen == at] for at, name in enumerate(names)}
        if np.isfinite(exact).any():
            groups[place]["exact"] = exact
    return groups


def _texts(result: xr.Dataset) -> Section:
    groups, kind = _draw_classes(result), "predicted class"
    distances = [
        values[np.isfinite(values)] for group in groups.values() for values in group.values()
    ]
    near = [float((values >= 0.6).mean()) if values.size else np.nan for values in distances]
    table = spread_table(groups, kind).assign(**{NEAR: near})
    draw = partial(spread_boxes, groups, kind, "JSD (nats)", (0.0, 0.7))
    return Section(
        "texts",
        "From text to text",
        "The spread of JSD over texts, by the predicted class; last that of attention with "
        "exactly the same output. Boxes are quartiles, whiskers the 5th and 95th percentile.",
        JAIN.format("Figure 8"),
        [Drawing("texts", "", "Divergence by the predicted class.", draw)],
        [Table("texts", "JSD by the predicted class", table, SPREAD | {NEAR: ".1%"})],
    )


def _largest(result: xr.Dataset) -> Section:
    groups, kind = by_largest_weight(result, "jsd"), "largest weight"
    draw = partial(spread_boxes, groups, kind, "JSD (nats)", (0.0, 0.7))
    return Section(
        "largest",
        "Can attention that is sharp be less different?",
        "Texts by the mean, over the rows that may change, of the largest weight. If sharp "
        "attention were fixed by the prediction, boxes would fall from left to right.",
        JAIN.format("Figure 9"),
        [Drawing("largest", "", "Divergence by the largest weight.", draw)],
        [Table("largest", "JSD by the largest weight", spread_table(groups, kind), SPREAD)],
    )
