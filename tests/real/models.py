"""The models of ``make models``, whose folder HEADLIGHT_MODELS names."""

import os

import pytest

MODELS = os.environ.get("HEADLIGHT_MODELS")

needs_models = [
    pytest.mark.real,
    pytest.mark.skipif(MODELS is None, reason="no HEADLIGHT_MODELS: make models fetches them"),
]
