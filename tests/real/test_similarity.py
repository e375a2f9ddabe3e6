"""Why a trained sentence encoder finds two texts alike."""

from pathlib import Path

import pytest
import torch

import headlight
from real.models import MODELS, needs_models

pytestmark = needs_models

QUERY, PASSAGE = "Who feeds the cat?", "The feline gets its food from Anna."


def test_words_of_a_query_find_those_of_a_passage_and_the_cosine_is_the_models_own() -> None:
    assert MODELS is not None
    model = headlight.load(Path(MODELS) / "minilm", head="none")
    result = model.similarity(QUERY, PASSAGE)
    embeddings = []
    for text in (QUERY, PASSAGE):
        with torch.no_grad():
            states = model.transformer(**model.tokenizer(text, return_tensors="pt"))[0][0]
        embeddings.append(states.double().mean(0))
    cosine = float(torch.cosine_similarity(*embeddings, dim=0))
    data = result.dataset
    assert float(data["cosine"]) == pytest.approx(cosine, abs=1e-6)
    model.transformer.double()  # the parts are the same, so that nothing is lost to rounding
    again = model.similarity(QUERY, PASSAGE).dataset
    for name in ("pair_part", "bias", "head_part"):
        assert float(abs(data[name] - again[name]).max()) < 1e-5
    pairs = result.to_dataframe()
    assert pairs.loc[:1, ["first text", "second text"]].values.tolist() == [
        ["cat", "feline"],
        ["feeds", "food"],
    ]
    dashed = model.similarity("The cat -- it eats.", PASSAGE).dataset["a_word_text"].values
    assert dashed.tolist() == ["the", "cat", "it", "eats"]
