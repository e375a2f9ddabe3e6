"""Results that are made once, and made again when what they depend on has changed."""

import json
import math

import pytest

from headlight.errors import RunError
from headlight_papers.training.json_cache import JsonCache


def counted():
    calls = []

    def make():
        calls.append(1)
        return {"rate": 0.25, "none": math.nan, "calls": len(calls)}

    return make


def test_a_result_is_made_once_for_each_key_and_comes_back_whole(tmp_path):
    make, memo = counted(), JsonCache(tmp_path / "rates", {"model": "a"})
    first = memo.get_or_compute({"fold": 0, "layers": (1, 2)}, make)
    again = JsonCache(tmp_path / "rates", {"model": "a"}).get_or_compute(
        {"fold": 0, "layers": [1, 2]}, make
    )
    assert (first["calls"], again["calls"], again["rate"]) == (1, 1, 0.25)
    assert math.isnan(again["none"])
    assert memo.get_or_compute({"fold": 1, "layers": (1, 2)}, make)["calls"] == 2


def test_what_all_results_depend_on_tells_them_apart(tmp_path):
    make = counted()
    JsonCache(tmp_path, {"model": "a"}).get_or_compute({"fold": 0}, make)
    assert JsonCache(tmp_path, {"model": "b"}).get_or_compute({"fold": 0}, make)["calls"] == 2


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"result": 1}', b"\xff"])
def test_a_damaged_file_is_made_again(tmp_path, content):
    make, memo = counted(), JsonCache(tmp_path)
    memo.get_or_compute({}, make)
    (path,) = tmp_path.iterdir()
    path.write_bytes(content)
    assert memo.get_or_compute({}, make)["calls"] == 2
    assert json.loads(path.read_bytes())["result"]["calls"] == 2


def test_a_result_that_has_changed_is_made_again(tmp_path):
    make, memo = counted(), JsonCache(tmp_path)
    memo.get_or_compute({}, make)
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes().replace(b'"rate": 0.25', b'"rate": 0.35'))
    assert memo.get_or_compute({}, make)["rate"] == 0.25
    older = json.loads(path.read_bytes())
    del older["digest"]
    path.write_text(json.dumps(older))
    assert memo.get_or_compute({}, make)["calls"] == 2


def test_without_a_folder_nothing_is_remembered():
    make = counted()
    assert [JsonCache().get_or_compute({}, make)["calls"] for _ in range(2)] == [1, 2]


def test_a_folder_that_cannot_be_made_is_one_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="rates cannot be made"):
        JsonCache(tmp_path / "file" / "rates").get_or_compute({}, counted())
