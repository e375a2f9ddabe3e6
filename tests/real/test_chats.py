"""A chat in the template of a trained decoder: control tokens in it are no words, and no [CLS]."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headlight
from headlight.findings.what_was_read import notes_of_reading, what_was_read
from headlight.reading.model import Model
from real.models import MODELS, needs_models

pytestmark = needs_models

MESSAGES = [
    {"role": "system", "content": "You write for Hugging Face"},
    {"role": "user", "content": "Who sat on the mat?"},
    {"role": "assistant", "content": "The cat"},
]
WORDS = (
    "system You write for Hugging Face | user Who sat on the mat? | assistant The cat |"
).replace("|", "\n").split()  # fmt: skip


@pytest.fixture(scope="module")
def model() -> Model:
    return headlight.load(Path(str(MODELS)) / "smollm2", head="any")


@pytest.fixture(scope="module")
def chat(model: Model) -> str:
    return str(model.tokenizer.apply_chat_template(MESSAGES, tokenize=False))  # type: ignore[union-attr]


def test_weight_of_the_beginning_is_that_of_the_first_token(model: Model, chat: str) -> None:
    data = model.read(chat).dataset
    tokens = data["key_token"].values
    assert [*tokens].count("<|im_start|>") == 3
    weight = data["weight"].values
    to_category = weight[..., data["key_category"].values == "cls"].sum(-1)
    np.testing.assert_array_equal(to_category, weight[..., 0])
    to_all = weight[..., tokens == "<|im_start|>"].sum(-1)
    assert to_all.mean() - to_category.mean() > 0.01
    assert not (data["key_category"].values == "sep").any()


def test_words_are_those_of_the_messages(model: Model, chat: str) -> None:
    data = model.read(chat, layers=[0]).dataset
    words: dict[int, list[str]] = {}
    for token, word in zip(data["key_token"].values, data["key_word"].values, strict=True):
        words.setdefault(int(word), []).append(str(token))
    assert {*words.pop(-1)} == {"<|im_start|>", "<|im_end|>"}
    texts = [
        model.tokenizer.convert_tokens_to_string(pieces).strip()  # type: ignore[union-attr]
        for pieces in words.values()
    ]
    assert [text for text in texts if text] == WORDS
    assert notes_of_reading(data)[0].startswith("6 special tokens are written in the text")


def test_a_survey_counts_them(model: Model, chat: str) -> None:
    result = headlight.survey([chat, "The cat sat on the mat."], model=model, layers=[0])
    assert result.attrs["special"] == 6
    assert "6 special tokens are written in the texts" in what_was_read(result).sentence


def test_a_line_break_is_a_word_to_predict(model: Model) -> None:
    for word, piece in (("\n", "Ċ"), (" ", "Ġ")):
        data = model.predict("The cat sat.", target=word).dataset
        assert data.attrs["target"] == piece


def test_ids_that_were_generated_are_read_as_the_generation(model: Model) -> None:
    tokenizer: Any = model.tokenizer
    generation = model.generate(MESSAGES[:2], max_new_tokens=12, layers=[3, 20]).dataset
    ids = tokenizer.convert_tokens_to_ids([*generation["key_token"].values])
    prompt = int((generation["key_segment"] != "answer").sum())
    reading = model.read(ids=ids, prompt=prompt, layers=[3, 20]).dataset
    rows = reading.sel(query=generation["query"])
    for name in ("weight", "norm", "effective"):
        np.testing.assert_allclose(rows[name], generation[name], atol=1e-5, rtol=1e-4)
    written = generation["key_segment"].values == "answer"
    assert [*rows["key_token"].values] == [*generation["key_token"].values]
    np.testing.assert_array_equal(rows["key_segment"].values == "answer", written)
    for name in ("key_category", "query_category"):
        np.testing.assert_array_equal(rows[name], generation[name])
    assert reading["kv_head"].values.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
