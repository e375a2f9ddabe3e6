"""Readings as header and blobs: what was packed comes back within the bound that is stated."""

import gzip
import json

import numpy as np
import pytest
import xarray
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

from headlight.errors import ResultError, UsageError
from headlight.result.kinds import concat_kinds, split_kinds
from headlight.views.reading.codes import ABSENT, decode, encode, pictures, strongest
from headlight.views.reading.format import FORMAT, View, header_text
from headlight.views.reading.packing import pack
from headlight.views.reading.unpacking import unpack
from views.sample_results import reading_sample

SIZES = st.tuples(st.integers(1, 3), st.integers(1, 9), st.integers(1, 9))
NUMBERS = st.one_of(st.floats(-4, 4, width=32), st.just(float("nan")))


def opened(view: View) -> xarray.Dataset:
    return unpack(json.loads(header_text(view)), view.blobs.__getitem__)


def tokens(number: int) -> tuple[str, ...]:
    return ("[CLS]", *(f"w{at}" for at in range(number - 2)), "[SEP]")


@given(arrays(np.float32, SIZES, elements=NUMBERS))
def test_signed_numbers_are_kept_to_a_step_of_their_roots(maps):
    scale, codes = encode(maps, "signed")
    found = decode(codes, scale, "signed")
    assert np.array_equal(np.isnan(found), np.isnan(maps))
    # Half a step of a root: |√a − √b| ≤ s/126, so that |a − b| ≤ 2√top·(s/126)·√top, and a little.
    bound = scale[..., None] * (1 / 63 + 1 / 126**2) + 1e-6
    assert np.all((np.abs(found - maps) <= bound) | np.isnan(maps))
    assert np.all((np.sign(found) == np.sign(maps)) | (found == 0) | np.isnan(maps))


@given(arrays(np.float32, SIZES, elements=st.floats(0, 7, width=32, allow_subnormal=False)))
def test_sizes_are_kept_to_a_step_of_their_roots_by_row(maps):
    scale, codes = encode(maps, "sqrt")
    assert np.all((maps.max(-1) <= scale) & (scale <= maps.max(-1) * (1 + 2**-11)))
    found = decode(codes, scale, "sqrt")
    bound = scale[..., None] * (1 / 160 + 1 / 320**2) + 1e-6
    assert np.all(np.abs(found - maps) <= bound)
    rows = np.take_along_axis(found, maps.argmax(-1)[..., None], -1)[..., 0]
    np.testing.assert_allclose(rows, scale, rtol=1e-6)


def test_codes_by_hand():
    maps = np.array([[[4.0, 1.0, 0.0, np.nan]]], dtype=np.float32)
    scale, codes = encode(maps, "sqrt")
    assert scale.tolist() == [[4.0]]
    assert codes.tolist() == [[[160, 80, 0, ABSENT]]]
    scale, codes = encode(-maps, "signed")
    assert codes.tolist() == [[[128 - 63, 128 - 32, 128, ABSENT]]]


@pytest.mark.parametrize("length", [6, 70])
def test_every_measure_comes_back_within_its_bound(length):
    reading = reading_sample(2, 3, tokens(length))
    view = pack(reading)
    found = opened(view)
    about = view.header["kinds"]["encoder"]["measures"]
    assert view.header["format"] == FORMAT
    for name, row in about.items():
        far = np.abs(found[name].values - reading[name].transpose(*found[name].dims).values)
        assert far.max() <= row["bound"] * (1 + 1e-5)
        assert row["bound"] < 0.02 * float(np.abs(reading[name]).max())
    assert about["norm"]["from"] == ["weight", "vector_norm"]
    assert not [name for name in view.blobs if "/norm/" in name]
    assert found["key_token"].values.tolist() == list(tokens(length))


def test_effective_attention_that_is_the_weight_needs_no_room():
    reading = reading_sample(1, 2)
    reading["effective"] = reading["weight"].copy()
    reading.attrs["head_dim"] = 32
    view = pack(reading)
    assert view.header["kinds"]["encoder"]["measures"]["effective"]["from"] == ["weight"]
    assert view.header["kinds"]["encoder"]["equal"] == {
        "layers": [True],
        "said": "equal to the weight here: 6 tokens are fewer than the head's 32 dimensions",
    }
    np.testing.assert_array_equal(opened(view)["effective"], opened(view)["weight"])


def test_layers_in_which_effective_attention_is_the_weight_are_told_apart():
    reading = reading_sample(3, 2)
    reading["effective"][1:] = reading["weight"][1:]
    reading.attrs["head_dim"] = 6
    kind = pack(reading).header["kinds"]["encoder"]
    assert kind["equal"] == {
        "layers": [False, True, True],
        "said": "equal to the weight here, but in layer 0: "
        "6 tokens are as many as the head's 6 dimensions",
    }
    assert "code" in kind["measures"]["effective"]
    assert "equal" not in pack(reading_sample(3, 2)).header["kinds"]["encoder"]


def test_norms_that_are_no_product_are_kept_themselves():
    reading = reading_sample(1, 2)
    reading["norm"] = reading["norm"] + 0.5
    found = pack(reading).header["kinds"]["encoder"]["measures"]["norm"]
    assert found["code"] == "sqrt"


def test_a_layer_with_fewer_heads():
    reading = reading_sample(2, 3)
    for name in ("weight", "norm", "effective", "vector_norm", "entropy", "rank"):
        reading[name][1, 2] = np.nan
    view = pack(reading)
    assert view.header["kinds"]["encoder"]["heads"] == [3, 2]
    found = opened(view)["weight"]
    assert np.isnan(found[1, 2]).all()
    assert np.isfinite(found[1, :2]).all()


def test_kinds_are_kept_apart():
    one = reading_sample(2, 3).assign_attrs(kind="encoder")
    other = reading_sample(1, 2).isel(query=slice(0, 4)).assign_attrs(kind="cross")
    joined = concat_kinds({"encoder": one, "cross": other})
    parts = split_kinds(opened(pack(joined)))
    assert list(parts) == ["encoder", "cross"]
    np.testing.assert_allclose(parts["cross"]["weight"], other["weight"], atol=0.004)


def test_a_page_too_large_keeps_the_strongest_cells_and_says_so():
    reading = reading_sample(2, 2, tokens(90))
    whole = pack(reading).size / 1e6
    view = pack(reading, megabytes=whole * 0.8, whole_heads=[(1, 0)])
    about = view.header["kinds"]["encoder"]["measures"]["weight"]
    assert view.size <= whole * 0.8e6
    cells = about["cells"]
    assert cells in (32, 16, 8, 4)
    found = opened(view)["weight"].values
    assert np.isfinite(found[1, 0]).all(), "this head keeps all"
    kept = np.isfinite(found[0, 1])
    assert (kept.sum(-1) == cells).all()
    weight = reading["weight"].values[0, 1]
    assert np.all(np.where(kept, weight, np.inf).min(-1) >= np.where(kept, 0, weight).max(-1))
    assert "/weight/0/picture" in "".join(view.blobs)


def test_pictures_show_the_largest_of_each_block():
    maps = np.zeros((1, 96, 96), dtype=np.float32)
    maps[0, 41, 87] = 2.0
    maps[0, 3, 3] = 0.5
    picture = pictures(maps)
    assert picture.shape == (1, 48, 48)
    assert picture[0, 20, 43] == 160
    assert picture[0, 1, 1] == 80
    assert (picture > 0).sum() == 2


def test_strongest_cells_by_hand():
    maps = np.array([[[0.1, 0.5, 0.4, np.nan]]], dtype=np.float32)
    assert strongest(maps, 2).tolist() == [[[1, 2]]]
    assert strongest(maps, 9).tolist() == [[[1, 2, 0, 3]]]


def test_heads_that_are_not_there_are_refused():
    with pytest.raises(UsageError, match="there is no head L7H0 in this reading; choose others"):
        pack(reading_sample(1, 1), whole_heads=[(7, 0)])


@pytest.mark.parametrize("name", ["headlight-view/3", "other/1", "", "headlight-view/x"])
def test_other_formats_are_refused(name):
    view = pack(reading_sample(1, 1))
    with pytest.raises(ResultError, match="this view is of the format"):
        unpack({**view.header, "format": name}, view.blobs.__getitem__)


def test_the_same_reading_gives_the_same_bytes():
    one, other = pack(reading_sample()), pack(reading_sample())
    assert one == other
    assert gzip.decompress(one.blobs["encoder/weight/0/codes"])


def test_statistics_are_those_of_the_reading_with_the_rows_that_they_rest_on():
    reading = reading_sample(2, 3)
    reading["head_rows"][reading["statistic"].values == "previous"] = 1
    found = {row["name"]: row for row in pack(reading).header["kinds"]["encoder"]["statistics"]}
    sep = reading["head_number"].sel(statistic="sep", measure="weight")
    np.testing.assert_allclose(found["sep"]["by"]["weight"][0], sep.values.ravel(), rtol=1e-3)
    assert (found["sep"]["label"], found["entropy"]["unit"]) == ("to [SEP]", "nats")
    assert (found["previous"]["rows"], found["previous"]["few"]) == ("1 of 6 rows", True)
    assert "few" not in found["sep"]


def test_the_first_head_is_the_one_whose_norms_differ_most():
    reading = reading_sample(2, 3)
    reading["norm"] = reading["weight"].copy()
    reading["norm"][1, 2, :, 0] = 9
    assert pack(reading).header["kinds"]["encoder"]["first"] == [1, 2]
