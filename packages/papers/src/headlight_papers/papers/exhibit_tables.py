"""Tables of exhibits, and words in their cells and notes."""

from collections.abc import Mapping

import numpy as np
import pandas
import xarray

from headlight_papers.papers.paper_numbering import head_name


def frame_of(columns: Mapping[str, xarray.DataArray]) -> pandas.DataFrame:
    """Return a row for each place along the dimensions of the arrays, and a column for each array.

    A column ``layer`` counts from 1; where there are heads, ``head`` has their names instead, and
    those that a layer does not have are left out.
    """
    cells = xarray.Dataset(
        {name: values.reset_coords(drop=True) for name, values in columns.items()}
    )
    order = [str(name) for name in next(iter(columns.values())).dims]
    frame = cells.to_dataframe(dim_order=order).reset_index()
    if "head" in frame:
        frame = frame.dropna(subset=list(columns), how="all").reset_index(drop=True)
        frame["head"] = list(map(head_name, frame.pop("layer"), frame["head"]))
    elif "layer" in frame:
        frame["layer"] += 1
    return frame


def percent(share: float) -> float | None:
    """Return a share in percent; None where nothing was observed."""
    return None if np.isnan(share) else 100 * float(share)


def yes_or_no(holds: object) -> str:
    """Return whether a claim holds, as a word."""
    return "yes" if holds else "no"


def in_words(names: list[str], most: int = 12) -> str:
    """Return words such as ``1, 2 and 4``; a long list is cut, and its length appended."""
    if not names:
        return "none"
    first = names[:most]
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(first) + rest
