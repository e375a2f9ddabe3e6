"""Figure 2: how attention agrees with gradients and leaving out."""

import numpy as np

from headlight.views.parts import Section
from headlight_papers.papers.exhibit_files import ExhibitWriter
from headlight_papers.papers.jain2019.exhibit import exhibit
from headlight_papers.papers.jain2019.histograms import draw_histograms
from headlight_papers.papers.jain2019.results import load_all, notes_of
from headlight_papers.papers.jain2019.table_2_correlations import OF_WHAT, PAIR_NAMES, frame_of
from headlight_papers.papers.reproduction import Reproduction

TAU_EDGES = np.linspace(-1, 1, 21)


@exhibit("figure-2", "Figure 2", title="How attention agrees with gradients and leaving out")
def figure_2(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Histograms of τ over texts, by predicted class."""
    results = load_all(reproduction)
    pictures = []
    for pair in ("attention_gradient", "attention_left_out"):
        name = PAIR_NAMES[pair]
        means = [float(frame_of(result)[pair].mean()) for result in results.values()]
        pictures.append(
            draw_histograms(
                writer,
                results,
                TAU_EDGES,
                pair,
                x_label=f"τ ({name})",
                caption=f"Share of the texts of a predicted class by τ of {name}; the line is at "
                "0.",
                alternative=f"Mean τ from {min(means):.2f} to {max(means):.2f}.",
                name=pair.replace("_", "-"),
            )
        )
    return Section(explanation=OF_WHAT, drawings=pictures, notes=notes_of(reproduction, results))
