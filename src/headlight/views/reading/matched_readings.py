"""Two readings over the tokens, layers and heads of both.

Words are matched as the lines of two files are: those that both texts have stand once, and those
that only one has stand where it has them. Words that stand for as many others share their places:
``server / laptop``. One of them may have more pieces, whose places are the word's as well. A
reading has nothing (NaN) at tokens of the other alone.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import groupby
from typing import Any

import numpy as np
import xarray as xr

from headlight.errors import UsageError
from headlight.findings.token_names import category_name, pieces_of
from headlight.result.kinds import split_kinds
from headlight.vocabulary import PER_HEAD, measure_table


@dataclass(frozen=True)
class Matched:
    """Pair of readings of one kind of attention over the tokens, layers and heads of both.

    Attributes:
        first: First reading; NaN where only the second has values.
        second: Second reading; NaN where only the first has values.
        alone: Both readings as they were.
        places: Places of the tokens in both texts, by axis (``query``, ``key``); -1 where a text
            lacks the token.
        heads: Numbers of heads in the layers; of models of two shapes, the larger numbers.
        same_shape: Whether both have the same heads, so that they can be compared head by head.
    """

    first: xr.Dataset
    second: xr.Dataset
    alone: tuple[xr.Dataset, xr.Dataset]
    places: Mapping[str, list[tuple[int, int]]]
    heads: list[int]
    same_shape: bool

    @property
    def names(self) -> list[str]:
        """Names of the measures of pairs of positions that both have."""
        rows = [row for row in measure_table() if row.pairwise]
        return [row.name for row in rows if row.name in self.first and row.name in self.second]


def matched(first: xr.Dataset, second: xr.Dataset) -> dict[str, Matched]:
    """Match two readings, by kind of attention.

    Raises:
        UsageError: The two are of different kinds of attention.
    """
    firsts, seconds = split_kinds(first), split_kinds(second)
    if list(firsts) != list(seconds):
        raise UsageError(
            f"the readings are of different kinds of attention ({', '.join(firsts)}; "
            f"{', '.join(seconds)}); read both with the same kind."
        )
    return {kind: _matched(part, seconds[kind]) for kind, part in firsts.items()}


def _matched(first: xr.Dataset, second: xr.Dataset) -> Matched:
    heads = [_heads(part) for part in (first, second)]
    layers = sorted(heads[0].keys() | heads[1].keys())
    sizes = [max(counts.get(layer, 0) for counts in heads) for layer in layers]
    places = {side: _places(first, second, side) for side in ("query", "key")}
    laid = [_laid(part, at, places, layers, max(sizes)) for at, part in enumerate((first, second))]
    coordinates = _tokens((first, second), places)
    return Matched(
        first=laid[0].assign_coords(coordinates),
        second=laid[1].assign_coords(coordinates),
        alone=(first, second),
        places=places,
        heads=sizes,
        same_shape=heads[0] == heads[1],
    )


Pair = tuple[int, int]
"""The place of a token in either text, -1 where a text lacks it."""
Word = tuple[tuple[str, ...], list[int]]
"""The pieces of a word, and their places."""


def side_of(pair: Pair) -> str:
    """Return which text has a token: ``first``, ``second`` or ``both``."""
    return "both" if min(pair) >= 0 else "first" if pair[1] < 0 else "second"


def _heads(part: xr.Dataset) -> dict[int, int]:
    # Heads that a layer does not have are filled up with NaN.
    name = next(row.name for row in measure_table() if row.name in part and row.axes == PER_HEAD)
    head_counts = np.isfinite(part[name].transpose(*PER_HEAD).values).any((-1, -2)).sum(-1)
    return dict(zip(part["layer"].values.tolist(), head_counts.tolist(), strict=True))


def _places(first: xr.Dataset, second: xr.Dataset, side: str) -> list[Pair]:
    """Return the tokens of both in one order."""
    words = _words(first, side), _words(second, side)
    pieces = [[piece for piece, _ in text] for text in words]
    # Without "autojunk" a word that is frequent in a long text is matched like any other.
    matcher = SequenceMatcher(None, pieces[0], pieces[1], autojunk=False)
    pairs: list[Pair] = []
    for what, i, j, k, n in matcher.get_opcodes():
        old, new = words[0][i:j], words[1][k:n]
        alike = _kinds(first, side, old) == _kinds(second, side, new)
        if what == "equal" or (what == "replace" and alike):
            for (_, before), (_, after) in zip(old, new, strict=True):
                shared = min(len(before), len(after))
                pairs += zip(before, after, strict=False)
                pairs += [(at, -1) for at in before[shared:]] + [(-1, at) for at in after[shared:]]
        else:
            pairs += [(at, -1) for _, places in old for at in places]
            pairs += [(-1, at) for _, places in new for at in places]
    return pairs


def _words(part: xr.Dataset, side: str) -> list[Word]:
    """Return the pieces of each word, and their places; special tokens are words of their own."""
    numbers = part[f"{side}_word"].values.tolist()
    tokens = [str(token) for token in part[f"{side}_token"].values]
    places = range(len(tokens))
    runs = (
        list(run) for _, run in groupby(places, lambda at: numbers[at] if numbers[at] >= 0 else ~at)
    )
    return [(tuple(tokens[at] for at in run), run) for run in runs]


def _kinds(part: xr.Dataset, side: str, words: Iterable[Word]) -> list[set[str]]:
    categories = part[f"{side}_category"].values
    return [{category_name(categories[at]) for at in places} for _, places in words]


def _laid(
    part: xr.Dataset,
    at: int,
    places: Mapping[str, Sequence[Pair]],
    layers: Sequence[int],
    heads: int,
) -> xr.Dataset:
    """Return a reading over the layers, heads and tokens of both."""
    named = [name for name in part.coords if name not in ("layer", "head")]
    moved = part.drop_vars(named).assign_coords(layer=part["layer"], head=range(part.sizes["head"]))
    moved = moved.reindex(layer=list(layers), head=range(heads))
    for side, pairs in places.items():
        # Tokens are named by their places; no token has the name -1, and is filled with NaN.
        moved = moved.assign_coords({side: range(part.sizes[side])})
        moved = moved.reindex({side: [pair[at] for pair in pairs]}).drop_vars(side)
    return moved.assign_attrs(part.attrs)


def _tokens(
    parts: tuple[xr.Dataset, xr.Dataset], places: Mapping[str, Sequence[Pair]]
) -> dict[str, Any]:
    """Return the coordinates of the tokens of both; words are renumbered."""
    coordinates: dict[str, Any] = {}
    for side, pairs in places.items():
        owner = [(parts[0], old) if old >= 0 else (parts[1], new) for old, new in pairs]
        with_segments = all(f"{side}_segment" in part.coords for part in parts)
        for name in ("token", "category", *(["segment"] if with_segments else [])):
            values = [part[f"{side}_{name}"].values[at] for part, at in owner]
            named = category_name if name == "category" else str
            coordinates[f"{side}_{name}"] = (side, [named(value) for value in values])
        first, second = (part[f"{side}_word"].values.tolist() for part in parts)
        shared = {second[new]: first[old] for old, new in pairs if min(old, new) >= 0}
        words = [
            (True, first[old])
            if old >= 0
            else (second[new] in shared, shared.get(second[new], second[new]))
            for old, new in pairs
        ]
        coordinates[f"{side}_word"] = (side, numbered(words))
    return coordinates


def swapped(pair: Matched, side: str) -> list[dict[str, Any]]:
    """Return the words in one place that have different numbers of pieces in the two texts.

    Args:
        pair: Both readings.
        side: Axis of the words, ``query`` or ``key``.

    Returns:
        Words with the places of their pieces, the first in both, and their names.
    """
    places, numbers = pair.places[side], pair.first[f"{side}_word"].values.tolist()
    texts = [[piece.text for piece in pieces_of(part, f"{side}_token")] for part in pair.alone]
    words = []
    for number, run in groupby(range(len(places)), lambda at: numbers[at]):
        of_word = list(run)
        sides = {side_of(places[at]) for at in of_word}
        if number >= 0 and "both" in sides and len(sides) > 1:
            words_of_texts = (
                "".join(text[places[at][which]] for at in of_word if places[at][which] >= 0)
                for which, text in enumerate(texts)
            )
            words.append({"places": of_word, "said": " / ".join(words_of_texts)})
    return words


def numbered(words: Sequence[tuple[bool, int]]) -> list[int]:
    """Number the words of two texts in their order; -1 stays."""
    order: dict[tuple[bool, int], int] = {}
    return [-1 if word[1] < 0 else order.setdefault(word, len(order)) for word in words]
