"""Provenance of a result: its time of creation, and the versions of packages."""

import json
import platform
from datetime import UTC, datetime
from importlib import metadata

from headlight.version import __version__

FORMAT = "2"
"""Version of the layout of results; it changes when an older reader would go wrong."""

_CALCULATING = ("headlight", "torch", "transformers")
_MEASURED_WITH = ("torch", "transformers", "numpy", "xarray")


def calculated_with() -> dict[str, str]:
    """Return the versions of packages that compute numbers, which parts of a run must share."""
    return {name: version for name, version in versions().items() if name in _CALCULATING}


def stamp() -> dict[str, str]:
    """Return the attributes of a result created now: time, versions, and format."""
    created = datetime.now(UTC).isoformat(timespec="seconds")
    return {"created": created, "versions": json.dumps(versions()), "format": FORMAT}


def versions() -> dict[str, str]:
    """Return the versions of Python and of packages that a result depends on, without importing."""
    packages = {"python": platform.python_version(), "headlight": __version__}
    for package in _MEASURED_WITH:
        try:
            packages[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            packages[package] = "unknown"  # built from a source tree, and not installed
    return packages
