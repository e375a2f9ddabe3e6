"""Appendix B.5: neighbouring input tokens recovered from hidden tokens (Figures 14 to 17)."""

import pandas
import xarray

from headlight.papers.brunner2020.datasets import main_set
from headlight.papers.brunner2020.identity_results import (
    LOSS_TITLES,
    MAP_TITLES,
    identity_notes,
    neighbours,
)
from headlight.papers.reproduction import Study
from headlight.papers.writer import ExhibitWriter
from headlight.views.exhibits import Comparison, Exhibit
from headlight.views.pictures import Line, LinePanel, lines

COLOURS = {
    -3: "#9cc4e4", -2: "#4f97cf", -1: "#0b559f",
    3: "#f2a49b", 2: "#e05a4b", 1: "#a50f15",
}  # fmt: skip
"""Previous tokens are blue and next ones red, as in the paper; the nearest are darkest."""


def figure_14(study: Study, desk: ExhibitWriter) -> Exhibit:
    """Linear maps with the cosine loss."""
    return recovered_neighbours(study, desk, "linear", "cosine", "Figure 14")


def figure_15(study: Study, desk: ExhibitWriter) -> Exhibit:
    """MLPs with the cosine loss."""
    return recovered_neighbours(study, desk, "mlp", "cosine", "Figure 15")


def figure_16(study: Study, desk: ExhibitWriter) -> Exhibit:
    """MLPs with the L2 loss."""
    return recovered_neighbours(study, desk, "mlp", "l2", "Figure 16")


def figure_17(study: Study, desk: ExhibitWriter) -> Exhibit:
    """Linear maps with the L2 loss."""
    return recovered_neighbours(study, desk, "linear", "l2", "Figure 17")


def recovered_neighbours(
    study: Study, desk: ExhibitWriter, kind: str, loss: str, source: str
) -> Exhibit:
    """How often the tokens up to three positions away are recovered, by layer.

    Args:
        study: on which model and data.
        desk: where it is put together.
        kind: of map, ``linear`` or ``mlp``.
        loss: ``cosine`` or ``l2``.
        source: where the paper has it.
    """
    found = neighbours(study, kind, loss)
    label = f"{MAP_TITLES[kind]}, {LOSS_TITLES[loss]}"
    rates = found["rate_mean"].squeeze(("map", "loss", "fraction"), drop=True)
    layers = rates["layer"].values + 1
    drawn = [
        Line(f"{offset:+}", layers, rates.sel(offset=offset).values, colour=colour, marked=True)
        for offset, colour in COLOURS.items()
    ]
    frame = pandas.DataFrame({"layer": layers, **{one.label: 100 * one.y for one in drawn}})
    return Exhibit(
        name=desk.exhibit,
        title=f"Neighbouring input tokens recovered: {label}",
        source=f"Brunner et al. (2020), {source} and Appendix B.5",
        explanation="Maps are trained to give the input token at another position of the sequence, "
        "up to three before and behind, where there is one. It is recovered if it is the nearest "
        "of all input tokens of the sequence.",
        pictures=[
            desk.picture(
                lines([LinePanel("", drawn, "layer", "recovered", percent=True)]),
                f"Share of neighbours recovered; previous tokens blue, next ones red: {label}.",
                "Last layer: " + _last(rates),
            )
        ],
        tables=[desk.table(frame, "By layer, in percent", formats=".1f")],
        comparisons=_compared(rates),
        notes=identity_notes(study, main_set(study), found),
        files=desk.written,
    )


def _last(rates: xarray.DataArray) -> str:
    last = rates.isel(layer=-1)
    return ", ".join(
        f"{int(offset):+}: {100 * float(last.sel(offset=offset)):.1f}%"
        for offset in last["offset"].values
    )


def _compared(rates: xarray.DataArray) -> list[Comparison]:
    """What the paper says of all four figures."""
    mean = rates.mean("layer")
    nearer = all(
        float(mean.sel(offset=sign * near)) > float(mean.sel(offset=sign * (near + 1)))
        for sign in (-1, 1)
        for near in (1, 2)
    )
    deeper = bool((rates.isel(layer=-1) < rates.isel(layer=0)).all())
    previous, following = (float(mean.sel(offset=offsets).mean()) for offsets in _SIDES)
    return [
        Comparison("falls with distance, on both sides", "yes", "yes" if nearer else "no"),
        Comparison("lower in the last layer than in the first", "yes", "yes" if deeper else "no"),
        Comparison(
            "previous and next tokens differ", "yes", 100 * (previous - following), "pp",
            "previous minus next here, on average",
        ),
    ]  # fmt: skip


_SIDES = ([-3, -2, -1], [1, 2, 3])
