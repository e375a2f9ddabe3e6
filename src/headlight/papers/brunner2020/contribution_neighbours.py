"""Section 5.3 and Appendix C.3: whose contributions they are (Figures 4, 18, 41 and 43)."""

import numpy as np
import pandas
import xarray

from headlight.papers.brunner2020.contribution_results import (
    contributed,
    contribution_notes,
    shown_layers,
)
from headlight.papers.brunner2020.datasets import main_set, pair_title
from headlight.papers.brunner2020.published_contribution import NEAREST
from headlight.papers.reproduction import Study
from headlight.papers.writer import ExhibitWriter
from headlight.views.exhibits import Comparison, Exhibit
from headlight.views.pictures import Line, LinePanel, lines

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


def figure_4(study: Study, desk: ExhibitWriter) -> Exhibit:
    """Contributions of neighbours on MRPC."""
    return neighbours(study, desk, main_set(study), "Figure 4 and Section 5.3")


def figure_41(study: Study, desk: ExhibitWriter) -> Exhibit:
    """Contributions of neighbours on CoLA."""
    return neighbours(study, desk, "cola", "Figure 41 and Appendix D.2.1")


def figure_43(study: Study, desk: ExhibitWriter) -> Exhibit:
    """Contributions of neighbours on MNLI."""
    return neighbours(study, desk, "mnli", "Figure 43 and Appendix D.2.2")


def neighbours(study: Study, desk: ExhibitWriter, name: str, source: str) -> Exhibit:
    """By layer, neighbours at each distance; in three layers, all relative positions.

    Args:
        study: on which model and data.
        desk: where it is put together.
        name: of the set of pairs.
        source: where the paper has it.
    """
    title = f"Contribution of context, {pair_title(name)}"
    found = contributed(study, name)
    share = found["by_distance_share"]
    desk.keep(_by_place(found, "neighbour"), "b")
    return Exhibit(
        name=desk.exhibit,
        title=title,
        source=f"Brunner et al. (2020), {source}",
        explanation="(a) The mean contribution of the neighbours at a distance, left and right "
        "together, as a share of its sum over the layers: in which layers that distance counts "
        "most. (b) All that tokens receive from the neighbour at each place, as a share of what "
        "they receive from all neighbours within 64 places.",
        pictures=[
            desk.picture(
                lines([_distances(share)]),
                "(a) Relative contribution per layer of neighbours at different distances.",
                _spoken(share),
                name="a",
            ),
            desk.picture(
                lines([_places(found, "neighbour", "Total contribution per neighbour", -SHOWN)]),
                "(b) Total contribution per neighbour in the first, middle and last layers.",
                _largest_spoken(found, "neighbour"),
                name="b",
            ),
        ],
        tables=[desk.table(_by_distance(found), "Mean contribution of one neighbour, in percent")],
        comparisons=_compared(found),
        notes=contribution_notes(study, name, found),
        files=desk.written,
    )


def figure_18(study: Study, desk: ExhibitWriter) -> Exhibit:
    """What [CLS] receives, by place from the beginning and from the first [SEP]."""
    name = main_set(study)
    found = contributed(study, name)
    source = "Brunner et al. (2020), Figure 18 and Appendix C.3"
    if not bool(found["sep_count"].any()):
        return Exhibit(
            desk.exhibit, "Contribution to [CLS]", source,
            "The texts of this model have no [CLS] and [SEP].",
        )  # fmt: skip
    desk.keep(_by_place(found, "cls"), "a")
    desk.keep(_by_place(found, "sep"), "b")
    return Exhibit(
        name=desk.exhibit,
        title=f"Contribution to [CLS], {pair_title(name)}",
        source=source,
        explanation="All that the hidden [CLS] receives from other tokens, by their place: (a) "
        "counted from [CLS] itself, (b) from the first [SEP], the border between the sentences. "
        "Texts are of different lengths, so that far places are there in few of them.",
        pictures=[
            desk.picture(
                lines([_places(found, "cls", "From [CLS]", 1, 64)]),
                "(a) Contribution to [CLS], by place after it.",
                _largest_spoken(found, "cls"),
                name="a",
            ),
            desk.picture(
                lines([_places(found, "sep", "From the first [SEP]", -32, 32)]),
                "(b) Contribution to [CLS], by place relative to the first [SEP].",
                _largest_spoken(found, "sep"),
                name="b",
            ),
        ],
        comparisons=[
            Comparison(
                f"the two places that give most to [CLS], layer {layer + 1}",
                _listed(NEAREST),
                _listed(two_largest(found["sep_share"].isel(layer=layer))),
                note="relative to the first [SEP]",
            )
            for layer in shown_layers(found)
        ],
        notes=contribution_notes(study, name, found),
        files=desk.written,
    )


def _distances(share: xarray.DataArray) -> LinePanel:
    x = share["layer"].values + 1
    drawn = [
        Line(label, x, share.sel(distance=distance).values, marked=True)
        for distance, label in DISTANCES.items()
    ]
    return LinePanel("Relative contribution of neighbours", drawn, x_label="layer", percent=True)


def _places(
    found: xarray.Dataset, name: str, title: str, first: int, last: int = SHOWN
) -> LinePanel:
    share = found[f"{name}_share"].sel(offset=slice(first, last))
    drawn = [
        Line(f"layer {layer + 1}", share["offset"].values, share.isel(layer=layer).values)
        for layer in shown_layers(found)
    ]
    return LinePanel(title, drawn, x_label="relative place", percent=True)


def _by_distance(found: xarray.Dataset) -> pandas.DataFrame:
    mean = 100 * found["by_distance"]
    columns = {label: mean.sel(distance=key).values for key, label in DISTANCES.items()}
    return pandas.DataFrame({"layer": found["layer"].values + 1, **columns})


def _by_place(found: xarray.Dataset, name: str) -> pandas.DataFrame:
    """Every place of every layer: total, share of all, and pairs of tokens."""
    rows = [
        pandas.DataFrame(
            {
                "layer": int(layer) + 1,
                "place": found["offset"].values,
                "total": found[f"{name}_total"].sel(layer=layer).values,
                "share": found[f"{name}_share"].sel(layer=layer).values,
                "mean": found[f"{name}_mean"].sel(layer=layer).values,
                "pairs": found[f"{name}_count"].values,
            }
        )
        for layer in found["layer"].values
    ]
    return pandas.concat(rows, ignore_index=True)


def _compared(found: xarray.Dataset) -> list[Comparison]:
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
                _listed(NEAREST),
                _listed(two_largest(found["neighbour_share"].isel(layer=layer))),
            )
            for layer in shown_layers(found)
        ),
    ]  # fmt: skip


def layer_of_most(share: xarray.DataArray, distance: str) -> int:
    """The layer, from 1, in which neighbours at a distance count most."""
    return int(share.sel(distance=distance).fillna(0).argmax("layer")) + 1


def two_largest(share: xarray.DataArray) -> tuple[int, ...]:
    """The two places that contribute most, rising."""
    order = np.argsort(-share.fillna(-1).values, kind="stable")[:2]
    return tuple(sorted(int(place) for place in share["offset"].values[order]))


def _listed(places: tuple[int, ...]) -> str:
    return " and ".join(f"{place:+d}".replace("-", "−") for place in places)


def _spoken(share: xarray.DataArray) -> str:
    peaks = (
        f"{label} neighbours in layer {layer_of_most(share, key)}"
        for key, label in DISTANCES.items()
    )
    return "Largest: " + ", ".join(peaks) + "."


def _largest_spoken(found: xarray.Dataset, name: str) -> str:
    largest = (
        f"{_listed(two_largest(found[f'{name}_share'].isel(layer=layer)))} in layer {layer + 1}"
        for layer in shown_layers(found)
    )
    return "Largest at places " + ", ".join(largest) + "."
