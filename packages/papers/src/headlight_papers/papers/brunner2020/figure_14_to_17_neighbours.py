"""Figures 14 to 17: rates at which neighbours are identified."""

import xarray

from headlight.views.parts import By, Comparison, Curve, Section
from headlight_papers.papers.brunner2020.identity_maps import (
    LOSS_TITLES,
    MAP_TITLES,
    OFFSETS,
    figures_of_maps,
    identity_notes,
    load_best,
)
from headlight_papers.papers.brunner2020.pair_sets import find_pair_set
from headlight_papers.papers.exhibit_files import ExhibitWriter
from headlight_papers.papers.exhibit_tables import frame_of, yes_or_no
from headlight_papers.papers.reproduction import Reproduction

OFFSET_COLOURS = {
    -3: "#9cc4e4",
    -2: "#4f97cf",
    -1: "#0b559f",
    3: "#f2a49b",
    2: "#e05a4b",
    1: "#a50f15",
}
"""Previous tokens are blue and next ones red, as in the paper; the nearest are darkest."""


def recovered_neighbours(
    reproduction: Reproduction, writer: ExhibitWriter, kind: str, loss: str
) -> Section:
    """Return the section of tokens up to three positions away that are recovered, by layer."""
    pairs = find_pair_set(reproduction)
    result = load_best(reproduction, pairs, "neighbours", kind, loss, offsets=OFFSETS)
    label = f"{MAP_TITLES[kind]}, {LOSS_TITLES[loss]}"
    rates = result["rate_mean"].squeeze(("map", "loss", "fraction"), drop=True)
    frame = frame_of({f"{offset:+}": 100 * rates.sel(offset=offset) for offset in OFFSET_COLOURS})
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
                rates.sel(offset=list(OFFSET_COLOURS)).to_dataset(),
                Curve(
                    "rate_mean",
                    by=By("offset", {offset: f"{offset:+}" for offset in OFFSET_COLOURS}),
                    colour=OFFSET_COLOURS,
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
        comparisons=_neighbours_comparisons(rates),
        notes=identity_notes(reproduction, pairs, result),
    )


figure_14, figure_15, figure_16, figure_17 = figures_of_maps(
    recovered_neighbours,
    "Neighbouring input tokens recovered",
    "Appendix B.5",
    (14, "linear", "cosine"),
    (15, "mlp", "cosine"),
    (16, "mlp", "l2"),
    (17, "linear", "l2"),
)


def _neighbours_comparisons(rates: xarray.DataArray) -> list[Comparison]:
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
            "falls with distance, on both sides",
            "yes",
            yes_or_no(nearer),
            note=_write_rates(mean),
        ),
        Comparison(
            "lower in the last layer than in the first",
            "yes",
            yes_or_no(deeper),
            note=f"first {_write_rates(rates.isel(layer=0))}; "
            f"last {_write_rates(rates.isel(layer=-1))}",
        ),
        Comparison(
            "previous and next tokens differ",
            "yes",
            100 * (previous - following),
            "pp",
            "previous minus next here, on average",
        ),
    ]


def _write_rates(rates: xarray.DataArray) -> str:
    places = zip(rates["offset"].values, rates.values, strict=True)
    return ", ".join(f"{int(offset):+d} {rate:.1%}".replace("-", "−") for offset, rate in places)
