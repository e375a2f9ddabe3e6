"""Paths through maps of time, beside a path found cell by cell."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from headlight_words.word_alignment.output import on_path, row_starts, standardised, word_stretches

sizes = st.tuples(st.integers(1, 3), st.integers(1, 6), st.integers(1, 9), st.integers(0, 2**31))


def starts_naive(map_of_one: np.ndarray) -> list[int]:
    """Dynamic time warping as the published code of Whisper writes it; costs are the negatives."""
    rows, frames = map_of_one.shape
    cost = np.full((rows + 1, frames + 1), np.inf)
    trace = -np.ones((rows + 1, frames + 1))
    cost[0, 0] = 0
    for j in range(1, frames + 1):
        for i in range(1, rows + 1):
            before = cost[i - 1, j - 1], cost[i - 1, j], cost[i, j - 1]
            trace[i, j] = int(np.argmin(before))
            cost[i, j] = -map_of_one[i - 1, j - 1] + min(before)
    trace[0, :], trace[:, 0] = 2, 1
    i, j, path = rows, frames, []
    while i > 0 or j > 0:
        path.append((i - 1, j - 1))
        step = trace[i, j]
        i, j = i - (step != 2), j - (step != 1)
    return [min(frame for row, frame in path if row == wanted) for wanted in range(rows)]


@given(sizes)
@settings(max_examples=60)
def test_rows_begin_where_the_best_path_enters_them(size: tuple[int, int, int, int]) -> None:
    units, rows, frames, seed = size
    maps = np.random.default_rng(seed).normal(size=(units, rows, frames))
    expected = [starts_naive(each) for each in maps]
    assert row_starts(maps).tolist() == expected


def test_a_path_by_hand() -> None:
    """Rows speak for frames 0 and 1, then 2, then 3 and 4."""
    maps = np.array([[[9, 8, 0, 0, 0], [0, 0, 9, 0, 1], [0, 0, 0, 7, 9]]], dtype=np.float64)
    starts = row_starts(maps)
    assert starts.tolist() == [[0, 2, 3]]
    words = np.array([0, 1, 1])
    assert word_stretches(starts, words, 2, 5).tolist() == [[[0, 2], [2, 5]]]
    np.testing.assert_allclose(on_path(maps, starts, 0), [[1, 0.9, 1]])
    np.testing.assert_allclose(on_path(maps, starts, 2), [[1, 1, 1]])


def test_what_follows_the_last_word_ends_it() -> None:
    starts = np.array([[0, 2, 3, 7]])
    found = word_stretches(starts, np.array([0, 0, 1, -1]), 2, 9)
    assert found.tolist() == [[[0, 3], [3, 7]]]


def test_rows_that_give_nothing_have_no_share() -> None:
    shares = on_path(np.zeros((1, 1, 3)), np.zeros((1, 1), dtype=np.int64), 0)
    assert np.isnan(shares).all()


@given(sizes)
@settings(max_examples=30)
def test_frames_are_standardised_over_rows_and_smoothed(size: tuple[int, int, int, int]) -> None:
    units, rows, frames, seed = size
    maps = np.random.default_rng(seed).random((units, rows, frames))
    found = standardised(maps)
    for unit in range(units):
        scaled = np.zeros((rows, frames))
        for frame in range(frames):
            column = maps[unit, :, frame]
            if column.std() > 0:
                scaled[:, frame] = (column - column.mean()) / column.std()
        for row in range(rows):
            period = max(2 * (frames - 1), 1)
            for frame in range(frames):
                around = [abs(at) % period for at in range(frame - 3, frame + 4)]
                around = [min(at, period - at) if frames > 1 else 0 for at in around]
                expected = np.median([scaled[row, at] for at in around])
                assert found[unit, row, frame] == pytest.approx(expected, abs=1e-9)


def test_what_all_rows_give_alike_says_nothing() -> None:
    assert not standardised(np.full((2, 3, 8), 0.3)).any()
