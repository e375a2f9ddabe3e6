"""The ratio of two means, and its standard error."""

import numpy as np
import pytest

from headlight.reduce import Ratio


def test_a_ratio_by_hand():
    ratio = Ratio()
    ratio.update(np.array([1.0, 3.0]), np.array([4.0, 4.0]))
    found = ratio.compute()
    assert found["ratio"] == 0.5
    # Deviations of 1 and 3 from 2, over 2 · 1 pairs, over the mean of the second.
    assert found["error"] == pytest.approx(np.sqrt(2 / 2) / 4)


def test_a_part_that_is_always_the_same_share_has_no_error():
    whole = np.array([1.0, 5.0, 2.5])
    ratio = Ratio()
    ratio.update(whole / 4, whole)
    assert ratio.compute()["ratio"] == 0.25
    assert ratio.compute()["error"] == pytest.approx(0, abs=1e-12)


def test_the_error_is_how_far_ratios_of_other_samples_are():
    generator = np.random.default_rng(0)
    whole = generator.gamma(4, size=(2000, 50))
    part = whole * generator.beta(2, 5, size=whole.shape)
    ratio = Ratio((2000,))
    ratio.update(part.T, whole.T)
    found = ratio.compute()
    assert found["error"].mean() == pytest.approx(found["ratio"].std(), rel=0.05)


def test_what_cannot_be_told_is_missing():
    one, nothing, zero = Ratio(), Ratio(), Ratio()
    one.update(np.array([1.0]), np.array([2.0]))
    zero.update(np.zeros(3), np.zeros(3))
    assert one.compute()["ratio"] == 0.5
    assert np.isnan(one.compute()["error"])
    for seen, count in ((nothing, 0), (zero, 3)):
        found = seen.compute()
        assert found.pop("count") == count
        assert np.isnan([*found.values()]).all()
