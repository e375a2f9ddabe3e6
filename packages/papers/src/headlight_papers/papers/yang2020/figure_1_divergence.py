"""Figure 1: predictions against the divergence of attention."""

from headlight.views.parts import Reference, Section
from headlight_papers.papers import yang2020 as published
from headlight_papers.papers.exhibit_files import ExhibitWriter
from headlight_papers.papers.jsd_tvd_plane import LINE, points, with_line
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.papers.yang2020.exhibit import exhibit
from headlight_papers.papers.yang2020.notes import OF_WHAT, notes_of
from headlight_papers.papers.yang2020.results import frame_of, load_sweep

MEDIAN = "median of a λ"


@exhibit("figure-1", "Figure 1")
def figure_1(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Predictions against the divergence of attention."""
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
        with_line(rows, "median", numbers=["kl", *panels]),
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
