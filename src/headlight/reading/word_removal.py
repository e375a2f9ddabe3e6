"""Removal of each word of a text in turn, and what the model predicts without it."""

import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import xarray
from jaxtyping import Float64
from torch import Tensor, nn

from headlight.capture import CapturedModel
from headlight.capture.hooks import hooked
from headlight.capture.linear_network.logit_decomposition import Side
from headlight.encode import Encoded
from headlight.engine.batch_size import BATCH_TOKENS
from headlight.reading.prediction_targets import Place, Targets, output_name
from headlight.vocabulary import TEMPLATE

MOST_WORDS = 64
"""Words of a text that are left out, at most: those that add most to the logit."""

VARIABLES = {
    "left_out_probability": "probability of the target without the word",
    "left_out_against": "probability of the other target without the word",
    "left_out_first": "what is most probable without the word",
}


@dataclass(frozen=True, slots=True)
class Word:
    """Word of a text.

    Attributes:
        side: Text that it is a word of.
        places: Places of its pieces.
        text: Word as it is read.
    """

    side: Side
    places: tuple[int, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Shortened:
    """Text without a word, and the place at which it predicts."""

    word: Word
    example: Encoded
    place: Place


def without_each_word(
    model: CapturedModel,
    example: Encoded,
    place: Place,
    targets: Targets,
    added: Callable[[Word], float],
) -> xarray.Dataset:
    """Return the predictions without each word in turn: ``left_out_probability`` over ``word``.

    A word is left out with all its pieces, and the model reads what is left.  Special tokens,
    masks, punctuation marks, the template of a chat and words that the predicting token does not
    see stay.  Of many words the `MOST_WORDS` that add most are left out, and the others have NaN.

    Args:
        model: Model with its head.
        example: Example that the model reads.
        place: Position of the prediction.
        targets: Output whose probability is computed, and that of another one.
        added: What a word adds to the logit.
    """
    texts = [
        shortened
        for word in words_of(model, example, place)
        if (shortened := without_word(example, word, place)) is not None
    ]
    words = [text.word for text in texts]
    by_size = sorted(range(len(words)), key=lambda at: -abs(added(words[at])))
    chosen = sorted(by_size[:MOST_WORDS])
    probabilities = predicted(model, [texts[at] for at in chosen])
    first, second = targets
    columns = {"left_out_probability": first} | ({"left_out_against": second} if second else {})
    variables: dict[str, Any] = {}
    for name, target in columns.items():
        variables[name] = np.full(len(words), np.nan)
        variables[name][chosen] = [float(row[target.number]) for row in probabilities]
    names = dict.fromkeys(range(len(words)), "") | {
        at: output_name(model, place, int(row.argmax()))
        for at, row in zip(chosen, probabilities, strict=True)
    }
    variables["left_out_first"] = np.array([*names.values()], dtype=str)
    return xarray.Dataset(
        {
            name: ("word", values, {"long_name": VARIABLES[name], "units": "1"})
            for name, values in variables.items()
        },
        coords={
            "word_text": ("word", np.array([word.text for word in words], dtype=str)),
            "word_side": ("word", np.array([word.side for word in words], dtype=str)),
            "word_predicts": ("word", np.array([_holds(word, place) for word in words], bool)),
        },
    )


def words_of(model: CapturedModel, example: Encoded, place: Place) -> list[Word]:
    """Return the words that can be left out, in their order; see `without_each_word`."""
    tokenizer: Any = model.tokenizer
    mask = getattr(tokenizer, "mask_token_id", None)
    numbers: dict[Side, tuple[int, ...]] = {"text": example.words, "target": example.target_words}
    words = []
    for side, word_numbers in numbers.items():
        ids = example.target if side == "target" else example.ids
        for number in range(max(word_numbers, default=-1) + 1):
            places = tuple(at for at, other in enumerate(word_numbers) if other == number)
            pieces = [ids[at] for at in places]
            word = Word(side, places, tokenizer.decode(pieces).strip())
            is_template = (
                example.segment_names
                and side == "text"
                and any(example.segment_names[at] == TEMPLATE for at in places)
            )
            stays = mask in pieces or is_template or is_punctuation(word.text)
            if places and not stays and not _is_apart(word, place):
                words.append(word)
    return words


def is_punctuation(text: str) -> bool:
    """Return whether a text has punctuation marks alone, or nothing."""
    return all(unicodedata.category(character).startswith("P") for character in text)


def _is_apart(word: Word, place: Place) -> bool:
    """Return whether the predicting token does not see a word, or is a filled or tagged part."""
    if place.index is None or word.side != place.side:
        return False
    if place.masked or place.classes:
        return place.index in word.places
    return word.places[0] > place.index


def _holds(word: Word, place: Place) -> bool:
    return word.side == place.side and place.index in word.places


def without_word(example: Encoded, word: Word, place: Place) -> Shortened | None:
    """Return a text without a word, and the place that predicts then; None if nothing is left.

    Without the word that holds the predicting token, the token before it predicts.
    """
    left = example.without(word.places, target=word.side == "target")
    if place.index is None or word.side != place.side:
        return Shortened(word, left, place) if left.ids else None
    before = sum(at not in word.places for at in range(place.index + 1))
    return Shortened(word, left, replace(place, index=before - 1)) if before else None


def predicted(model: CapturedModel, texts: Sequence[Shortened]) -> list[Float64[Tensor, " output"]]:
    """Return the probabilities of all outputs, for each text at its place."""
    probabilities: dict[int, Float64[Tensor, " output"]] = {}
    for numbers in _batches(texts):
        logits = _logits(model, [texts[number] for number in numbers])
        probabilities |= zip(numbers, logits.softmax(-1), strict=True)
    return [probabilities[number] for number in range(len(texts))]


def _batches(texts: Sequence[Shortened]) -> Iterator[list[int]]:
    """Yield numbers of texts of the same length, so that no batch has padding."""
    by_length: dict[tuple[int, int], list[int]] = {}
    for number, text in enumerate(texts):
        length = len(text.example.ids), len(text.example.target)
        by_length.setdefault(length, []).append(number)
    for length, numbers in by_length.items():
        size = max(1, BATCH_TOKENS // sum(length))
        for start in range(0, len(numbers), size):
            yield numbers[start : start + size]


def _logits(model: CapturedModel, texts: Sequence[Shortened]) -> Float64[Tensor, "text output"]:
    """Return the logits of texts of the same length, of a vocabulary at the places alone."""
    batch = model.collate([text.example for text in texts])
    places = [text.place.index for text in texts]
    if places[0] is None:
        of_texts: Tensor = model.run(batch).logits.detach()
        return of_texts.cpu().double()
    rows = range(len(texts))
    length = len(texts[0].example.target or texts[0].example.ids)
    head: Any = model.transformer.get_output_embeddings()

    def choose(_: nn.Module, arguments: tuple[Any, ...]) -> tuple[Any, ...] | None:
        states = arguments[0]
        if states.shape[:-1] != (len(rows), length):
            return None
        return (states[rows, places][:, None], *arguments[1:])

    with hooked([] if head is None else [(head.register_forward_pre_hook, choose)]):
        logits: Tensor = model.run(batch).logits.detach()
    chosen = logits[:, 0] if logits.shape[1] == 1 else logits[rows, places]
    return chosen.cpu().double()
