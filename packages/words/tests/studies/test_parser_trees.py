"""Trees of highest score, against all trees there are."""

from itertools import combinations, product

import numpy as np
from hypothesis import given, settings, strategies as st

from headlight_words.studies.parser_probes.evaluation import arborescence, spanning_edges


def is_tree(heads: tuple[int, ...]) -> bool:
    """Exactly one word hangs on the root, and every word reaches it."""
    if heads.count(0) != 1:
        return False
    for word in range(1, len(heads) + 1):
        passed = set()
        while word:
            if word in passed:
                return False
            passed.add(word)
            word = heads[word - 1]
    return True


def best_tree(score: np.ndarray) -> tuple[int, ...]:
    words = len(score)
    trees = filter(is_tree, product(range(words + 1), repeat=words))
    return max(trees, key=lambda heads: sum(score[word, head] for word, head in enumerate(heads)))


@settings(deadline=None, max_examples=60)
@given(
    words=st.integers(1, 4), seed=st.integers(0, 2**32 - 1), size=st.sampled_from([1e-6, 1, 1e6])
)
def test_the_best_of_all_trees_with_one_root(words: int, seed: int, size: float) -> None:
    score = np.random.default_rng(seed).normal(size=(words, words + 1)) * size
    assert tuple(arborescence(score)) == best_tree(score)


def test_only_one_word_hangs_on_the_root_though_all_would_like_to() -> None:
    score = np.array([[9.0, 0, 1, 0], [8.0, 2, 0, 0], [9.5, 0, 0, 0]])
    # 3 on the root, 1 on 2 or 2 on 1; the best: 3 <- 1 <- 2, or 1 as the root.
    assert tuple(arborescence(score)) == best_tree(score)
    assert list(arborescence(score)).count(0) == 1


def test_a_cycle_of_two_is_broken_where_it_costs_least() -> None:
    score = np.array([[0.0, -9, 5], [1.0, 4, -9]])
    # 1 on 2 and 2 on the root: 5 + 1; 2 on 1 and 1 on the root: 4 + 0.
    assert arborescence(score).tolist() == [2, 0]


def test_a_word_never_governs_itself_and_ruled_out_candidates_stay_out() -> None:
    score = np.array([[0.0, 99, -1], [-np.inf, 3, 99]])
    assert arborescence(score).tolist() == [0, 1]


def test_no_words_and_one_word() -> None:
    assert arborescence(np.zeros((0, 1))).tolist() == []
    assert arborescence(np.zeros((1, 2))).tolist() == [0]
    assert spanning_edges(np.zeros((0, 0))).shape == (0, 2)
    assert spanning_edges(np.zeros((1, 1))).shape == (0, 2)


def connects(edges: tuple[tuple[int, int], ...], words: int) -> bool:
    group = list(range(words))
    for first, second in edges:
        old, new = group[first], group[second]
        group = [new if each == old else each for each in group]
    return len(set(group)) == 1


@settings(deadline=None, max_examples=40)
@given(words=st.integers(2, 5), seed=st.integers(0, 2**32 - 1))
def test_the_best_of_all_undirected_trees(words: int, seed: int) -> None:
    score = np.random.default_rng(seed).normal(size=(words, words))

    def worth(edge: tuple[int, int]) -> float:
        return max(score[edge], score[edge[::-1]])

    candidates = combinations(combinations(range(words), 2), words - 1)
    best = max(
        (edges for edges in candidates if connects(edges, words)),
        key=lambda edges: sum(map(worth, edges)),
    )
    assert [tuple(edge) for edge in spanning_edges(score)] == sorted(best)


def test_equal_scores_still_give_a_tree() -> None:
    edges = [tuple(edge) for edge in spanning_edges(np.zeros((4, 4)))]
    assert len(edges) == 3
    assert connects(tuple(edges), 4)
