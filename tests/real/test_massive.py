"""Massive activations of a trained decoder, as Sun et al. (2024) describe them."""

from pathlib import Path

import numpy as np

import headlight
from headlight.findings import highlights
from real.models import MODELS, needs_models

pytestmark = needs_models


def test_one_dimension_of_the_first_token_is_massive_in_the_middle_layers() -> None:
    model = headlight.load(Path(str(MODELS)) / "smollm2")
    options = {"model": model, "measures": ["weight"], "progress": False}
    result = headlight.survey(max_examples=4, max_length=96, **options)
    middle = result.sel(layer=slice(12, 28))
    assert (middle["residual_massive"] == 1).all()
    assert (middle["residual_place"] == 0).all()
    assert len(np.unique(middle["residual_dimension"])) == 1
    assert (middle["residual_ratio"] > 1000).all()
    assert 80 < float(result["residual_length"].sel(layer=20)) < 130
    # Neither the embeddings nor what enters the block in which it appears are massive.
    assert (result["residual_massive"].sel(layer=slice(0, 2)) == 0).all()
    assert any(each.kind == "massive activations" for each in highlights(result))
