"""Results on one text, and the files that they are saved to."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import xarray

from headlight import files
from headlight.catalogue.writers import in_words, writers
from headlight.errors import UsageError
from headlight.result import netcdf_bytes


class Answer:
    """Answer of one text, as a dataset that can be written."""

    dataset: xarray.Dataset
    called: ClassVar[str]
    """Subject and verb of the refusal of other suffixes: ``a prediction is``."""
    question: ClassVar[str] = ""
    """Name of the question, which decides the formats of its answers."""

    def to_netcdf(self) -> bytes:
        """Return every number as NetCDF, as `headlight.open` reads it.

        Raises:
            ResultError: NetCDF cannot hold the numbers.
        """
        return netcdf_bytes(self.dataset)


class TextResult(Answer):
    """Result on one text, as a dataset that can be written."""

    def save(self, path: str | Path) -> Path:
        """Write the result in the format of the suffix, such as ``.html``, ``.json`` or ``.nc``.

        Raises:
            UsageError: Another suffix.
            ResultError: The file cannot be written.
        """
        return save_as(path, self)

    def as_json(self) -> dict[str, Any]:
        """Return the attributes of the result, as JSON can hold them."""
        return {
            name: value.item() if isinstance(value, np.generic) else value
            for name, value in self.dataset.attrs.items()
        }

    def to_json(self) -> str:
        """Return the JSON of the result."""
        return json.dumps(self.as_json(), ensure_ascii=False)

    def to_html(self) -> str:
        """Return its page, which needs nothing else."""
        from headlight.views.result_page import result_page

        return result_page(self.dataset)


def save_as(path: str | Path, answer: Answer, *, page: Callable[[], str] | None = None) -> Path:
    """Write an answer in the format that the suffix of a path says.

    Args:
        path: Path of the file.
        answer: Answer to write.
        page: Function that makes its page; by default the answer itself does.

    Raises:
        UsageError: Another suffix.
        ResultError: The file cannot be written.
    """
    path, formats = Path(path), writers(answer.question)
    if path.suffix not in formats:
        raise UsageError(f"{path}: {answer.called} saved as {in_words(formats)}; choose one.")
    if page is not None and path.suffix == ".html":
        content: str | bytes = page()
    else:
        content = formats[path.suffix].write(answer)
    files.write(path, content.encode() if isinstance(content, str) else content)
    return path
