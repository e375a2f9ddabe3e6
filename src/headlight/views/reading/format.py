"""The format ``headlight-view/2``: a reading as a header and small binary blobs, for the page.

Its fields are those of the table in ``docs/view.md``. A blob has a name,
``KIND/MEASURE/LAYER/PART``, and is deflated by gzip. Numbers are little-endian. ``codes`` is uint8
over head (absent per layer), query and key, ``scale`` float32 over head and query:

* ``sqrt``: a number is (code / 160)² · scale
* ``signed``: a number is sign(c) · (c / 63)² · scale with c = code - 128

The code 255 stands for a number that was not observed.
"""

import base64
import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headlight.errors import ResultError

FORMAT = "headlight-view/2"

Blobs = dict[str, bytes]
Head = tuple[int, int]

PICTURE = "picture"

ATTRIBUTES = ("model", "revision", "text", "pair", "created", "command")


@dataclass(frozen=True)
class View:
    """Reading as header and blobs.

    Attributes:
        header: Header that the description of this module defines.
        blobs: Blobs by name, deflated.
    """

    header: dict[str, Any]
    blobs: Blobs

    @property
    def size(self) -> int:
        """Number of bytes of all blobs as text (base64)."""
        # base64 writes 4 characters for every 3 bytes, also for the last 1 or 2.
        return sum(4 * -(-len(blob) // 3) for blob in self.blobs.values())

    def texts(self) -> dict[str, str]:
        """Return the blobs as they stand in a page."""
        return {name: base64.b64encode(blob).decode() for name, blob in self.blobs.items()}


def check_format(header: Mapping[str, Any]) -> None:
    """Refuse a header of another format.

    Raises:
        ResultError: The format is another one.
    """
    name, _, number = str(header.get("format", "")).partition("/")
    ours, _, supported = FORMAT.partition("/")
    if name != ours or not number.isdecimal() or int(number) > int(supported):
        raise ResultError(
            f"this view is of the format {header.get('format')!r}, and {FORMAT} is read here; make "
            "it again, or take the newest Headlight."
        )


def deflated(array: NDArray[Any], level: int = 6) -> bytes:
    """Return an array as a blob."""
    # Without the time, the same reading is the same bytes.
    return gzip.compress(np.ascontiguousarray(array).tobytes(), level, mtime=0)


def header_text(view: View) -> str:
    """Return the header as compact JSON."""
    return json.dumps(view.header, ensure_ascii=False, separators=(",", ":"))


SECOND, DIFFERENCE = "-second", "-difference"
"""Suffixes of the names of measures: of the second reading, and of the second less the first."""
