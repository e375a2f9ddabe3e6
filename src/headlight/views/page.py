"""The page of a reading: a heat map of one text, with a chooser for layer, head and measure."""

import json

import xarray as xr

from headlight.views.serial import reading_json
from headlight.views.template import embedded_text, render
from headlight.vocabulary import NUMBERING, measure_table


def reading_page(reading: xr.Dataset) -> str:
    """A reading as one self-contained HTML page.

    The page holds exactly what ``reading_json`` writes, in the element with the id ``reading``.
    """
    attributes = reading.attrs
    text = reading_json(reading)
    texts = [str(attributes.get(name, "")) for name in ("text", "pair")]
    versions = json.loads(text)["versions"]
    return render(
        "reading.html",
        title=" / ".join(part for part in texts if part) or "A reading",
        attributes=attributes,
        numbering=NUMBERING,
        measures=[row for row in measure_table() if row.pairwise and row.name in reading],
        layers=reading["layer"].values.tolist(),
        heads=reading.sizes["head"],
        versions=list(versions.items()) if isinstance(versions, dict) else [("", versions)],
        data=embedded_text(text),
    )
