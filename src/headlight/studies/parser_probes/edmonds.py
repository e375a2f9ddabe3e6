"""The tree of highest total score in a directed graph (Chu and Liu 1965, Edmonds 1967)."""

import numpy as np
from jaxtyping import Float, Int64

Square = Float[np.ndarray, "node head"]


def best_tree(score: Square) -> Int64[np.ndarray, " node"]:
    """The head of every node in the tree of highest total score below node 0.

    Every node takes its best head.  Where that makes a cycle, the cycle becomes one node: what
    leaves it costs as before, and what enters it costs what it loses by replacing the head of the
    node that it enters.  The tree of the smaller graph says where the cycle is broken.

    Args:
        score: of each node (second axis) as the head of each node (first axis); minus infinity
            where one cannot be, and at least one finite head for every node but the first.

    Returns:
        Head of each node; 0 for node 0 itself.
    """
    heads: Int64[np.ndarray, " node"] = score.argmax(axis=1)
    heads[0] = 0
    cycle = _cycle(heads)
    if not len(cycle):
        return heads
    outside = np.setdiff1d(np.arange(len(score)), cycle)
    leaving = score[np.ix_(outside, cycle)]
    entering = score[np.ix_(cycle, outside)] - score[cycle, heads[cycle]][:, None]
    small = np.full((len(outside) + 1, len(outside) + 1), -np.inf)
    small[:-1, :-1] = score[np.ix_(outside, outside)]
    small[:-1, -1] = leaving.max(axis=1)
    small[-1, :-1] = entering.max(axis=0)
    found = best_tree(small)
    below = found[:-1] == len(outside)  # whose head is the cycle
    inner, outer = cycle[leaving.argmax(axis=1)], np.append(outside, 0)[found[:-1]]
    heads[outside] = np.where(below, inner, outer)
    heads[0] = 0
    entry = found[-1]
    heads[cycle[entering[:, entry].argmax()]] = outside[entry]
    return heads


def _cycle(heads: Int64[np.ndarray, " node"]) -> Int64[np.ndarray, " member"]:
    """The nodes of one cycle that does not hold node 0; empty if there is none."""
    seen = np.zeros(len(heads), dtype=np.int64)
    for start in range(1, len(heads)):
        node = start
        while node and not seen[node]:
            seen[node] = start
            node = int(heads[node])
        if node and seen[node] == start:
            members = [node]
            while heads[members[-1]] != node:
                members.append(int(heads[members[-1]]))
            return np.sort(np.array(members, dtype=np.int64))
    return np.zeros(0, dtype=np.int64)
