"""Tiny runs of all papers give the numbers that they gave: see `scripts/freeze.py`."""

import pandas as pd
import pytest

from frozen_files import changes
from frozen_paper_runs import FROZEN, PAPER_RUNS, PaperMaterial, numbers_of
from long_cases import mostly_long
from views.test_table_intervals import misplaced

RUNS = mostly_long(PAPER_RUNS, *{*PAPER_RUNS} - {"brunner2020"})
"""Of which one takes the longest."""


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_the_numbers_are_what_they_were(name: str, material: PaperMaterial) -> None:
    assert not changes(name, numbers_of(name, material), FROZEN)


@pytest.mark.slow
@pytest.mark.parametrize("run", RUNS)
def test_numbers_of_exhibits_lie_in_their_intervals(run: str, material: PaperMaterial) -> None:
    for path in material.reproduction(run).glob("*.csv"):
        assert not misplaced(pd.read_csv(path)), path.name
