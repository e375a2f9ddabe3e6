"""Every number in the CSV files of every exhibit is that of the result that it is made from."""

from pathlib import Path

import pandas
import pytest

from frozen_numbers import Comparisons
from frozen_paper_runs import PAPER_RUNS, PaperMaterial
from long_cases import mostly_long
from papers.exhibit_cells import NUMBER, Results
from papers.exhibit_tables import TABLES

DRAWINGS = {("clark2019", "figure-5"), ("jain2019", "figure-2")}
"""Exhibits without a table."""
SENTENCES = ("findings", "findings-5")
"""Exhibits of claims, whose verdicts are tested beside what they are made from."""
RARE = ("brunner2020",)
"""Papers whose reproduction takes the longest."""
EXHIBITS = [
    pytest.param(run, name, id=f"{run}-{name}", marks=pytest.mark.long if run in RARE else ())
    for run, paper in PAPER_RUNS.items()
    for name in paper.exhibits
    if (run, name) not in DRAWINGS
]

pytestmark = pytest.mark.slow


KNOWN: dict[Path, Results] = {}
"""Those that were read already."""


@pytest.fixture
def results(run: str, material: PaperMaterial) -> Results:
    folder = material.reproduction(run)
    return KNOWN.setdefault(folder, Results(folder))


def files_of(folder: Path, run: str, exhibit: str) -> list[Path]:
    """Its CSV files; `figure-1` has `figure-1-points.csv`, and not what is of `findings-5`."""
    others = [name for name in PAPER_RUNS[run].exhibits if name.startswith(f"{exhibit}-")]
    return [
        path
        for path in sorted(folder.glob("*.csv"))
        if path.stem == exhibit or path.stem.startswith(f"{exhibit}-")
        if not any(path.stem.startswith(name) for name in others)
    ]


@pytest.mark.parametrize(("run", "exhibit"), EXHIBITS)
def test_the_tables_of_an_exhibit_hold_what_its_results_do(
    run: str, exhibit: str, results: Results
) -> None:
    files = files_of(results.folder, run, exhibit)
    assert files
    for path in files:
        if exhibit in SENTENCES:
            assert set(pandas.read_csv(path)["here"]) <= {"holds", "does not hold", "inconclusive"}
        else:
            assert not list(TABLES[run][path.stem].problems(path, results)), path.name


@pytest.mark.parametrize("run", mostly_long(PAPER_RUNS, *{*PAPER_RUNS} - {*RARE}))
def test_whatever_is_said_in_words_stands_beside_the_numbers_that_it_rests_on(
    run: str, results: Results
) -> None:
    page = Comparisons((results.folder / "index.html").read_text(encoding="utf-8"))
    rows = [row for rows in page.found.values() for row in rows if not NUMBER.search(row[2])]
    in_words = [row for row in rows if row[2] != "–"]
    assert [row for row in in_words if not NUMBER.search(row[4])] == []
    assert [row for row in rows if row[2] == "–" and "here" not in row[4]] == [], "no reason why"
    for path in results.folder.glob("findings*.csv"):
        said = pandas.read_csv(path)["ours"].astype(str)
        assert [one for one in said if not NUMBER.search(one) or "not measured" in one] == []


@pytest.mark.parametrize(("run", "exhibit"), [("clark2019", "figure-2")])
def test_two_series_that_change_places_are_found_out(
    run: str, exhibit: str, results: Results, tmp_path: Path
) -> None:
    frame = pandas.read_csv(results.folder / f"{exhibit}.csv")
    first, second = frame.columns[2:4]
    swapped = frame.assign(**{first: frame[second], second: frame[first]})
    swapped.to_csv(tmp_path / "swapped.csv", index=False)
    found = list(TABLES[run][exhibit].problems(tmp_path / "swapped.csv", results))
    assert len(found) == 2 * len(frame)
