"""Names of tokens, and of the ways between them.

Pieces of a vocabulary as the text that they stand for in a document.
Vocabularies write more than the text: ``Ġ`` or ``▁`` for the blank before a word, ``##`` before
what goes on with one, bytes as letters of their own, ``Ċ`` for the end of a line.
"""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from typing import Literal

import numpy as np
import xarray as xr
from jaxtyping import Float
from numpy.typing import NDArray

from headlight.errors import UsageError
from headlight.files import printable
from headlight.vocabulary import CATEGORIES

BLANK, INSIDE = " ", "##"
_SPACE = "␣"
"""Sign for a blank that is all of a piece, or an end of it."""
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
    """Return the labels of the tokens of a side; a place, from 0, tells equal ones apart.

    Args:
        reading: of one kind of attention.
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
        reading: of one kind of attention.
        side: ``query`` or ``key``.
    """
    decoder = reading.attrs.get("kind") == "decoder"
    names = map(category_name, reading[f"{side}_category"].values)
    places = reading[side].values.tolist()  # some queries may have been left out
    pairs = enumerate(zip(names, places, strict=True))
    return [at for at, (name, n) in pairs if name in ("cls", "sep") or (decoder and n == 0)]


FIRST_TOKEN = "first token"
"""Name of the first token of a decoder, counted apart: heads attend to it for want of others."""


def segment_sums(
    values: Sequence[float] | NDArray[np.float64], segments: Sequence[str], first: int | None
) -> dict[str, float]:
    """Return sums of values of tokens by named segment, in the order of the text.

    Args:
        values: of each token.
        segments: the named segment of each token.
        first: the place of the first token, where that is counted apart.
    """
    sums: dict[str, float] = {}
    for at, (value, name) in enumerate(zip(values, segments, strict=True)):
        key = FIRST_TOKEN if at == first else str(name)
        sums[key] = sums.get(key, 0.0) + float(value)
    return sums


def sums_of(result: xr.Dataset, values: NDArray[np.float64]) -> dict[str, float]:
    """Return the sums of a result of one text by segment; empty where it has no named ones."""
    if "key_segment" not in result.coords:
        return {}
    first = 0 if result.attrs.get("kind") == "decoder" else None
    return segment_sums(values, result["key_segment"].values.tolist(), first)


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
    """Return the labels of the tokens of a coordinate; a place tells equal ones apart.

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
class Link:
    """Link from a token to another that takes from it in a layer, on the way to the chosen one.

    Attributes:
        layer: the number of the layer.
        token: the place of the token that takes.
        source: that of the token that it takes from.
        share: of the chosen token that passes here.
        heads: by which heads, each with its share of the chosen token, the largest first; heads
            whose parts are too small to be kept are not among them.
    """

    layer: int
    token: int
    source: int
    share: float
    heads: tuple[tuple[int, float], ...]


@dataclass(frozen=True, eq=False)
class Ways:
    """Ways from a token after a layer down to the input.

    Attributes:
        links: those that are large enough, layer by layer from the highest.
        passing: the share of the chosen token that is at each token before each layer, and in the
            last row after the last of them; each row adds up to 1.
        direct: the share that the chosen token takes from each token in any layer; its own is
            what it never took from another.
        most: the largest link to the chosen token, by the token that it takes from.
    """

    links: list[Link]
    passing: NDArray[np.float64]
    direct: NDArray[np.float64]
    most: dict[int, Link]


def ways_to(
    routes: xr.Dataset,
    token: int,
    layer: int | None = None,
    *,
    least: float,
    hidden: Collection[int] = (),
) -> Ways:
    """Follow a token down to the input, by the product of the shares along each way.

    Args:
        routes: as `headlight.reading.routes.routes` makes them.
        token: the place of the token.
        layer: after which it is looked at, as the model counts them; by default the last.
        least: the share of the chosen token that a link brings at least.
        hidden: places of tokens from which no link is drawn.
    """
    layers = routes["layer"].values.tolist()
    last = len(layers) - 1 if layer is None else layers.index(layer)
    taken, heads = shares_taken(routes), _heads(routes)
    links: list[Link] = []
    most: dict[int, Link] = {}
    passing = np.zeros((last + 2, taken.shape[1]))
    passing[last + 1, token] = own = 1.0
    direct = np.zeros(taken.shape[1])
    for place in range(last, -1, -1):
        brought = passing[place + 1][:, None] * taken[place]
        passing[place] = brought.sum(0) + passing[place + 1] * (1 - taken[place].sum(1))
        direct += own * taken[place, token]
        large = (brought >= least) & (brought > 0)
        large[token] |= brought[token] > 0
        for to, source in np.argwhere(large).tolist():
            share = float(brought[to, source])
            part = share / float(taken[place, to, source])
            parts = sorted(heads[place, to, source], key=lambda each: -each[1])
            by = tuple((head, part * local) for head, local in parts)
            link = Link(layers[place], to, source, share, by)
            if share >= least and source not in hidden:
                links.append(link)
            if to == token and (source not in most or share > most[source].share):
                most[source] = link
        own *= 1 - float(taken[place, token].sum())
    direct[token] = own
    return Ways(links, passing, direct, most)


def shares_taken(routes: xr.Dataset) -> Float[np.ndarray, "layer query key"]:
    """Return what each token takes from each other one by all heads; 0 from itself."""
    taken = routes["rest"].values.astype(np.float64)
    places = tuple(routes[f"part_{axis}"].values for axis in ("layer", "query", "key"))
    np.add.at(taken, places, routes["share"].values)
    taken[:, np.arange(taken.shape[1]), np.arange(taken.shape[1])] = 0
    return taken


def _heads(routes: xr.Dataset) -> dict[tuple[int, int, int], list[tuple[int, float]]]:
    """Return the parts of heads by layer, receiving token and source."""
    parts: dict[tuple[int, int, int], list[tuple[int, float]]] = defaultdict(list)
    names = ("part_layer", "part_query", "part_key", "part_head", "share")
    columns = (routes[name].values.tolist() for name in names)
    for layer, query, key, head, share in zip(*columns, strict=True):
        parts[layer, query, key].append((head, share))
    return parts
