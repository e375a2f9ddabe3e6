"""Tiny runs of the studies of annotated and parallel text give the numbers that they gave."""

import pytest

from frozen_files import changes
from frozen_runs import Material
from frozen_word_runs import FROZEN, RUNS, numbers_of
from headlight.catalogue import DISTRIBUTIONS

pytestmark = pytest.mark.frozen


def test_no_study_and_no_file_is_forgotten() -> None:
    assert {run.study for run in RUNS.values()} == {*DISTRIBUTIONS["words"].studies}
    assert {path.stem for path in FROZEN.iterdir()} == set(RUNS)


@pytest.mark.parametrize("name", RUNS)
def test_the_numbers_are_what_they_were(name: str, material: Material) -> None:
    assert not changes(name, numbers_of(name, material), FROZEN)
