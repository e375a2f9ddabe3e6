"""Models that come with the package: their names and folders."""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from headlight.catalogue.distributions import DISTRIBUTIONS
from headlight.errors import ModelError, UsageError
from headlight.files import check_reachable

EMBEDDED_CLASSIFIER = "headlight-classifier"
"""Name of the embedded classifier of short reviews."""

EMBEDDED_DECODER = "headlight-stories"
"""Name of the embedded decoder, which goes on with stories and answers from passages."""

ASSETS = Path(__file__).parents[1] / "assets"
"""Models and samples that come with the package."""

EMBEDDED = ASSETS / "model"
EMBEDDED_NAME = "headlight-small"
EMBEDDED_MODELS = {
    EMBEDDED_NAME: EMBEDDED,
    EMBEDDED_CLASSIFIER: ASSETS / "classifier",
    EMBEDDED_DECODER: ASSETS / "decoder",
}
"""Folders of the models in this distribution: BERT, a classifier of short reviews, a decoder.

The classifier is stored as its difference from BERT, of which it is a fine-tuned copy.
"""


@cache
def embedded_models() -> Mapping[str, Path]:
    """Return folders of embedded models by name, including those of installed distributions."""
    models = dict(EMBEDDED_MODELS)
    for distribution in DISTRIBUTIONS.values():
        if distribution.models and find_spec(distribution.package):
            models |= import_module(distribution.package).EMBEDDED_MODELS
    return models


def place_of(model: str | Path | None) -> str:
    """Return the folder of an embedded model; for any other model, the given folder or name.

    Raises:
        ModelError: the name is too long, or a folder may not be entered.
        UsageError: the model is part of a distribution that is not installed.
    """
    name = EMBEDDED_NAME if model is None else str(model)
    check_reachable(Path(name), error=ModelError)
    if model is not None and Path(name).exists():
        return name
    if name in embedded_models():
        return str(embedded_models()[name])
    for distribution in DISTRIBUTIONS.values():
        if name in distribution.models:
            raise UsageError(distribution.refusal(name))
    return name
