"""Sections 4.2 and 4.3: do α and ‖f(x)‖ cancel out, and where (Table 2, Figures 5 and 6)."""

import numpy as np
import pandas
import xarray

from headlight.papers.kobayashi2020 import published
from headlight.papers.kobayashi2020.results import LABELS, categories, studied
from headlight.papers.reproduction import Study
from headlight.papers.text import text_notes
from headlight.papers.writer import ExhibitWriter
from headlight.views.exhibits import Comparison, Exhibit
from headlight.views.pictures import (
    DensityPanel,
    LayerPanel,
    LayerSeries,
    Reference,
    density,
    points_by_layer,
)

SYMBOLS = {"weight": "α", "norm": "‖f(x)‖"}


def table_2(study: Study, desk: ExhibitWriter) -> Exhibit:
    """Spearman's ρ between α and ‖f(x)‖, over all pairs of a category."""
    found = studied(study)
    rows = [
        {
            "category": LABELS[name],
            "pairs": int(found["weight_norm_spearman_count"].sel(key_category=name)),
            "ρ": float(found["weight_norm_spearman"].sel(key_category=name)),
            "error at most": float(
                found["weight_norm_spearman_error_bound"].sel(key_category=name)
            ),
        }
        for name in categories(found)
    ]
    by_head = found["weight_norm_spearman_by_head"]
    series = [
        LayerSeries(
            LABELS[name], by_head.sel(key_category=name).values, "" if name == "sink" else name
        )
        for name in categories(found)
    ]
    panel = LayerPanel(
        "Head by head", series, y_label="Spearman's ρ", references=[Reference(0.0)], first_layer=1
    )
    return Exhibit(
        name="table-2",
        title="Do weights and norms cancel out?",
        source="Kobayashi et al. (2020), Table 2 and Section 4.2",
        explanation="Spearman's rank correlation between α and ‖f(x)‖ over all pairs of an "
        "attending token and an attended token of the category, all heads together. Negative: the "
        "more attention, the shorter the vector. The pairs are never stored; the error of the "
        "method is computed with it. The picture has the same within each head.",
        pictures=[
            desk.picture(
                points_by_layer([panel]),
                "Spearman's ρ between α and ‖f(x)‖ within each head.",
                ", ".join(f"{row['category']} {row['ρ']:.2f}" for row in rows),
            )
        ],
        tables=[
            desk.table(
                pandas.DataFrame(rows),
                "All heads together",
                formats={"pairs": ",", "ρ": ".3f", "error at most": ".1e"},
            )
        ],
        comparisons=[
            Comparison(
                LABELS[name],
                rho,
                float(found["weight_norm_spearman"].sel(key_category=name))
                if name in categories(found)
                else None,
                "",
                f"{pairs:,} pairs there",
                digits=2,
            )
            for name, (pairs, rho) in published.TABLE_2.items()
        ],
        notes=text_notes(study, found),
        files=desk.written,
    )


def figure_5(study: Study, desk: ExhibitWriter) -> Exhibit:
    """A sample of pairs of α and ‖f(x)‖."""
    found = studied(study)
    panels, frames = [], []
    for name in categories(found):
        pairs = found["pairs_sample"].sel(key_category=name).values
        pairs = pairs[np.isfinite(pairs).all(axis=1)]
        frames.append(
            pandas.DataFrame({"category": LABELS[name], "α": pairs[:, 0], "‖f(x)‖": pairs[:, 1]})
        )
        if len(pairs) > 1 and (pairs[:, 0] > 0).any():
            shown = pairs[pairs[:, 0] > 0]
            panels.append(
                DensityPanel.of(
                    LABELS[name],
                    shown[:, 0],
                    shown[:, 1],
                    x_log=True,
                    x_label="α",
                    y_label="‖f(x)‖",
                    scale="norm",
                )
            )
    table = pandas.concat(frames, ignore_index=True)
    desk.keep(table)
    sizes = ", ".join(
        f"{len(frame):,} of {frame['category'].iloc[0]}" for frame in frames if len(frame)
    )
    return Exhibit(
        name="figure-5",
        title="Pairs of α and ‖f(x)‖",
        source="Kobayashi et al. (2020), Figure 5 and Section 4.2",
        explanation="Each pair is an attending and an attended token in one head. The paper plots "
        "1% of all pairs as points; here a uniform random sample of each kind is drawn as a "
        "density, α on a logarithmic axis: the darker, the more pairs.",
        pictures=[
            desk.picture(
                density(panels, columns=2),
                "Density of sampled pairs, by kind of the attended token.",
                f"Sampled pairs: {sizes}.",
            )
        ]
        if panels
        else [],
        notes=[f"Sampled pairs: {sizes}.", *text_notes(study, found)],
        files=desk.written,
    )


def figure_6(study: Study, desk: ExhibitWriter) -> Exhibit:
    """Frequency rank against α and ‖f(x)‖, averaged over all heads."""
    found = studied(study)
    correlation = found["frequency_spearman"]
    sample = found["frequency_sample"].values
    fields = [str(name) for name in found["field"].values]
    frame = pandas.DataFrame(sample, columns=fields).dropna()
    desk.keep(frame)
    panels = [
        DensityPanel.of(
            f"{symbol}: ρ = {float(correlation.sel(quantity=name)):.2f}",
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
    by_head = found["frequency_spearman_by_head"]
    series = [
        LayerSeries(symbol, by_head.sel(quantity=name).values, name)
        for name, symbol in SYMBOLS.items()
    ]
    heads = LayerPanel(
        "Head by head", series, y_label="Spearman's ρ", references=[Reference(0.0)], first_layer=1
    )
    return Exhibit(
        name="figure-6",
        title="Frequent tokens have short vectors",
        source="Kobayashi et al. (2020), Figure 6 and Section 4.3",
        explanation="Each occurrence of a token: its frequency rank (1 is the most frequent) "
        "against the attention that it receives and the length of its transformed vector, both "
        "averaged over all heads. The second picture, which the paper asks for as future work, "
        "has the correlation within each head.",
        pictures=[
            *(
                [
                    desk.picture(
                        density(panels, columns=2), "Density of occurrences.", _told(correlation)
                    )
                ]
                if panels
                else []
            ),
            desk.picture(
                points_by_layer([heads]),
                "Spearman's ρ between frequency rank and α or ‖f(x)‖, within each head.",
                _told(correlation),
                "heads",
            ),
        ],
        comparisons=[
            Comparison(
                f"ρ of rank and {SYMBOLS[name]}",
                number,
                float(correlation.sel(quantity=name)),
                digits=2,
            )
            for name, number in published.FIGURE_6.items()
        ],
        notes=[_ranks_note(found), *text_notes(study, found)],
        files=desk.written,
    )


def _told(correlation: xarray.DataArray) -> str:
    return "; ".join(
        f"Spearman's ρ of rank and {symbol}: {float(correlation.sel(quantity=name)):.2f}"
        for name, symbol in SYMBOLS.items()
    )


def _ranks_note(found: xarray.Dataset) -> str:
    attributes = found.attrs
    return (
        f"Ranks: {attributes.get('frequency_source')}, exclusions: "
        f"{attributes.get('frequency_exclusions')}; {attributes.get('frequency_left_out')} "
        "occurrences without a rank were left out. The paper takes the ids of BERT's vocabulary "
        "for ranks, without special tokens and single characters, with . , [SEP] [CLS] first."
    )
