"""Sections 4.2 and 4.3: do α and ‖f(x)‖ cancel out, and where (Table 2, Figures 5 and 6)."""

from functools import partial
from typing import Any

import numpy as np
import pandas
import xarray

from headlight.views.parts import (
    By,
    Comparison,
    Curve,
    DensityPanel,
    Reference,
    Section,
    density,
    weight_and_length,
)
from headlight_papers.papers.exhibit import exhibit
from headlight_papers.papers.kobayashi2020 import published
from headlight_papers.papers.kobayashi2020.results import (
    BY,
    LABELS,
    categories,
    load_norms,
)
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.papers.text import text_notes
from headlight_papers.papers.writer import ExhibitWriter

SYMBOLS = {"weight": "α", "norm": "‖f(x)‖"}
RHO: dict[str, Any] = {"y_label": "Spearman's ρ", "references": [Reference(0.0)]}


@exhibit(
    "table-2",
    "Do weights and norms cancel out?",
    "Kobayashi et al. (2020), Table 2 and Section 4.2",
)
def table_2(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Spearman's ρ between α and ‖f(x)‖, over all pairs of a category."""
    found = load_norms(reproduction)
    names = categories(found)
    of = found.sel(key_group=names)
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
        tables=[
            writer.table(
                frame,
                "All heads together",
                formats={"pairs": ",", "ρ": ".3f"},
            )
        ],
        comparisons=[
            Comparison(LABELS[name], rho, ours.get(name), "", f"{pairs:,} pairs there", digits=2)
            for name, (pairs, rho) in published.TABLE_2.items()
        ],
        notes=text_notes(reproduction, found),
    )


@exhibit("figure-5", "Pairs of α and ‖f(x)‖", "Kobayashi et al. (2020), Figure 5 and Section 4.2")
def figure_5(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """A sample of pairs of α and ‖f(x)‖."""
    found = load_norms(reproduction)
    panels, frames = [], []
    longest = float(found["pairs_sample"].sel(quantity="norm").max())
    for name in categories(found):
        pairs = found["pairs_sample"].sel(key_group=name).values
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
        notes=[f"Sampled pairs: {sizes}.", *text_notes(reproduction, found)],
    )


@exhibit(
    "figure-6",
    "Frequent tokens have short vectors",
    "Kobayashi et al. (2020), Figure 6 and Section 4.3",
)
def figure_6(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Frequency rank against α and ‖f(x)‖, averaged over all heads."""
    found = load_norms(reproduction)
    rho = {name: float(found["frequency_spearman"].sel(quantity=name)) for name in SYMBOLS}
    alternative = "; ".join(
        f"Spearman's ρ of rank and {SYMBOLS[name]}: {value:.2f}" for name, value in rho.items()
    )
    fields = [str(name) for name in found["field"].values]
    frame = pandas.DataFrame(found["frequency_sample"].values, columns=fields).dropna()
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
            found,
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
        notes=[_ranks_note(found), *text_notes(reproduction, found)],
    )


def _ranks_note(found: xarray.Dataset) -> str:
    attributes = found.attrs
    return (
        f"Ranks: {attributes.get('frequency_source')}, exclusions: "
        f"{attributes.get('frequency_exclusions')}; {attributes.get('frequency_left_out')} "
        "occurrences without a rank were left out. The paper takes the ids of BERT's vocabulary "
        "for ranks, without special tokens and single characters, with . , [SEP] [CLS] first."
    )
