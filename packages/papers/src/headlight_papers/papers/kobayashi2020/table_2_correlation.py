"""Table 2: Spearman's ρ between α and ‖f(x)‖."""

from typing import Any

import pandas

from headlight.views.parts import Comparison, Curve, Reference, Section
from headlight_papers.papers.exhibit_files import ExhibitWriter
from headlight_papers.papers.kobayashi2020 import published
from headlight_papers.papers.kobayashi2020.exhibit import exhibit
from headlight_papers.papers.kobayashi2020.norm_results import BY, LABELS, categories, load_norms
from headlight_papers.papers.notes import text_notes
from headlight_papers.papers.reproduction import Reproduction

RHO: dict[str, Any] = {"y_label": "Spearman's ρ", "references": [Reference(0.0)]}


@exhibit("table-2", "Table 2 and Section 4.2", title="Do weights and norms cancel out?")
def table_2(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Spearman's ρ between α and ‖f(x)‖, over all pairs of a category."""
    result = load_norms(reproduction)
    names = categories(result)
    by_category = result.sel(key_group=names)
    frame = pandas.DataFrame(
        {
            "category": [LABELS[name] for name in names],
            "pairs": by_category["weight_norm_spearman_count"].values.astype(int),
            "ρ": by_category["weight_norm_spearman"].values,
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
                by_category,
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
