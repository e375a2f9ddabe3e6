"""Sequences for training, validation and test, and the pairs of tokens in them."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int64

from headlight.errors import UsageError
from headlight.studies.token_identity.vectors import TokenVectors

HELD_OUT = 0.15
"""Share of the sequences in each of validation and test."""

Numbers = Int64[np.ndarray, " _"]


@dataclass(frozen=True, eq=False)
class Split:
    """Numbers of sequences; none is in two parts."""

    train: Numbers
    validation: Numbers
    test: Numbers


@dataclass(frozen=True, eq=False)
class Pairs:
    """Which hidden token should give back which input token, by their rows.

    Attributes:
        source: rows of hidden tokens, those of a sequence together.
        goal: rows of the tokens that they should give back, in the same sequences.
    """

    source: Int64[np.ndarray, " pair"]
    goal: Int64[np.ndarray, " pair"]

    def __len__(self) -> int:
        return len(self.source)


def split(sequences: int, fold: int, seed: int, fraction: float = 1.0) -> Split:
    """A random split, 70 % for training and 15 % each for validation and test.

    Splits of different folds are drawn independently, so that their test sets overlap: the paper
    says "10-fold cross validation with 70/15/15 train/validation/test splits per fold".

    Args:
        sequences: how many there are.
        fold: number of the split.
        seed: of all of them.
        fraction: share of the training sequences that is kept; a smaller share is part of a
            larger one.

    Raises:
        UsageError: there are too few sequences.
    """
    held = max(1, round(HELD_OUT * sequences))
    if sequences - 2 * held < 1:
        raise UsageError(
            f"{sequences} sequences cannot be split into training, validation and test; give at "
            "least 3."
        )
    order = np.random.default_rng([seed, fold]).permutation(sequences)
    validation, test, train = np.split(order, [held, 2 * held])
    kept = train[: max(1, round(fraction * len(train)))]
    return Split(np.sort(kept), np.sort(validation), np.sort(test))


def pairs(vectors: TokenVectors, sequences: Numbers, offset: int = 0) -> Pairs:
    """The tokens of these sequences with those at `offset` positions to the right, if any."""
    first, lengths = vectors.first, vectors.lengths
    source = [np.empty(0, dtype=np.int64)]
    for number in sequences:
        begin = first[number] + max(0, -offset)
        end = first[number] + lengths[number] - max(0, offset)
        source.append(np.arange(begin, end))
    rows = np.concatenate(source)
    return Pairs(rows, rows + offset)


def order(pairs: int, fold: int, seed: int, epoch: int) -> Int64[np.ndarray, " pair"]:
    """In which order the training pairs come in an epoch; the same for all layers and rates."""
    return np.random.default_rng([seed, fold, epoch, 1]).permutation(pairs)
