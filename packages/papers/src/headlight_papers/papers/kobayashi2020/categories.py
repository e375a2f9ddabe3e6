"""Section 4.2 and Appendix C: weights and norms by kind of token (Figures 3, 4 and 10 to 12)."""

from functools import partial

import numpy as np
import xarray

from headlight.findings.no_op import TARGETS, no_op
from headlight.findings.rules import RELATED
from headlight.views.parts import Curve, Map, Section
from headlight_papers.papers.exhibit import ExhibitSpec, exhibit
from headlight_papers.papers.kobayashi2020.results import (
    BY,
    LABELS,
    categories,
    load_norms,
)
from headlight_papers.papers.naming import frame_of, head_name, layer_names
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.papers.text import text_notes
from headlight_papers.papers.writer import ExhibitWriter

SYMBOLS = {"weight_total": "α", "weighted_norm_total": "‖αf(x)‖"}
PANELS = {"weight_total": "(a) by weight", "weighted_norm_total": "(b) by norm"}

SHOWN = 12
"""Heads in the table of those that do nothing."""


@exhibit(
    "figure-3",
    "Weights and norms by kind of token",
    "Kobayashi et al. (2020), Figure 3 and Section 4.2",
)
def figure_3(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Return the figure of special tokens by weights and by norms."""
    found = load_norms(reproduction)
    frame = frame_of(
        {
            f"{symbol} {LABELS[kind]}": found[name].mean("head").sel(key_group=kind)
            for name, symbol in SYMBOLS.items()
            for kind in categories(found)
        }
    )
    shares = _special_shares(found)
    return Section(
        explanation="Each dot is a head, each line the mean of a layer: the sum over the tokens of "
        "a kind, averaged over the tokens that attend. Weights of a layer add up to 1; norms are "
        "not normalised. Where the line of [SEP] is high on the left and low on the right, much "
        "is looked at and little is taken: a no-op.",
        drawings=[
            writer.curves(
                found.sel(key_group=categories(found)),
                *(
                    Curve(name, panel=title, by=BY, y_label=f"sum of {SYMBOLS[name]}")
                    for name, title in PANELS.items()
                ),
                caption="Sums of α and of ‖αf(x)‖ over the tokens of each kind, by layer.",
                alternative=shares,
                columns=2,
            )
        ],
        tables=[writer.table(frame, "Means over the heads of a layer")],
        notes=[shares, *text_notes(reproduction, found)],
    )


def _special_shares(found: xarray.Dataset) -> str:
    """Return the share of special tokens in the weight and in the norm, in a sentence."""
    special = [name for name in categories(found) if name in ("cls", "sep", "sink")]
    means = found[list(SYMBOLS)].mean("head")
    share = (means / means.sum("key_group")).sel(key_group=special).sum("key_group")
    parts = [
        f"layer {name} {100 * weight:.0f}% and {100 * norm:.0f}%"
        for name, weight, norm in zip(
            layer_names(found), *(share[each].values for each in SYMBOLS), strict=True
        )
    ]
    return f"Share of special tokens in the weight and in the norm: {', '.join(parts)}."


def together(correlation: float) -> str:
    """Return a sentence on Spearman's ρ between weights and lengths of all heads."""
    if not np.isfinite(correlation):
        return "There are no such tokens, or the two maps cannot be compared."
    said = f"Over heads, Spearman's ρ between the two maps is {correlation:.2f}"
    if abs(correlation) < RELATED:
        return f"{said}: weights and lengths have little to do with each other."
    have = "have" if correlation < 0 else "do not have"
    return f"{said}: heads that attend most {have} the shorter vectors."


def of_category(reproduction: Reproduction, writer: ExhibitWriter, category: str) -> Section:
    """α and ‖f(x)‖ of a category as maps; the scale of ‖f(x)‖ is one for all categories."""
    found = load_norms(reproduction)
    weight = found["weight_total"].sel(key_group=category)
    norm = found["vector_norm_by_category"].sel(key_group=category)
    tallest = float(found["vector_norm_by_category"].max())
    scale = (0.0, tallest) if np.isfinite(tallest) else None
    frame = frame_of({"α": weight, "‖f(x)‖": norm})
    ranks = frame[["α", "‖f(x)‖"]].dropna().rank()
    correlation = float(ranks["α"].corr(ranks["‖f(x)‖"]))
    note = together(correlation)
    return Section(
        explanation="Left the weight that goes to such tokens, right the mean length of their "
        "transformed vectors, on one scale for all kinds of tokens. Dark on one side and light on "
        "the other: the two cancel out.",
        drawings=[
            writer.maps(
                found.sel(key_group=category),
                Map("weight_total", f"(a) α of {LABELS[category]}", unit=""),
                Map(
                    "vector_norm_by_category",
                    f"(b) ‖f(x)‖ of {LABELS[category]}",
                    scale="norm",
                    limits=scale,
                ),
                caption="All heads.",
                alternative=note,
                columns=2,
            )
        ],
        tables=[writer.table(frame, "All heads", formats={"α": ".3f", "‖f(x)‖": ".2f"})],
        notes=[note, *text_notes(reproduction, found)],
    )


figure_4, figure_10, figure_11, figure_12 = (
    ExhibitSpec(
        f"figure-{number}",
        f"α and ‖f(x)‖ of {LABELS[category]}, head by head",
        f"Kobayashi et al. (2020), Figure {number} and {place}",
        partial(of_category, category=category),
    )
    for number, category, place in (
        (4, "sep", "Section 4.2"),
        (10, "cls", "Appendix C"),
        (11, "punctuation", "Appendix C"),
        (12, "other", "Appendix C"),
    )
)


@exhibit(
    "no-op",
    "Where much weight moves little",
    "Beyond Kobayashi et al. (2020), after Section 4.2",
)
def no_op_heads(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Heads that look at special tokens and take nothing from them."""
    found = load_norms(reproduction)
    frame = no_op(found)
    named = frame.assign(
        head=list(map(head_name, frame["layer"], frame["head"])),
        target=frame["target"].map(lambda name: LABELS.get(str(name), str(name))),
        no_op=frame["no_op"].map({True: "yes", False: "no"}),
    ).drop(columns="layer")
    writer.keep(named, "all-heads")
    most = named.sort_values("lost", ascending=False).head(SHOWN)
    targets = " and ".join(LABELS[name] for name in categories(found) if name in TARGETS)
    maps = (
        Map(
            f"{scale}_share",
            f"{scale.capitalize()} to {targets}",
            scale=scale,
            limits=(0, 1),
            format=".0%",
            unit=f"share of all {scale}",
        )
        for scale in ("weight", "norm")
    )
    count = f"{int(frame['no_op'].sum())} of {len(frame)} heads are no-ops by this rule."
    return Section(
        explanation="For each head, how much of its weight goes to tokens that say little by "
        "themselves (special tokens, punctuation, sinks), and how much of what it moves comes from "
        "there.",
        drawings=[
            writer.maps(
                frame.set_index(["layer", "head"]).to_xarray(),
                *maps,
                caption=f"The share of its weight, and of its norm, that a head gives to "
                f"{targets}.",
                alternative=count,
                columns=2,
            )
        ],
        tables=[
            writer.table(
                most,
                f"The {len(most)} heads that lose most: share of weight minus share of norm",
                formats=dict.fromkeys(("weight_share", "norm_share", "ratio", "lost"), ".2f"),
            )
        ],
        notes=[count, *text_notes(reproduction, found)],
    )
