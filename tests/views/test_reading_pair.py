"""Two readings as one view: how tokens are matched, and that the numbers of both come back."""

import json

import numpy as np
import pytest

from headlight.errors import ResultError, UnknownNameError, UsageError
from headlight.reading import Reading
from headlight.result.kinds import concat_kinds
from headlight.views import parse_page, reading_page
from headlight.views.reading.format import header_text
from headlight.views.reading.live_view import LiveView
from headlight.views.reading.matched_readings import matched
from headlight.views.reading.packing import pack
from headlight.views.reading.pair_header import read_by_both
from headlight.views.reading.unpacking import unpack
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
        *("[CLS]", "the", "cat", "##s", "sat", "down", ".", "[SEP]")
    ]
    assert pair.places["key"] == [(at, at) for at in range(5)] + [(-1, 5), (5, 6), (6, 7)]
    assert pair.first["query_word"].values.tolist() == [-1, 0, 1, 1, 2, 3, 4, -1]
    assert np.isnan(pair.first["weight"].values[0, 0, 5]).all()
    assert pair.second["weight"].values[1, 2, 5, 7] == second["weight"].values[1, 2, 5, 7]


def test_a_substituted_word_shares_its_place_and_is_called_by_both(first, second):
    queries = pack(first, second=second).header["kinds"]["encoder"]["queries"]
    assert queries["texts"][2:5] == ["cat", "s / ty", "sat"]
    assert queries["instead"] == {"3": "##ty"}
    assert queries["of"] == ["both"] * 5 + ["second"] + ["both"] * 2
    longer = sample(FIRST[:2] + FIRST[2:3] + FIRST[4:], [-1, 0, 1, 2, 3, -1])
    places = matched(longer, second)["encoder"].places["query"]
    assert places == [(0, 0), (1, 1), (2, 2), (-1, 3), (3, 4), (-1, 5), (4, 6), (5, 7)]


def test_a_word_in_one_place_that_has_more_pieces_in_one_text_is_one_key(second):
    first = sample(FIRST[:2] + FIRST[2:3] + FIRST[4:], [-1, 0, 1, 2, 3, -1])
    header = pack(first, second=second).header["kinds"]["encoder"]
    assert header["keys"]["swapped"] == [{"places": [2, 3], "said": "cat / catty"}]
    assert header["keys"]["words"][2:4] == [1, 1]
    assert header["keys"]["unsaid"] == [0, 3, 5, 7]  # [CLS], a piece, "down", [SEP]
    assert header["queries"]["unsaid"] == [0, 2, 3, 5, 7]
    one, other = (each["weight"].values for each in (first, second))
    own = [0, 1, 2, 4, 6, 7]  # of the second, what stands beside the tokens of the first
    whole = other.copy()
    whole[..., 2] += other[..., 3]
    whole = whole[:, :, own][..., own]
    far = np.abs(one - whole).sum((-1, -2)) / (one + whole).sum((-1, -2))
    apart = next(each for each in header["statistics"] if each["name"] == "apart")
    np.testing.assert_allclose(apart["by"]["weight"][0], far.ravel(), rtol=1e-3)


@pytest.mark.parametrize(
    ("texts", "said", "same"),
    [
        (("a cat sat", "a cat sat"), "The same text: a cat sat ", True),
        (("a cat sat", "a dog sat"), "The same text but for one word: a cat / dog sat ", True),
        (("a cat sat", "two dogs"), "Two texts. First: a cat sat Second: two dogs ", False),
    ],
)
def test_the_first_line_says_what_was_read(texts, said, same):
    one, other = ({"text": text, "model": "m", "revision": "1"} for text in texts)
    assert read_by_both(one, other) == (f"{said}The same model, m.", same)
    assert read_by_both(one, other | {"revision": "2"})[0].endswith("Two models, m and m.")


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


@pytest.mark.slow
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
    assert "Two texts. First: " in path.read_text(encoding="utf-8")
    path = one.save(tmp_path / "same.html", compare=one)
    assert "The same text: " in path.read_text(encoding="utf-8")
    with pytest.raises(UsageError, match=r"\.html alone"):
        one.save(tmp_path / "both.nc", compare=other)
