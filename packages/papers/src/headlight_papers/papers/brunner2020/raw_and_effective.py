"""Raw and effective attention: their panels, and their means by layer."""

from collections.abc import Mapping

import pandas
import xarray

from headlight.views.parts import By
from headlight_papers.papers.exhibit_tables import frame_of

MEASURES = {"weight": "raw attention", "effective": "effective attention"}
MEASURE = By("measure", {name: title.capitalize() for name, title in MEASURES.items()})


def means_by_layer(columns: Mapping[str, xarray.DataArray]) -> pandas.DataFrame:
    """Return the means over heads for each measure and layer, in percent."""
    means = {
        label: 100 * share.sel(measure=list(MEASURES)).mean("head")
        for label, share in columns.items()
    }
    frame = frame_of(means).rename(columns={"measure": "attention"})
    return frame.assign(attention=frame["attention"].map(MEASURES))
