"""What is kept is what sorting everything at once would keep."""

import numpy as np
import pytest
from hypothesis import given, strategies as some

from headlight.reduce import Strongest

SCORES = some.lists(
    some.one_of(some.just(float("nan")), some.integers(0, 3).map(float)), max_size=9
)


@pytest.mark.slow
@given(SCORES, some.integers(1, 4), some.randoms())
def test_the_highest_scores_are_kept_and_ties_go_to_the_lower_rank(scores, size, random):
    rank = list(range(len(scores)))
    random.shuffle(rank)
    found = Strongest((), size, 2)
    for score, place in zip(scores, rank, strict=True):
        found.update(np.array([score]), np.array([place]), np.array([[place, score]]))
    seen = [(-s, r) for s, r in zip(scores, rank, strict=True) if not np.isnan(s)]
    best = sorted(seen)[:size]
    computed = found.compute()
    kept = computed["rows"][~np.isnan(computed["score"])]
    assert [tuple(row) for row in kept.tolist()] == [(r, -s) for s, r in best]
    assert np.isnan(computed["rows"][len(best) :]).all()
