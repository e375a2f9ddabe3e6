"""Appendices A and B: how much f can stretch a vector (Figure 9)."""

from pathlib import Path

import numpy as np
import pandas
import xarray

from headlight.capture.value_map import value_map
from headlight.errors import UnsupportedModelError
from headlight.measures.singular import singular_values
from headlight.papers.kobayashi2020 import published
from headlight.papers.naming import head_name
from headlight.papers.reproduction import Study
from headlight.papers.text import model_note
from headlight.papers.writer import ExhibitWriter
from headlight.views.exhibits import Comparison, Exhibit
from headlight.views.pictures import Line, LinePanel, lines


def figure_9(study: Study, desk: ExhibitWriter) -> Exhibit:
    """The singular values of one head of every layer."""
    source = "Kobayashi et al. (2020), Figure 9 and Appendices A and B"
    explanation = (
        "f is affine; with a 1 appended to the vectors it is linear, and its singular values say "
        "how much it stretches vectors of different directions. One head of each layer, drawn at "
        "random (seeded); all heads are in the table."
    )
    try:
        found = decomposed(study)
    except UnsupportedModelError as reason:
        return Exhibit("figure-9", "Singular values of f", source, explanation, notes=[str(reason)])
    values = found["singular_value"]
    generator = np.random.default_rng(study.options.seed)
    chosen = {
        int(layer): int(generator.integers(np.isfinite(values.sel(layer=layer, index=0)).sum()))
        for layer in values["layer"].values
    }
    series = [
        Line(head_name(layer, head), _order(values), values.sel(layer=layer, head=head).values)
        for layer, head in chosen.items()
    ]
    ratio = found["ratio"]
    frame = pandas.DataFrame(
        {
            "head": [
                head_name(int(layer), int(head))
                for layer in ratio["layer"].values
                for head in ratio["head"].values
            ],
            "largest": values.max("index").values.ravel(),
            "smallest": values.min("index").values.ravel(),
            "ratio": ratio.values.ravel(),
        }
    ).dropna()
    smallest = float(ratio.min())
    return Exhibit(
        name="figure-9",
        title="Singular values of f",
        source=source,
        explanation=explanation,
        pictures=[
            desk.picture(
                lines([LinePanel("", series, x_label="number", y_label="singular value")]),
                "Singular values in descending order, one head of each layer.",
                f"The largest is at least {smallest:.1f} times the smallest, in every head.",
            )
        ],
        tables=[desk.table(frame, "All heads", formats=".2f")],
        comparisons=[
            Comparison(
                "ratio of the largest to the smallest, at least",
                published.FIGURE_9,
                smallest,
                note="there in randomly chosen heads, here in all",
            )
        ],
        notes=[
            model_note(study),
            "The d' + 1 singular values of a head that are not zero by construction, d' being the "
            "size of a head; the appended 1 is one of its dimensions.",
        ],
        files=desk.written,
    )


def decomposed(study: Study) -> xarray.Dataset:
    """All singular values of all heads; a layer with fewer heads or smaller ones is filled up."""

    def make(_: Path) -> xarray.Dataset:
        sites = study.model.sites_of(study.kind)
        found = []
        for site in sites:
            map_of_values = value_map(study.model, site)
            weight = site.projection.weight.cpu()
            found.append(singular_values(map_of_values.weight, map_of_values.bias, weight).numpy())
        heads, size = (max(one.shape[axis] for one in found) for axis in (0, 1))
        values = np.full((len(found), heads, size), np.nan)
        for layer, one in enumerate(found):
            values[layer, : one.shape[0], : one.shape[1]] = one
        with np.errstate(divide="ignore"):
            ratio = np.nanmax(values, axis=2) / np.nanmin(values, axis=2)
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

    return study.kept("singular", "singular", make)


def _order(values: xarray.DataArray) -> np.ndarray:
    return np.arange(1, values.sizes["index"] + 1)
