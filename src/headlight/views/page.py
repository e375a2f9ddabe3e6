"""The page of a reading: a heat map of one text, with a chooser for layer, head and measure."""

import xarray as xr

from headlight.kinds import split_kinds
from headlight.views.serial import reading_json, versions_of
from headlight.views.template import embedded_text, render
from headlight.vocabulary import ATTENTION, NUMBERING, measure_table


def reading_page(reading: xr.Dataset) -> str:
    """A reading as one self-contained HTML page.

    The page holds exactly what ``reading_json`` writes, in the element with the id ``reading``.
    """
    attributes = reading.attrs
    parts = split_kinds(reading)
    first = next(iter(parts.values()))
    texts = [str(attributes.get(name, "")) for name in ("text", "pair")]
    versions = versions_of(first)
    return render(
        "reading.html",
        title=" / ".join(part for part in texts if part) or "A reading",
        attributes=attributes,
        numbering=NUMBERING,
        measures=[row for row in measure_table() if row.pairwise and row.name in reading],
        kinds={kind: ATTENTION.get(kind, kind) for kind in parts},
        layers=first["layer"].values.tolist(),
        heads=first.sizes["head"],
        versions=list(versions.items()) if isinstance(versions, dict) else [("", versions)],
        data=embedded_text(reading_json(reading)),
    )
