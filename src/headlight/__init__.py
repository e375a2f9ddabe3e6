"""Headlight: what attention in Transformers really does, beyond the raw attention weight.

>>> import headlight
>>> model = headlight.load()                                # doctest: +SKIP
>>> model.read("The cat sat.").norm                         # doctest: +SKIP
>>> headlight.survey("corpus.txt", model=model)             # doctest: +SKIP
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from headlight.version import __version__ as __version__

if TYPE_CHECKING:
    from headlight.api import (
        ablation as ablation,
        adversary as adversary,
        agreement as agreement,
        alignment as alignment,
        contributions as contributions,
        coreference as coreference,
        dependency as dependency,
        distances as distances,
        faithfulness as faithfulness,
        guided as guided,
        identifiability as identifiability,
        importance as importance,
        instance_adversary as instance_adversary,
        norms as norms,
        open as open,
        parser_probes as parser_probes,
        permutation as permutation,
        survey as survey,
        token_identity as token_identity,
    )
    from headlight.errors import HeadlightError as HeadlightError
    from headlight.model import Model as Model, load as load
    from headlight.reading import Reading as Reading

# Resolved when first asked for, so that `import headlight` loads neither torch nor xarray.
_HOMES = {
    "HeadlightError": "headlight.errors",
    "Model": "headlight.model",
    "Reading": "headlight.reading",
    "ablation": "headlight.api",
    "agreement": "headlight.api",
    "adversary": "headlight.api",
    "alignment": "headlight.api",
    "contributions": "headlight.api",
    "coreference": "headlight.api",
    "dependency": "headlight.api",
    "distances": "headlight.api",
    "faithfulness": "headlight.api",
    "guided": "headlight.api",
    "identifiability": "headlight.api",
    "importance": "headlight.api",
    "instance_adversary": "headlight.api",
    "load": "headlight.model",
    "norms": "headlight.api",
    "open": "headlight.api",
    "parser_probes": "headlight.api",
    "permutation": "headlight.api",
    "survey": "headlight.api",
    "token_identity": "headlight.api",
}

__all__ = [
    "HeadlightError",
    "Model",
    "Reading",
    "ablation",
    "adversary",
    "agreement",
    "alignment",
    "contributions",
    "coreference",
    "dependency",
    "distances",
    "faithfulness",
    "guided",
    "identifiability",
    "importance",
    "instance_adversary",
    "load",
    "norms",
    "open",
    "parser_probes",
    "permutation",
    "survey",
    "token_identity",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if not name.startswith("_") and find_spec(f"headlight.{name}"):  # such as headlight.corpora
        return import_module(f"headlight.{name}")
    raise AttributeError(f"module 'headlight' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
