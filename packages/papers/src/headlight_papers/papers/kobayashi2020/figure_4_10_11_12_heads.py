"""Figures 4, 10, 11 and 12: weights and lengths of all heads, by kind of token."""

from functools import partial

import numpy as np

from headlight.findings.thresholds import RELATED
from headlight.views.parts import Map, Section
from headlight_papers.papers.exhibit import ExhibitSpec
from headlight_papers.papers.exhibit_files import ExhibitWriter
from headlight_papers.papers.exhibit_tables import frame_of
from headlight_papers.papers.kobayashi2020.norm_results import LABELS, load_norms
from headlight_papers.papers.notes import text_notes
from headlight_papers.papers.reproduction import Reproduction


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
    """Draw α and ‖f(x)‖ of a category as maps; all categories share the scale of ‖f(x)‖."""
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
