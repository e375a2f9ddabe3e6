"""Section 4.2 and Appendix C: weights and norms by kind of token (Figures 3, 4 and 10 to 12)."""

import numpy as np
import pandas
import xarray

from headlight.findings.no_op import no_op
from headlight.papers.kobayashi2020.results import (
    LABELS,
    categories,
    head_numbers,
    layer_names,
    studied,
)
from headlight.papers.naming import head_name
from headlight.papers.reproduction import Study
from headlight.papers.text import text_notes
from headlight.papers.writer import ExhibitWriter
from headlight.views.exhibits import Exhibit
from headlight.views.pictures import HeadMap, LayerPanel, LayerSeries, head_map, points_by_layer

SHOWN = 12
"""Heads in the table of those that do nothing."""


def figure_3(study: Study, desk: ExhibitWriter) -> Exhibit:
    """What the weights say of special tokens, and what the norms say."""
    found = studied(study)
    panels = [
        LayerPanel(title, _series(found, name), y_label=label, first_layer=1)
        for name, title, label in (
            ("weight_total", "(a) by weight", "sum of α"),
            ("weighted_norm_total", "(b) by norm", "sum of ‖αf(x)‖"),
        )
    ]
    means = found[["weight_total", "weighted_norm_total"]].mean("head")
    rows = [
        {
            "layer": int(layer) + 1,
            **{
                f"{symbol} {LABELS[name]}": float(means[key].sel(layer=layer, key_category=name))
                for key, symbol in (("weight_total", "α"), ("weighted_norm_total", "‖αf(x)‖"))
                for name in categories(found)
            },
        }
        for layer in found["layer"].values
    ]
    return Exhibit(
        name="figure-3",
        title="Weights and norms by kind of token",
        source="Kobayashi et al. (2020), Figure 3 and Section 4.2",
        explanation="Each dot is a head, each line the mean of a layer: the sum over the tokens of "
        "a kind, averaged over the tokens that attend. Weights of a layer add up to 1; norms are "
        "not normalised. Where the line of [SEP] is high on the left and low on the right, much "
        "is looked at and little is taken: a no-op.",
        pictures=[
            desk.picture(
                points_by_layer(panels, columns=2),
                "Sums of α and of ‖αf(x)‖ over the tokens of each kind, by layer.",
                _crossing(found),
            )
        ],
        tables=[desk.table(pandas.DataFrame(rows), "Means over the heads of a layer")],
        notes=[_crossing(found), *text_notes(study, found)],
        files=desk.written,
    )


def _series(found: xarray.Dataset, name: str) -> list[LayerSeries]:
    return [
        LayerSeries(LABELS[kind], found[name].sel(key_category=kind).values, _colour(kind))
        for kind in categories(found)
    ]


def _colour(category: str) -> str:
    return "" if category == "sink" else category


def _crossing(found: xarray.Dataset) -> str:
    """Where special tokens get a larger share of the weight than of the norm."""
    share = {
        name: found[name].mean("head") / found[name].mean("head").sum("key_category")
        for name in ("weight_total", "weighted_norm_total")
    }
    special = [name for name in categories(found) if name in ("cls", "sep", "sink")]
    weight, norm = (share[name].sel(key_category=special).sum("key_category") for name in share)
    parts = [
        f"layer {int(layer) + 1} {100 * float(weight.sel(layer=layer)):.0f}% and "
        f"{100 * float(norm.sel(layer=layer)):.0f}%"
        for layer in found["layer"].values
    ]
    return f"Share of special tokens in the weight and in the norm: {', '.join(parts)}."


def figure_4(study: Study, desk: ExhibitWriter) -> Exhibit:
    """[SEP], head by head."""
    return _of_category(study, desk, "figure-4", "sep", "Figure 4 and Section 4.2")


def figure_10(study: Study, desk: ExhibitWriter) -> Exhibit:
    """[CLS], head by head."""
    return _of_category(study, desk, "figure-10", "cls", "Figure 10 and Appendix C")


def figure_11(study: Study, desk: ExhibitWriter) -> Exhibit:
    """Periods and commas, head by head."""
    return _of_category(study, desk, "figure-11", "punctuation", "Figure 11 and Appendix C")


def figure_12(study: Study, desk: ExhibitWriter) -> Exhibit:
    """The other tokens, head by head."""
    return _of_category(study, desk, "figure-12", "other", "Figure 12 and Appendix C")


def _of_category(
    study: Study, desk: ExhibitWriter, name: str, category: str, place: str
) -> Exhibit:
    """α and ‖f(x)‖ of a category as maps; the scale of ‖f(x)‖ is one for all categories."""
    found = studied(study)
    weight = found["weight_total"].sel(key_category=category)
    norm = found["vector_norm_by_category"].sel(key_category=category)
    tallest = float(found["vector_norm_by_category"].max())
    maps = [
        HeadMap(
            f"(a) α of {LABELS[category]}",
            weight.values,
            scale="weight",
            limits=(0, 1),
            rows=layer_names(found),
            columns=head_numbers(found),
        ),
        HeadMap(
            f"(b) ‖f(x)‖ of {LABELS[category]}",
            norm.values,
            scale="norm",
            limits=(0.0, tallest) if np.isfinite(tallest) else None,
            rows=layer_names(found),
            columns=head_numbers(found),
        ),
    ]
    together = _rank_correlation(weight.values, norm.values)
    told = (
        f"Over heads, Spearman's ρ between the two maps is {together:.2f}: "
        + (
            "heads that attend most have the shorter vectors."
            if together < 0
            else "heads that attend most do not have the shorter vectors."
        )
        if np.isfinite(together)
        else "There are no such tokens, or the two maps cannot be compared."
    )
    frame = pandas.DataFrame(
        {
            "head": [
                head_name(int(layer), int(head))
                for layer in found["layer"].values
                for head in found["head"].values
            ],
            "α": weight.values.ravel(),
            "‖f(x)‖": norm.values.ravel(),
        }
    )
    return Exhibit(
        name=name,
        title=f"α and ‖f(x)‖ of {LABELS[category]}, head by head",
        source=f"Kobayashi et al. (2020), {place}",
        explanation="Left the weight that goes to such tokens, right the mean length of their "
        "transformed vectors, on one scale for all kinds of tokens. Dark on one side and light on "
        "the other: the two cancel out.",
        pictures=[desk.picture(head_map(maps, columns=2, shared=False), "All heads.", told)],
        tables=[desk.table(frame, "All heads", formats={"α": ".3f", "‖f(x)‖": ".2f"})],
        notes=[told, *text_notes(study, found)],
        files=desk.written,
    )


def _rank_correlation(first: np.ndarray, second: np.ndarray) -> float:
    """Spearman's ρ over heads."""
    frame = pandas.DataFrame({"first": first.ravel(), "second": second.ravel()}).dropna()
    if len(frame) < 2:
        return float("nan")
    ranks = frame.rank()
    return float(ranks["first"].corr(ranks["second"]))


def no_op_report(study: Study, desk: ExhibitWriter) -> Exhibit:
    """Heads that look at special tokens and take nothing from them."""
    found = studied(study)
    frame = no_op(found)
    named = frame.assign(
        head=[head_name(int(row["layer"]), int(row["head"])) for row in frame.to_dict("records")],
        target=frame["target"].map(lambda name: LABELS.get(str(name), str(name))),
        no_op=frame["no_op"].map({True: "yes", False: "no"}),
    ).drop(columns="layer")
    desk.keep(named, "all-heads")
    most = named.sort_values("lost", ascending=False).head(SHOWN)
    shape = (found.sizes["layer"], found.sizes["head"])
    square = frame.pivot_table(index="layer", columns="head", values=["weight_share", "norm_share"])
    maps = [
        HeadMap(
            title,
            square[key].to_numpy().reshape(shape),
            scale=scale,
            limits=(0, 1),
            format=".0%",
            rows=layer_names(found),
            columns=head_numbers(found),
        )
        for key, title, scale in (
            ("weight_share", "share of the weight", "weight"),
            ("norm_share", "share of the norm", "norm"),
        )
    ]
    count = int((frame["no_op"]).sum())
    told = f"{count} of {len(frame)} heads are no-ops by this rule."
    return Exhibit(
        name="no-op",
        title="Where much weight moves little",
        source="Beyond Kobayashi et al. (2020), after Section 4.2",
        explanation="For each head, how much of its weight goes to tokens that say little by "
        "themselves (special tokens, punctuation, sinks), and how much of what it moves comes from "
        "there.",
        pictures=[desk.picture(head_map(maps, columns=2), "Shares of no-op tokens.", told)],
        tables=[
            desk.table(
                most,
                f"The {len(most)} heads that lose most: share of weight minus share of norm",
                formats=dict.fromkeys(("weight_share", "norm_share", "ratio", "lost"), ".2f"),
            )
        ],
        notes=[told, *text_notes(study, found)],
        files=desk.written,
    )
