"""Names of the tokens of a result, their places by name, and their categories."""

from collections.abc import Sequence
from difflib import get_close_matches

import numpy as np
import xarray as xr

from headlight.errors import UsageError
from headlight.files import printable
from headlight.findings.piece_text import BLANK, INSIDE, PieceText, piece_text
from headlight.vocabulary import CATEGORIES

LONGEST_WORD = 30
"""Letters of a word at most."""


def pieces_of(result: xr.Dataset, tokens: str) -> list[PieceText]:
    """Return the pieces that a coordinate or variable of a result holds.

    Args:
        result: Reading, or result of any study; its attribute ``pieces`` is the style of its
            vocabulary (`headlight.encode.pieces`).
        tokens: Coordinate or variable, such as ``query_token``.
    """
    style = str(result.attrs.get("pieces", ""))
    return [piece_text(str(piece), style) for piece in result[tokens].values]


def token_labels(reading: xr.Dataset, side: str) -> list[str]:
    """Return the labels of the tokens of a side; a place, from 0, tells equal ones apart.

    Args:
        reading: Reading of one kind of attention.
        side: ``query`` or ``key``.
    """
    places = reading[side].values.tolist()  # some queries may have been left out
    return labels_of(reading, f"{side}_token", places)


def category_name(category: object) -> str:
    """Return the name of a token category, which readings hold as a name or as a number."""
    if isinstance(category, (int, np.integer)):
        return CATEGORIES[int(category)]
    return str(category)


def parked(reading: xr.Dataset, side: str) -> list[int]:
    """Return the places where a model parks attention, counted from 0.

    That is where ``[CLS]`` and ``[SEP]`` stand, and the first token of a decoder.

    Args:
        reading: Reading of one kind of attention.
        side: ``query`` or ``key``.
    """
    decoder = reading.attrs.get("kind") == "decoder"
    places = reading[side].values.tolist()  # some queries may have been left out
    first = {at for at, place in enumerate(places) if decoder and place == 0}
    return sorted(first | set(special(reading, side)))


def special(result: xr.Dataset, side: str) -> list[int]:
    """Return the places of ``[CLS]`` and ``[SEP]``, or of what stands for them.

    Args:
        result: Reading, or another result of one text, of one kind of attention.
        side: ``query`` or ``key``.
    """
    names = map(category_name, result[f"{side}_category"].values)
    return [at for at, name in enumerate(names) if name in ("cls", "sep")]


def token_place(reading: xr.Dataset, word: str, side: str) -> int:
    """Return the place of a token of a text, from 0.

    Args:
        reading: Reading of one kind of attention.
        word: Token as it is shown, or as the vocabulary writes it.
        side: ``query`` or ``key``.

    Raises:
        UsageError: No token reads so, or several do, or the word has several tokens.
    """
    tokens = f"{side}_token"
    labels = [piece.label for piece in pieces_of(reading, tokens)]
    written, places = reading[tokens].values.tolist(), reading[side].values.tolist()
    at = [place for place, *names in zip(places, labels, written, strict=True) if word in names]
    if len(at) == 1:
        return int(at[0])
    if at:
        numbers = ", ".join(map(str, at))
        raise UsageError(f"{word!r} is the token at {numbers} of this text; give one of these.")
    bare = [label.removeprefix(INSIDE) for label in labels]
    parts = next(filter(None, (_joined(bare, word, first) for first in range(len(bare)))), None)
    near = get_close_matches(word, dict.fromkeys(labels), n=5, cutoff=0.5)
    candidates = parts or [labels.index(label) for label in near] or range(min(len(labels), 12))
    named = ", ".join(f"{labels[at]!r} ({places[at]})" for at in candidates)
    why = f"{word!r} is {len(parts)} tokens" if parts else f"no token of this text is {word!r}"
    raise UsageError(f"{why}; choose one, such as {named}.")


def _joined(pieces: Sequence[str], word: str, first: int) -> range | None:
    """Return the places of two or more pieces from `first` on that make up a word, else None."""
    text = ""
    for last, piece in enumerate(pieces[first:], first + 1):
        text += piece
        if text == word and last > first + 1:
            return range(first, last)
        if not word.startswith(text):
            break
    return None


def split_words(result: xr.Dataset, tokens: str) -> dict[int, str]:
    """Return, by the place of each piece of a word that is split, the whole word.

    A run of letters longer than `LONGEST_WORD`, as where no blanks part words, is not one.

    Args:
        result: See `pieces_of`.
        tokens: Coordinate of the tokens, as of `labels_of`.
    """
    pieces = pieces_of(result, tokens)
    inside = "" if any(piece.mark == BLANK for piece in pieces) else INSIDE
    words: list[list[int]] = []
    for at, piece in enumerate(pieces):
        if at and piece.mark == inside and f"{pieces[at - 1].text}{piece.text}".isalnum():
            words[-1].append(at)
        else:
            words.append([at])
    split = [places for places in words if len(places) > 1]
    texts = {at: "".join(pieces[part].text for part in places) for places in split for at in places}
    return {at: printable(text) for at, text in texts.items() if len(text) <= LONGEST_WORD}


def labels_of(result: xr.Dataset, tokens: str, places: Sequence[int] | None = None) -> list[str]:
    """Return the labels of the tokens of a coordinate; a place tells equal ones apart.

    Args:
        result: See `pieces_of`.
        tokens: Coordinate of the tokens, such as ``token_text``.
        places: Places of the tokens; by default counted from 0.
    """
    labels = [piece.label for piece in pieces_of(result, tokens)]
    return [
        f"{label} ({place})" if labels.count(label) > 1 else label
        for label, place in zip(labels, places or range(len(labels)), strict=True)
    ]


def note_of_places(result: xr.Dataset, tokens: str, said: str) -> str:
    """Return what numbers in labels are, with a blank before it; empty where none is said.

    Args:
        result: See `pieces_of`.
        tokens: Coordinate of the tokens, as of `labels_of`.
        said: Text with labels in quotation marks.
    """
    labels = labels_of(result, tokens)
    numbered = {
        label
        for label, piece in zip(labels, pieces_of(result, tokens), strict=True)
        if label != piece.label
    }
    if not any(f"“{label}”" in said for label in numbered):
        return ""
    return " In brackets: the place of a token that is there twice, from 0."
