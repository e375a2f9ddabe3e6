"""Tiny runs of all papers give the numbers that they gave: see `scripts/freeze.py`."""

import pytest

from frozen_files import changes
from frozen_paper_runs import FROZEN, PAPER_RUNS, PaperMaterial, numbers_of


@pytest.mark.slow
@pytest.mark.parametrize("name", PAPER_RUNS)
def test_the_numbers_are_what_they_were(name: str, material: PaperMaterial) -> None:
    assert not changes(name, numbers_of(name, material), FROZEN)
