"""Scores of pairs of words to trees."""

import numpy as np
from jaxtyping import Float, Int64

from headlight.errors import UnknownNameError, UsageError
from headlight.studies.parser_probes.edmonds import best_tree

SYMMETRIES = ("max", "mean")
INSTALL = "spanning trees need one more package: pip install 'headlight[papers]'."


def arborescence(score: Float[np.ndarray, "word candidate"]) -> Int64[np.ndarray, " word"]:
    """The tree of highest total score in which exactly one word hangs on the root.

    Source: Chu and Liu (1965), Edmonds (1967); a single root as every treebank has it.

    Args:
        score: of each candidate as the head of each word; candidate 0 is the root, candidate j
            word j, counted from 1.  Minus infinity where a candidate is ruled out; a word never
            governs itself.

    Returns:
        The head of each word, 0 for the root.
    """
    words = len(score)
    if not words:
        return np.zeros(0, dtype=np.int64)
    square = np.full((words + 1, words + 1), -np.inf)
    square[1:] = np.where(np.isfinite(score), score, -np.inf)
    np.fill_diagonal(square, -np.inf)
    # Each arc from the root now costs more than any choice among the others can bring in.
    finite = square[np.isfinite(square)]
    square[1:, 0] -= (finite.max() - finite.min() + 1) * (words + 1)
    return best_tree(square)[1:]


def spanning_edges(
    score: Float[np.ndarray, "word word"], symmetry: str = "max"
) -> Int64[np.ndarray, "edge 2"]:
    """The undirected tree over all words of highest total score.

    Args:
        score: of each candidate (second axis) as the head of each word; finite.
        symmetry: what stands for a pair: the better of its two directions (``max``) or their mean.

    Returns:
        One edge per row, the earlier word first, in order; words are counted from 0.

    Raises:
        UsageError: scipy is not installed.
        UnknownNameError: there is no such symmetry.
    """
    if symmetry not in SYMMETRIES:
        raise UnknownNameError("way to join two directions", symmetry, SYMMETRIES)
    try:
        from scipy.sparse.csgraph import minimum_spanning_tree
    except ImportError as problem:
        raise UsageError(INSTALL) from problem
    if len(score) < 2:
        return np.zeros((0, 2), dtype=np.int64)
    both = np.maximum(score, score.T) if symmetry == "max" else (score + score.T) / 2
    # A cost of 0 would mean "no edge" to scipy, so the cheapest edge costs 1.
    cost = both.max() - both + 1.0
    found = minimum_spanning_tree(np.triu(cost, k=1)).tocoo()
    edges = np.stack([found.row, found.col], axis=1).astype(np.int64)
    return edges[np.lexsort((edges[:, 1], edges[:, 0]))]
