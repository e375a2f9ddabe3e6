"""Answers to a prompt: their tokens and log-probabilities, and what passages give to them."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Float64
from torch import Tensor, nn

from headlight.capture import CapturedModel, LayerRecord
from headlight.capture.hooks import hooked
from headlight.capture.linear_network.logit_decomposition import decompose
from headlight.capture.one_text import capture_one
from headlight.chats import require_characters
from headlight.encode import Encoded
from headlight.errors import UnsupportedModelError, UsageError, setting
from headlight.measures import Scores
from headlight.reading.prediction import SAME
from headlight.reading.prediction_targets import pieces_behind

BATCH = 4096
"""Tokens of texts with an answer that a model reads at once, at most, padding included."""


def own_answer(model: CapturedModel, prompt: Encoded, most: int) -> tuple[int, ...]:
    """Return the tokens of the model's own answer, without the special and blank tokens at its end.

    Raises:
        UsageError: The model writes no answer.
    """
    from headlight.studies.circuits.greedy_answers import answer

    tokenizer: Any = model.tokenizer
    room = most if model.longest is None else min(most, model.longest - len(prompt.ids))
    ids = answer(model, prompt, room).produced
    while ids and not tokenizer.decode(ids[-1:], skip_special_tokens=True).strip():
        ids = ids[:-1]
    if not ids:
        raise UsageError(f"{model} writes no answer; give one ({setting('answer=')}).")
    return ids


def answer_ids(tokenizer: Any, text: str, answer: str) -> tuple[int, ...]:
    """Return the pieces of an answer behind a text, with the blank that separates the two.

    Raises:
        UsageError: The answer is not valid Unicode.
    """
    require_characters(answer, "the answer")
    blank = "" if answer[:1].isspace() or text[-1:].isspace() else " "
    pieces = pieces_behind(tokenizer, text, blank + answer)
    return tuple(pieces or tokenizer(blank + answer, add_special_tokens=False).input_ids)


def answer_scores(
    model: CapturedModel,
    examples: Sequence[Encoded],
    answer: Sequence[int],
    read: Callable[[int], None] = lambda _: None,
) -> Float64[np.ndarray, "score example"]:
    """Return the log-probability of the answer that texts end with, and the sum of its logits.

    Args:
        model: Decoder with its head.
        examples: Texts, each with the answer behind it.
        answer: Tokens of the answer.
        read: Function that is told of the number of texts of each batch.

    Raises:
        CaptureError: The numbers that the model computes are not finite.
    """
    size, scores = max(BATCH // max(len(example.ids) for example in examples), 1), []
    ids = torch.tensor(answer, device=model.transformer.device)
    for start in range(0, len(examples), size):
        batch = model.collate(examples[start : start + size])
        # Logits predict the next token: those of an answer begin at the token before it.
        firsts = [int(length) - len(answer) - 1 for length in batch.lengths]
        with _answer_rows(model, firsts, len(answer)):
            logits = model.run(batch).logits.double()
        chosen = logits.gather(-1, ids.expand(len(logits), -1)[..., None])[..., 0]
        scores.append(torch.stack([chosen - logits.logsumexp(-1), chosen]).sum(-1).cpu().numpy())
        read(len(logits))
    return np.concatenate(scores, 1)


def _answer_rows(model: CapturedModel, firsts: Sequence[int], size: int) -> Any:
    """Let the model, within the block, compute the logits of an answer alone."""
    head: Any = model.transformer.get_output_embeddings()
    if head is None:
        raise UnsupportedModelError(f"{model} hides the layer that predicts its tokens.")

    def choose(_: nn.Module, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        states = arguments[0]
        if len(firsts) == 1:  # a slice, which linear networks follow
            return (states[:, firsts[0] : firsts[0] + size], *arguments[1:])
        rows = [row[first : first + size] for row, first in zip(states, firsts, strict=True)]
        return (torch.stack(rows), *arguments[1:])

    return hooked([(head.register_forward_pre_hook, choose)])


def direct_parts(
    model: CapturedModel, example: Encoded, answer: Sequence[int], logits: float
) -> Float64[np.ndarray, " token"]:
    """Return what heads write directly from each token into the logits of the answer at the end.

    Args:
        model: Decoder with its head.
        example: Text with the answer behind it.
        answer: Pieces of the answer.
        logits: Sum of the logits of these pieces, as the model computes them.

    Raises:
        UnsupportedModelError: The parts do not add up to the logits.
        UsageError: The model is in half precision.
    """

    def score(output: Any) -> Float[Tensor, ""]:
        rows: Tensor = output.logits[0]
        total = rows[0, answer[0]]
        for at, token in enumerate(answer[1:], 1):
            total = total + rows[at, token]
        return total

    batch = model.collate([example])
    with (
        model.running(batch.names),
        _answer_rows(model, [len(example.ids) - len(answer) - 1], len(answer)),
    ):
        parts = decompose(model, model.inputs(batch), score, {"text": len(example.ids)})
    if not abs(parts.value - logits) <= SAME * max(abs(logits), 1.0):
        raise UnsupportedModelError(
            f"{model} computes {logits:.4g} and its linear network {parts.value:.4g}, so its "
            "answer cannot be taken apart."
        )
    return np.asarray(sum(part.direct.sum(0).numpy() for part in parts.heads))


def answer_shares(
    model: CapturedModel, example: Encoded, owners: Sequence[int], measures: Sequence[str]
) -> tuple[
    Float64[np.ndarray, "measure layer head passage"], Float64[np.ndarray, "layer head token"]
]:
    """Return shares of a prompt's passages in the rows that predict an answer, and `lookback`.

    Args:
        model: Decoder.
        example: Prompt with the answer behind it.
        owners: Passage of each token of the prompt; -1 for a token outside all passages.
        measures: Measures of attention.
    """
    sites, prompt = model.sites_of("decoder"), len(owners)
    rows, heads = slice(prompt - 1, len(example.ids) - 1), max(site.heads for site in sites)
    places = {site.layer: at for at, site in enumerate(sites)}
    belongs = torch.tensor(owners)[:, None] == torch.arange(max(owners) + 1)
    shares = np.full((len(measures), len(sites), heads, belongs.shape[1]), np.nan)
    ratios = np.full((len(sites), heads, len(example.ids) - prompt), np.nan)

    def visit(record: LayerRecord) -> None:
        scores, at = Scores(record), places[record.site.layer]
        for number, measure in enumerate(measures):
            cells = scores.of(measure)[0, :, rows, :prompt].cpu().double()
            shares[number, at, : len(cells)] = (cells @ belongs.double()).mean(1).numpy()
        cells = scores.weight[0, :, rows].cpu().double()
        ratios[at, : len(cells)] = lookback(cells, prompt).numpy()

    capture_one(model, example, sites, visit)
    return shares, ratios


def lookback(rows: Float64[Tensor, "head token key"], prompt: int) -> Float64[Tensor, "head token"]:
    """Return the mean weight on the prompt, over its sum with the mean on the answer so far.

    Args:
        rows: Attention rows of the queries that predict the tokens of an answer.
        prompt: Number of tokens of the prompt.

    Returns:
        Ratios from 0 to 1; NaN for the first token, before which there is no answer.

    Source: Chuang et al. (2024), "Lookback Lens", Eq. 1.
    """
    written = torch.arange(rows.shape[1], dtype=torch.float64)
    on_prompt = rows[..., :prompt].sum(-1) / prompt
    return on_prompt / (on_prompt + rows[..., prompt:].sum(-1) / written)
