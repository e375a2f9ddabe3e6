"""Names of tokens, and of the ways between them."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from typing import Literal

import xarray as xr

from headlight.errors import UsageError
from headlight.files import printable

BLANK, INSIDE = " ", "##"
_SPACE = "␣"
"""What is shown for a blank that is all of a piece, or an end of it."""
_LINES = str.maketrans({"\n": "↵", "\r": "␍", "\t": "⇥"})
_SENTENCEPIECE = "▁"
_ENDING = "</w>"


@dataclass(frozen=True, slots=True)
class PieceText:
    """A piece as it is shown.

    Attributes:
        mark: a blank if the piece has the one before it, ``##`` if it goes on with a word, or
            nothing.
        text: without the mark; other blanks are made visible.
    """

    mark: Literal["", " ", "##"]
    text: str

    @property
    def label(self) -> str:
        """Return the label of a piece that stands by itself, safe for a terminal."""
        return printable(f"{INSIDE if self.mark == INSIDE else ''}{self.text}")


def pieces_of(result: xr.Dataset, tokens: str) -> list[PieceText]:
    """The pieces that a coordinate or variable of a result holds.

    Args:
        result: a reading, or a result of any study; its attribute ``pieces`` says how its
            vocabulary writes (`headlight.encode.pieces`).
        tokens: such as ``query_token``.
    """
    style = str(result.attrs.get("pieces", ""))
    return [piece_text(str(piece), style) for piece in result[tokens].values]


def token_labels(reading: xr.Dataset, side: str) -> list[str]:
    """Return the labels of the tokens of a side; a place, from 0, tells those apart that are alike.

    Args:
        reading: of one kind of attention.
        side: ``query`` or ``key``.
    """
    places = reading[side].values.tolist()  # some queries may have been left out
    return labels_of(reading, f"{side}_token", places)


def token_place(reading: xr.Dataset, word: str, side: str) -> int:
    """Return the place of a token of a text, from 0.

    Args:
        reading: of one kind of attention.
        word: the token as it is shown, or as the vocabulary writes it.
        side: ``query`` or ``key``.

    Raises:
        UsageError: no token reads so, or several do, or the word is of several tokens.
    """
    tokens = f"{side}_token"
    labels = [each.label for each in pieces_of(reading, tokens)]
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
    candidates = parts or [labels.index(each) for each in near] or range(min(len(labels), 12))
    named = ", ".join(f"{labels[each]!r} ({places[each]})" for each in candidates)
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


def labels_of(result: xr.Dataset, tokens: str, places: Sequence[int] | None = None) -> list[str]:
    """Return the labels of the tokens of a coordinate; a place tells those apart that are alike.

    Args:
        result: see `pieces_of`.
        tokens: such as ``token_text``.
        places: of the tokens; by default counted from 0.
    """
    labels = [each.label for each in pieces_of(result, tokens)]
    return [
        f"{label} ({place})" if labels.count(label) > 1 else label
        for label, place in zip(labels, places or range(len(labels)), strict=True)
    ]


def piece_text(piece: str, style: str = "") -> PieceText:
    """Return the text of a piece.

    Args:
        piece: as the vocabulary writes it.
        style: how the vocabulary writes, as `headlight.encode.pieces` says; of one that is
            not known, ``##`` and ``▁`` are taken for marks.
    """
    if style == "byte-level":
        return _with_blank(_decoded(piece))
    if style == "end-of-word":
        return PieceText("", piece.removesuffix(_ENDING) or piece)
    if style != "sentencepiece" and piece.startswith(INSIDE) and piece != INSIDE:
        return PieceText("##", piece.removeprefix(INSIDE))
    if style != "wordpiece" and _SENTENCEPIECE in piece:
        return _with_blank(piece.replace(_SENTENCEPIECE, " "))
    if style == "sentencepiece" and len(piece) == len("<0x0A>") and piece.startswith("<0x"):
        return _with_blank(bytes([int(piece[3:5], 16)]).decode(errors="backslashreplace"))
    return PieceText("", piece)


def _with_blank(text: str) -> PieceText:
    """One blank before a word is a mark; those at the ends are shown."""
    mark: Literal["", " "] = " " if text.startswith(" ") and text.strip() else ""
    text = text.removeprefix(mark)
    inner = text.strip(" ")
    before, _, after = text.partition(inner) if inner else (text, "", "")
    ends = len(before) * _SPACE, len(after) * _SPACE
    return PieceText(mark, inner.translate(_LINES).join(ends))


def _decoded(piece: str) -> str:
    r"""The bytes that letters of a byte-level vocabulary stand for, as text.

    Bytes that are no whole character are written as ``\xf0``; a piece with other letters, such as
    one that was added, is text already.
    """
    letters = _byte_letters()
    if not all(letter in letters for letter in piece):
        return piece
    return bytes(letters[letter] for letter in piece).decode(errors="backslashreplace")


@cache
def _byte_letters() -> dict[str, int]:
    """The letter of each byte in GPT-2's vocabulary: itself where it is printable."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(0x100) if byte not in plain]
    named = {chr(byte): byte for byte in plain}
    return named | {chr(0x100 + at): byte for at, byte in enumerate(others)}


@dataclass(frozen=True)
class Way:
    """A token after a layer is made of a token before it.

    Attributes:
        layer: the number of the layer.
        token: the place of the token after it.
        source: that of the token before it.
        share: of the sum after the attention of the layer.
        heads: by which heads, each with its share, the largest first; empty for the residual.
    """

    layer: int
    token: int
    source: int
    share: float
    heads: tuple[tuple[int, float], ...] = ()


def ways_to(
    routes: xr.Dataset,
    token: int,
    layer: int | None = None,
    *,
    least: float,
    without_first: bool = False,
) -> list[Way]:
    """All ways down, layer by layer from the highest.

    Args:
        routes: as `headlight.reading.routes.routes` makes them.
        token: the place of the token.
        layer: after which it is looked at, as the model counts them; by default the last.
        least: the share that a part makes up at least, of heads together for each token.
        without_first: leave out what heads take from the first token.
    """
    layers = routes["layer"].values.tolist()
    last = len(layers) - 1 if layer is None else layers.index(layer)
    found: list[Way] = []
    taken, residual = _taken(routes), routes["residual"].values
    reached = {token}
    for place in range(last, -1, -1):
        below: set[int] = set()
        for one in sorted(reached):
            kept = float(residual[place, one])
            if kept >= least:
                found.append(Way(layers[place], one, one, kept))
                below.add(one)
            for source, heads in taken[place, one].items():
                share = sum(part for _, part in heads)
                if share < least or (without_first and source == 0):
                    continue
                largest = tuple(sorted(heads, key=lambda each: -each[1]))
                found.append(Way(layers[place], one, source, share, largest))
                below.add(source)
        reached = below
    return found


def _taken(routes: xr.Dataset) -> dict[tuple[int, int], dict[int, list[tuple[int, float]]]]:
    """Return the shares that heads give, by layer and receiving token, and by source."""
    found: dict[tuple[int, int], dict[int, list[tuple[int, float]]]]
    found = defaultdict(lambda: defaultdict(list))
    names = ("part_layer", "part_query", "part_key", "part_head", "share")
    for layer, query, key, head, share in zip(
        *(routes[name].values.tolist() for name in names), strict=True
    ):
        found[layer, query][key].append((head, share))
    return found
