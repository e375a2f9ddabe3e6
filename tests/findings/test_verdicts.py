"""No sentence of any study compares what intervals do not tell apart.

Results of small runs are given other intervals than their own: so narrow that all is decided, so
wide that nothing is, none at all, and of numbers that are all equal.  A study that is added to the
catalogue is asked the same, and what its sentences call most, best or more has to keep to it.
"""

import re

import numpy as np
import pytest
import xarray as xr

from headlight.catalogue import studies
from headlight.findings.what_was_read import what_was_read
from headlight.result.estimate import MOVED, UNITS, WEIGHTS, slot_coordinates
from headlight.views.result_contents import answers
from study_runs import StudyRuns

COMPARES = re.compile(
    r"\b(most|least|best|worst|highest|lowest|closest|nearest|furthest|strongest|broadest|longest|"
    r"more than|less than|better than|worse than|behind it|hardly|levels off|comes next)\b"
)
HARMLESS = re.compile(
    r"most frequent|at most|at least|the most there can be|most different attention|"
    r"more than half of their|by leave one out|best of [\d,]+ candidates|norm behind it"
)
OPEN = re.compile(r"inconclusive|no interval|No \w+ is certainly|certainly higher")


ENOUGH = {"examples": 1000, "documents": 1000, "sentences": 1000}
"""What a result is said to be of, so that it may have intervals."""


def with_intervals(result: xr.Dataset, half: float, value: float | None = None) -> xr.Dataset:
    """The numbers, made different or all equal, with intervals that go so far to either side."""
    found, random = result.copy(deep=True), np.random.default_rng(0)
    names = set(map(str, result.data_vars))
    for low in sorted(name for name in names if name == "low" or name.endswith("_low")):
        own = low[:-4] or ("accuracy" if "accuracy" in names else "score")
        own = own if own in names else f"{own}_accuracy"  # as of baselines of coreference
        numbers = found[own] * 0 + value if value is not None else (
            found[own] + 0.02 * random.random(found[own].shape)
        )  # fmt: skip
        found[own] = numbers
        ends = numbers.sel(metric="uas", drop=True) if "probe" in found.coords else numbers
        spread = xr.zeros_like(found[low]) + ends
        found[low], found[f"{low[:-3]}high"] = spread - half, spread + half
    for moved in [name for name in slot_coordinates(result) if name.endswith(MOVED)]:
        own = moved.removesuffix(MOVED)
        numbers = found[own] * 0 + value if value is not None else (
            found[own] + 0.02 * random.random(found[own].shape)
        )  # fmt: skip
        found[own] = numbers.assign_attrs(result[own].attrs)
        blocks = found[moved].variable
        signs = blocks.copy(data=random.choice([-1, 1], blocks.shape))
        sizes = abs(found[own].variable).clip(min=1)  # below their rounding nothing moves numbers
        error = (half / 2 / np.sqrt(32) * signs * sizes).transpose(*blocks.dims).values
        found = found.drop_vars([moved, f"{own}{WEIGHTS}"]).assign_coords({
            moved: (found[moved].dims, error),
            f"{own}{WEIGHTS}": ("slot", np.ones(32)),
            UNITS: ("slot", np.full(32, 40)),
        })  # fmt: skip
    found = found.assign(gains(found, half) if "gain" in found else {})
    if "score" in found and "difference" in found:
        ahead = found["score"] - found["score"].rename(map="other")
        ahead = ahead.transpose(*found["difference"].dims)
        for end, sign in (("", 0), ("_low", -1), ("_high", 1)):
            found[f"difference{end}"] = ahead + sign * half
    given = {name: ENOUGH[name] for name in ENOUGH if name in found.attrs}
    if result.attrs["stage"] == "parser_probes":
        given = {"sentences": np.array([1000, 1000])}
    if result.attrs["stage"] == "adversary":
        given["held_out"] = 1000
        found = of_two_seeds(found, half)
    return found.assign_attrs(given)


def gains(result: xr.Dataset, half: float) -> dict[str, xr.DataArray]:
    """What heads find beyond the best offset."""
    gain = result["accuracy"] - result["offset_accuracy"].max("offset")
    return {f"gain{end}": gain + sign * half for end, sign in (("", 0), ("_low", -1), ("_high", 1))}


def of_two_seeds(result: xr.Dataset, half: float) -> xr.Dataset:
    """Each model twice, which is what intervals between trainings need."""
    models = ["accuracy", "agreement", "tvd", "kl", "jsd"]
    first, second = (result.assign({name: result[name] + sign * half for name in models})
                     for sign in (-1, 1))  # fmt: skip
    return xr.concat([first, second], "run", data_vars="minimal", combine_attrs="override")


def comparing(said: list[str]) -> list[str]:
    """Sentences that compare."""
    return [each for each in said if COMPARES.search(HARMLESS.sub("", each))]


@pytest.mark.parametrize("name", studies())
def test_what_intervals_exclude_is_decided(name: str, study_runs: StudyRuns) -> None:
    said = answers(with_intervals(study_runs.result(name), 2e-5))
    assert [each for each in said if "inconclusive" in each] == []


@pytest.mark.parametrize("name", studies())
def test_what_intervals_overlap_about_is_not_decided(name: str, study_runs: StudyRuns) -> None:
    said = comparing(answers(with_intervals(study_runs.result(name), 1e3)))
    assert [each for each in said if not OPEN.search(each)] == []


@pytest.mark.parametrize("name", studies())
def test_of_equal_numbers_none_is_first(name: str, study_runs: StudyRuns) -> None:
    said = comparing(answers(with_intervals(study_runs.result(name), 2e-5, 0.4)))
    said = [each for each in said if not each.startswith("KL hardly moves")]  # it is as at λ = 0
    assert [each for each in said if not OPEN.search(each)] == []


@pytest.mark.parametrize("name", studies())
def test_without_intervals_nothing_is_claimed(name: str, study_runs: StudyRuns) -> None:
    result = with_intervals(study_runs.result(name), np.nan)
    said = [each for each in comparing(answers(result)) if not OPEN.search(each)]
    cautions = " ".join(what_was_read(result).cautions)
    assert said == [] or "inconclusive" in cautions
    if name != "survey":  # which says what was seen, below that caution
        assert said == []
