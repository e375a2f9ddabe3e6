"""Tiny runs of the studies of papers give the numbers that they gave: see `scripts/freeze.py`."""

import pytest

from frozen_files import changes
from frozen_paper_runs import FROZEN, RUNS, STUDY_RUNS, PaperMaterial, numbers_of
from headlight.catalogue import DISTRIBUTIONS

pytestmark = pytest.mark.frozen


def test_no_study_and_no_file_is_forgotten() -> None:
    assert {run.study for run in STUDY_RUNS.values()} == {*DISTRIBUTIONS["papers"].studies}
    assert {path.stem for path in FROZEN.iterdir()} == set(RUNS)


@pytest.mark.parametrize("name", STUDY_RUNS)
def test_the_numbers_are_what_they_were(name: str, material: PaperMaterial) -> None:
    assert not changes(name, numbers_of(name, material), FROZEN)
