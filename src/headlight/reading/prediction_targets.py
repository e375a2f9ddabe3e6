"""Targets of predictions: the position, and the output of a word, a class, or an answer."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Float64
from torch import Tensor, nn

from headlight.capture import CapturedModel, LayerRecord
from headlight.capture.decomposition import decompose
from headlight.capture.one_text import capture_one
from headlight.capture.residual_stream import hooked
from headlight.chats import require_characters
from headlight.encode import Encoded, piece_style
from headlight.encode.examples import OTHER
from headlight.errors import MissingHeadError, UnsupportedModelError, UsageError, setting, with_head
from headlight.findings import piece_text
from headlight.measures import Scores
from headlight.settings import require_place

SAME = 1e-3
"""Tolerance of logits of the linear network to the model's own, relative to the largest."""

BATCH = 4096
"""Tokens of texts with an answer that a model reads at once, at most, padding included."""


@dataclass(frozen=True)
class Place:
    """Position of a prediction.

    Attributes:
        index: the position in the text that the logits are of; None for the whole text.
        side: ``text``, or ``target`` for what the decoder of an encoder-decoder is given.
        masked: whether a token in the place of that position is predicted, not the one after it.
        classes: whether a class is predicted, and not a piece of the vocabulary.
        at_end: whether the text ends there.
    """

    index: int | None
    side: str
    masked: bool
    classes: bool
    at_end: bool


@dataclass(frozen=True)
class Target:
    """An output of a model.

    Attributes:
        number: of the logit.
        name: the piece, as the vocabulary writes it, or the class.
        note: what has to be known of how it was found; empty where nothing has.
    """

    number: int
    name: str
    note: str = ""


def place_of(model: CapturedModel, example: Encoded, position: int | None) -> Place:
    """Return the position of the prediction.

    By default at the mask of a masked language model, after the last token of a text where a
    decoder goes on with it, and for the whole text where that is classified.

    Raises:
        MissingHeadError: the model has no head.
        UsageError: there is no such position, or no mask where one is needed.
    """
    task, head = model.head.task, model.head.language
    if task is None and head in (None, "speech"):
        raise MissingHeadError(
            f"{model} is a {type(model.transformer).__name__}, which predicts nothing; "
            f"{with_head('a language model or a classifier')}."
        )
    if task == "sequence":
        if position is not None:
            raise UsageError(f"{model} classifies whole texts; leave the position out.")
        return Place(None, "text", masked=True, classes=True, at_end=False)
    side = "target" if example.target else "text"
    words = example.target_words if example.target else example.words
    ids = example.target or example.ids
    kinds = example.target_categories if example.target else example.categories
    # Special tokens that are written in the text are of no word.
    own = (at for at, word in enumerate(words) if word >= 0 or kinds[at] == OTHER)
    last = max(own, default=len(ids) - 1)
    masked = head == "masked"
    if position is None:
        position = _default(model, ids, last, masked=masked, tagged=task == "token")
    index = require_place("position", position, len(ids))
    classes = task == "token"
    return Place(index, side, masked=masked, classes=classes, at_end=index == last)


def _default(
    model: CapturedModel, ids: tuple[int, ...], last: int, *, masked: bool, tagged: bool
) -> int:
    if tagged:
        raise UsageError(
            f"{model} puts each token into a class; say which with a position "
            f"({setting('position=')})."
        )
    if not masked:
        return last
    mask = getattr(model.tokenizer, "mask_token_id", None)
    if mask not in ids:
        word = getattr(model.tokenizer, "mask_token", None) or "a mask"
        raise UsageError(
            f"{model} predicts words that are masked, and the text has none; write {word} in "
            "the place of the word, or give a position."
        )
    return ids.index(mask)


def target_of(model: CapturedModel, word: str, place: Place, text: str) -> Target:
    """The output that a word or class is.

    Of a word of several pieces it is the first, and the note says so.

    Args:
        model: the model.
        word: as it goes on with the text, or fills the mask; or the name or number of a class.
        place: where it is predicted.
        text: that the word goes on with.

    Raises:
        UsageError: there is no such class, or the vocabulary does not have the word.
    """
    if place.classes:
        return _class_of(model, word)
    tokenizer: Any = model.require_tokenizer("a word is looked up in its vocabulary")
    if not word:
        raise UsageError("the target word is empty; write one.")
    pieces = _pieces(tokenizer, word, place, text)
    names = tokenizer.convert_ids_to_tokens(pieces)
    unknown = getattr(tokenizer, "unk_token_id", None)
    if not pieces or pieces[0] == unknown:
        raise UsageError(f"the vocabulary of {model} does not have {word!r}; ask for another word.")
    note = ""
    if len(pieces) > 1:
        labels = [piece_text(each, piece_style(tokenizer)).label for each in names]
        note = (
            f"{word!r} is {len(pieces)} pieces ({' '.join(labels)}); what is explained is the "
            f"first, {labels[0]!r}."
        )
    elif not place.masked and word == word.lstrip() and _starts_words(tokenizer, word):
        note = (
            f"{word!r} goes on with the word before it; write {' ' + word!r}, with a blank, for a "
            "new word."
        )
    return Target(pieces[0], names[0], note)


def _class_of(model: CapturedModel, word: str) -> Target:
    network: Any = model.transformer
    names = [str(network.config.id2label[each]) for each in range(network.config.num_labels)]
    if word in names:
        return Target(names.index(word), word)
    if word.isdecimal() and int(word) < len(names):
        return Target(int(word), names[int(word)])
    raise UsageError(f"{model} has no class {word!r}; it has: {', '.join(names)}.")


def _pieces(tokenizer: Any, word: str, place: Place, text: str) -> list[int]:
    """Return the pieces of the word in place, with the blank that it has there."""
    if place.at_end and not place.masked and (pieces := _pieces_behind(tokenizer, text, word)):
        return pieces
    mask = getattr(tokenizer, "mask_token", None)
    if place.masked and mask and text.count(mask) == 1:
        start = text.index(mask)
        before = tokenizer(text[:start] + mask, add_special_tokens=False).input_ids
        after = tokenizer(text[:start] + word, add_special_tokens=False).input_ids
        if after[: len(before) - 1] == before[:-1]:
            return list(after[len(before) - 1 :])
    return list(tokenizer(word, add_special_tokens=False).input_ids)


def _starts_words(tokenizer: Any, word: str) -> bool:
    """Whether the vocabulary has another piece for the word after a blank."""
    alone, spaced = (
        tokenizer(each, add_special_tokens=False).input_ids for each in (word, f" {word}")
    )
    return len(spaced) == 1 and alone != spaced


def _pieces_behind(tokenizer: Any, text: str, words: str) -> list[int]:
    """Return the pieces of words behind a text; none where its own pieces change by them."""
    before, after = (
        tokenizer(each, add_special_tokens=False).input_ids for each in (text, text + words)
    )
    return list(after[len(before) :]) if after[: len(before)] == before else []


def generates(model: CapturedModel, *, decoder: bool = False) -> bool:
    """Return whether a model goes on with a text, and is a decoder where one is needed."""
    head = model.head.language
    return head == "causal" or (head == "sequence_to_sequence" and not decoder)


def require_generation(model: CapturedModel, *, decoder: bool = False) -> None:
    """Refuse a model that does not go on with a text.

    Args:
        model: of any kind.
        decoder: whether an encoder-decoder is refused as well.

    Raises:
        MissingHeadError: it is so.
    """
    if not generates(model, decoder=decoder):
        raise MissingHeadError(
            f"{model} is a {type(model.transformer).__name__}, which does not go on with a text; "
            f"{with_head('a decoder' if decoder else 'a decoder or an encoder-decoder')}."
        )


def own_answer(model: CapturedModel, prompt: Encoded, most: int) -> tuple[int, ...]:
    """Return the tokens of the model's own answer, without what ends it.

    Raises:
        UsageError: there are none.
    """
    from headlight.studies.circuits.probes import answer

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
        UsageError: it is not valid Unicode.
    """
    require_characters(answer, "the answer")
    blank = "" if answer[:1].isspace() or text[-1:].isspace() else " "
    pieces = _pieces_behind(tokenizer, text, blank + answer)
    return tuple(pieces or tokenizer(blank + answer, add_special_tokens=False).input_ids)


def answer_scores(
    model: CapturedModel, examples: Sequence[Encoded], answer: Sequence[int]
) -> Float64[np.ndarray, "score example"]:
    """Return the log-probability of the answer that texts end with, and the sum of its logits.

    Args:
        model: a decoder with its head.
        examples: texts, each with the answer behind it.
        answer: its tokens.

    Raises:
        CaptureError: what the model computes is not finite.
    """
    size, scores = max(BATCH // max(len(each.ids) for each in examples), 1), []
    ids = torch.tensor(answer, device=model.transformer.device)
    for start in range(0, len(examples), size):
        batch = model.collate(examples[start : start + size])
        firsts = [int(length) - len(answer) - 1 for length in batch.lengths]
        with _answer_rows(model, firsts, len(answer)):
            logits = model.run(batch).logits.double()
        own = logits.gather(-1, ids.expand(len(logits), -1)[..., None])[..., 0]
        scores.append(torch.stack([own - logits.logsumexp(-1), own]).sum(-1).cpu().numpy())
    return np.concatenate(scores, 1)


def _answer_rows(model: CapturedModel, firsts: Sequence[int], size: int) -> Any:
    """Within the block, the model computes the logits of an answer alone."""
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
        model: a decoder with its head.
        example: a text with the answer behind it.
        answer: its pieces.
        logits: the sum of their logits, as the model computes them.

    Raises:
        UnsupportedModelError: the parts do not add up to the logits.
        UsageError: the model is in half precision.
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
    return np.asarray(sum(each.direct.sum(0).numpy() for each in parts.heads))


def answer_shares(
    model: CapturedModel, example: Encoded, owners: Sequence[int], measures: Sequence[str]
) -> tuple[
    Float64[np.ndarray, "measure layer head passage"], Float64[np.ndarray, "layer head token"]
]:
    """Return shares of a prompt's passages in the rows that predict an answer, and `lookback`.

    Args:
        model: a decoder.
        example: the prompt with the answer behind it.
        owners: of each token of the prompt its passage; -1 of a token of none.
        measures: of attention.
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
    """Return the mean weight on the prompt, of the sum of that and the mean on the answer so far.

    Args:
        rows: of attention, of the queries that predict the tokens of an answer.
        prompt: how many tokens the prompt has.

    Returns:
        0 to 1; NaN of the first token, before which there is no answer.

    Source: Chuang et al. (2024), "Lookback Lens", Eq. 1.
    """
    written = torch.arange(rows.shape[1], dtype=torch.float64)
    on_prompt = rows[..., :prompt].sum(-1) / prompt
    return on_prompt / (on_prompt + rows[..., prompt:].sum(-1) / written)
