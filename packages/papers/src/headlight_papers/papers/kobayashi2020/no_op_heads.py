"""Heads that look at special tokens and take nothing from them."""

from headlight.findings.no_op_heads import TARGETS, no_op
from headlight.views.parts import Map, Section
from headlight_papers.papers.exhibit_files import ExhibitWriter
from headlight_papers.papers.kobayashi2020.exhibit import exhibit
from headlight_papers.papers.kobayashi2020.norm_results import LABELS, categories, load_norms
from headlight_papers.papers.notes import text_notes
from headlight_papers.papers.paper_numbering import head_name
from headlight_papers.papers.reproduction import Reproduction

SHOWN = 12
"""Heads in the table of those that do nothing."""


@exhibit("no-op", "Beyond {}, after Section 4.2", title="Where much weight moves little")
def no_op_heads(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Heads that look at special tokens and take nothing from them."""
    result = load_norms(reproduction)
    frame = no_op(result)
    named = frame.assign(
        head=list(map(head_name, frame["layer"], frame["head"])),
        target=frame["target"].map(lambda name: LABELS.get(str(name), str(name))),
        no_op=frame["no_op"].map({True: "yes", False: "no"}),
    ).drop(columns="layer")
    writer.keep(named, "all-heads")
    most = named.sort_values("lost", ascending=False).head(SHOWN)
    targets = " and ".join(LABELS[name] for name in categories(result) if name in TARGETS)
    maps = (
        Map(
            f"{scale}_share",
            f"{scale.capitalize()} to {targets}",
            scale=scale,
            limits=(0, 1),
            format=".0%",
            unit=f"share of all {scale}",
        )
        for scale in ("weight", "norm")
    )
    count = f"{int(frame['no_op'].sum())} of {len(frame)} heads are no-ops by this rule."
    return Section(
        explanation="For each head, how much of its weight goes to tokens that say little by "
        "themselves (special tokens, punctuation, sinks), and how much of what it moves comes from "
        "there.",
        drawings=[
            writer.maps(
                frame.set_index(["layer", "head"]).to_xarray(),
                *maps,
                caption=f"The share of its weight, and of its norm, that a head gives to "
                f"{targets}.",
                alternative=count,
                columns=2,
            )
        ],
        tables=[
            writer.table(
                most,
                f"The {len(most)} heads that lose most: share of weight minus share of norm",
                formats=dict.fromkeys(("weight_share", "norm_share", "ratio", "lost"), ".2f"),
            )
        ],
        notes=[count, *text_notes(reproduction, result)],
    )
