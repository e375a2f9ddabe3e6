"""Links of similar hidden states against the definitions, written as loops for one pair."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings as hypothesis_settings, strategies as st

from headlight.encode.batch import Batch
from headlight_words.word_alignment import EXTRACTIONS, SimilaritySettings
from headlight_words.word_alignment.hidden_state_similarity import (
    SentencePairs,
    Units,
    chances,
    cosines,
    extracted,
    itermax,
    match,
    products,
)
from word_alignment.similarity_naive import (
    Matrix,
    Pairs,
    naive_cosines,
    naive_extracted,
    naive_match,
)

# ---------------------------------------------------------------- batches of them

WIDTH = 5


def units(states: list[Matrix]) -> Units:
    """One word for each unit; what pads the shorter sentences is NaN in the model's output."""
    longest = max(map(len, states))
    made = torch.full((len(states), longest + 2, WIDTH), torch.nan, dtype=torch.float64)
    word = torch.full((len(states), longest + 2), -2)
    for row, own in enumerate(states):
        word[row, 0] = word[row, len(own) + 1] = -1
        word[row, 1 : len(own) + 1] = torch.arange(len(own))
        made[row, 1 : len(own) + 1] = torch.from_numpy(own)
    return Units.from_batch(made, texts(word), "piece")


def texts(word: torch.Tensor) -> Batch:
    there = (word >= -1).long()
    return Batch(there, there, there, there, word, there.sum(-1))


def random_pairs(seed: int, sizes: list[tuple[int, int]]) -> tuple[list[Matrix], list[Matrix]]:
    chosen = np.random.default_rng(seed)
    sides = zip(*sizes, strict=True)
    found = [[chosen.normal(size=(size, WIDTH)) for size in side] for side in sides]
    return found[0], found[1]


def linked(links: torch.Tensor, row: int) -> Pairs:
    """Of one example; in a matrix of words."""
    return {(target, source) for target, source in links[row].nonzero().tolist()}


SIZES = st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6)), min_size=1, max_size=3)


@hypothesis_settings(deadline=None, max_examples=60)
@given(
    st.integers(0, 10**6),
    SIZES,
    st.sampled_from([name for name in EXTRACTIONS if name != "match"]),
    st.builds(
        SimilaritySettings,
        iterations=st.integers(1, 4),
        threshold=st.sampled_from([0.0, 0.001, 0.2]),
        distortion=st.sampled_from([0.0, 0.5]),
    ),
)
def test_links_are_those_of_the_definitions(seed, sizes, extraction, asked):
    target, source = random_pairs(seed, sizes)
    pairs = SentencePairs(units(source), units(target))
    found = pairs.links_of_words(extracted(pairs, extraction, asked)[0])
    for row in range(len(sizes)):
        assert linked(found, row) == naive_extracted(extraction, target[row], source[row], asked)


@hypothesis_settings(deadline=None, max_examples=30)
@given(st.integers(0, 10**6), SIZES)
def test_a_match_has_the_largest_sum_and_each_unit_once(seed, sizes):
    target, source = random_pairs(seed, sizes)
    pairs = SentencePairs(units(source), units(target))
    found = pairs.links_of_words(match(cosines(pairs), pairs.real))
    for row, size in enumerate(sizes):
        links = linked(found, row)
        similarity = naive_cosines(target[row], source[row], 0.0)
        assert len(links) == min(size)
        assert all(len(set(side)) == len(links) for side in zip(*links, strict=True))
        assert sum(similarity[link] for link in links) == pytest.approx(naive_match(similarity))


@hypothesis_settings(deadline=None, max_examples=30)
@given(st.integers(0, 10**6), SIZES)
def test_chances_are_harmonic_means_of_two_probabilities(seed, sizes):
    target, source = random_pairs(seed, sizes)
    pairs = SentencePairs(units(source), units(target))
    found = pairs.largest_of_words(chances(products(pairs), pairs.real))
    for row, (targets, sources) in enumerate(sizes):
        product = target[row] @ source[row].T
        of_row = np.exp(product / math.sqrt(sources))
        of_column = np.exp(product / math.sqrt(targets))
        one, other = of_row / of_row.sum(1, keepdims=True), of_column / of_column.sum(0)
        np.testing.assert_allclose(
            found[row, :targets, :sources], 2 * one * other / (one + other), atol=1e-9
        )
        assert not found[row, targets:].any()
        assert not found[row, :, sources:].any()


# ---------------------------------------------------------------- by hand


def matrix(rows: list[list[float]]) -> torch.Tensor:
    return torch.tensor([rows], dtype=torch.float64)


def everywhere(similarity: torch.Tensor) -> torch.Tensor:
    return torch.ones_like(similarity, dtype=torch.bool)


def test_itermax_by_hand() -> None:
    """First 0-0 and 2-2; then 1, which is free, takes the used 0, and 3 the free 1."""
    similarity = matrix(
        [
            [0.9, 0.1, 0.1],
            [0.8, 0.3, 0.2],
            [0.1, 0.2, 0.9],
            [0.2, 0.6, 0.7],
        ]
    )
    there = everywhere(similarity)
    assert linked(itermax(similarity, there, 1), 0) == {(0, 0), (2, 2)}
    # Row 1: 0.72, 0.3, 0.18; row 3: 0.18, 0.6, 0.63, so that it and column 1 do not agree.
    assert linked(itermax(similarity, there, 2), 0) == {(0, 0), (2, 2), (1, 0), (3, 2)}
    # Then all rows have links, and it ends.
    assert linked(itermax(similarity, there, 9), 0) == {(0, 0), (2, 2), (1, 0), (3, 2)}


def test_itermax_of_two_words_goes_on_with_none() -> None:
    similarity = matrix([[0.9, 0.8, 0.7], [0.8, 0.1, 0.1]])
    assert linked(itermax(similarity, everywhere(similarity), 3), 0) == {(0, 0)}


def test_match_gives_up_the_largest_similarity_for_a_larger_sum() -> None:
    similarity = matrix([[0.9, 0.8], [0.8, 0.1]])
    assert linked(match(similarity, everywhere(similarity)), 0) == {(0, 1), (1, 0)}


def test_of_equal_similarities_the_first_wins() -> None:
    similarity = matrix([[0.5, 0.5], [0.5, 0.5]])
    assert linked(itermax(similarity, everywhere(similarity), 2), 0) == {(0, 0)}


def test_words_are_means_of_their_pieces_or_linked_by_any() -> None:
    """Two pieces of the target's first word are each similar to another source word."""
    word = torch.tensor([[-1, 0, 0, 1, -1]])
    special = [9.0, 9.0]
    target = torch.tensor([[special, [1.0, 0.0], [0.0, 1.0], [-1.0, 0.1], special]])
    source = torch.tensor([[special, [2.0, 0.0], [0.0, 2.0], special]])
    alone = torch.tensor([[-1, 0, 1, -1]])

    def found(unit: str) -> Pairs:
        pairs = SentencePairs(
            Units.from_batch(source, texts(alone), unit),
            Units.from_batch(target, texts(word), unit),
        )
        links, _ = extracted(pairs, "argmax", SimilaritySettings())
        return linked(pairs.links_of_words(links), 0)

    assert found("piece") == {(0, 0), (0, 1)}
    # The mean (0.5, 0.5) is as similar to both; of these the first.
    assert found("word") == {(0, 0)}


def test_a_word_without_pieces_has_no_link() -> None:
    word = torch.tensor([[0, 2]])
    states = torch.eye(2)[None]
    for unit in ("piece", "word"):
        side = Units.from_batch(states, texts(word), unit)
        pairs = SentencePairs(side, side)
        for extraction in EXTRACTIONS:
            links, score = extracted(pairs, extraction, SimilaritySettings(threshold=0.3))
            assert linked(pairs.links_of_words(links), 0) == {(0, 0), (2, 2)}
            assert pairs.largest_of_words(score)[0, 1].tolist() == [0, 0, 0]
