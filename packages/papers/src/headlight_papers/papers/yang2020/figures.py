"""Figure 1, predictions against the divergence of attention, and the plane of JSD and TVD."""

import pandas

from headlight.views.parts import Reference, Section
from headlight_papers.papers.exhibit import exhibit
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.papers.trained import LINE, PLANE, points, with_line
from headlight_papers.papers.writer import ExhibitWriter
from headlight_papers.papers.yang2020 import published
from headlight_papers.papers.yang2020.results import frame_of, load_guided, load_sweep
from headlight_papers.papers.yang2020.tables import OF_WHAT, SOURCE, notes_of

MEDIAN = "median of a λ"


@exhibit("figure-1", "Predictions against the divergence of attention", f"{SOURCE}, Figure 1")
def figure_1(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Gold NLL, agreement and TVD over KL, one dot for each model, and KL by λ."""
    sweep = load_sweep(reproduction)
    rows = frame_of(sweep)
    rows = rows[rows.kind == "adversary"]
    base = frame_of(sweep)
    nll = float(base[base.kind == "base"].nll.median())
    panels = {
        "nll": ("NLL of gold tags, nats", [Reference(nll, "base")]),
        "agreement": ("agreement with the base", []),
        "tvd": ("TVD to the base", []),
    }
    medians = rows.groupby("weight")[["kl", "kl_cell", "jsd", "nll"]].median().reset_index()
    picture = writer.curves(
        with_line(rows, "median", of=["kl", *panels]),
        *(
            curve
            for y, (title, references) in panels.items()
            for curve in points(
                {"adversary": "one model", LINE: MEDIAN},
                title,
                x="kl",
                y=y,
                x_label="KL of a row, nats",
                references=references,
            )
        ),
        caption="Predictions of adversaries on the test part against how far their attention is "
        "from the base's: a dot for each model, and a line through the medians of each λ, from 0 "
        "on.",
        alternative=f"KL of a row from {medians.kl.min():.2f} to {medians.kl.max():.2f} nats; "
        f"NLL of gold tags from {medians.nll.min():.3f} to {medians.nll.max():.3f}.",
        columns=3,
    )
    frame = medians.set_axis(["λ", "KL row", "KL entry", "JSD", "NLL gold"], axis=1)
    writer.keep(rows.drop(columns=["kind", "guide", "part"], errors="ignore"), "models")
    return Section(
        explanation=f"{OF_WHAT} The paper reads its Figure 1, NLL over KL of an entry, as a "
        f"tolerance that is used up at {published.SAFE_POINT}; the log of the released code has an "
        f"NLL of {published.NLL_BELOW} at λ = 2.0 and {published.NLL_ABOVE} at 2.1. KL has an end, "
        "though: once every row attends to a key that the base hardly looks at, it cannot grow "
        "any more, and what λ adds from there shows as a vertical line.",
        drawings=[picture],
        tables=[writer.table(frame, "Medians over seeds by λ", formats=".3f")],
        notes=notes_of(reproduction),
    )


@exhibit(
    "figure-5",
    "Attention moved against predictions moved",
    f"{SOURCE}, Figure 5, after Wiegreffe and Pinter (2019)",
)
def figure_5(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """JSD over TVD: adversaries by λ, other seeds, uniform attention, and guided models."""
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
    kept = rows[["kind", "guide", "seed", "weight", "tvd", "jsd", "kl", "f1"]]
    writer.keep(kept.reset_index(drop=True), "models")
    return Section(
        explanation="A model high up on the left attends otherwise and predicts the same: its "
        "attention is not the only one that goes with these predictions. What counts is the "
        "distance to the other seeds, which differ without being asked to. The paper shows a "
        "screenshot of Wiegreffe and Pinter's figure for another model and task; this one is of "
        "the tagger.",
        drawings=[picture],
        notes=notes_of(reproduction),
    )
