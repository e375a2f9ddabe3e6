"""Figure 9: singular values of f."""

from pathlib import Path

import numpy as np
import pandas
import xarray

from headlight.errors import UnsupportedModelError
from headlight.measures import singular_values_of
from headlight.views.parts import Comparison, Curve, Section
from headlight_papers.papers.exhibit_files import ExhibitWriter
from headlight_papers.papers.exhibit_tables import frame_of
from headlight_papers.papers.kobayashi2020 import Settings, published
from headlight_papers.papers.kobayashi2020.exhibit import exhibit
from headlight_papers.papers.notes import model_note
from headlight_papers.papers.paper_numbering import head_name
from headlight_papers.papers.reproduction import Reproduction


@exhibit("figure-9", "Figure 9 and Appendices A and B")
def figure_9(reproduction: Reproduction[Settings], writer: ExhibitWriter) -> Section:
    """Singular values of f."""
    explanation = (
        "f is affine; with a 1 appended to the vectors it is linear, and its singular values say "
        "how much it stretches vectors of different directions. One head of each layer, drawn at "
        "random (seeded); all heads are in the table."
    )
    try:
        result = load_singular_values(reproduction)
    except UnsupportedModelError as reason:
        return Section(explanation, notes=[str(reason)])
    values, ratio = result["singular_value"], result["ratio"]
    generator = np.random.default_rng(reproduction.settings.seed)
    chosen = {
        int(layer): int(generator.integers(np.isfinite(values.sel(layer=layer, index=0)).sum()))
        for layer in values["layer"].values
    }
    drawn = xarray.concat(
        [values.sel(layer=layer, head=head, drop=True) for layer, head in chosen.items()],
        pandas.Index(map(head_name, chosen, chosen.values()), name="chosen"),
    )
    frame = frame_of(
        {"largest": values.max("index"), "smallest": values.min("index"), "ratio": ratio}
    ).dropna()
    smallest = float(ratio.min())
    return Section(
        explanation,
        drawings=[
            writer.curves(
                drawn.assign_coords(index=drawn["index"] + 1).to_dataset(name="singular_value"),
                Curve(
                    "singular_value",
                    by="chosen",
                    over="index",
                    x_label="number",
                    y_label="singular value",
                ),
                caption="Singular values in descending order, one head of each layer.",
                alternative=f"The largest is at least {smallest:.1f} times the smallest, in every "
                "head.",
            )
        ],
        tables=[writer.table(frame, "All heads", formats=".2f")],
        comparisons=[
            Comparison(
                "ratio of the largest to the smallest, at least",
                published.FIGURE_9,
                smallest,
                note="there in randomly chosen heads, here in all",
            )
        ],
        notes=[
            model_note(reproduction),
            "The d' + 1 singular values of a head that are not zero by construction, d' being the "
            "size of a head; the appended 1 is one of its dimensions.",
        ],
    )


def load_singular_values(reproduction: Reproduction) -> xarray.Dataset:
    """Load the singular values of all heads, padded with NaN to the same shape."""
    sites = reproduction.model.sites_of(reproduction.kind)

    def make(_: Path) -> xarray.Dataset:
        values_by_layer = [singular_values_of(reproduction.model, site).numpy() for site in sites]
        heads, size = (
            max(values_of_heads.shape[axis] for values_of_heads in values_by_layer)
            for axis in (0, 1)
        )
        values = np.full((len(values_by_layer), heads, size), np.nan)
        for layer, values_of_heads in enumerate(values_by_layer):
            values[layer, : values_of_heads.shape[0], : values_of_heads.shape[1]] = values_of_heads
        with np.errstate(divide="ignore"):  # a singular value of 0 makes the ratio infinite
            ratio = np.fmax.reduce(values, axis=2) / np.fmin.reduce(values, axis=2)
        return xarray.Dataset(
            {
                "singular_value": (("layer", "head", "index"), values),
                "ratio": (("layer", "head"), ratio),
            },
            coords={
                "layer": [site.layer for site in sites],
                "head": np.arange(heads),
                "index": np.arange(size),
            },
        )

    return reproduction.keep("singular", "singular", make, kind=reproduction.kind)
