"""What a prediction of a trained decoder is made of; its weights are rounded to 4 bits."""

from pathlib import Path

import numpy as np
import pytest

import headlight
from real.models import MODELS, needs_models

pytestmark = needs_models


def test_paris_is_read_from_france() -> None:
    """One head of layer 23 writes more into " Paris" than any other head does for any token."""
    assert MODELS is not None
    model = headlight.load(Path(MODELS) / "smollm2", head="any")
    found = model.predict("The capital of France is", target=" Paris")
    data = found.dataset
    assert data.attrs["predicted"] == data.attrs["target"] == "ĠParis"
    for name in ("remainder_direct", "remainder_total"):
        assert abs(float(data[name])) < 1e-5 * found.logit
    direct = data["head_direct"].values
    site, head, token = np.unravel_index(direct.argmax(), direct.shape)
    assert (int(data["layer"][site]), head) == (23, 4)
    assert str(data["token_text"].values[token]) == "ĠFrance"
    cities = model.predict("The capital of France is", target=" Paris", against=" Rome")
    token_total = cities["token_total"].values
    assert token_total[3] == max(token_total[1:4])  # more than "capital" and "of"
    assert cities.logit == pytest.approx(float(cities["direct"].sum()), rel=1e-5)


def test_pieces_are_named_as_people_read_them() -> None:
    model = headlight.load(Path(str(MODELS)) / "smollm2", head="any")
    said = str(model.predict("The capital of France is", target=" Rhinoceros"))
    assert "' Rhinoceros' is 3 pieces (Rh in oceros); what is explained is the first, 'Rh'" in said
    assert "\u0120" not in said


def test_the_row_that_generated_paris_takes_most_from_france() -> None:
    made = headlight.load(Path(str(MODELS)) / "smollm2", head="any")
    generation = made.generate("The capital of France is", max_new_tokens=3)
    assert generation.answer.startswith(" Paris.")
    tokens = [*generation.dataset["key_token"].values]
    norm = generation.norm.isel(query=0, key=slice(1, None)).transpose("layer", "head", "key")
    layer, head, key = np.unravel_index(int(norm.argmax()), norm.shape)
    assert (layer, head, tokens[key + 1]) == (23, 4, "ĠFrance")
    whole = made.read("The capital of France is" + generation.answer).dataset
    assert [*whole["key_token"].values] == tokens
    for name in ("weight", "norm"):
        rows = whole[name].sel(query=generation.dataset["query"])
        np.testing.assert_allclose(generation[name], rows, rtol=1e-5, atol=1e-5)
