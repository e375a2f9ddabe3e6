"""Arrays, and what they are, in one safetensors file that knows whether it is damaged."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from headlight.errors import HeadlightError, ResultError
from headlight.files import Location, location, parse_json, read, write

_HEADER = "headlight"
_DIGEST = "digest"


def save_tensors(
    path: Location,
    tensors: Mapping[str, np.ndarray],
    header: Mapping[str, Any],
    *,
    error: type[HeadlightError] = ResultError,
) -> None:
    """Write arrays and what they are to one safetensors file, whole or not at all.

    The header holds a digest of everything, so that `load_tensors` notices when a bit has changed.

    Args:
        path: the file; its folder must exist.
        tensors: arrays by name.
        header: what they are, as JSON.
        error: the class of the refusal.

    Raises:
        HeadlightError: of class `error`, if the file cannot be written.
    """
    arrays = {name: np.asarray(array, order="C") for name, array in tensors.items()}
    plain = json.loads(json.dumps(dict(header)))  # as it will come back
    signed = {**plain, _DIGEST: _digest(arrays, plain)}
    # One entry: the order of several would change from one process to the next.
    write(path, save(arrays, metadata={_HEADER: json.dumps(signed)}), error=error)


def load_tensors(
    path: str | Location,
    *,
    what: str = "file",
    own: bool = True,
    error: type[HeadlightError] = ResultError,
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Load the tensors that `save_tensors` wrote: arrays of their own, and the header.

    Older files have no digest, and are read as they are.

    Args:
        path: the file.
        own: refuse a link, see `headlight.files.open_file`.
        what: what is expected, for the refusal of a file that is something else.
        error: the class of the refusal.

    Raises:
        HeadlightError: of class `error`, if the file is missing, damaged, or something else.
    """
    path = location(path, error=error)
    content = read(path, own=own, error=error)
    try:
        tensors = load(content)
    except SafetensorError as problem:
        raise error(f"{path} cannot be read: {problem}.") from problem
    size = int.from_bytes(content[:8], "little")
    try:
        written = parse_json(content[8 : 8 + size])["__metadata__"][_HEADER]
        header = dict(parse_json(written))
    except (KeyError, TypeError, ValueError) as problem:
        raise error(f"{path} is not a {what} that Headlight wrote; give another.") from problem
    written = header.pop(_DIGEST, None)
    if written not in (None, _digest(tensors, header)):
        raise error(f"{path} is damaged: its numbers are no longer those that were written.")
    return tensors, header


def _digest(arrays: Mapping[str, np.ndarray], header: Mapping[str, Any]) -> str:
    """SHA-256 of names, types, shapes and numbers, and of the header."""
    chain = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for name, array in sorted(arrays.items()):
        chain.update(json.dumps([name, array.dtype.str, array.shape]).encode())
        chain.update(np.ascontiguousarray(array).data.cast("B") if array.size else b"")
    return chain.hexdigest()
