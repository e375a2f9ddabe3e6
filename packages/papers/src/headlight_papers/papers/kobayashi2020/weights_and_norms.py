"""Sections 4.2 and 4.3, Appendix C: α beside ‖f(x)‖, by kind of token and pair by pair."""

from functools import partial
from typing import Any

import numpy as np
import pandas
import xarray

from headlight.findings.no_op_heads import TARGETS, no_op
from headlight.findings.thresholds import RELATED
from headlight.views.parts import (
    By,
    Comparison,
    Curve,
    DensityPanel,
    Map,
    Reference,
    Section,
    density,
    weight_and_length,
)
from headlight_papers.papers.exhibit import (
    ExhibitSpec,
    ExhibitWriter,
    exhibits_of,
    frame_of,
    head_name,
    layer_names,
)
from headlight_papers.papers.kobayashi2020 import published
from headlight_papers.papers.kobayashi2020.vector_lengths import BY, LABELS, categories, load_norms
from headlight_papers.papers.reproduction import Reproduction, text_notes

exhibit = exhibits_of(published.SOURCE)

TOTAL_SYMBOLS = {"weight_total": "α", "weighted_norm_total": "‖αf(x)‖"}
PANELS = {"weight_total": "(a) by weight", "weighted_norm_total": "(b) by norm"}

SHOWN = 12
"""Heads in the table of those that do nothing."""


@exhibit("figure-3", "Figure 3 and Section 4.2")
def figure_3(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Weights and norms by kind of token."""
    result = load_norms(reproduction)
    frame = frame_of(
        {
            f"{symbol} {LABELS[kind]}": result[name].mean("head").sel(key_group=kind)
            for name, symbol in TOTAL_SYMBOLS.items()
            for kind in categories(result)
        }
    )
    shares = _special_shares(result)
    return Section(
        explanation="Each dot is a head, each line the mean of a layer: the sum over the tokens of "
        "a kind, averaged over the tokens that attend. Weights of a layer add up to 1; norms are "
        "not normalised. Where the line of [SEP] is high on the left and low on the right, much "
        "is looked at and little is taken: a no-op.",
        drawings=[
            writer.curves(
                result.sel(key_group=categories(result)),
                *(
                    Curve(name, panel=title, by=BY, y_label=f"sum of {TOTAL_SYMBOLS[name]}")
                    for name, title in PANELS.items()
                ),
                caption="Sums of α and of ‖αf(x)‖ over the tokens of each kind, by layer.",
                alternative=shares,
                columns=2,
            )
        ],
        tables=[writer.table(frame, "Means over the heads of a layer")],
        notes=[shares, *text_notes(reproduction, result)],
    )


def _special_shares(result: xarray.Dataset) -> str:
    """Return the share of special tokens in the weight and in the norm, in a sentence."""
    special = [name for name in categories(result) if name in ("cls", "sep", "sink")]
    means = result[list(TOTAL_SYMBOLS)].mean("head")
    share = (means / means.sum("key_group")).sel(key_group=special).sum("key_group")
    parts = [
        f"layer {name} {100 * weight:.0f}% and {100 * norm:.0f}%"
        for name, weight, norm in zip(
            layer_names(result), *(share[each].values for each in TOTAL_SYMBOLS), strict=True
        )
    ]
    return f"Share of special tokens in the weight and in the norm: {', '.join(parts)}."


def together(correlation: float) -> str:
    """Return a sentence on Spearman's ρ between weights and lengths of all heads."""
    if not np.isfinite(correlation):
        return "There are no such tokens, or the two maps cannot be compared."
    sentence = f"Over heads, Spearman's ρ between the two maps is {correlation:.2f}"
    if abs(correlation) < RELATED:
        return f"{sentence}: weights and lengths have little to do with each other."
    have = "have" if correlation < 0 else "do not have"
    return f"{sentence}: heads that attend most {have} the shorter vectors."


def of_category(reproduction: Reproduction, writer: ExhibitWriter, category: str) -> Section:
    """α and ‖f(x)‖ of a category as maps; the scale of ‖f(x)‖ is one for all categories."""
    result = load_norms(reproduction)
    weight = result["weight_total"].sel(key_group=category)
    norm = result["vector_norm_by_category"].sel(key_group=category)
    tallest = float(result["vector_norm_by_category"].max())
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
                result.sel(key_group=category),
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
        notes=[note, *text_notes(reproduction, result)],
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


@exhibit("no-op", "Beyond {}, after Section 4.2", title="Where much weight moves little")
def no_op_heads(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Heads that look at special tokens and take nothing from them."""
    result = load_norms(reproduction)
    frame = no_op(result)
    named = frame.assign(
        head=list(map(head_name, frame["layer"], frame["head"])),
        target=frame["target"].map(lambda name: LABELS.get(str(name), str(name))),
        no_op=frame["no_op"].map({True: "yes", False: "no"}),
    ).drop(columns="layer")
    writer.keep(named, "all-heads")
    most = named.sort_values("lost", ascending=False).head(SHOWN)
    targets = " and ".join(LABELS[name] for name in categories(result) if name in TARGETS)
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
        notes=[count, *text_notes(reproduction, result)],
    )


SYMBOLS = {"weight": "α", "norm": "‖f(x)‖"}
RHO: dict[str, Any] = {"y_label": "Spearman's ρ", "references": [Reference(0.0)]}


@exhibit("table-2", "Table 2 and Section 4.2", title="Do weights and norms cancel out?")
def table_2(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Spearman's ρ between α and ‖f(x)‖, over all pairs of a category."""
    result = load_norms(reproduction)
    names = categories(result)
    of = result.sel(key_group=names)
    frame = pandas.DataFrame(
        {
            "category": [LABELS[name] for name in names],
            "pairs": of["weight_norm_spearman_count"].values.astype(int),
            "ρ": of["weight_norm_spearman"].values,
        }
    )
    ours = dict(zip(names, map(float, frame["ρ"]), strict=True))
    return Section(
        explanation="Spearman's rank correlation between α and ‖f(x)‖ over all pairs of an "
        "attending token and an attended token of the category, all heads together. Negative: the "
        "more attention, the shorter the vector. The pairs are never stored but counted "
        "in bins, by which ρ is off by 0.001 at most. The picture has the same within each head.",
        drawings=[
            writer.curves(
                of,
                Curve("weight_norm_spearman_by_head", panel="Head by head", by=BY, **RHO),
                caption="Spearman's ρ between α and ‖f(x)‖ within each head.",
                alternative=", ".join(f"{LABELS[name]} {rho:.2f}" for name, rho in ours.items()),
            )
        ],
        tables=[writer.table(frame, "All heads together", formats={"pairs": ",", "ρ": ".3f"})],
        comparisons=[
            Comparison(LABELS[name], rho, ours.get(name), "", f"{pairs:,} pairs there", digits=2)
            for name, (pairs, rho) in published.TABLE_2.items()
        ],
        notes=text_notes(reproduction, result),
    )


@exhibit("figure-5", "Figure 5 and Section 4.2")
def figure_5(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Pairs of α and ‖f(x)‖."""
    result = load_norms(reproduction)
    panels, frames = [], []
    longest = float(result["pairs_sample"].sel(quantity="norm").max())
    for name in categories(result):
        pairs = result["pairs_sample"].sel(key_group=name).values
        pairs = pairs[np.isfinite(pairs).all(axis=1)]
        frames.append(
            pandas.DataFrame({"category": LABELS[name], "α": pairs[:, 0], "‖f(x)‖": pairs[:, 1]})
        )
        if (pairs[:, 0] > 0).any():
            panels.append(weight_and_length(LABELS[name], pairs, longest, scale="norm"))
    writer.keep(pandas.concat(frames, ignore_index=True))
    sizes = ", ".join(
        f"{len(frame):,} of {frame['category'].iloc[0]}" for frame in frames if len(frame)
    )
    return Section(
        explanation="Each pair is an attending and an attended token in one head. The paper plots "
        "1% of all pairs as points; here a uniform random sample of each kind is drawn as a "
        "density, α on a logarithmic axis: the darker, the more pairs.",
        drawings=[
            writer.picture(
                partial(density, panels, columns=2),
                "Density of sampled pairs, by kind of the attended token.",
                f"Sampled pairs: {sizes}.",
            )
        ]
        if panels
        else [],
        notes=[f"Sampled pairs: {sizes}.", *text_notes(reproduction, result)],
    )


@exhibit("figure-6", "Figure 6 and Section 4.3")
def figure_6(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Frequent tokens have short vectors."""
    result = load_norms(reproduction)
    rho = {name: float(result["frequency_spearman"].sel(quantity=name)) for name in SYMBOLS}
    alternative = "; ".join(
        f"Spearman's ρ of rank and {SYMBOLS[name]}: {value:.2f}" for name, value in rho.items()
    )
    fields = [str(name) for name in result["field"].values]
    frame = pandas.DataFrame(result["frequency_sample"].values, columns=fields).dropna()
    writer.keep(frame)
    panels = [
        DensityPanel.of(
            f"{symbol}: ρ = {rho[name]:.2f}",
            frame["rank"].to_numpy(),
            frame[name].to_numpy(),
            x_label="frequency rank of the token",
            y_label=f"{symbol}, mean over all heads",
            scale=name,
            x_log=True,
        )
        for name, symbol in SYMBOLS.items()
        if len(frame) > 1
    ]
    by_symbol = By("quantity", SYMBOLS)
    pictures = [
        writer.curves(
            result,
            Curve("frequency_spearman_by_head", panel="Head by head", by=by_symbol, **RHO),
            caption="Spearman's ρ between frequency rank and α or ‖f(x)‖, within each head.",
            alternative=alternative,
            name="heads",
        )
    ]
    if panels:
        drawn = partial(density, panels, columns=2)
        pictures.insert(0, writer.picture(drawn, "Density of occurrences.", alternative))
    return Section(
        explanation="Each occurrence of a token: its frequency rank (1 is the most frequent) "
        "against the attention that it receives and the length of its transformed vector, both "
        "averaged over all heads. The second picture, which the paper asks for as future work, "
        "has the correlation within each head.",
        drawings=pictures,
        comparisons=[
            Comparison(f"ρ of rank and {SYMBOLS[name]}", number, rho[name], digits=2)
            for name, number in published.FIGURE_6.items()
        ],
        notes=[
            f"Ranks: {result.attrs.get('frequency_source')}, exclusions: "
            f"{result.attrs.get('frequency_exclusions')}; {result.attrs.get('frequency_left_out')} "
            "occurrences without a rank were left out. The paper takes the ids of BERT's "
            "vocabulary for ranks, without special tokens and single characters, with . , [SEP] "
            "[CLS] first.",
            *text_notes(reproduction, result),
        ],
    )
