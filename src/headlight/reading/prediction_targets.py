"""Targets of predictions: the position, and the output of a word or a class."""

from dataclasses import dataclass
from typing import Any

from jaxtyping import Float64
from torch import Tensor

from headlight.capture import CapturedModel
from headlight.catalogue.question_settings import TargetSettings
from headlight.chats import Readable
from headlight.encode import Encoded, piece_style
from headlight.encode.token_categories import OTHER
from headlight.errors import MissingHeadError, UsageError, setting, with_head
from headlight.findings import piece_text
from headlight.reading.origin import as_written
from headlight.settings import require_place


@dataclass(frozen=True)
class Place:
    """Position of a prediction.

    Attributes:
        index: Position in the text of the logits; None for the whole text.
        side: ``text``, or ``target`` for the text that the decoder of an encoder-decoder is given.
        masked: Whether the token at that position is predicted, not the next one.
        classes: Whether a class is predicted, and not a piece of the vocabulary.
        at_end: Whether the text ends there.
    """

    index: int | None
    side: str
    masked: bool
    classes: bool
    at_end: bool


@dataclass(frozen=True)
class Target:
    """Output of a model.

    Attributes:
        number: Number of the logit.
        name: Piece, as the vocabulary writes it, or class.
        note: Caution about how the output was found; empty if there is none.
    """

    number: int
    name: str
    note: str = ""


def place_of(model: CapturedModel, example: Encoded, position: int | None) -> Place:
    """Return the position of the prediction.

    By default it is the mask of a masked language model, the last token of a text that a decoder
    goes on with, and the whole text where that is classified.

    Raises:
        MissingHeadError: The model has no head.
        UsageError: There is no such position, or no mask where a mask is needed.
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
    in_text = (at for at, word in enumerate(words) if word >= 0 or kinds[at] == OTHER)
    last = max(in_text, default=len(ids) - 1)
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
    """Return the output of a word or class.

    For a word of several pieces it is the first piece, and the note says so.

    Args:
        model: Model that predicts.
        word: Word that continues the text, or fills the mask; or the name or number of a class.
        place: Position of the prediction.
        text: Text that the word continues.

    Raises:
        UsageError: There is no such class, or the vocabulary does not have the word.
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
        labels = [piece_text(name, piece_style(tokenizer)).label for name in names]
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
    names = [str(network.config.id2label[number]) for number in range(network.config.num_labels)]
    if word in names:
        return Target(names.index(word), word)
    if word.isdecimal() and int(word) < len(names):
        return Target(int(word), names[int(word)])
    raise UsageError(f"{model} has no class {word!r}; it has: {', '.join(names)}.")


def _pieces(tokenizer: Any, word: str, place: Place, text: str) -> list[int]:
    """Return the pieces of the word in place, with the blank that it has there."""
    if place.at_end and not place.masked and (pieces := pieces_behind(tokenizer, text, word)):
        return pieces
    mask = getattr(tokenizer, "mask_token", None)
    # The pieces of a word depend on what is before it, so it is written in its place.
    if place.masked and mask and text.count(mask) == 1:
        start = text.index(mask)
        before = tokenizer(text[:start] + mask, add_special_tokens=False).input_ids
        after = tokenizer(text[:start] + word, add_special_tokens=False).input_ids
        if after[: len(before) - 1] == before[:-1]:
            return list(after[len(before) - 1 :])
    return list(tokenizer(word, add_special_tokens=False).input_ids)


def _starts_words(tokenizer: Any, word: str) -> bool:
    """Return whether the vocabulary has another piece for the word after a blank."""
    alone, spaced = (
        tokenizer(typed, add_special_tokens=False).input_ids for typed in (word, f" {word}")
    )
    return len(spaced) == 1 and alone != spaced


def pieces_behind(tokenizer: Any, text: str, words: str) -> list[int]:
    """Return the pieces of words behind a text; none if the pieces of the text change with them."""
    before, after = (
        tokenizer(whole, add_special_tokens=False).input_ids for whole in (text, text + words)
    )
    return list(after[len(before) :]) if after[: len(before)] == before else []


Targets = tuple[Target, Target | None]
"""A target, and the one that is subtracted, if any."""


def targets_of(
    model: CapturedModel,
    text: Readable,
    pair: str | None,
    place: Place,
    logits: Float64[Tensor, " output"],
    settings: TargetSettings,
) -> Targets:
    """Return the outputs that settings name; without a target, the one that is predicted.

    Raises:
        UsageError: An unknown word or class, or two targets with the same output.
    """
    ends = as_written(model, text) if pair is None else pair
    if settings.target is None:
        number = int(logits.argmax())
        first = Target(number, output_name(model, place, number))
    else:
        first = target_of(model, settings.target, place, ends)
    against = settings.against
    second = None if against is None else target_of(model, against, place, ends)
    if second is not None and second.number == first.number:
        raise UsageError(
            f"{settings.target!r} and {against!r} are the same output of {model} "
            f"({first.name!r}), and differ by nothing; ask for others."
        )
    return first, second


def output_name(model: CapturedModel, place: Place, number: int) -> str:
    """Return the name of an output: a class, or a piece of the vocabulary."""
    network: Any = model.transformer
    tokenizer: Any = model.tokenizer
    if place.classes:
        return str(network.config.id2label[number])
    piece = tokenizer.convert_ids_to_tokens(number)
    # A vocabulary may be filled up with places that no piece has.
    return f"id {number}" if piece is None else str(piece)
