"""Section 5.3 and Appendix C.3: whose contributions they are (Figures 4, 18, 41 and 43)."""

import pandas
import xarray

from headlight.views.parts import By, Comparison, Curve, Drawing, Section
from headlight_papers.papers.brunner2020 import published
from headlight_papers.papers.brunner2020.claims import layer_of_most, two_largest
from headlight_papers.papers.brunner2020.contribution.results import (
    contribution_notes,
    load_contributions,
    shown_layers,
)
from headlight_papers.papers.brunner2020.pair_sets import figures_of_sets, find_pair_set
from headlight_papers.papers.exhibit import exhibit
from headlight_papers.papers.naming import frame_of
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.papers.writer import ExhibitWriter

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
    """By layer, neighbours at each distance; in three layers, all relative positions.

    Args:
        reproduction: on which model and data.
        writer: of the files.
        name: of the set of pairs; None for the first.
    """
    pairs = find_pair_set(reproduction, name)
    found = load_contributions(reproduction, pairs)
    share = found["by_distance_share"]
    frame = frame_of(
        {label: 100 * found["by_distance"].sel(distance=key) for key, label in DISTANCES.items()}
    )
    writer.keep(_by_place(found, "neighbour"), "b")
    return Section(
        explanation="(a) The mean contribution of the neighbours at a distance, left and right "
        "together, as a share of its sum over the layers: in which layers that distance counts "
        "most. (b) All that tokens receive from the neighbour at each place, as a share of what "
        "they receive from all neighbours within 64 places.",
        drawings=[
            writer.curves(
                found.sel(distance=list(DISTANCES)),
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
            _places(
                writer,
                found,
                "neighbour",
                "Total contribution per neighbour",
                (-SHOWN, SHOWN),
                "(b) Total contribution per neighbour in the first, middle and last layers.",
                "b",
            ),
        ],
        tables=[writer.table(frame, "Mean contribution of one neighbour, in percent")],
        comparisons=_comparisons(found),
        notes=contribution_notes(reproduction, pairs, found),
    )


figure_4, figure_41, figure_43 = figures_of_sets(
    neighbours,
    "Contribution of context",
    (4, None, "Section 5.3"),
    (41, "cola", "Appendix D.2.1"),
    (43, "mnli", "Appendix D.2.2"),
)


@exhibit(
    "figure-18",
    "Contribution to [CLS]",
    "Brunner et al. (2020), Figure 18 and Appendix C.3",
    ("pairs",),
)
def figure_18(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Return the figure of what [CLS] receives, by place from the beginning and from [SEP]."""
    pairs = find_pair_set(reproduction)
    found = load_contributions(reproduction, pairs)
    if not bool(found["sep_count"].any()):
        return Section(explanation="The texts of this model have no [CLS] and [SEP].")
    writer.keep(_by_place(found, "cls"), "a")
    writer.keep(_by_place(found, "sep"), "b")
    return Section(
        explanation="All that the hidden [CLS] receives from other tokens, by their place: (a) "
        "counted from [CLS] itself, (b) from the first [SEP], the border between the sentences. "
        "Texts are of different lengths, so that far places are there in few of them.",
        drawings=[
            _places(
                writer,
                found,
                "cls",
                "From [CLS]",
                (1, 64),
                "(a) Contribution to [CLS], by place after it.",
                "a",
            ),
            _places(
                writer,
                found,
                "sep",
                "From the first [SEP]",
                (-32, 32),
                "(b) Contribution to [CLS], by place relative to the first [SEP].",
                "b",
            ),
        ],
        comparisons=[
            Comparison(
                f"the two places that give most to [CLS], layer {layer + 1}",
                _list_places(published.NEAREST),
                _list_places(two_largest(found["sep_share"].isel(layer=layer))),
                note="relative to the first [SEP]",
            )
            for layer in shown_layers(found)
        ],
        notes=contribution_notes(reproduction, pairs, found),
    )


def _places(
    writer: ExhibitWriter,
    found: xarray.Dataset,
    name: str,
    title: str,
    ends: tuple[int, int],
    caption: str,
    letter: str,
) -> Drawing:
    """The shares of the places between two, in three layers."""
    return writer.curves(
        found.isel(layer=shown_layers(found)).sel(offset=slice(*ends)),
        Curve(
            f"{name}_share",
            "layer {layer}",
            title,
            by="layer",
            over="offset",
            percent=True,
            x_label="relative place",
        ),
        caption=caption,
        alternative=_largest_alternative(found, name),
        name=letter,
    )


def _by_place(found: xarray.Dataset, name: str) -> pandas.DataFrame:
    """Every place of every layer: total, share of all, and pairs of tokens."""
    total = found[f"{name}_total"].transpose("layer", "offset")
    frame = frame_of(
        {
            "total": total,
            "share": found[f"{name}_share"],
            "mean": found[f"{name}_mean"],
            "pairs": found[f"{name}_count"].broadcast_like(total),
        }
    )
    return frame.rename(columns={"offset": "place"})


def _comparisons(found: xarray.Dataset) -> list[Comparison]:
    """The two findings of Section 5.3."""
    share = found["by_distance_share"]
    last = int(found["layer"].values[-1]) + 1
    nearest, farthest = (layer_of_most(share, distance) for distance in ("1", "11+"))
    return [
        Comparison(
            "layer in which the nearest neighbours count most", 1, nearest, digits=0,
            note=f"the paper: significantly more in the first layers; {last} layers here",
        ),
        Comparison(
            "layer in which the farthest neighbours count most", 12, farthest, digits=0,
            note=f"the paper: most in the deeper layers; {last} layers here",
        ),
        *(
            Comparison(
                f"the two places that contribute most, layer {layer + 1}",
                _list_places(published.NEAREST),
                _list_places(two_largest(found["neighbour_share"].isel(layer=layer))),
            )
            for layer in shown_layers(found)
        ),
    ]  # fmt: skip


def _list_places(places: tuple[int, ...]) -> str:
    return " and ".join(f"{place:+d}".replace("-", "−") for place in places)


def _alternative(share: xarray.DataArray) -> str:
    peaks = (
        f"{label} neighbours in layer {layer_of_most(share, key)}"
        for key, label in DISTANCES.items()
    )
    return "Largest: " + ", ".join(peaks) + "."


def _largest_alternative(found: xarray.Dataset, name: str) -> str:
    share = found[f"{name}_share"]
    largest = (
        f"{_list_places(two_largest(share.isel(layer=layer)))} in layer {layer + 1}"
        for layer in shown_layers(found)
    )
    return "Largest at places " + ", ".join(largest) + "."
