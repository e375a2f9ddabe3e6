"""Appendix B.5: neighbouring input tokens recovered from hidden tokens (Figures 14 to 17)."""

from functools import partial

import xarray

from headlight.views.parts import By, Comparison, Curve, Section
from headlight_papers.papers.brunner2020.identity.results import (
    LOSS_TITLES,
    MAP_TITLES,
    identity_notes,
    load_neighbours,
)
from headlight_papers.papers.brunner2020.pair_sets import find_pair_set
from headlight_papers.papers.exhibit import ExhibitSpec
from headlight_papers.papers.naming import frame_of, yes_or_no
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.papers.writer import ExhibitWriter

COLOURS = {
    -3: "#9cc4e4", -2: "#4f97cf", -1: "#0b559f",
    3: "#f2a49b", 2: "#e05a4b", 1: "#a50f15",
}  # fmt: skip
"""Previous tokens are blue and next ones red, as in the paper; the nearest are darkest."""


def recovered_neighbours(
    reproduction: Reproduction, writer: ExhibitWriter, kind: str, loss: str
) -> Section:
    """Return the figure of tokens up to three positions away that are recovered, by layer.

    Args:
        reproduction: on which model and data.
        writer: of the files.
        kind: of map, ``linear`` or ``mlp``.
        loss: ``cosine`` or ``l2``.
    """
    pairs = find_pair_set(reproduction)
    found = load_neighbours(reproduction, pairs, kind, loss)
    label = f"{MAP_TITLES[kind]}, {LOSS_TITLES[loss]}"
    rates = found["rate_mean"].squeeze(("map", "loss", "fraction"), drop=True)
    frame = frame_of({f"{offset:+}": 100 * rates.sel(offset=offset) for offset in COLOURS})
    last = rates.isel(layer=-1)
    recovered = (
        f"{int(offset):+}: {100 * float(last.sel(offset=offset)):.1f}%"
        for offset in last["offset"].values
    )
    return Section(
        explanation="Maps are trained to give the input token at another position of the sequence, "
        "up to three before and behind, where there is one. It is recovered if it is the nearest "
        "of all input tokens of the sequence.",
        drawings=[
            writer.curves(
                rates.sel(offset=list(COLOURS)).to_dataset(),
                Curve(
                    "rate_mean",
                    by=By("offset", {offset: f"{offset:+}" for offset in COLOURS}),
                    colour=COLOURS,
                    marked=True,
                    percent=True,
                    y_label="recovered",
                ),
                caption="Share of neighbours recovered; previous tokens blue, next ones red: "
                f"{label}.",
                alternative=f"Last layer: {', '.join(recovered)}",
            )
        ],
        tables=[writer.table(frame, "By layer, in percent", formats=".1f")],
        comparisons=_comparisons(rates),
        notes=identity_notes(reproduction, pairs, found),
    )


figure_14, figure_15, figure_16, figure_17 = (
    ExhibitSpec(
        f"figure-{number}",
        f"Neighbouring input tokens recovered: {MAP_TITLES[kind]}, {LOSS_TITLES[loss]}",
        f"Brunner et al. (2020), Figure {number} and Appendix B.5",
        partial(recovered_neighbours, kind=kind, loss=loss),
        ("pairs",),
    )
    for number, kind, loss in (
        (14, "linear", "cosine"),
        (15, "mlp", "cosine"),
        (16, "mlp", "l2"),
        (17, "linear", "l2"),
    )
)


def _comparisons(rates: xarray.DataArray) -> list[Comparison]:
    """Return the paper's statements on all four figures beside the numbers here."""
    mean = rates.mean("layer")
    nearer = all(
        float(mean.sel(offset=sign * near)) > float(mean.sel(offset=sign * (near + 1)))
        for sign in (-1, 1)
        for near in (1, 2)
    )
    deeper = bool((rates.isel(layer=-1) < rates.isel(layer=0)).all())
    sides = ([-3, -2, -1], [1, 2, 3])
    previous, following = (float(mean.sel(offset=offsets).mean()) for offsets in sides)
    return [
        Comparison(
            "falls with distance, on both sides", "yes", yes_or_no(nearer),
            note=_each(mean),
        ),
        Comparison(
            "lower in the last layer than in the first", "yes", yes_or_no(deeper),
            note=f"first {_each(rates.isel(layer=0))}; "
            f"last {_each(rates.isel(layer=-1))}",
        ),
        Comparison(
            "previous and next tokens differ", "yes", 100 * (previous - following), "pp",
            "previous minus next here, on average",
        ),
    ]  # fmt: skip


def _each(rates: xarray.DataArray) -> str:
    """The rate of every offset."""
    places = zip(rates["offset"].values, rates.values, strict=True)
    return ", ".join(f"{int(offset):+d} {rate:.1%}".replace("-", "−") for offset, rate in places)
