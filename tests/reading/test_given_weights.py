"""Weights that users have already, with their tokens."""

import re
from typing import Any

import numpy as np
import pytest
import torch

import headlight
from headlight.errors import UsageError
from headlight.views.reading.page import parse_page

TOKENS = ["[CLS]", "the", "<q>&", "un", "##known", ".", "[SEP]"]


def weights(*shape: int, causal: bool = False) -> np.ndarray:
    powers = np.exp(np.random.default_rng(0).normal(size=shape) * 3)
    powers = powers * np.tri(shape[-1]) if causal else powers
    return powers / powers.sum(-1, keepdims=True)


def test_the_page_has_the_numbers_of_the_array() -> None:
    alpha = weights(2, 3, 7, 7)
    reading = headlight.view(alpha, TOKENS)
    assert np.array_equal(reading.weight, alpha)
    assert reading.kinds == ["encoder"]
    categories = ["cls", *["other"] * 4, "punctuation", "sep"]
    assert reading.dataset["key_category"].values.tolist() == categories
    assert reading.dataset["key_word"].values.tolist() == [-1, 0, 1, 2, 2, 3, -1]
    assert reading.dataset.attrs["text"] == "[CLS] the <q>& unknown . [SEP]"
    page = reading.to_html()
    bound = max(map(float, re.findall(r'"bound":([\d.e-]+)', page)))
    assert np.abs(parse_page(page)["weight"] - alpha).max() <= bound < 0.01
    assert "<q>" not in page
    assert "Weights alone were given; norms" in page
    # The head in which the last word, which is no special token, gives most to another.
    row = alpha[:, :, 4, [1, 2, 3, 5]]
    layer, head, _ = np.unravel_index(row.argmax(), row.shape)
    assert f'"first":[{layer},{head}]' in page
    with pytest.raises(UsageError, match=r"no norm: weights alone .* headlight\.load"):
        _ = reading.norm


@pytest.mark.parametrize(
    "given",
    [
        np.ndarray.tolist,
        list,
        lambda alpha: tuple(torch.tensor(layer)[None] for layer in alpha),
        lambda alpha: torch.tensor(alpha)[:, None].requires_grad_(),
    ],
)
def test_forms_of_weights(given: Any) -> None:
    alpha = weights(2, 3, 7, 7, causal=True)
    reading = headlight.view(given(alpha), TOKENS)
    assert np.array_equal(reading.weight, alpha)
    assert reading.kinds == ["decoder"]
    assert np.array_equal(headlight.view(alpha[1], TOKENS).weight, alpha[1:])
    assert np.array_equal(headlight.view(alpha[1, 2], TOKENS).weight, alpha[1:, 2:])
    marked = ["<s>", "Ġun", "known", "Ġthe", ".", "Ġa", "</s>"]
    words = headlight.view(alpha, marked).dataset["query_word"]
    assert words.values.tolist() == [-1, 0, 0, 1, 1, 2, -1]
    half = headlight.view(torch.tensor(alpha).bfloat16(), TOKENS)
    np.testing.assert_allclose(half.weight, alpha, atol=3e-3)


def test_cross_attention_of_layers_with_different_numbers_of_heads() -> None:
    first, second = weights(3, 2, 7), 0.5 * weights(1, 2, 7)
    reading = headlight.view([first, second], ["ein", "Haus"], TOKENS)
    assert (reading.kinds, reading.tokens) == (["cross"], ["ein", "Haus"])
    assert np.isnan(reading.weight[1, 1:]).all()
    assert "Rows sum to less than 1, to 0.5 at least" in reading.to_html()
    assert len(reading.plot_row("ein", 0, 1).figure.axes) == 1


@pytest.mark.parametrize(
    ("given", "tokens", "reason"),
    [
        (np.zeros(7), TOKENS, r"the shape \(7,\)"),
        (weights(2, 4, 3, 7, 7), TOKENS, "weights of one text"),
        (weights(2, 3, 7, 7), TOKENS[1:], "7 rows and 7 columns, and 6 tokens"),
        (weights(2, 3, 7, 7), "the text", "no list of strings"),
        (weights(2, 3, 7, 7), None, "no list of strings"),
        (weights(2, 3, 7, 7) * np.nan, TOKENS, "layer 0 has weights that are not finite"),
        (np.log(weights(2, 3, 7, 7)), TOKENS, "a weight of -.* and not its scores"),
        (weights(3, 7, 7) * 1.1, TOKENS, r"a row with the sum 1\.1"),
        ((None, None), TOKENS, "attn_implementation='eager'"),
        ([["a"]], TOKENS, "no array of numbers"),
        ([[torch.eye(7).requires_grad_()]], TOKENS, "no array of numbers"),
        ([], TOKENS, r"the shape \(0,\)"),
    ],
)
def test_refusals(given: Any, tokens: Any, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        headlight.view(given, tokens)
