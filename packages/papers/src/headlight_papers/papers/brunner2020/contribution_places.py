"""Contributions by place: pictures, tables and words."""

import pandas
import xarray

from headlight.views.parts import Curve, Drawing
from headlight_papers.papers.brunner2020.claims import two_largest
from headlight_papers.papers.brunner2020.contribution_results import shown_layers
from headlight_papers.papers.exhibit_files import ExhibitWriter
from headlight_papers.papers.exhibit_tables import frame_of


def draw_places(
    writer: ExhibitWriter,
    result: xarray.Dataset,
    name: str,
    title: str,
    ends: tuple[int, int],
    caption: str,
    letter: str,
) -> Drawing:
    """Draw the shares of the places between two, in three layers."""
    return writer.curves(
        result.isel(layer=shown_layers(result)).sel(offset=slice(*ends)),
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
        alternative=largest_places(result, name),
        name=letter,
    )


def frame_by_place(result: xarray.Dataset, name: str) -> pandas.DataFrame:
    """Return the total, the share of all, and the pairs of tokens of every place of every layer."""
    total = result[f"{name}_total"].transpose("layer", "offset")
    frame = frame_of(
        {
            "total": total,
            "share": result[f"{name}_share"],
            "mean": result[f"{name}_mean"],
            "pairs": result[f"{name}_count"].broadcast_like(total),
        }
    )
    return frame.rename(columns={"offset": "place"})


def list_places(places: tuple[int, ...]) -> str:
    """Return places as words: ``−1 and +1``."""
    return " and ".join(f"{place:+d}".replace("-", "−") for place in places)


def largest_places(result: xarray.Dataset, name: str) -> str:
    """Return the two places that contribute most, in three layers, as words."""
    share = result[f"{name}_share"]
    largest = (
        f"{list_places(two_largest(share.isel(layer=layer)))} in layer {layer + 1}"
        for layer in shown_layers(result)
    )
    return "Largest at places " + ", ".join(largest) + "."
