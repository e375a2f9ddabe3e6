"""Tiny runs of all papers give the numbers that they gave: see `scripts/freeze.py`."""

import pytest

from frozen_files import changes
from frozen_runs import PAPER_RUNS, Material, numbers_of


@pytest.mark.slow
@pytest.mark.parametrize("name", PAPER_RUNS)
def test_the_numbers_are_what_they_were(name: str, material: Material) -> None:
    assert not changes(name, numbers_of(name, material))
