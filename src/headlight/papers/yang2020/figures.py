"""Figure 1, predictions against the divergence of attention, and the plane of JSD and TVD."""

import numpy as np
import pandas

from headlight.papers.exhibit import Content, exhibit
from headlight.papers.reproduction import Reproduction
from headlight.papers.writer import ExhibitWriter
from headlight.papers.yang2020 import published
from headlight.papers.yang2020.results import frame_of, load_guided, load_sweep
from headlight.papers.yang2020.tables import OF_WHAT, SOURCE, notes_of
from headlight.views.pictures import Line, LinePanel, Reference, lines

POINTS = "one model"
MEDIAN = "median of a λ"


@exhibit("figure-1", "Predictions against the divergence of attention", f"{SOURCE}, Figure 1")
def figure_1(reproduction: Reproduction, writer: ExhibitWriter) -> Content:
    """Gold NLL, agreement and TVD over KL, one dot for each model, and KL by λ."""
    sweep = load_sweep(reproduction)
    rows = frame_of(sweep)
    rows = rows[rows.kind == "adversary"]
    base = frame_of(sweep)
    nll = float(base[base.kind == "base"].nll.median())
    panels = [
        LinePanel(
            "",
            _dots(rows, "kl", "nll"),
            "KL of a row, nats",
            "NLL of gold tags, nats",
            references=[Reference(nll, "base")],
        ),
        LinePanel(
            "", _dots(rows, "kl", "agreement"), "KL of a row, nats", "agreement with the base"
        ),
        LinePanel("", _dots(rows, "kl", "tvd"), "KL of a row, nats", "TVD to the base"),
    ]
    medians = rows.groupby("weight")[["kl", "kl_cell", "jsd", "nll"]].median().reset_index()
    picture = writer.picture(
        lines(panels, columns=3),
        "Predictions of adversaries on the test part against how far their attention is from the "
        "base's: a dot for each model, and a line through the medians of each λ, from 0 on.",
        f"KL of a row from {medians.kl.min():.2f} to {medians.kl.max():.2f} nats; NLL of gold tags "
        f"from {medians.nll.min():.3f} to {medians.nll.max():.3f}.",
    )
    frame = medians.set_axis(["λ", "KL row", "KL entry", "JSD", "NLL gold"], axis=1)
    writer.keep(rows.drop(columns=["kind", "guide", "part"], errors="ignore"), "models")
    return Content(
        f"{OF_WHAT} The paper reads its Figure 1, NLL over KL of an entry, as a tolerance that is "
        f"used up at {published.SAFE_POINT}; the log of the released code has an NLL of "
        f"{published.NLL_BELOW} at λ = 2.0 and {published.NLL_ABOVE} at 2.1. KL has an end, "
        "though: once every row attends to a key that the base hardly looks at, it cannot grow "
        "any more, and what λ adds from there shows as a vertical line.",
        pictures=[picture],
        tables=[writer.table(frame, "Medians over seeds by λ", formats=".3f")],
        notes=notes_of(reproduction),
    )


def _dots(rows: pandas.DataFrame, x: str, y: str) -> list[Line]:
    medians = rows.groupby("weight")[[x, y]].median().sort_index()
    return [
        Line(POINTS, rows[x].to_numpy(), rows[y].to_numpy(), marked=True, joined=False),
        Line(MEDIAN, medians[x].to_numpy(), medians[y].to_numpy()),
    ]


@exhibit(
    "figure-5",
    "Attention moved against predictions moved",
    f"{SOURCE}, Figure 5, after Wiegreffe and Pinter (2019)",
)
def figure_5(reproduction: Reproduction, writer: ExhibitWriter) -> Content:
    """JSD over TVD: adversaries by λ, other seeds, uniform attention, and guided models."""
    rows = pandas.concat([frame_of(load_sweep(reproduction)), frame_of(load_guided(reproduction))])
    names = {
        "adversary": "adversaries",
        "seed": "other seed",
        "uniform": "uniform, put in",
        "guided": "uniform, trained with",
    }
    series = []
    for kind, name in names.items():
        some = rows[rows.kind == kind]
        some = some[some.guide == "uniform"] if kind == "guided" else some
        if len(some):
            x, y = some.tvd.to_numpy(), some.jsd.to_numpy()
            series.append(Line(name, x, y, marked=True, joined=False))
    medians = rows[rows.kind == "adversary"].groupby("weight")[["tvd", "jsd"]].median()
    line = Line(MEDIAN, medians.tvd.to_numpy(), medians.jsd.to_numpy())
    panel = LinePanel(
        "",
        [*series[:1], line, *series[1:]],
        "TVD to the base's predictions",
        "JSD to the base's attention",
        references=[Reference(float(np.log(2)), "ln 2")],
    )
    picture = writer.picture(
        lines([panel]),
        "How far attention and predictions are from the base's on the test part: a point for each "
        "model; the line goes through the medians of the adversaries, from λ = 0 on.",
        f"Adversaries reach a JSD of {rows[rows.kind == 'adversary'].jsd.max():.2f}; other seeds "
        f"have {rows[rows.kind == 'seed'].jsd.mean():.2f}.",
    )
    kept = rows[["kind", "guide", "seed", "weight", "tvd", "jsd", "kl", "f1"]]
    writer.keep(kept.reset_index(drop=True), "models")
    return Content(
        "A model high up on the left attends otherwise and predicts the same: its attention is not "
        "the only one that goes with these predictions. What counts is the distance to the other "
        "seeds, which differ without being asked to. The paper shows a screenshot of Wiegreffe and "
        "Pinter's figure for another model and task; this one is of the tagger.",
        pictures=[picture],
        notes=notes_of(reproduction),
    )
