"""Provenance of a result: when it was made, and by which versions."""

import json
import platform
from datetime import UTC, datetime
from importlib import metadata

from headlight.version import __version__

FORMAT = "2"
"""The version of the layout of results; it changes when an older reader would go wrong."""

_CALCULATING = ("headlight", "torch", "transformers")
_MEASURED_WITH = ("torch", "transformers", "numpy", "xarray")


def calculated_with() -> dict[str, str]:
    """The versions of the packages that make numbers; halves of one run must have the same."""
    return {name: version for name, version in versions().items() if name in _CALCULATING}


def stamp() -> dict[str, str]:
    """Attributes of what is made now: when, by which versions, and the layout."""
    created = datetime.now(UTC).isoformat(timespec="seconds")
    return {"created": created, "versions": json.dumps(versions()), "format": FORMAT}


def versions() -> dict[str, str]:
    """The versions of Python and of the packages that a result depends on; imports none of them."""
    packages = {"python": platform.python_version(), "headlight": __version__}
    for package in _MEASURED_WITH:
        try:
            packages[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            packages[package] = "unknown"  # built from a source tree, and not installed
    return packages
