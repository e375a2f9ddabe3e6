"""Estimates over models that differ in their seed."""

import numpy as np
import pytest

from headlight_papers.findings.seeds import over_seeds


def test_models_that_differ_in_their_seed_have_students_interval() -> None:
    found, alone = over_seeds(np.array([1.0, 2.0, 3.0])), over_seeds(np.array([1.0]))
    half = 4.302652729911275 / 3**0.5  # of two degrees of freedom
    assert [float(found.value), float(found.low)] == pytest.approx([2, 2 - half])
    assert float(found.high) == pytest.approx(2 + half)
    assert np.isnan(alone.low)
