"""Figure 5: attention moved against predictions moved."""

import pandas

from headlight.views.parts import Section
from headlight_papers.papers.exhibit_files import ExhibitWriter
from headlight_papers.papers.jsd_tvd_plane import LINE, PLANE, points, with_line
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.papers.yang2020.exhibit import exhibit
from headlight_papers.papers.yang2020.figure_1_divergence import MEDIAN
from headlight_papers.papers.yang2020.notes import notes_of
from headlight_papers.papers.yang2020.results import frame_of, load_guided, load_sweep


@exhibit("figure-5", "Figure 5, after Wiegreffe and Pinter (2019)")
def figure_5(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Attention moved against predictions moved."""
    rows = pandas.concat([frame_of(load_sweep(reproduction)), frame_of(load_guided(reproduction))])
    names = {
        "adversary": "adversaries",
        LINE: MEDIAN,
        "seed": "other seed",
        "uniform": "uniform, put in",
        "guided": "uniform, trained with",
    }
    drawn = rows[(rows.kind != "guided") | (rows.guide == "uniform")]
    picture = writer.curves(
        with_line(drawn, "median"),
        *points(names, **PLANE),
        caption="How far attention and predictions are from the base's on the test part: a point "
        "for each model; the line goes through the medians of the adversaries, from λ = 0 on.",
        alternative=f"Adversaries reach a JSD of {rows[rows.kind == 'adversary'].jsd.max():.2f}; "
        f"other seeds have {rows[rows.kind == 'seed'].jsd.mean():.2f}.",
    )
    model_rows = rows[["kind", "guide", "seed", "weight", "tvd", "jsd", "kl", "f1"]]
    writer.keep(model_rows.reset_index(drop=True), "models")
    return Section(
        explanation="A model high up on the left attends otherwise and predicts the same: its "
        "attention is not the only one that goes with these predictions. What counts is the "
        "distance to the other seeds, which differ without being asked to. The paper shows a "
        "screenshot of Wiegreffe and Pinter's figure for another model and task; this one is of "
        "the tagger.",
        drawings=[picture],
        notes=notes_of(reproduction),
    )
