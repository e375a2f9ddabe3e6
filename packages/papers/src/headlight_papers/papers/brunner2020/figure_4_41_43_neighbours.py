"""Figures 4, 41 and 43: contributions of neighbours."""

import xarray

from headlight.views.parts import By, Comparison, Curve, Section
from headlight_papers.papers.brunner2020 import published
from headlight_papers.papers.brunner2020.claims import layer_of_most, two_largest
from headlight_papers.papers.brunner2020.contribution_places import (
    draw_places,
    frame_by_place,
    list_places,
)
from headlight_papers.papers.brunner2020.contribution_results import (
    contribution_notes,
    load_contributions,
    shown_layers,
)
from headlight_papers.papers.brunner2020.pair_sets import figures_of_sets, find_pair_set
from headlight_papers.papers.exhibit_files import ExhibitWriter
from headlight_papers.papers.exhibit_tables import frame_of
from headlight_papers.papers.reproduction import Reproduction

DISTANCES = {
    "1": "1st",
    "2": "2nd",
    "3": "3rd",
    "4-5": "4th, 5th",
    "6-10": "6th to 10th",
    "11+": "11th onwards",
}
SHOWN = 15
"""Places to the left and to the right that the figure shows; the table has all."""


def neighbours(reproduction: Reproduction, writer: ExhibitWriter, name: str | None) -> Section:
    """Return the section of neighbours by distance, and in three layers by relative place."""
    pairs = find_pair_set(reproduction, name)
    result = load_contributions(reproduction, pairs)
    share = result["by_distance_share"]
    frame = frame_of(
        {label: 100 * result["by_distance"].sel(distance=key) for key, label in DISTANCES.items()}
    )
    writer.keep(frame_by_place(result, "neighbour"), "b")
    return Section(
        explanation="(a) The mean contribution of the neighbours at a distance, left and right "
        "together, as a share of its sum over the layers: in which layers that distance counts "
        "most. (b) All that tokens receive from the neighbour at each place, as a share of what "
        "they receive from all neighbours within 64 places.",
        drawings=[
            writer.curves(
                result.sel(distance=list(DISTANCES)),
                Curve(
                    "by_distance_share",
                    panel="Relative contribution of neighbours",
                    by=By("distance", DISTANCES),
                    percent=True,
                ),
                caption="(a) Relative contribution per layer of neighbours at different distances.",
                alternative=_alternative(share),
                name="a",
            ),
            draw_places(
                writer,
                result,
                "neighbour",
                "Total contribution per neighbour",
                (-SHOWN, SHOWN),
                "(b) Total contribution per neighbour in the first, middle and last layers.",
                "b",
            ),
        ],
        tables=[writer.table(frame, "Mean contribution of one neighbour, in percent")],
        comparisons=_comparisons(result),
        notes=contribution_notes(reproduction, pairs, result),
    )


figure_4, figure_41, figure_43 = figures_of_sets(
    neighbours,
    "Contribution of context",
    (4, None, "Section 5.3"),
    (41, "cola", "Appendix D.2.1"),
    (43, "mnli", "Appendix D.2.2"),
)


def _comparisons(result: xarray.Dataset) -> list[Comparison]:
    """Return the two findings of Section 5.3."""
    share = result["by_distance_share"]
    last = int(result["layer"].values[-1]) + 1
    nearest, farthest = (layer_of_most(share, distance) for distance in ("1", "11+"))
    return [
        Comparison(
            "layer in which the nearest neighbours count most",
            1,
            nearest,
            digits=0,
            note=f"the paper: significantly more in the first layers; {last} layers here",
        ),
        Comparison(
            "layer in which the farthest neighbours count most",
            12,
            farthest,
            digits=0,
            note=f"the paper: most in the deeper layers; {last} layers here",
        ),
        *(
            Comparison(
                f"the two places that contribute most, layer {layer + 1}",
                list_places(published.NEAREST),
                list_places(two_largest(result["neighbour_share"].isel(layer=layer))),
            )
            for layer in shown_layers(result)
        ),
    ]


def _alternative(share: xarray.DataArray) -> str:
    peaks = (
        f"{label} neighbours in layer {layer_of_most(share, key)}"
        for key, label in DISTANCES.items()
    )
    return "Largest: " + ", ".join(peaks) + "."
