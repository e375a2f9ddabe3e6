"""Written by scripts/stubs.py from the catalogue of studies; do not edit."""

import xarray

from typing import Any

# Modules, and rows of entry points.
def __getattr__(name: str) -> Any: ...
