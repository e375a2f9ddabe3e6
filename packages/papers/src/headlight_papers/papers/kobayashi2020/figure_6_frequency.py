"""Figure 6: frequent tokens have short vectors."""

from functools import partial

import pandas

from headlight.views.parts import By, Comparison, Curve, DensityPanel, Section, density
from headlight_papers.papers.exhibit_files import ExhibitWriter
from headlight_papers.papers.kobayashi2020 import published
from headlight_papers.papers.kobayashi2020.exhibit import exhibit
from headlight_papers.papers.kobayashi2020.norm_results import load_norms
from headlight_papers.papers.kobayashi2020.table_2_correlation import RHO
from headlight_papers.papers.notes import text_notes
from headlight_papers.papers.reproduction import Reproduction

SYMBOLS = {"weight": "α", "norm": "‖f(x)‖"}


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
        DensityPanel.from_pairs(
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
