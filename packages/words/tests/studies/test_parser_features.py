"""Maps on disk: what goes in comes out, and nothing half-written is ever used."""

import numpy as np
import pytest
import torch

from headlight.engine.disk_space import require_disk_space
from headlight.errors import CaptureError, RunError
from headlight_words.studies.parser_probes.word_map_store import (
    MapsWriter,
    header_path,
    maps_path,
    open_word_maps,
)
from studies.parser_corpora import SIGNATURE, index_of_trees, stored


@pytest.fixture
def index():
    return index_of_trees([[0], [2, 0, 2], [2, 0]])


@pytest.fixture
def maps(index):
    generator = np.random.default_rng(0)
    return [generator.random((n + 2, n + 2, 5)) for n in index.lengths]


def test_maps_come_back_padded_and_rounded_to_float16(tmp_path, index, maps):
    word_maps = stored(tmp_path, index, maps)
    batch = word_maps.maps([2, 1])
    assert batch.shape == (2, 5, 5, 5)
    assert batch.dtype == torch.float16
    np.testing.assert_array_equal(batch[0, :4, :4], maps[2].astype(np.float16))
    np.testing.assert_array_equal(batch[1], maps[1].astype(np.float16))
    assert not batch[0, 4:].any()
    assert not batch[0, :, 4:].any()
    assert np.abs(batch[1].numpy() / maps[1] - 1).max() <= 2**-11


def test_the_size_on_disk_is_told_before(tmp_path, index, maps):
    stored(tmp_path, index, maps)
    told = index.bytes(heads=5)
    assert told == (3**2 + 5**2 + 4**2) * 5 * 2
    assert maps_path(tmp_path, "weight").stat().st_size == told


def test_the_index_comes_back(tmp_path, index, maps):
    word_maps = stored(tmp_path, index, maps)
    assert word_maps.signature == SIGNATURE
    assert word_maps.index.vocabulary == index.vocabulary
    for name, array in index.arrays().items():
        np.testing.assert_array_equal(word_maps.index.arrays()[name], array)
    assert word_maps.index.digest == index.digest


def test_another_head_is_another_digest(index):
    assert index_of_trees([[0], [2, 0, 1], [2, 0]]).digest != index.digest


def test_norms_of_any_size_fit_float16_by_their_scale(tmp_path, index, maps):
    factors = np.array([1e-9, 1e-3, 1.0, 1e3, 1e9])
    scale = factors.astype(np.float32)
    word_maps = stored(tmp_path, index, [each * factors for each in maps], scale)
    np.testing.assert_array_equal(word_maps.scale, scale)
    back = word_maps.maps([1])[0].numpy() * scale.astype(float)
    np.testing.assert_allclose(back, maps[1] * factors, rtol=2**-10)


def test_what_float16_cannot_hold_is_refused(tmp_path, index, maps):
    with pytest.raises(CaptureError, match="float16"):
        stored(tmp_path, index, [each * 1e9 for each in maps])
    assert list(tmp_path.iterdir()) == []


def test_what_was_not_finished_is_not_there(tmp_path, index, maps):
    scale = np.ones(5, dtype=np.float32)
    writer = MapsWriter(tmp_path, index, SIGNATURE, scale)
    with writer:
        writer.put(0, maps[0])
    assert open_word_maps(tmp_path, "weight") is None
    assert list(tmp_path.iterdir()) == []


def test_old_maps_stay_until_new_ones_are_complete(tmp_path, index, maps):
    stored(tmp_path, index, maps)
    with MapsWriter(tmp_path, index, SIGNATURE, np.ones(5, dtype=np.float32)) as writer:
        writer.put(0, maps[0] * 2)
    word_maps = open_word_maps(tmp_path, "weight")
    np.testing.assert_array_equal(word_maps.maps([0])[0], maps[0].astype(np.float16))


def test_a_store_cut_short_is_refused(tmp_path, index, maps):
    stored(tmp_path, index, maps)
    with maps_path(tmp_path, "weight").open("r+b") as file:
        file.truncate(100)
    with pytest.raises(RunError, match="not as long"):
        open_word_maps(tmp_path, "weight")


@pytest.mark.parametrize("content", [b"", b"nothing like it", b"\x08" + bytes(40)])
def test_a_damaged_header_is_refused(tmp_path, index, maps, content):
    stored(tmp_path, index, maps)
    header_path(tmp_path, "weight").write_bytes(content)
    with pytest.raises(RunError, match="cannot be used"):
        open_word_maps(tmp_path, "weight")


def test_a_disk_too_small_is_refused_before_anything_runs(tmp_path):
    require_disk_space(tmp_path / "not" / "yet", 1, "maps")
    with pytest.raises(RunError, match=r"maps take 1000000000.00 GB in .* are free; choose"):
        require_disk_space(tmp_path / "not" / "yet", 10**18, "maps")
