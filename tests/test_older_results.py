"""Results that were written in format 1 open under the names of today, with the same numbers."""

import json
import shutil
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import xarray

from headlight.capture import CapturedModel, load_model
from headlight.older_results import VARIABLES, upgraded
from headlight.result import load, save
from headlight.studies.catalogue import STUDIES

HELD = Path(__file__).parent / "results"
"""Of the first layer of the embedded model, on two examples of the sample corpus."""
NAMES = ("survey", "norms", "identifiability", "contributions", "importance")
SETTINGS = {
    "survey": {"passages": False},
    "norms": {"sample": 5},
    "identifiability": {"sample": 5},
    "contributions": {"reach": 4, "exact": 0},
}


def held(name: str) -> Path:
    return HELD / f"format-1-{name}.nc"


@pytest.mark.parametrize("name", NAMES)
def test_names_are_those_of_today(name: str) -> None:
    as_written = xarray.load_dataset(held(name), engine="h5netcdf")
    assert as_written.attrs["format"] == "1"
    result = load(held(name), stage=name)
    assert (result.attrs["format"], result.attrs["stage"]) == ("2", name)
    assert result.attrs["examples"] == as_written.attrs["documents"] == 2
    assert "documents" not in result.attrs
    renamed = {new: old for old, new in VARIABLES[name].items() if old in as_written}
    assert renamed
    for variable in result.data_vars:
        old = as_written[renamed.get(str(variable), str(variable))]
        assert result[variable].dims == old.dims
        np.testing.assert_array_equal(result[variable], old)
    assert len(result.data_vars) == len(as_written.data_vars)
    assert not set(renamed.values()) & {str(each) for each in result.data_vars}


def test_some_numbers() -> None:
    survey = load(held("survey"))
    assert survey["effective_correlation"].values == pytest.approx([0.8205565145])
    norms = load(held("norms"))
    assert float(norms["weight_norm_spearman"].sel(key_category="sep")) == pytest.approx(-0.473488)
    assert norms["frequency_spearman"].values == pytest.approx([0.4723357, 0.5669246])
    assert norms["examples_by_category"].values.tolist() == [2, 2, 2, 2]
    contributions = load(held("contributions"))
    assert contributions["own_estimate_error"].values == pytest.approx([0.0052910162])
    assert load(held("importance"))["examples"].values.tolist() == [2] * 6


@pytest.fixture(scope="module")
def models() -> dict[str, CapturedModel]:
    loaded = load_model(device="cpu")
    with_head = load_model(device="cpu", head="language_model")
    return {name: with_head if name == "importance" else loaded for name in NAMES}


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_same_study_finds_the_same_today(name: str, models: dict[str, CapturedModel]) -> None:
    study = STUDIES[name]
    settings = study.settings.from_mapping(
        {"layers": [0], "max_examples": 2, "max_length": 48, **SETTINGS.get(name, {})}
    )
    found = study.run(None, models[name], settings, progress=False)
    before = load(held(name))
    added = {each for each in found.data_vars if str(each).endswith("_error")} - set(before)
    found = found.drop_vars(added)
    assert set(found.data_vars) == set(before.data_vars)
    assert found.attrs["examples"] == before.attrs["examples"]
    drawn = {"pairs_sample", "frequency_sample", "points"}  # by the names of texts, formerly paths
    for variable in set(found.data_vars) - drawn:
        spearman = "spearman" in str(variable)  # rounding may change which of two is larger
        np.testing.assert_allclose(
            found[variable], before[variable], rtol=1e-4, atol=2e-3 if spearman else 1e-6,
            err_msg=str(variable),
        )  # fmt: skip


def test_what_is_saved_again_is_of_today(tmp_path: Path) -> None:
    save(load(held("norms")), tmp_path / "again.nc")
    again = xarray.load_dataset(tmp_path / "again.nc", engine="h5netcdf")
    assert again.attrs["format"] == "2"
    xarray.testing.assert_identical(load(tmp_path / "again.nc"), load(held("norms")))


def test_reading_leaves_the_file_as_it_is(tmp_path: Path) -> None:
    copy = Path(shutil.copy(held("survey"), tmp_path / "copy.nc"))
    load(copy)
    assert copy.read_bytes() == held("survey").read_bytes()


def test_stages_have_the_names_of_studies() -> None:
    for old, new in (("gradient", "importance"), ("probes", "parser_probes"), ("norms", "norms")):
        attributes = {"format": "1", "stage": old, "documents": 3}
        found = upgraded(xarray.Dataset({"loss": 1.0}, attrs=attributes))
        assert found.attrs == {"format": "2", "stage": new, "examples": 3}
        assert new in STUDIES


def test_a_result_of_today_is_left_alone() -> None:
    today = xarray.Dataset({"correlation": 1.0}, attrs={"format": "2", "stage": "survey"})
    assert upgraded(today) is today


def test_every_new_name_is_described_by_its_study() -> None:
    for name in NAMES:
        package = STUDIES[name].package
        place = "study" if name in ("importance", "identifiability") else "result"
        described = import_module(f"{package}.{place}").VARIABLES
        stored = set(xarray.load_dataset(held(name), engine="h5netcdf").data_vars)
        assert {VARIABLES[name][old] for old in stored & set(VARIABLES[name])} <= set(described)


def test_settings_that_were_kept_can_be_read() -> None:
    kept = json.loads(load(held("norms")).attrs["settings"])
    assert kept["max_length"] == 48
