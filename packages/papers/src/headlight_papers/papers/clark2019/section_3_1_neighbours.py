"""Section 3.1: heads that attend to a neighbour."""

import numpy as np
import xarray

from headlight.findings.thresholds import MOST
from headlight.views.parts import By, Comparison, Curve, Section
from headlight.vocabulary import NEIGHBOURS
from headlight_papers.papers.clark2019 import published
from headlight_papers.papers.clark2019.exhibit import exhibit
from headlight_papers.papers.clark2019.measure_panels import MEASURE
from headlight_papers.papers.clark2019.results import load_survey
from headlight_papers.papers.exhibit_files import ExhibitWriter
from headlight_papers.papers.exhibit_tables import frame_of, in_words
from headlight_papers.papers.notes import text_notes
from headlight_papers.papers.paper_numbering import count_heads, head_name
from headlight_papers.papers.reproduction import Reproduction

OFFSETS = {offset: name for name, offset in NEIGHBOURS.items()}
NEIGHBOUR_OFFSETS = By("offset", OFFSETS)


@exhibit("section-3-1", "Section 3.1")
def section_3_1(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Heads that attend to a neighbour."""
    survey = load_survey(reproduction)
    neighbour = survey["neighbour"]
    table = frame_of({name: 100 * neighbour.sel(offset=o) for o, name in OFFSETS.items()})
    weight = neighbour.sel(measure=survey["measure"].values[0])
    heads = count_heads(weight)
    previous, following = (_specialists(weight.sel(offset=offset)) for offset in (-1, 1))
    return Section(
        explanation="The share that goes to the token before, to the token itself and to the one "
        "after. The denominator is the number of tokens for each of them, as in the released code.",
        drawings=[
            writer.curves(
                survey,
                Curve(
                    "neighbour",
                    panel="Share of {measure}",
                    by=(MEASURE, NEIGHBOUR_OFFSETS),
                    percent=True,
                ),
                caption="Share of each measure that goes to a neighbour, by layer.",
                alternative="More than half goes to the previous token in "
                f"{in_words(previous)}, to the next token in {in_words(following)}.",
            )
        ],
        tables=[
            writer.table(
                table[["head", "measure", *OFFSETS.values()]],
                "All heads, in percent",
                formats=dict.fromkeys(OFFSETS.values(), ".1f"),
            )
        ],
        comparisons=[
            Comparison(
                f"heads with more than half of their attention on the {name} token",
                theirs,
                len(ours),
                note=f"of 144 heads there, of {heads} here: {in_words(ours)}",
                digits=0,
            )
            for name, theirs, ours in (
                ("previous", published.PREVIOUS_TOKEN_HEADS, previous),
                ("next", published.NEXT_TOKEN_HEADS, following),
            )
        ],
        notes=text_notes(reproduction, survey),
    )


def _specialists(share: xarray.DataArray) -> list[str]:
    places = np.argwhere(share.values > MOST)
    layers = share["layer"].values
    return [head_name(int(layers[layer]), int(head)) for layer, head in places]
