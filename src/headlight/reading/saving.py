"""What was found of one text as a file, whose suffix says how it is written."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xarray

from headlight import files
from headlight.errors import UsageError
from headlight.result import save


def save_as(
    path: str | Path, dataset: xarray.Dataset, what: str, makers: Mapping[str, Callable[[], str]]
) -> Path:
    """Write a dataset: as ``.nc``, or as the text that is made for the suffix of the path.

    Args:
        path: of the file.
        dataset: what was found.
        what: it is, for the refusal of other suffixes: ``a reading is``.
        makers: by suffix, what makes the text.

    Raises:
        UsageError: another suffix.
        ResultError: the file cannot be written.
    """
    path = Path(path)
    if path.suffix == ".nc":
        save(dataset, path)
    elif path.suffix in makers:
        files.write(path, makers[path.suffix]().encode())
    else:
        raise UsageError(f"{path}: {what} saved as {', '.join(makers)} or .nc; choose one.")
    return path


def plain_attributes(dataset: xarray.Dataset) -> dict[str, Any]:
    """The attributes of a dataset, as JSON can hold them."""
    return {
        name: value.item() if isinstance(value, np.generic) else value
        for name, value in dataset.attrs.items()
    }
