"""Weights that users have already, with their tokens."""

import re
from typing import Any

import numpy as np
import pytest
import torch
from rich.console import Console

import headlight
from headlight.errors import UsageError
from headlight.views.reading.page import parse_page
from headlight.views.reading.terminal import reading_terminal

TOKENS = ["[CLS]", "the", "<q>&", "un", "##known", ".", "[SEP]"]


def weights(*shape: int, causal: bool = False) -> np.ndarray:
    scores = np.random.default_rng(0).normal(size=shape) * 3
    if causal:
        scores = np.where(np.tri(shape[-1], dtype=bool), scores, -np.inf)
    powers = np.exp(scores)
    return powers / powers.sum(-1, keepdims=True)


def test_the_page_has_the_numbers_of_the_array() -> None:
    alpha = weights(2, 3, 7, 7)
    reading = headlight.view(alpha, TOKENS)
    assert np.array_equal(reading.weight, alpha)
    assert reading.kinds == ["encoder"]
    assert reading.dataset["key_category"].values.tolist() == [
        "cls", "other", "other", "other", "other", "punctuation", "sep",
    ]  # fmt: skip
    assert reading.dataset["key_word"].values.tolist() == [-1, 0, 1, 2, 2, 3, -1]
    assert reading.dataset.attrs["text"] == "the <q>& unknown ."
    page = reading.to_html()
    bound = max(map(float, re.findall(r'"bound":([\d.e-]+)', page)))
    assert np.abs(parse_page(page)["weight"] - alpha).max() <= bound < 0.01
    assert "<q>" not in page
    assert "Weights alone were given; norms" in page
    assert "iframe" in reading._repr_html_()
    # The head, and the word, in which the last word gives most to another one.
    row = alpha[:, :, 4, 1:6].copy()
    row[..., 3] = 0
    layer, head, _ = np.unravel_index(row.argmax(), row.shape)
    assert f'"first":[{layer},{head}]' in page
    with pytest.raises(UsageError, match=r"no norm: weights alone .* headlight\.load"):
        _ = reading.norm


@pytest.mark.parametrize(
    "given",
    [
        lambda alpha: alpha,
        lambda alpha: alpha.tolist(),
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
    half = headlight.view(torch.tensor(alpha).bfloat16(), TOKENS)
    np.testing.assert_allclose(half.weight, alpha, atol=3e-3)


def test_cross_attention_of_layers_with_different_numbers_of_heads() -> None:
    first, second = weights(3, 2, 7), 0.5 * weights(1, 2, 7)
    reading = headlight.view([first, second], ["ein", "Haus"], TOKENS)
    assert reading.kinds == ["cross"]
    assert reading.tokens == ["ein", "Haus"]
    assert np.isnan(reading.weight[1, 1:]).all()
    assert "Rows sum to less than 1, to 0.5 at least" in reading.to_html()
    console = Console(width=200)
    with console.capture() as capture:
        console.print(reading_terminal(reading.dataset, "weight", 7))
    assert "ein → the" in capture.get()
    assert reading.plot_row("ein", 0, 1).figure.axes


@pytest.mark.parametrize(
    ("given", "tokens", "reason"),
    [
        (np.zeros(7), TOKENS, r"the shape \(7,\)"),
        (weights(2, 4, 3, 7, 7), TOKENS, "those of one text"),
        (weights(2, 3, 7, 7), TOKENS[1:], "7 rows and 7 columns, and 6 tokens"),
        (weights(2, 3, 7, 7), "the text", "no list of strings"),
        (weights(2, 3, 7, 7) * np.nan, TOKENS, "layer 0 has weights that are not finite"),
        (np.log(weights(2, 3, 7, 7)), TOKENS, "a weight of -.* and not its scores"),
        (weights(3, 7, 7) * 1.1, TOKENS, r"a row with the sum 1\.1"),
        ((None, None), TOKENS, "attn_implementation='eager'"),
        ([["a"]], TOKENS, "no array of numbers"),
    ],
)
def test_refusals(given: Any, tokens: Any, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        headlight.view(given, tokens)
