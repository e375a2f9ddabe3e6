"""Results on one text, and the files that they are saved to."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import xarray

from headlight import files
from headlight.errors import UsageError
from headlight.result import save


class TextResult:
    """Result on one text, as a dataset that can be written."""

    dataset: xarray.Dataset
    called: ClassVar[str]
    """It is, for the refusal of other suffixes: ``a prediction is``."""

    def save(self, path: str | Path) -> Path:
        """Write it; the suffix says how: ``.json``, ``.nc``, or ``.html`` where it has a page.

        Raises:
            UsageError: another suffix.
            ResultError: the file cannot be written.
        """
        makers = {".html": self._page, ".json": self._json}
        return save_as(path, self.dataset, self.called, makers)

    def as_json(self) -> dict[str, Any]:
        """Return the attributes of the result, as JSON can hold them."""
        return {
            name: value.item() if isinstance(value, np.generic) else value
            for name, value in self.dataset.attrs.items()
        }

    def _json(self) -> str:
        return json.dumps(self.as_json(), ensure_ascii=False)

    def _page(self) -> str:
        from headlight.views.result_page import result_page

        return result_page(self.dataset)


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
