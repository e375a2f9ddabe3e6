"""Two readings as one view: the tokens of both in one order, the numbers of both side by side.

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
from numpy.typing import NDArray

from headlight.errors import UsageError
from headlight.findings.candidates import unknown, unsaid
from headlight.findings.piece_text import category_name, pieces_of
from headlight.findings.statistics import statistics_of
from headlight.result.kinds import split_kinds
from headlight.views.head_numbers import numbers_as_json
from headlight.views.provenance import model_name
from headlight.views.reading.serial import largest_cell
from headlight.vocabulary import PER_HEAD, measure, measure_table

SECOND, DIFFERENCE = "-second", "-difference"
"""Suffixes of the names of measures: of the second reading, and of the second less the first."""
APART = "apart"
"""The statistic of how far the two are apart in a head."""

Numbers = list[list[float | None]]
"""By layer and head."""


@dataclass(frozen=True)
class Matched:
    """Two readings of one kind of attention over the tokens, layers and heads of both.

    Attributes:
        first: the first; NaN where only the second has something.
        second: the second likewise.
        alone: each as it was.
        places: by axis (``query``, ``key``), of each token in either text; -1 where it lacks it.
        heads: how many each layer has; of models of two shapes, the larger number.
        same_shape: whether both have the same heads, so that they can be compared head by head.
    """

    first: xr.Dataset
    second: xr.Dataset
    alone: tuple[xr.Dataset, xr.Dataset]
    places: Mapping[str, list[tuple[int, int]]]
    heads: list[int]
    same_shape: bool

    @property
    def names(self) -> list[str]:
        """The measures of pairs of positions that both have."""
        rows = [row for row in measure_table() if row.pairwise]
        return [row.name for row in rows if row.name in self.first and row.name in self.second]


def matched(first: xr.Dataset, second: xr.Dataset) -> dict[str, Matched]:
    """Two readings, by kind of attention.

    Raises:
        UsageError: they are of different kinds of attention.
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
    sizes = [max(each.get(layer, 0) for each in heads) for layer in layers]
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


def _side_of(pair: Pair) -> str:
    return "both" if min(pair) >= 0 else "first" if pair[1] < 0 else "second"


def _heads(part: xr.Dataset) -> dict[int, int]:
    """Return the number of heads in each layer, by its number."""
    name = next(row.name for row in measure_table() if row.name in part and row.axes == PER_HEAD)
    head_counts = np.isfinite(part[name].transpose(*PER_HEAD).values).any((-1, -2)).sum(-1)
    return dict(zip(part["layer"].values.tolist(), head_counts.tolist(), strict=True))


def _places(first: xr.Dataset, second: xr.Dataset, side: str) -> list[Pair]:
    """The tokens of both in one order."""
    one, other = _words(first, side), _words(second, side)
    matcher = SequenceMatcher(None, [w for w, _ in one], [w for w, _ in other], autojunk=False)
    pairs: list[Pair] = []
    for what, i, j, k, n in matcher.get_opcodes():
        before = [at for _, places in one[i:j] for at in places]
        after = [at for _, places in other[k:n] for at in places]
        kinds = [
            _kinds(part, side, words) for part, words in ((first, one[i:j]), (second, other[k:n]))
        ]
        if what == "equal" or (what == "replace" and kinds[0] == kinds[1]):
            for (_, own), (_, its) in zip(one[i:j], other[k:n], strict=True):
                shared = min(len(own), len(its))
                pairs += zip(own, its, strict=False)
                pairs += [(at, -1) for at in own[shared:]] + [(-1, at) for at in its[shared:]]
        else:
            pairs += [(at, -1) for at in before] + [(-1, at) for at in after]
    return pairs


def _words(part: xr.Dataset, side: str) -> list[Word]:
    """The pieces of each word, and their places; special tokens are words of their own."""
    numbers = part[f"{side}_word"].values.tolist()
    tokens = [str(token) for token in part[f"{side}_token"].values]
    places = range(len(tokens))
    runs = (
        list(run) for _, run in groupby(places, lambda at: numbers[at] if numbers[at] >= 0 else ~at)
    )
    return [(tuple(tokens[at] for at in run), run) for run in runs]


def _kinds(part: xr.Dataset, side: str, words: Iterable[Word]) -> list[set[str]]:
    """Return the categories of the pieces of each word."""
    categories = part[f"{side}_category"].values
    return [{category_name(categories[at]) for at in places} for _, places in words]


def _laid(
    part: xr.Dataset,
    at: int,
    places: Mapping[str, Sequence[Pair]],
    layers: Sequence[int],
    heads: int,
) -> xr.Dataset:
    """A reading over the layers, heads and tokens of both."""
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
    """The coordinates of the tokens of both; words are renumbered."""
    coordinates: dict[str, Any] = {}
    for side, pairs in places.items():
        owner = [(parts[0], one) if one >= 0 else (parts[1], other) for one, other in pairs]
        with_segments = all(f"{side}_segment" in part.coords for part in parts)
        for name in ("token", "category", *(["segment"] if with_segments else [])):
            values = [part[f"{side}_{name}"].values[at] for part, at in owner]
            named = category_name if name == "category" else str
            coordinates[f"{side}_{name}"] = (side, [named(value) for value in values])
        own = [part[f"{side}_word"].values.tolist() for part in parts]
        shared = {own[1][two]: own[0][one] for one, two in pairs if min(one, two) >= 0}
        words = [
            (True, own[0][one])
            if one >= 0
            else (own[1][two] in shared, shared.get(own[1][two], own[1][two]))
            for one, two in pairs
        ]
        coordinates[f"{side}_word"] = (side, numbered(words))
    return coordinates


def swapped(pair: Matched, side: str) -> list[dict[str, Any]]:
    """Return the words that stand in one place and have other numbers of pieces in the two texts.

    Args:
        pair: both readings.
        side: ``query`` or ``key``.

    Returns:
        of each the places of its pieces, the first in both, and what it is called.
    """
    places, numbers = pair.places[side], pair.first[f"{side}_word"].values.tolist()
    texts = [[each.text for each in pieces_of(part, f"{side}_token")] for part in pair.alone]
    words = []
    for number, run in groupby(range(len(places)), lambda at: numbers[at]):
        of_word = list(run)
        sides = {_side_of(places[at]) for at in of_word}
        if number >= 0 and "both" in sides and len(sides) > 1:
            words_of_texts = (
                "".join(text[places[at][which]] for at in of_word if places[at][which] >= 0)
                for which, text in enumerate(texts)
            )
            words.append({"places": of_word, "said": " / ".join(words_of_texts)})
    return words


def numbered(words: Sequence[tuple[bool, int]]) -> list[int]:
    """Words of two texts, numbered in their order; -1 stays."""
    order: dict[tuple[bool, int], int] = {}
    return [-1 if word[1] < 0 else order.setdefault(word, len(order)) for word in words]


# ---------------------------------------------------------------- what a header says


def header_of_both(
    first: Mapping[str, Any],
    second: Mapping[str, Any],
    differences: Mapping[str, dict[str, Any]],
    pair: Matched,
) -> dict[str, Any]:
    """Return the header of one kind of attention of two readings.

    Args:
        first: what it would say of the first alone.
        second: of the second.
        differences: what it says of the differences, by measure.
        pair: both.
    """
    measures: dict[str, Any] = {}
    for name in pair.names:
        measures[name] = first["measures"][name]
        measures[f"{name}{SECOND}"] = _renamed(second["measures"][name])
        if name in differences:
            measures[f"{name}{DIFFERENCE}"] = {
                "per": measures[name]["per"],
                "less": [f"{name}{SECOND}", name],
                "bound": measures[name]["bound"] + measures[f"{name}{SECOND}"]["bound"],
                **differences[name],
            }
    apart = {name: _apart(pair, name) for name in pair.names} if pair.same_shape else {}
    opens = _opens(pair, apart["weight"]) if "weight" in apart else {}
    sides = {
        many: {**first[many], **_named(pair, one), **_compared(pair, one)}
        for one, many in (("query", "queries"), ("key", "keys"))
    }
    return {
        **{name: facts for name, facts in first.items() if name != "equal" or name in second},
        **sides,
        "measures": measures,
        **opens,
        "statistics": [*_statistics(pair), *_apart_row(apart, pair.heads)],
    }


def _compared(pair: Matched, side: str) -> dict[str, Any]:
    """Return the words in one place, and the places of tokens that no sentence compares."""
    words = swapped(pair, side)
    return {
        "unsaid": _unsaid(pair, side),
        "unknown": unknown(pair.first, f"{side}_token"),
        **({"swapped": words} if words else {}),
    }


def _unsaid(pair: Matched, side: str) -> list[int]:
    """Return the places that are not said of either text, or that one of them lacks.

    Of keys that are a word with other pieces in each the first stands for all; as queries such
    words are left out, as the more pieces a word has, the more it attends to itself.
    """
    hidden = [set(unsaid(part, side)) for part in pair.alone]
    first = 1 if side == "key" else 0
    later = {at for word in swapped(pair, side) for at in word["places"][first:]}
    return [
        at
        for at, (one, two) in enumerate(pair.places[side])
        if min(one, two) < 0 or one in hidden[0] or two in hidden[1] or at in later
    ]


def _named(pair: Matched, side: str) -> dict[str, Any]:
    """Return of which text each token is, and what it is called: a substituted word by both."""
    written = [part[f"{side}_token"].values.tolist() for part in pair.alone]
    instead = {
        str(place): written[1][two]
        for place, (one, two) in enumerate(pair.places[side])
        if min(one, two) >= 0 and written[0][one] != written[1][two]
    }
    texts = [[each.text for each in pieces_of(part, f"{side}_token")] for part in pair.alone]
    names = [
        [text[at] for text, at in zip(texts, places, strict=True) if at >= 0]
        for places in pair.places[side]
    ]
    return {
        "of": [_side_of(each) for each in pair.places[side]],
        "instead": instead,
        "texts": [" / ".join(dict.fromkeys(each)) for each in names],
    }


def read_by_both(first: Mapping[str, Any], second: Mapping[str, Any]) -> tuple[str, bool]:
    """Return a sentence about what each of two readings read, and whether the texts agree.

    Args:
        first: attributes of the first.
        second: of the second.
    """
    models = [model_name(each) for each in (first, second)]
    texts = [
        " / ".join(filter(None, (str(each.get(name) or "") for name in ("text", "pair"))))
        for each in (first, second)
    ]
    revisions = [each.get("revision", "") for each in (first, second)]
    same = revisions[0] == revisions[1] and models[0] == models[1]
    by = f"The same model, {models[0]}." if same else f"Two models, {models[0]} and {models[1]}."
    if texts[0] == texts[1]:
        return f"The same text: {texts[0]} {by}", True
    words = [text.split() for text in texts]
    blocks = SequenceMatcher(None, words[0], words[1], autojunk=False).get_opcodes()
    changes = [(i, j, k, n) for what, i, j, k, n in blocks if what != "equal"]
    if len(changes) == 1 and all(j - i == n - k == 1 for i, j, k, n in changes):
        ((i, j, k, _),) = changes
        written = " ".join([*words[0][:i], words[0][i], "/", words[1][k], *words[0][j:]])
        return f"The same text but for one word: {written} {by}", True
    return f"Two texts. First: {texts[0]} Second: {texts[1]} {by}", False


def _renamed(about: Mapping[str, Any]) -> dict[str, Any]:
    if "from" not in about:
        return dict(about)
    return {**about, "from": [f"{name}{SECOND}" for name in about["from"]]}


def _apart(pair: Matched, name: str) -> Numbers:
    """Σ|b − a| / Σ(|a| + |b|) over the cells that both have, of each head.

    0 where both are the same, 1 where they have nothing in common; of weights of the same tokens
    it is the mean total variation of their rows.
    """
    axes = measure(name).axes
    one, other = _both(pair, name)
    far = np.nansum(np.abs(other - one), axis=(-1, -2))
    in_both = np.isfinite(one) & np.isfinite(other)
    sizes = np.where(in_both, np.abs(one) + np.abs(other), 0).sum((-1, -2))
    shares = far / np.where(sizes > 0, sizes, np.nan)
    rows = shares if "head" in axes else shares[:, None]
    return [[None if np.isnan(each) else float(f"{each:.4g}") for each in row] for row in rows]


def _both(pair: Matched, name: str) -> list[NDArray[np.float64]]:
    """Return a measure of both readings, where a word in one place is one key."""
    axes, arrays = measure(name).axes, []
    for part in (pair.first, pair.second):
        values = np.array(part[name].transpose(*axes).values, dtype=np.float64)
        for word in swapped(pair, "key"):
            first, *more = word["places"]
            values[..., first] += np.nansum(values[..., more], axis=-1)
            values[..., more] = np.nan
        arrays.append(values)
    return arrays


def _apart_row(apart: Mapping[str, Numbers], heads: Sequence[int]) -> list[dict[str, Any]]:
    if not apart:
        return []
    flat = {
        name: [each for row, n in zip(numbers, heads, strict=True) for each in _filled(row, n)]
        for name, numbers in apart.items()
    }
    by = {
        f"{name}{end}": [numbers]
        for name, numbers in flat.items()
        for end in ("", SECOND, DIFFERENCE)
    }
    label = "how far the two are apart (0 to 1)"
    return [{"name": APART, "label": label, "unit": "1", "by": by}]


def _filled(row: Sequence[float | None], heads: int) -> list[float | None]:
    """The numbers of a layer; what heads have together stands at the first."""
    return [*row, *[None] * heads][:heads]


def _largest(numbers: Numbers) -> list[int]:
    places = [(layer, head) for layer, row in enumerate(numbers) for head in range(len(row))]
    layer, head = max(places, key=lambda at: numbers[at[0]][at[1]] or 0.0)
    return [layer, head]


def _opens(pair: Matched, apart: Numbers) -> dict[str, list[int]]:
    """The head in which the weights are farthest apart, and the cell in which they are there."""
    layer, head = _largest(apart)
    one, other = (each[layer, head] for each in _both(pair, "weight"))
    change = np.nan_to_num(other - one)
    for axis, side in enumerate(("query", "key")):
        hidden = _unsaid(pair, side)
        if len(hidden) < change.shape[axis]:
            change[(slice(None),) * axis + (hidden,)] = 0
    return {"first": [layer, head], "cell": list(largest_cell(change))}


def _statistics(pair: Matched) -> list[dict[str, Any]]:
    """Return the statistics of each text by itself, since tokens of the other are no neighbours."""
    layers = pair.first["layer"].values.tolist()
    places = [
        (layer, head) for layer, n in zip(layers, pair.heads, strict=True) for head in range(n)
    ]
    rows: dict[str, dict[str, Any]] = {}
    for part, end in zip(pair.alone, ("", SECOND), strict=True):
        for row in numbers_as_json(part, statistics_of(part), places):
            one = rows.setdefault(row["name"], {**row, "by": {}})
            one["by"] |= {f"{name}{end}": numbers for name, numbers in row["by"].items()}
    return list(rows.values())
