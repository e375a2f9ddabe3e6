"""Arrays and a header in one safetensors file, whose digest shows whether it is damaged."""

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
    """Write arrays and a header to one safetensors file, whole or not at all.

    The header holds a digest of everything, so that `load_tensors` notices when a bit has changed.

    Args:
        path: File to write; its folder must exist.
        tensors: Arrays by name.
        header: Values that JSON can hold, which describe the arrays.
        error: Class of the refusal.

    Raises:
        HeadlightError: Of class `error`: the file cannot be written.
    """
    arrays = {name: np.asarray(array, order="C") for name, array in tensors.items()}
    plain = json.loads(json.dumps(dict(header)))  # tuples come back as lists
    signed = {**plain, _DIGEST: _digest(arrays, plain)}
    # One entry: the order of several would change from one process to the next.
    write(path, save(arrays, metadata={_HEADER: json.dumps(signed)}), error=error)


def load_tensors(
    path: str | Location,
    *,
    what: str = "file",
    refuse_links: bool = True,
    error: type[HeadlightError] = ResultError,
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Load the arrays that `save_tensors` wrote, and the header.

    Older files have no digest, and are read as they are.

    Args:
        path: File to read.
        what: Noun for the expected file, for the refusal of another.
        refuse_links: Whether to refuse a link, see `headlight.files.open_file`.
        error: Class of the refusal.

    Raises:
        HeadlightError: Of class `error`: the file is missing, damaged, or something else.
    """
    path = location(path, error=error)
    content = read(path, refuse_links=refuse_links, error=error)
    try:
        tensors = load(content)
    except SafetensorError as problem:
        raise error(f"{path} cannot be read: {problem}.") from problem
    # The library gives arrays alone; the header stands before them, behind its own length.
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
    """Return the SHA-256 of names, types, shapes and numbers, and of the header."""
    chain = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for name, array in sorted(arrays.items()):
        chain.update(json.dumps([name, array.dtype.str, array.shape]).encode())
        chain.update(np.ascontiguousarray(array).data.cast("B") if array.size else b"")
    return chain.hexdigest()
