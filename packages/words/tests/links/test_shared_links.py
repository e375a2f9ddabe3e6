"""The released outputs of two aligners, scored and put together as their authors did."""

import csv
import os
from functools import cache
from pathlib import Path

import pytest

from headlight_words.links import (
    Gold,
    Links,
    Symmetrization,
    check_format,
    open_links,
    score_links,
    swapped,
    symmetrized,
)

pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif("HEADLIGHT_DATA" not in os.environ, reason="HEADLIGHT_DATA is not set"),
]
DATA = Path(os.environ.get("HEADLIGHT_DATA", ""))
OUTPUTS = DATA / "align_system_outputs"
SETS = ("align_de-en_rwth", "align_en-fr_hansards", "align_ro-en_wpt03")
SYSTEMS = [(name, system) for name in SETS for system in ("giza", "fastalign")]
STRICT: dict[str, Symmetrization] = {
    "grow-diagonal": "grow-diag-strict",
    "grow-diagonal-final": "grow-diag-strict-final",
}


def expected(name: str, system: str) -> dict[str, dict[str, str]]:
    with (OUTPUTS / "expected_aer.tsv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    return {row["variant"]: row for row in rows if (row["set"], row["system"]) == (name, system)}


@cache
def gold_of(name: str) -> list[Gold]:
    return list(open_links(DATA / name / "gold.talp"))


@cache
def released(name: str, system: str, variant: str) -> list[Links]:
    path = OUTPUTS / system / f"{name}.{variant}.pharaoh0"
    return [each.possible for each in open_links(path, sentences=len(gold_of(name)))]


@pytest.mark.parametrize("name", SETS)
def test_both_formats_of_the_gold_are_the_same(name: str) -> None:
    other = open_links(DATA / name / "gold.naacl", sentences=len(gold_of(name)))
    for one, two in zip(gold_of(name), other, strict=True):
        assert (one.sure, one.possible) == (two.sure, two.possible)


@pytest.mark.parametrize(("name", "system"), SYSTEMS)
def test_every_released_output_has_its_published_rates(name: str, system: str) -> None:
    rows = expected(name, system)
    assert len(rows) == 6
    for variant, row in rows.items():
        score = score_links(gold_of(name), released(name, system, variant))
        counts = score.counts
        assert [counts.sentences, counts.links, counts.sure, counts.sure_hits,
                counts.possible_hits] == [int(row[column]) for column in (
            "sentences", "links_A", "gold_S", "A_and_S", "A_and_P")]  # fmt: skip
        for rate, column in ((score.precision, "precision"), (score.recall, "recall"),
                             (score.error_rate, "AER")):  # fmt: skip
            assert f"{rate:.4f}" == f"{float(row[column]):.4f}"


@pytest.mark.parametrize(("name", "system"), SYSTEMS)
def test_both_directions_put_together_are_what_was_released(name: str, system: str) -> None:
    pairs = list(
        zip(released(name, system, "forward"), released(name, system, "reverse"), strict=True)
    )
    for method in ("intersection", "union"):
        assert [symmetrized(method, *both) for both in pairs] == released(name, system, method)
    for variant, strict in STRICT.items():  # the order of growing is that of a set in Python
        ours = [symmetrized(strict, *both) for both in pairs]
        score = score_links(gold_of(name), ours)
        published = float(expected(name, system)[variant]["AER"])
        assert score.error_rate == pytest.approx(published, abs=0.002)
        theirs = released(name, system, variant)
        same = sum(one == two for one, two in zip(ours, theirs, strict=True))
        assert same > 0.95 * len(ours)


@pytest.mark.parametrize(
    ("system", "method", "percent"),
    [("giza", "grow-diag", 19.8), ("giza", "grow-diag-final", 20.7),
     ("giza", "grow-diag-final-and", 19.2), ("fastalign", "grow-diag", 28.4),
     ("fastalign", "grow-diag-final", 31.5), ("fastalign", "grow-diag-final-and", 28.8)],
)  # fmt: skip
def test_the_methods_of_moses(system: str, method: Symmetrization, percent: float) -> None:
    forward, reverse = (released(SETS[0], system, each) for each in ("forward", "reverse"))
    found = [symmetrized(method, *both) for both in zip(forward, reverse, strict=True)]
    score = score_links(gold_of(SETS[0]), found)
    assert 100 * score.error_rate == pytest.approx(percent, abs=0.1)
    low, high = score.intervals["error_rate"]
    assert 0.02 < high - low < 0.04


@pytest.mark.parametrize(("name", "system"), SYSTEMS)
def test_only_wrong_readings_are_doubted(name: str, system: str) -> None:
    gold, found = gold_of(name), released(name, system, "forward")
    assert check_format(gold, found) is None
    for swap, step in ((False, 1), (True, 0), (True, 1)):
        moved = (frozenset((i + step, j + step) for i, j in each) for each in found)
        warning = check_format(gold, [swapped(each) if swap else each for each in moved])
        assert warning is not None
        assert (warning.swapped, warning.step) == (swap, step)
