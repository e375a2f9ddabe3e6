"""What heads of a trained decoder do, against plain loops; its weights are rounded to 4 bits."""

import os
from pathlib import Path

import numpy as np
import pytest

import headlight
from headlight.encode.function_words import function_word_ids
from headlight.vocabulary import BEHAVIOURS, CATEGORIES
from studies import behaviours_naive as naive

MODELS = os.environ.get("HEADLIGHT_MODELS")
pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(MODELS is None, reason="no HEADLIGHT_MODELS: make models fetches them"),
]
TEXT = (
    "Mrs. Dursley and Mr. Potter met at the reptilehouse, where Mrs. Dursley laughed at a python. "
    "The keeper said that the python was old, and that Mr. Potter should not wake the python. "
    "Mr. Potter did not listen, and Mrs. Dursley said that the reptilehouse would soon be closed."
)
LAYERS = (0, 5, 17)


def test_shares_are_those_of_loops_and_the_first_token_is_a_sink() -> None:
    assert MODELS is not None
    model = headlight.load(Path(MODELS) / "smollm2")
    options = {"model": model, "measures": ["weight", "norm"], "progress": False}
    result = headlight.survey([TEXT], **options)
    reading = model.read(TEXT).dataset
    ids = model.tokenizer.convert_tokens_to_ids(reading["key_token"].values.tolist())
    words = reading["key_word"].values.tolist()
    classes = [CATEGORIES.index(name) for name in reading["key_category"].values]
    known = function_word_ids(model.tokenizer)
    for layer in LAYERS:
        for name in ("weight", "norm"):
            score = reading[name].sel(layer=layer).values.astype(np.float64)
            sums = naive.of_text(score, ids, words, classes, known, share=name == "weight")
            expected = naive.joined([sums])
            here = result.sel(layer=layer, measure=name)
            for behaviour in BEHAVIOURS:
                np.testing.assert_allclose(
                    here["behaviour_share"].sel(behaviour=behaviour),
                    expected[f"{behaviour} share"],
                    atol=1e-4, err_msg=behaviour,
                )  # fmt: skip
            np.testing.assert_allclose(here["distance_mean"], expected["distance with"], rtol=1e-3)
    weight, norm = result["first_share"].sel(measure=["weight", "norm"]).values
    assert weight > 0.35
    assert norm < 0.8 * weight
    assert headlight.heads(result, "subword", by="norm").loc[0, ["layer", "head"]].tolist() == [
        1,
        0,
    ]
    best = headlight.heads(result, "induction", by="norm").head(5)
    assert (17, 5) in set(zip(best["layer"], best["head"], strict=True))
