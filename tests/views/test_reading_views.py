"""Readings as JSON, as a page and on the terminal."""

import json
import re
from base64 import b64encode
from hashlib import sha256

import numpy as np
import pytest
from rich.console import Console

from headlight.errors import ResultError, UnknownNameError
from headlight.views import parse_page, reading_json, reading_page, reading_terminal
from headlight.views.page_scripts import joined_script
from headlight.views.reading.format import header_text
from headlight.views.reading.packing import pack
from headlight.views.reading.page import AROUND
from headlight.views.reading.weight_against_norm import opening_sentence
from views.pages import Page
from views.sample_results import counted, reading_sample

HOSTILE = ("[CLS]", "</script><b>", "[bold]x[/bold]", "\x1b[31mred", "a\u2028b", "<!--", "[SEP]")
PAIRS = ("weight", "norm", "effective", "merged_norm")


def printed(renderable: object, width: int = 80) -> str:
    console = Console(width=width, force_terminal=False, color_system=None)
    with console.capture() as capture:
        console.print(renderable)
    return capture.get()


@pytest.mark.parametrize("name", [*PAIRS, "vector_norm", "input_norm", "entropy", "rank"])
def test_json_holds_every_variable_to_four_digits(name):
    reading = reading_sample(2, 3)
    values = np.array(json.loads(reading_json(reading))[name], dtype=float)
    expected = reading[name].values
    assert values.shape == expected.shape
    np.testing.assert_allclose(values, expected, rtol=5.1e-4, atol=1e-6 * np.abs(expected).max())


def test_json_holds_the_tokens_of_both_sides():
    data = json.loads(reading_json(reading_sample()))
    assert data["format"] == "2"
    assert (data["layers"], data["heads"]) == (2, 3)
    for side in ("queries", "keys"):
        assert data[side]["tokens"] == ["[CLS]", "the", "cat", "sat", ".", "[SEP]"]
        assert data[side]["categories"] == ["cls", "other", "other", "other", "punctuation", "sep"]
        assert data[side]["words"] == [-1, 0, 1, 2, 3, -1]


def test_categories_may_be_numbers():
    reading = reading_sample()
    reading["query_category"] = ("query", np.array([0, 3, 3, 3, 2, 1]))
    data = json.loads(reading_json(reading))
    assert data["queries"]["categories"] == data["keys"]["categories"]


def test_missing_values_are_null_and_tiny_ones_zero():
    reading = reading_sample(1, 1)
    reading["weight"][0, 0, 0, 0] = np.nan
    reading["weight"][0, 0, 1, 1] = 1e-12
    data = json.loads(reading_json(reading))
    assert data["weight"][0][0][0][0] is None
    assert data["weight"][0][0][1][1] == 0
    assert "NaN" not in reading_json(reading)


def test_the_page_holds_header_and_blobs_and_loads_nothing():
    reading = reading_sample(2, 3, HOSTILE)
    reading.attrs.update(text="</title><script>alert(1)</script>", model="<i>m</i>", command="<x>")
    text = reading_page(reading)
    page = Page(text)
    data = page.by_id("header").text
    assert not set("<>&\u2028") & set(data)
    view = pack(reading)
    assert json.loads(data) == json.loads(header_text(view))
    assert json.loads(data)["kinds"]["encoder"]["queries"]["tokens"] == list(HOSTILE)
    blobs = {
        e.attributes["data-blob"]: e.text for e in page.all("script") if "data-blob" in e.attributes
    }
    assert view.texts() == blobs
    assert page.all("h1")[0].text == opening_sentence(reading)
    assert not re.search(r"url\((?!#)|@import|https?://(?!www\.w3\.org/2000/svg)", text)


def test_a_page_is_read_back():
    reading = reading_sample(2, 3, HOSTILE)
    found = parse_page(reading_page(reading))
    assert found["key_token"].values.tolist() == list(HOSTILE)
    np.testing.assert_allclose(found["weight"], reading["weight"], atol=0.007)
    with pytest.raises(ResultError, match="this is no page of a reading"):
        parse_page("<p>Something else</p>")


def test_only_the_scripts_of_the_page_may_run():
    page = Page(reading_page(reading_sample(1, 1)))
    policy = next(
        str(e.attributes["content"]) for e in page.all("meta") if "http-equiv" in e.attributes
    )
    running = [e.text for e in page.all("script") if not e.attributes]
    hashes = [b64encode(sha256(each.encode()).digest()).decode() for each in running]
    assert re.findall(r"'sha256-([^']*)'", policy) == hashes
    assert len(hashes) == 2
    assert "default-src 'none'" in policy
    assert "unsafe-inline" not in policy.partition("script-src")[2].partition(";")[0]


def test_text_has_its_own_direction():
    reading = reading_sample(1, 1, ("[CLS]", "שלום", "##ים", "[SEP]"))
    text = reading_page(reading)
    assert Page(text).all("h1")[0].attributes["dir"] == "auto"
    # Tokens are set by the script: each on its own, in sentences and in the map.
    assert 'element.dir = "auto"' in text
    assert "isolated(cell.from)" in text


def test_cross_attention_with_other_tokens_on_each_side():
    reading = reading_sample().isel(query=slice(0, 2))
    data = json.loads(reading_json(reading))
    assert len(data["queries"]["tokens"]) == 2
    assert len(data["keys"]["tokens"]) == 6
    assert "the → " in printed(reading_terminal(reading, "weight", 2))
    Page(reading_page(reading))


@pytest.mark.parametrize("measure", PAIRS)
def test_the_strongest_links_come_first(measure):
    reading = reading_sample(2, 3)
    lines = printed(reading_terminal(reading, measure, 1), width=200).splitlines()
    dims = ("layer", "query", "key") if measure == "merged_norm" else None
    values = reading[measure].values if dims is None else reading[measure].transpose(*dims).values
    name = "1" if measure == "merged_norm" else "L1H2"
    rows = (values[1] if measure == "merged_norm" else values[1, 2])[:, 1:-1]
    query, key = np.unravel_index(rows.argmax(), rows.shape)
    tokens = reading["query_token"].values
    line = next(line for line in lines if line.strip().startswith(f"{name} "))
    assert f"{tokens[query]} → {tokens[key + 1]} " in line


def test_of_many_heads_those_are_shown_that_stand_out_and_why():
    reading = reading_sample(3, 8, tuple("abcdefgh"))
    reading["weight"][:] = 1 / 8
    reading["weight"][2, 5] = np.eye(8, k=-1) * 0.9 + 0.1 / 8
    reading["weight"][1, 3, :, 2] = 0.95
    reading = counted(reading)
    text = printed(reading_terminal(reading, "weight", 1), width=120)
    heads = [line.split() for line in text.splitlines() if re.match(r" *L\dH\d (?!is)", line)]
    assert len(heads) == 8
    assert heads[0][:5] == ["L2H5", "91%", "to", "the", "previous"]
    assert heads[1][0] == "L1H3"
    assert " ".join(heads[1][2:6]) == "to one other token"
    assert "The 8 of 24 heads" in text
    text = printed(reading_terminal(reading, "weight", 1, all_heads=True), width=120)
    assert len([line for line in text.splitlines() if re.match(r" *L\dH\d (?!is)", line)]) == 24
    assert "stands out" not in text


def test_links_to_special_tokens_are_counted_and_places_tell_the_same_word_apart():
    reading = reading_sample(1, 1, ("[CLS]", "the", "cat", "the", "[SEP]"))
    reading["weight"][:] = 0.01
    reading["weight"][0, 0, :, 4] = 0.9
    reading["weight"][0, 0, 2, 3] = 0.5
    text = printed(reading_terminal(reading, "weight", 1), width=120)
    assert "cat → the (3) 0.500   most to [SEP] in 5 of 5 rows" in text
    assert "→ [SEP]" not in text
    assert "In brackets: the place" in text
    decoder = reading_sample(1, 1, tuple("abcd")).assign_attrs(kind="decoder")
    decoder["weight"][0, 0, :, 0] = 2.0
    assert "most to a in 4 of 4 rows" in printed(reading_terminal(decoder, "weight", 1), width=120)


def test_tokens_are_printed_as_they_are_and_obeyed_nowhere():
    reading = reading_sample(1, 1, HOSTILE)
    text = printed(reading_terminal(reading, "weight", 49), width=400)
    for token in ("[SEP]", "[bold]x[/bold]", "</script><b>", "\\x1b[31mred"):
        assert token in text
    assert "\x1b" not in text


def test_tokens_of_byte_level_vocabularies_are_text():
    reading = reading_sample(1, 1, ("The", "ĠMary", "Ċ", "ĠJos", "Ã©"))
    printed_before = printed(reading_terminal(reading, "weight", top=25))
    text = printed(reading_terminal(reading.assign_attrs(pieces="byte-level"), "weight", top=25))
    assert "ĠMary" in printed_before
    assert not set("ĠĊÃ") & set(text)
    assert {"The", "Mary", "↵", "Jos", "é"} <= set(text.split())


def test_narrow_terminals_are_not_overrun():
    reading = reading_sample(1, 1, HOSTILE)
    text = printed(reading_terminal(reading, "weight", 9), width=40)
    assert max(len(line) for line in text.splitlines()) <= 40


def test_the_terminal_says_why_effective_attention_is_the_weight():
    reading = reading_sample(1, 2)
    assert "equal to" not in printed(reading_terminal(reading, "effective", top=1))
    reading["effective"] = reading["weight"].copy()
    reading.attrs["head_dim"] = 32
    said = "Effective attention is equal to the weight here: 6 tokens are fewer than the head's 32"
    assert said in printed(reading_terminal(reading, "effective", top=1), width=120)
    assert "equal to" not in printed(reading_terminal(reading, "norm", top=1))


def test_unknown_measures_are_refused_by_name():
    with pytest.raises(UnknownNameError, match=r"'nrom'\. Did you mean 'norm'"):
        reading_terminal(reading_sample(), "nrom", 3)


def test_what_is_around_the_numbers_fits_into_its_room():
    reading = reading_sample(12, 12)
    numbers = sum(map(len, pack(reading).texts().values()))
    around = len(reading_page(reading).encode()) - numbers
    tokens = 8e3  # what 127 of them add to the header
    assert around + tokens < 1e6 * AROUND


def test_the_script_comes_without_its_comments():
    written = joined_script()
    assert "/**" not in written
    assert not re.search(r"^ *//", written, re.MULTILINE)
