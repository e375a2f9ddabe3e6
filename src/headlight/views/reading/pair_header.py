"""Header of two readings: the numbers of both side by side, and how far they are apart."""

from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headlight.findings.candidates import unknown, unsaid
from headlight.findings.statistics import statistics_of
from headlight.findings.token_names import pieces_of
from headlight.views.head_numbers import numbers_as_json
from headlight.views.reading.format import DIFFERENCE, SECOND
from headlight.views.reading.matched_readings import Matched, side_of, swapped
from headlight.views.reading.weight_against_norm import largest_cell
from headlight.views.titles import model_name
from headlight.vocabulary import measure

APART = "apart"
"""The statistic of how far the two are apart in a head."""

Numbers = list[list[float | None]]
"""By layer and head."""


def header_of_both(
    first: Mapping[str, Any],
    second: Mapping[str, Any],
    differences: Mapping[str, dict[str, Any]],
    pair: Matched,
) -> dict[str, Any]:
    """Return the header of one kind of attention of two readings.

    Args:
        first: Header of the first alone.
        second: Header of the second alone.
        differences: Headers of the differences, by measure.
        pair: Both readings.
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
        many: {**first[many], **_named(pair, axis), **_compared(pair, axis)}
        for axis, many in (("query", "queries"), ("key", "keys"))
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
    """Return the places that sentences leave out in either text, or that either lacks.

    If a key is a word with different pieces in each text, its first piece stands for all; as
    queries such words are left out, as the more pieces a word has, the more it attends to itself.
    """
    hidden = [set(unsaid(part, side)) for part in pair.alone]
    first = 1 if side == "key" else 0
    later = {at for word in swapped(pair, side) for at in word["places"][first:]}
    return [
        at
        for at, (old, new) in enumerate(pair.places[side])
        if min(old, new) < 0 or old in hidden[0] or new in hidden[1] or at in later
    ]


def _named(pair: Matched, side: str) -> dict[str, Any]:
    """Return the text and the name of each token; a substituted word is named by both texts."""
    written = [part[f"{side}_token"].values.tolist() for part in pair.alone]
    instead = {
        str(place): written[1][new]
        for place, (old, new) in enumerate(pair.places[side])
        if min(old, new) >= 0 and written[0][old] != written[1][new]
    }
    texts = [[piece.text for piece in pieces_of(part, f"{side}_token")] for part in pair.alone]
    names = [
        [text[at] for text, at in zip(texts, places, strict=True) if at >= 0]
        for places in pair.places[side]
    ]
    return {
        "of": [side_of(places) for places in pair.places[side]],
        "instead": instead,
        "texts": [" / ".join(dict.fromkeys(both)) for both in names],
    }


def read_by_both(first: Mapping[str, Any], second: Mapping[str, Any]) -> tuple[str, bool]:
    """Return a sentence about the texts of two readings, and whether these agree.

    Args:
        first: Attributes of the first.
        second: Attributes of the second.
    """
    both = (first, second)
    models = [model_name(attributes) for attributes in both]
    texts = [
        " / ".join(filter(None, (str(attributes.get(name) or "") for name in ("text", "pair"))))
        for attributes in both
    ]
    revisions = [attributes.get("revision", "") for attributes in both]
    same = revisions[0] == revisions[1] and models[0] == models[1]
    by = f"The same model, {models[0]}." if same else f"Two models, {models[0]} and {models[1]}."
    if not any(attributes.get("model") for attributes in both):
        by = "Of weights alone."
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
    """Return Σ|b − a| / Σ(|a| + |b|) of each head over the cells that both have.

    It is 0 where both are the same, 1 where they have nothing in common; for weights of the same
    tokens it is the mean total variation of their rows.
    """
    axes = measure(name).axes
    before, after = _both(pair, name)
    far = np.nansum(np.abs(after - before), axis=(-1, -2))
    in_both = np.isfinite(before) & np.isfinite(after)
    sizes = np.where(in_both, np.abs(before) + np.abs(after), 0).sum((-1, -2))
    shares = far / np.where(sizes > 0, sizes, np.nan)
    rows = shares if "head" in axes else shares[:, None]
    return [[None if np.isnan(share) else float(f"{share:.4g}") for share in row] for row in rows]


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
        name: [far for row, n in zip(numbers, heads, strict=True) for far in _filled(row, n)]
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
    # A number that all heads of a layer share stands at the first.
    return [*row, *[None] * heads][:heads]


def _largest(numbers: Numbers) -> list[int]:
    places = [(layer, head) for layer, row in enumerate(numbers) for head in range(len(row))]
    layer, head = max(places, key=lambda at: numbers[at[0]][at[1]] or 0.0)
    return [layer, head]


def _opens(pair: Matched, apart: Numbers) -> dict[str, list[int]]:
    """Return the head whose weights are farthest apart, and the cell of its largest difference."""
    layer, head = _largest(apart)
    before, after = (weights[layer, head] for weights in _both(pair, "weight"))
    change = np.nan_to_num(after - before)
    for axis, side in enumerate(("query", "key")):
        hidden = _unsaid(pair, side)
        if len(hidden) < change.shape[axis]:
            # All along the axes before this one: rows of hidden queries, columns of hidden keys.
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
            both = rows.setdefault(row["name"], {**row, "by": {}})
            both["by"] |= {f"{name}{end}": numbers for name, numbers in row["by"].items()}
    return list(rows.values())
