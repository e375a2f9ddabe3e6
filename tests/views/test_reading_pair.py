"""Two readings as one view: how tokens are matched, and that the numbers of both come back."""

import json

import numpy as np
import pytest

from headlight.errors import ResultError, UnknownNameError, UsageError
from headlight.reading import Reading
from headlight.result.kinds import concat_kinds
from headlight.views import parse_page, reading_page
from headlight.views.reading.format import header_text, pack, unpack
from headlight.views.reading.lazy import LiveView
from headlight.views.reading.pair import matched
from views.sample_results import reading_sample

FIRST = ("[CLS]", "the", "cat", "##s", "sat", ".", "[SEP]")
SECOND = ("[CLS]", "the", "cat", "##ty", "sat", "down", ".", "[SEP]")


def sample(tokens, words, *, layers=2, heads=3, seed=0):
    return reading_sample(layers, heads, tokens, seed).assign_coords(
        query_word=("query", words), key_word=("key", words)
    )


@pytest.fixture
def first():
    return sample(FIRST, [-1, 0, 1, 1, 2, 3, -1])


@pytest.fixture
def second():
    return sample(SECOND, [-1, 0, 1, 1, 2, 3, 4, -1], seed=1)


def test_words_that_both_have_stand_once_and_are_whole(first, second):
    pair = matched(first, second)["encoder"]
    assert pair.first["query_token"].values.tolist() == [
        *("[CLS]", "the", "cat", "##s", "cat", "##ty", "sat", "down", ".", "[SEP]")
    ]
    one, other = ["first", "first"], ["second", "second"]
    assert pair.sides["key"] == ["both", "both", *one, *other, "both", "second", "both", "both"]
    assert pair.first["query_word"].values.tolist() == [-1, 0, 1, 1, 2, 2, 3, 4, 5, -1]
    assert np.isnan(pair.first["weight"].values[0, 0, 4]).all()
    assert pair.second["weight"].values[1, 2, 7, 9] == second["weight"].values[1, 2, 5, 7]


@pytest.mark.parametrize("end", ["", "second"])
def test_both_readings_come_back_within_their_bounds(first, second, end):
    reading = second if end else first
    view = pack(first, second=second)
    header = json.loads(header_text(view))
    found = unpack(header, view.blobs.__getitem__, second=bool(end))
    assert found["query_token"].values.tolist() == reading["query_token"].values.tolist()
    assert found.attrs["text"] == reading.attrs["text"]
    about = header["kinds"]["encoder"]["measures"]
    assert about["norm-second"]["from"] == ["weight-second", "vector_norm-second"]
    for name in ("weight", "norm", "effective", "merged_norm"):
        bound = about[f"{name}-second" if end else name]["bound"]
        far = np.abs(found[name].values - reading[name].transpose(*found[name].dims).values)
        assert far.max() <= bound * (1 + 1e-5)


def test_how_far_two_heads_are_apart_is_the_total_variation_of_their_rows(first):
    other = sample(FIRST, [-1, 0, 1, 1, 2, 3, -1], seed=5)
    part = pack(first, second=other).header["kinds"]["encoder"]
    (apart,) = (row for row in part["statistics"] if row["name"] == "apart")
    expected = np.abs(other["weight"] - first["weight"]).sum("key").mean("query").values / 2
    np.testing.assert_allclose(apart["by"]["weight"][0], expected.ravel(), rtol=1e-3)
    assert part["first"] == list(np.unravel_index(expected.argmax(), expected.shape))


def test_models_of_two_shapes_stand_side_by_side_without_differences(first):
    other = sample(SECOND, [-1, 0, 1, 1, 2, 3, 4, -1], layers=1, heads=4)
    view = pack(first, second=other)
    part = view.header["kinds"]["encoder"]
    assert part["heads"] == [4, 3]
    assert not [name for name in part["measures"] if name.endswith("-difference")]
    found = unpack(view.header, view.blobs.__getitem__, second=True)
    assert dict(found["weight"].sizes) == {"layer": 1, "head": 4, "query": 8, "key": 8}
    assert unpack(view.header, view.blobs.__getitem__)["weight"].shape == (2, 3, 7, 7)


def test_two_share_the_size_of_a_page():
    tokens = ("[CLS]", *(f"w{at}" for at in range(88)), "[SEP]")
    one, other = (reading_sample(2, 2, tokens, seed) for seed in (0, 1))
    view = pack(one, second=other, megabytes=0.9 * pack(one, second=other).size / 1e6)
    about = view.header["kinds"]["encoder"]["measures"]
    assert about["weight"]["cells"] == about["weight-second"]["cells"]
    assert about["weight"]["cells"] in (32, 16, 8, 4)
    assert "encoder/weight-difference/0/picture" in view.blobs
    assert len(about["weight-difference"]["largest"][0]) == 2


def test_a_page_gives_both_back(first, second):
    page = reading_page(first, second=second)
    assert parse_page(page)["key_token"].values.tolist() == list(FIRST)
    assert parse_page(page, second=True)["key_token"].values.tolist() == list(SECOND)
    with pytest.raises(ResultError, match="one reading"):
        parse_page(reading_page(first), second=True)


def test_other_kinds_are_refused(first):
    cross = first.assign_attrs(kind="cross")
    both = concat_kinds({"encoder": first.assign_attrs(kind="encoder"), "cross": cross})
    with pytest.raises(UsageError, match="different kinds"):
        pack(first, second=both)


def test_a_live_view_of_two_gives_the_numbers_of_both(first, second):
    view = LiveView(first, second=second)
    for end, reading in (("", first), ("second", second)):
        found = unpack(view.header, view.blob, second=bool(end))
        far = np.abs(found["norm"].values - reading["norm"].values)
        name = f"norm-{end}" if end else "norm"
        assert far.max() <= view.header["kinds"]["encoder"]["measures"][name]["bound"]
    assert "encoder/norm-difference/1/picture" in view.pictures
    with pytest.raises(UnknownNameError):
        view.blob("encoder/norm-difference/1/codes")


def test_a_page_of_two_is_saved_and_another_file_refused(first, second, tmp_path):
    one, other = Reading(first), Reading(second)
    path = one.save(tmp_path / "both.html", compare=other)
    assert "Two readings." in path.read_text(encoding="utf-8")
    path = one.save(tmp_path / "same.html", compare=one)
    assert "Two readings of this text" in path.read_text(encoding="utf-8")
    with pytest.raises(UsageError, match=r"\.html alone"):
        one.save(tmp_path / "both.nc", compare=other)
