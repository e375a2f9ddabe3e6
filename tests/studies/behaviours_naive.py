"""What heads do in one text, as the definitions have it: plain loops over queries and keys."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

OFFSETS = range(-8, 9)
EDGES = [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384]
FAR = 1000
UP_TO_ROUNDING = 16 * 2.0**-23
"""A row in float32 that sums to 1 but for so much lacks nothing."""
SEGMENTS = (
    "template", "system", "user", "assistant", "patch", "border", "register", "image",
)  # fmt: skip
CLS, SEP, PUNCTUATION, OTHER = range(4)


def keys_of(
    ids: Sequence[int],
    words: Sequence[int],
    classes: Sequence[int],
    function: Sequence[int],
    segments: Sequence[str] = (),
) -> dict[str, list[list[int] | None]]:
    """For every behaviour, and every query, the keys it means; None where it is not asked."""
    size = len(ids)
    special = [c in (CLS, SEP) for c in classes]
    piece = [c == OTHER and w >= 0 for c, w in zip(classes, words, strict=True)]

    def before(i: int) -> list[int]:
        return [j for j in range(i) if not special[i] and not special[j] and ids[j] == ids[i]]

    def beside(i: int, j: int) -> bool:
        return 0 <= j < size and piece[i] and piece[j] and words[i] == words[j]

    functions = [
        j for j in range(size)
        if ids[j] in function and not beside(j, j - 1) and not beside(j, j + 1)
    ]  # fmt: skip
    found: dict[str, list[list[int] | None]] = {
        name: [[k] if i >= k else None for i in range(size)]
        for k, name in enumerate(["first", "second", "third", "fourth"])
    }
    found["duplicate"] = [before(i) or None for i in range(size)]
    found["induction"] = [[j + 1 for j in before(i)] or None for i in range(size)]
    found["subword"] = [[j for j in range(i) if beside(i, j)] or None for i in range(size)]
    found["function_words"] = [functions if function else None] * size
    for name in SEGMENTS:
        own = [j for j, segment in enumerate(segments) if segment == name]
        found[name] = [own if segments else None] * size
    for offset in OFFSETS:
        found[f"at {offset}"] = [
            [i + offset] if 0 <= i + offset < size else [] for i in range(size)
        ]
    for edge, end in zip(EDGES, [*EDGES[1:], math.inf], strict=True):
        found[f"from {edge}"] = [
            [j for j in range(size) if edge <= abs(i - j) < end] for i in range(size)
        ]
    return found


def copies(ids: Sequence[int], classes: Sequence[int], far: int) -> list[list[int] | None]:
    """For every query the earlier places of the token that comes next, so far before it."""
    found: list[list[int] | None] = []
    for i in range(len(ids)):
        there = i + 1 < len(ids) and classes[i + 1] not in (CLS, SEP)
        same = [
            j for j in range(i + 1)
            if there and ids[j] == ids[i + 1] and classes[j] not in (CLS, SEP) and i - j >= far
        ]  # fmt: skip
        found.append(same or None)
    return found


def of_text(
    score: Array,
    ids: Sequence[int],
    words: Sequence[int],
    classes: Sequence[int],
    function: Sequence[int],
    *,
    share: bool,
    segments: Sequence[str] = (),
) -> dict[str, dict[str, Array]]:
    """The sums of one text by head: what was given, of how many queries, what these give in all.

    Shares are of what all queries give together: a row that gives more counts more, and rows of
    measures that are shares count the same.

    Args:
        score: ``head query key``.
        ids: Of the tokens.
        words: Of the tokens.
        classes: The categories of the tokens.
        function: Ids of function words.
        share: Whether rows are shares already.
        segments: The named segments of the tokens, where they are of some.
    """
    meant = keys_of(ids, words, classes, function, segments)
    hits = {"copy": copies(ids, classes, 0), "copy_far": copies(ids, classes, FAR)}
    heads = [_of_head(matrix, meant, hits, share) for matrix in score]
    return {
        part: {name: np.array([head[part][name] for head in heads]) for name in heads[0][part]}
        for part in heads[0]
    }


def _of_head(matrix, meant, hits, share) -> dict[str, dict[str, float]]:
    names = [*meant, *hits, "missing"]
    parts = ("given", "queries", "whole", "given_rest", "rest")
    sums = {part: dict.fromkeys(names, 0.0) for part in parts}
    powers = {f"{part} {n}": 0.0 for part in ("with", "without") for n in range(3)}
    for i, values in enumerate(matrix):
        total = math.fsum(values)
        whole, row = 1 if share else total, values
        for name in [name for name in meant if meant[name][i] is not None]:
            keys = meant[name][i]
            sums["given"][name] += math.fsum(row[j] for j in keys)
            sums["queries"][name] += 1
            sums["whole"][name] += whole
            if name != "first":
                sums["given_rest"][name] += math.fsum(row[j] for j in keys if j)
                sums["rest"][name] += whole - row[0]
        for name in [name for name in hits if hits[name][i] is not None]:
            sums["queries"][name] += 1
            if whole > 0:
                sums["given"][name] += max(row) == max(row[j] for j in hits[name][i])
                sums["whole"][name] += 1
        for name in powers:
            first, power = int(name.startswith("without")), int(name[-1])
            far = [row[j] * abs(i - j) ** power for j in range(first, len(row))]
            powers[name] += math.fsum(far)
    if share:
        sums["given"]["missing"] = _lacking(matrix)
        sums["queries"]["missing"] = sums["whole"]["missing"] = len(matrix)
    return {**sums, "powers": powers}


def _lacking(rows: Array) -> float:
    lacking = math.fsum(1 - math.fsum(row) for row in rows)
    return lacking if abs(lacking) >= UP_TO_ROUNDING * len(rows) else 0.0


def joined(texts: list[dict[str, dict[str, Array]]]) -> dict[str, Array]:
    """Ratios of means over texts, and of sums, by name and then head."""
    found: dict[str, Array] = {}
    with np.errstate(invalid="ignore", divide="ignore"):
        for name in texts[0]["given"]:
            part, whole = (
                np.array([text[each][name] / text["queries"][name] for text in texts])
                for each in ("given", "whole")
            )
            found[f"{name} share"] = mean(part) / mean(whole)
            found[f"{name} rest"] = ratio(*without_first(texts, name))
        sinks = np.array([text["given"]["first"] / text["whole"]["first"] for text in texts])
        rates = np.where(np.isnan(sinks), np.nan, sinks > 0.3)
        found["sink"] = mean(rates)
        for part in ("with", "without"):
            zero, one, two = (powers(texts, part, n) for n in range(3))
            far = found[f"distance {part}"] = ratio(one, zero)
            found[f"deviation {part}"] = np.sqrt(ratio(two, zero) - far**2)
    return found


def without_first(texts: list[dict[str, dict[str, Array]]], name: str) -> tuple[Array, Array]:
    """What keys of this name get without the first, and what all keys get without it, by text."""
    part, whole = (
        np.array([text[each][name] for text in texts]) for each in ("given_rest", "rest")
    )
    return part, whole


def powers(texts: list[dict[str, dict[str, Array]]], part: str, power: int) -> Array:
    """What is given, times a power of how far, text by text."""
    return np.array([text["powers"][f"{part} {power}"] for text in texts])


def mean(rows: Array) -> Array:
    """Over the first axis, without NaN."""
    found = np.full(rows.shape[1:], np.nan)
    for at in np.ndindex(found.shape):
        seen = [row for row in rows[:, *at] if row == row]
        if seen:
            found[at] = math.fsum(seen) / len(seen)
    return found


def ratio(part: Array, whole: Array) -> Array:
    """Of sums over the first axis."""
    return np.asarray(part.sum(0) / whole.sum(0))
