"""Texts as the numbers of their words, and what is said of words, by loops over one text.

Nothing here is shared with headlight.  A text is a list with an entry for every token: the number
of its word, or one of the marks.
"""

import math

import numpy as np
import torch
from hypothesis import strategies as st
from torch import Tensor

from definitions import Array

SPECIAL, PADDING = -1, -2

pieces = st.lists(st.sampled_from([1, 1, 1, 2, 3]), max_size=4)
texts = st.builds(
    lambda first, second, marks, frame: text_of(first, second, marks, frame=frame),
    pieces,
    pieces,
    st.integers(0, 2),
    frame=st.booleans(),
)
batches = st.lists(texts, min_size=1, max_size=3).filter(lambda found: any(found))
pairs = st.lists(st.tuples(texts, texts), min_size=1, max_size=3).filter(
    lambda found: all(map(any, zip(*found, strict=True)))
)
sides = st.sampled_from(["left", "right"])
seeds = st.integers(0, 2**32 - 1)


def text_of(first: list[int], second: list[int], marks: int, *, frame: bool) -> list[int]:
    """Words of so many pieces each, with special tokens between two parts and around them."""
    numbers = [word for word, size in enumerate([*first, *second]) for _ in range(size)]
    end = sum(first)
    edge = [SPECIAL] * frame
    return [*edge, *numbers[:end], *[SPECIAL] * marks, *numbers[end:], *edge]


def padded(texts: list[list[int]], side: str) -> Tensor:
    """As `Batch.word`."""
    width = max(map(len, texts))
    rows = [
        [*[PADDING] * (width - len(text)), *text]
        if side == "left"
        else [*text, *[PADDING] * (width - len(text))]
        for text in texts
    ]
    return torch.tensor(rows, dtype=torch.long)


def units(row: list[int], special: bool) -> list[list[int]]:
    """The positions of each word, or of each word and special token in the order of the text."""
    if not special:
        count = max(row, default=-1) + 1
        return [[i for i, word in enumerate(row) if word == number] for number in range(count)]
    found: list[list[int]] = []
    for place, word in enumerate(row):
        if word == PADDING:
            continue
        if word >= 0 and found and row[found[-1][0]] == word:
            found[-1].append(place)
        else:
            found.append([place])
    return found


def joined(rows: list[Array], how: str) -> Array:
    """What a word gives to all units, special tokens included, of what its pieces give."""
    if how == "first":
        return rows[0]
    mean = np.array([math.fsum(column) / len(rows) for column in zip(*rows, strict=True)])
    if how == "mean":
        return mean
    largest = np.array([max(column) for column in zip(*rows, strict=True)])
    wanted = sum(math.fsum(abs(row)) for row in rows) / len(rows)
    size = math.fsum(abs(largest))
    return largest * (wanted / size) if size else largest


def between_units(between: Array, row: list[int], how: str, special: bool, width: int) -> Array:
    """From [head, token, unit or special token] to [head, width, width].

    Args:
        between: What each token gives to each unit of `units(row, special=True)`.
        row: The text.
        how: Of several pieces.
        special: Whether special tokens stay.
        width: Rows and columns of the result.
    """
    return between_texts(between, (row, special), (row, special), how, (width, width))


Side = tuple[list[int], bool]
"""A text, and whether its special tokens stay."""


def between_texts(
    between: Array, target: Side, source: Side, how: str, shape: tuple[int, int]
) -> Array:
    """From [head, token of the target, unit or special token of the source] to [head, *shape]."""
    (rows, attending), (columns, attended) = (
        (found, [n for n, unit in enumerate(found) if special or text[unit[0]] >= 0])
        for text, special in (target, source)
        for found in [units(text, special=True)]
    )
    assert between.shape[2] == len(columns)
    result = np.zeros((len(between), *shape))
    for head in range(len(between)):
        for place, number in enumerate(attending):
            pieces_of_it = [between[head, piece] for piece in rows[number]]
            result[head, place, : len(attended)] = joined(pieces_of_it, how)[attended]
    return result


def sums_over_keys(score: Array, row: list[int]) -> Array:
    """What each token gives to each unit, special tokens included."""
    everything = units(row, special=True)
    result = np.zeros((*score.shape[:2], len(everything)))
    for head, query, number in np.ndindex(*result.shape):
        result[head, query, number] = math.fsum(score[head, query, everything[number]])
    return result
