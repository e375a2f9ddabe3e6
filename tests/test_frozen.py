"""Tiny runs of all studies give the numbers that they gave: see `scripts/freeze.py`."""

import pytest

from frozen_files import FROZEN, changes
from frozen_runs import RUNS, Material, numbers_of
from headlight.catalogue import IN_OTHER_DISTRIBUTIONS, studies

pytestmark = pytest.mark.frozen


def test_no_study_and_no_file_is_forgotten() -> None:
    assert {run.study for run in RUNS.values()} == {*studies()} - {*IN_OTHER_DISTRIBUTIONS}
    assert {path.stem for path in FROZEN.iterdir()} == set(RUNS)


@pytest.mark.parametrize("name", RUNS)
def test_the_numbers_are_what_they_were(name: str, material: Material) -> None:
    assert not changes(name, numbers_of(name, material))
