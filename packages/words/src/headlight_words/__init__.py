"""Annotated and parallel text: word alignment, dependency, coreference, probes that parse."""

from importlib import import_module
from typing import Any

from headlight.catalogue import DISTRIBUTIONS
from headlight_words.sources import ASSETS, EMBEDDED_TRANSLATOR

EMBEDDED_MODELS = {EMBEDDED_TRANSLATOR: ASSETS / "translator"}
"""Folders of the models that come with the package: a translator from German to English."""


def __getattr__(name: str) -> Any:
    """Return the function of a study of this distribution, as `headlight` has it."""
    if name in DISTRIBUTIONS["words"].studies:
        return getattr(import_module("headlight"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *DISTRIBUTIONS["words"].studies])
