"""Headlight: what attention in Transformers really does, beyond the raw attention weight.

>>> import headlight
>>> model = headlight.load()                                # doctest: +SKIP
>>> model.read("The cat sat.").norm                         # doctest: +SKIP
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headlight.errors import HeadlightError as HeadlightError
    from headlight.model import Model as Model, load as load, survey as survey
    from headlight.reading import Reading as Reading

# Resolved when first asked for, so that `import headlight` loads neither torch nor xarray.
_HOMES = {
    "HeadlightError": "headlight.errors",
    "Model": "headlight.model",
    "Reading": "headlight.reading",
    "load": "headlight.model",
    "survey": "headlight.model",
}

__all__ = ["HeadlightError", "Model", "Reading", "load", "survey"]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'headlight' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
