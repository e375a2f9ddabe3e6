"""Figure 7: how different attention can be."""

import numpy as np
import pandas
import xarray

from headlight.views.parts import Section
from headlight_papers.papers.exhibit_files import ExhibitWriter
from headlight_papers.papers.jain2019 import published
from headlight_papers.papers.jain2019.exhibit import exhibit
from headlight_papers.papers.jain2019.histograms import draw_histograms
from headlight_papers.papers.jain2019.results import ENCODER_NAMES, load_all, notes_of
from headlight_papers.papers.jain2019.table_2_correlations import frame_of
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.training.text_encoders import Encoder

BOUND = float(np.log(2))
JSD_EDGES = np.linspace(0, BOUND, 15)

FAR = 0.6
"""ε-max JSD from which on it is close to the bound of ln 2."""


@exhibit("figure-7", "Figure 7", title="How different attention can be")
def figure_7(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Histograms of the ε-max JSD by predicted class."""
    results = load_all(reproduction)
    table = pandas.DataFrame([_adversaries_row(*key, result) for key, result in results.items()])
    means = [float(result["jsd"].mean()) for result in results.values()]
    picture = draw_histograms(
        writer,
        results,
        JSD_EDGES,
        "jsd",
        x_label="ε-max JSD",
        caption="Share of the texts of a predicted class by the ε-max JSD; the bound is "
        "ln 2 = 0.693.",
        alternative=f"Means from {min(means):.2f} to {max(means):.2f}.",
    )
    return Section(
        explanation="For each text attention is looked for that is as far as possible from the "
        "model's own, in Jensen-Shannon divergence, and moves the prediction by at most 0.05; "
        "encoder and output stay as they are. What is found is a lower bound of what there is.",
        drawings=[picture],
        tables=[writer.table(table, "ε-max JSD over texts")],
        notes=notes_of(reproduction, results),
    )


def _adversaries_row(title: str, encoder: Encoder, result: xarray.Dataset) -> dict[str, object]:
    frame = frame_of(result).dropna(subset=["jsd"])
    released = published.RELEASED.get((title, encoder))
    by_class = [frame[frame.predicted == number].jsd.mean() for number in (0, 1)]
    return {
        "model": f"{title}, {ENCODER_NAMES[encoder]}",
        "texts": len(frame),
        "mean": f"{frame.jsd.mean():.2f}",
        "by class": " / ".join(f"{mean:.2f}" for mean in by_class),
        "released, by class": " / ".join(f"{mean:.2f}" for mean in released.jsd)
        if released
        else "–",
        f"at least {FAR}": f"{(frame.jsd >= FAR).mean():.0%}",
    }
