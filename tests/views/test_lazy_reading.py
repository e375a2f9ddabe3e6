"""Readings of which a host gives layers when they are asked for."""

import json

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from headlight.errors import UnknownNameError
from headlight.result.kinds import concat_kinds
from headlight.views.reading.format import header_text
from headlight.views.reading.live_view import LiveView
from headlight.views.reading.page import View, live_page
from headlight.views.reading.unpacking import unpack
from views.sample_results import reading_sample


def opened(view):
    header = json.loads(header_text(View(view.header, {})))
    return unpack(header, view.blob)


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(st.integers(1, 2), st.integers(1, 3), st.integers(2, 60), st.integers(0, 99))
def test_every_measure_comes_back_within_its_bound(layers, heads, length, seed):
    reading = reading_sample(layers, heads, tuple(f"w{at}" for at in range(length)), seed=seed)
    view = LiveView(reading)
    found = opened(view)
    for name, about in view.header["kinds"]["encoder"]["measures"].items():
        far = np.abs(found[name].values - reading[name].transpose(*found[name].dims).values)
        assert far.max() <= about["bound"] * (1 + 1e-5) + 1e-6


def test_pictures_are_those_of_the_measure_itself():
    reading = reading_sample(1, 2)
    reading["norm"][0, 1] *= 0
    view = LiveView(reading)
    assert view.header["live"] is True
    largest = view.header["kinds"]["encoder"]["measures"]["norm"]["largest"]
    assert largest == [[pytest.approx(float(reading["norm"].max()), rel=1e-3), 0]]
    assert "encoder/norm/0/picture" in view.pictures
    assert view.pictures["encoder/norm/0/picture"] != view.pictures["encoder/weight/0/picture"]


def test_a_layer_with_fewer_heads_and_several_kinds():
    reading = reading_sample(2, 3)
    for name in ("weight", "norm", "effective", "vector_norm"):
        reading[name][1, 2] = np.nan
    other = reading_sample(1, 2).isel(query=slice(0, 4)).assign_attrs(kind="cross")
    view = LiveView(concat_kinds({"encoder": reading.assign_attrs(kind="encoder"), "cross": other}))
    assert view.header["kinds"]["encoder"]["heads"] == [3, 2]
    assert set(view.header["kinds"]) == {"encoder", "cross"}
    assert np.isnan(opened(view).sel(kind="encoder")["weight"][1, 2]).all()


@pytest.mark.parametrize(
    "name",
    [
        "",
        "encoder",
        "encoder/weight/9/codes",
        "encoder/weight/-1/codes",
        "encoder/weight/0/../../x",
        "encoder/weight/0/nothing",
        "encoder/norm/0/codes",
        "encoder/entropy/0/codes/x",
        "other/weight/0/codes",
        "encoder/nothing/0/codes",
        "encoder/weight/x/codes",
    ],
)
def test_names_of_no_blob_are_refused(name):
    with pytest.raises(UnknownNameError, match="no blob"):
        LiveView(reading_sample(1, 2)).blob(name)


def test_the_page_holds_pictures_and_no_cells():
    reading = reading_sample(2, 2)
    page = live_page(reading, LiveView(reading))
    assert 'data-blob="encoder/weight/1/picture"' in page
    assert "/codes" not in page.partition("<script>")[0]
    assert 'data-blob="encoder/weight/1/codes"' not in page


def test_what_is_told_may_end_it():
    class EndError(Exception):
        pass

    def on_progress(_):
        raise EndError

    with pytest.raises(EndError):
        LiveView(reading_sample(1, 1), on_progress=on_progress)
