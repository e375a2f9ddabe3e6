"""Headlight: what attention in Transformers really does, beyond the raw attention weight.

>>> import headlight
>>> model = headlight.load()                                # doctest: +SKIP
>>> model.read("The cat sat.").norm                         # doctest: +SKIP
>>> headlight.survey("corpus.txt", model=model)             # doctest: +SKIP

The functions of studies are made of their rows in `headlight.catalogue`; ``__init__.pyi`` tells
editors and type checkers of them (``scripts/stubs.py``).
"""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from headlight.version import __version__ as __version__

# Resolved when first asked for, so that `import headlight` loads neither torch nor xarray.
HOMES = {
    "HeadlightError": "headlight.errors",
    "Model": "headlight.reading.model",
    "Reading": "headlight.reading",
    "compare": "headlight.api",
    "gallery": "headlight.reports.gallery",
    "heads": "headlight.findings",
    "load": "headlight.reading.model",
    "open": "headlight.api",
    "view": "headlight.reading.given_weights",
    "wrap": "headlight.reading.model",
}


def __getattr__(name: str) -> Any:
    if name in HOMES:
        return getattr(import_module(HOMES[name]), name)
    if name == "__all__":
        return sorted([*HOMES, *_catalogue().studies()])
    if not name.startswith("_"):
        if find_spec(f"headlight.{name}"):  # such as headlight.corpora
            return import_module(f"headlight.{name}")
        if name in _catalogue().studies():
            return import_module("headlight.api").study_function(name)
        if name in _catalogue().cannot_be_loaded():
            _catalogue().find_study(name)  # which says why
    raise AttributeError(f"module 'headlight' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__getattr__("__all__"), "__version__"])


def _catalogue() -> Any:
    return import_module("headlight.catalogue")
