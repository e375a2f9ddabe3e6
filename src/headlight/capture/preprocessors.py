"""Preprocessors of transformers that belong to a model: of sound, of pictures, of prompts."""

from typing import Any

from transformers import PreTrainedModel

from headlight.catalogue.embedded_models import place_of


def load_without_code(loader: Any, network: PreTrainedModel, name: str) -> Any:
    """Return the preprocessor of a model; code in its folder is refused, and nobody is asked."""
    return loader.from_pretrained(place_of(network.name_or_path or name), trust_remote_code=False)
