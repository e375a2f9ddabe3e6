"""The file that holds a result, and several kinds of attention as one result."""

from headlight.result.storage import (
    FORMAT,
    RESULT,
    Description,
    Scale,
    bounds,
    calculated_with,
    csv_tables,
    csv_text,
    describe,
    joined,
    load,
    refusing_incomplete,
    save,
    save_csv,
    stamp,
    versions,
)

__all__ = [
    "FORMAT",
    "RESULT",
    "Description",
    "Scale",
    "bounds",
    "calculated_with",
    "csv_tables",
    "csv_text",
    "describe",
    "joined",
    "load",
    "refusing_incomplete",
    "save",
    "save_csv",
    "stamp",
    "versions",
]
