"""A pointing game with truth: heads of a small ViT against where the blob of a picture is."""

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import ViTForImageClassification

import headlight

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "train_quadrants.py"


@pytest.fixture(scope="module")
def quadrants() -> dict[str, Any]:
    return runpy.run_path(str(SCRIPT))


def test_a_picture_says_where_its_blob_is(quadrants: dict[str, Any]) -> None:
    for number in range(20):
        pixels, (row, column) = quadrants["draw"](number)
        again, _ = quadrants["draw"](number)
        np.testing.assert_array_equal(pixels, again)
        near = pixels[int(row) - 2 : int(row) + 3, int(column) - 2 : int(column) + 3]
        assert near[..., 2].mean() > pixels[..., 2].mean() + 50
        top, left = row < quadrants["SIDE"] / 2, column < quadrants["SIDE"] / 2
        side = f"{'top' if top else 'bottom'} {'left' if left else 'right'}"
        assert quadrants["NAMES"][quadrants["quadrant"]((row, column))] == side


@pytest.mark.long
def test_heads_of_a_trained_model_point_at_the_blob(
    quadrants: dict[str, Any], tmp_path: Path
) -> None:
    """The class is read off the blob, so that some head must look there."""
    folder = quadrants["write"](tmp_path / "model", steps=150, examples=2)
    new = range(quadrants["SEEN_BY_NONE"], quadrants["SEEN_BY_NONE"] + 30)
    classifier = ViTForImageClassification.from_pretrained(folder).eval()
    pixels, labels = quadrants["batch"](new)
    with torch.no_grad():
        right = classifier(pixels).logits.argmax(-1) == labels
    assert right.float().mean() > 0.9
    hits, chance = quadrants["pointing_game"](headlight.load(folder), new)
    assert 0.03 < chance < 0.2
    for measure in ("weight", "norm"):
        assert hits[measure].max() > 0.9
    torch.manual_seed(0)
    ViTForImageClassification(classifier.config).save_pretrained(folder)
    before, _ = quadrants["pointing_game"](headlight.load(folder), new)
    # Some head of any model points at what is bright, so that the best one says nothing.
    assert before["weight"].mean() < hits["weight"].mean() - 0.15
