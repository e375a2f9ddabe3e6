"""The file that holds a result, and several kinds of attention as one result."""

from headlight.result.storage import (
    FORMAT,
    Description,
    Scale,
    bounds,
    calculated_with,
    csv_text,
    describe,
    joined,
    load,
    save,
    save_csv,
    stamp,
    versions,
)

__all__ = [
    "FORMAT",
    "Description",
    "Scale",
    "bounds",
    "calculated_with",
    "csv_text",
    "describe",
    "joined",
    "load",
    "save",
    "save_csv",
    "stamp",
    "versions",
]
