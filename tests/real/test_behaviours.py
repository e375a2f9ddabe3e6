"""What heads of a trained decoder do, against plain loops; its weights are rounded to 4 bits."""

from pathlib import Path

import numpy as np
import pytest

import headlight
from headlight.catalogue.statistics import FUNCTION_WORDS, behaviours, segment_rows
from headlight.encode.token_categories import word_ids
from headlight.findings.statistics import count_rows, numbers_of, statistics_of
from headlight.vocabulary import CATEGORIES
from real.models import MODELS, needs_models
from studies import behaviours_naive as naive

pytestmark = needs_models
TEXT = (
    "Mrs. Ravenhill and Mr. Okonkwo met at the butterflyhouse, where Mrs. Ravenhill laughed at a "
    "tortoise. The keeper said that the tortoise was old, and that Mr. Okonkwo should not wake the "
    "tortoise. Mr. Okonkwo did not listen, and Mrs. Ravenhill said that the butterflyhouse would "
    "soon be closed."
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
    known = word_ids(model.tokenizer, FUNCTION_WORDS)
    for layer in LAYERS:
        for name in ("weight", "norm"):
            score = reading[name].sel(layer=layer).values.astype(np.float64)
            sums = naive.of_text(score, ids, words, classes, known, share=name == "weight")
            expected = naive.joined([sums])
            here = result.sel(layer=layer, measure=name)
            for behaviour in set(behaviours()) - set(segment_rows()):
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


@pytest.mark.slow
@pytest.mark.parametrize("name", ["smollm2", "minilm"])
def test_a_reading_has_the_statistics_of_a_survey_of_its_text(name: str) -> None:
    assert MODELS is not None
    model = headlight.load(Path(MODELS) / name)
    layers = [0, 3, 5]
    result = headlight.survey([TEXT], model=model, layers=layers, passages=False, progress=False)
    reading = model.read(TEXT, layers=layers).dataset
    names = []
    for row, by in statistics_of(result):
        if row.name == "particular_tokens":  # which compares with a corpus
            continue
        for measure, numbers in by.items():
            here = numbers_of(reading, row, measure).value
            np.testing.assert_allclose(here, numbers.value, rtol=1e-5, atol=1e-6, err_msg=row.name)
        assert count_rows(reading, row) == count_rows(result, row), row.name
        names.append(row.name)
    assert {"induction", "duplicate", "subword", "previous", "entropy", "rank"} <= set(names)
    assert ("first" in names) == (name == "smollm2")  # the first token of the other is its [CLS]
    assert ("next" in names) == (name == "minilm")
