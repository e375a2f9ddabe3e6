"""One text as a model reads it: numbers, refusals, files, pages."""

import json
import re
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import xarray

import definitions
import headlight
from headlight.encode import encode_one
from headlight.errors import ResultError, UnsupportedModelError, UsageError
from headlight.findings.statistics import OF_READING, ROWS_OF_READING, statistics_of
from headlight.findings.what_was_read import notes_of_reading
from headlight.reading import Reading, read
from headlight.views import reading_page
from studies import naive
from studies.models import model, uneven
from views.pages import Page

TEXT = "the old mill , the river and the sea keeps sand near the town ."
PAIR = "a lake is full of mud"
HOSTILE = "<script>alert(1)</script> </script> & \"quoted\" 'single' <img src=x> \u202e\u05e9\u05dc"


@pytest.fixture(scope="module")
def reading() -> Reading:
    return read(model("bert"), TEXT, PAIR)


@pytest.mark.parametrize(
    ("family", "kind", "pair"),
    [
        ("bert", "encoder", None),
        ("bert", "encoder", PAIR),
        ("llama", "decoder", None),
        ("bart", "encoder", None),
        ("bart", "decoder", PAIR),
        ("bart", "cross", PAIR),
    ],
)
def test_every_number(family, kind, pair):
    found = model(family)
    reading = read(found, TEXT, pair, kind=kind)
    start = found.transformer.config.decoder_start_token_id if pair and family == "bart" else None
    example = encode_one(found.tokenizer, TEXT, pair, decoder_start=start)
    layers = naive.layers_of(found.transformer, family, kind, example, (0, 1))
    expected: dict[str, list[np.ndarray]] = {}
    for layer in layers:
        values = layer.scores("include") | {
            "merged_norm": definitions.merged_norm(layer.weight, layer.value, layer.output),
            "vector_norm": definitions.vector_norm(layer.value, layer.output),
            "input_norm": definitions.input_norm(layer.input),
            "entropy": definitions.entropy(layer.weight),
            "rank": definitions.rank(
                layer.value, layer.output, np.ones(layer.value.shape[1], dtype=bool)
            ),
        }
        for name, value in values.items():
            expected.setdefault(name, []).append(value)
    assert set(reading.dataset.data_vars) == {*expected, OF_READING, ROWS_OF_READING}
    for name, value in expected.items():
        np.testing.assert_allclose(
            reading.dataset[name], np.stack(value), rtol=1e-5, atol=1e-5, err_msg=name
        )
    queries = example.target if kind != "encoder" else example.ids or ()
    if not example.target:
        queries = example.ids
    keys = example.target if kind == "decoder" and example.target else example.ids
    assert reading.tokens == found.tokenizer.convert_ids_to_tokens(list(queries))
    assert reading.dataset.sizes["key"] == len(keys)


def test_the_properties_are_the_variables(reading):
    for name in ("weight", "norm", "merged_norm", "effective", "vector_norm", "entropy"):
        assert isinstance(getattr(reading, name), xarray.DataArray)
        assert getattr(reading, name).identical(reading.dataset[name])
    np.testing.assert_array_equal(reading.null, reading.weight - reading.effective)
    assert reading.weight.dims == ("layer", "head", "query", "key")
    np.testing.assert_allclose(reading.weight.sum("key"), 1, rtol=1e-5)


def test_coordinates_say_what_a_position_is(reading):
    found = reading.dataset
    assert found["query_token"].values.tolist()[:3] == ["<s>", "the", "old"]
    assert found["key_category"].values.tolist()[:5] == ["cls", *["other"] * 3, "punctuation"]
    assert found["query_word"].values.tolist()[:3] == [-1, 0, 1]
    assert (found.attrs["text"], found.attrs["pair"]) == (TEXT, PAIR)
    assert found.attrs["stage"] == "reading"


def test_some_layers_and_heads(reading):
    one = read(model("bert"), TEXT, PAIR, layers=[1])
    assert one.weight["layer"].values.tolist() == [1]
    np.testing.assert_allclose(one.norm, reading.norm.sel(layer=[1]), rtol=1e-4)
    filled = read(uneven(), TEXT)
    assert filled.weight.sel(layer=1).isnull().any(["query", "key"]).values.tolist() == [
        False, False, True, True,
    ]  # fmt: skip
    assert not filled.merged_norm.isnull().any()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bert", "uneven"])
def test_the_table_has_a_row_for_each_cell(name):
    reading = read(model("bert") if name == "bert" else uneven(), TEXT)
    table, measures = reading.to_dataframe(), ["weight", "norm", "effective"]
    tokens = ["query_token", "key_token"]
    assert [*table] == ["layer", "head", "query", "key", *tokens, *measures]
    assert len(table) == int(np.isfinite(reading.weight).sum())
    for row in table.sample(50, random_state=1).to_dict("records"):
        place = {axis: row[axis] for axis in ("layer", "head", "query", "key")}
        for measure in measures:
            assert row[measure] == float(reading[measure].sel(place))
        assert [row[token] for token in tokens] == [
            reading.tokens[row[side]] for side in ("query", "key")
        ]
    some = reading.to_dataframe(1, [0, 2])
    chosen = table[(table["layer"] == 1) & table["head"].isin([0, 2])].reset_index(drop=True)
    assert some.equals(chosen)


def test_a_table_that_cannot_be_made_is_refused(reading, monkeypatch):
    with pytest.raises(UsageError, match="there is no layer 9 in this reading, which has 0, 1"):
        reading.to_dataframe(9)
    with pytest.raises(UsageError, match="no head is chosen"):
        reading.to_dataframe(head=[])
    with pytest.raises(UsageError, match="several kinds"):
        read(model("bart"), TEXT, PAIR, kind="all").to_dataframe()
    monkeypatch.setattr("headlight.reading.reading.LONGEST_TABLE", 100)
    with pytest.raises(UsageError, match="at most 100 are made; choose layers and heads"):
        reading.to_dataframe()


def test_what_else_a_model_attends_by_is_said():
    found = model("bart")
    said = (
        "the model has decoder and cross attention too: give the text of the decoder as the "
        "second, and --kind all."
    )
    for reading in (read(found, TEXT), read(found, TEXT, PAIR)):
        assert notes_of_reading(reading.dataset) == [said]
        assert said[1:] in reading_page(reading.dataset)
    for reading in (read(found, TEXT, PAIR, kind="all"), read(found, TEXT, kind="encoder")):
        assert notes_of_reading(reading.dataset) == []
    assert notes_of_reading(read(model("llama"), TEXT).dataset) == []


def test_the_value_bias_can_be_excluded():
    found = model("bert")
    with_bias, without = (read(found, TEXT, value_bias=b) for b in ("include", "exclude"))
    np.testing.assert_array_equal(with_bias.weight, without.weight)
    assert not np.allclose(with_bias.effective, without.effective, atol=1e-4)


@pytest.mark.parametrize(
    ("family", "arguments", "options", "part"),
    [
        ("bert", [""], {}, "the text is empty"),
        ("bert", ["the sea", " "], {}, "the second text is empty"),
        ("bert", ["the " * 63], {}, "has 65 tokens, more than 64"),
        ("bert", ["\ud800"], {}, "not valid Unicode"),
        ("bert", ["the sea"], {"layers": [2]}, "no encoder layer 2"),
        ("bert", ["the sea"], {"layers": []}, "no layer is selected"),
        ("bert", ["the sea"], {"kind": "cross"}, "no cross attention"),
        ("bart", ["the sea"], {"kind": "decoder"}, "needs a second text"),
        ("bart", ["the sea"], {"kind": "cross"}, "needs a second text"),
    ],
)
def test_refusals(family, arguments, options, part):
    with pytest.raises(UsageError, match=part):
        read(model(family), *arguments, **options)


def test_a_model_without_a_tokenizer():
    found = model("bert")
    found.tokenizer = None
    with pytest.raises(UsageError, match="has no tokenizer"):
        read(found, "the sea")


def test_an_unsupported_model():
    found = model("bert")
    found.transformer = __import__("tiny_models").build(
        "rwkv", {"vocab_size": 99, "hidden_size": 32, "num_hidden_layers": 2}, seed=1
    )
    with pytest.raises(UnsupportedModelError, match="attention interface"):
        read(found, "the sea")


@pytest.mark.slow
def test_saved_files_hold_the_reading(reading, tmp_path):
    assert reading.save(tmp_path / "one.nc") == tmp_path / "one.nc"
    with xarray.open_dataset(tmp_path / "one.nc") as opened:
        for name in reading.dataset.data_vars:
            np.testing.assert_array_equal(opened[name], reading.dataset[name])
        assert len(opened["weight"].to_dataframe()) == reading.weight.size
    found = json.loads(reading.save(str(tmp_path / "one.json")).read_text())
    assert found
    assert Page(reading.save(tmp_path / "one.html").read_text()).all("script")
    assert {path.name for path in tmp_path.iterdir()} == {"one.nc", "one.json", "one.html"}


def test_files_that_cannot_be_written(reading, tmp_path):
    with pytest.raises(UsageError, match=r"saved as \.html, \.json or \.nc"):
        reading.save(tmp_path / "one.pdf")
    for suffix in ("nc", "json", "html"):
        with pytest.raises(ResultError, match="there is no such folder"):
            reading.save(tmp_path / "nowhere" / f"one.{suffix}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_hostile_text_stays_text(tmp_path):
    found = model("bert")
    hostile, plain = read(found, HOSTILE, HOSTILE), read(found, "the sea", "the mill")
    pages = [Page(r.save(tmp_path / "p.html").read_text()) for r in (hostile, plain)]
    running = [[e for e in page.all("script") if not e.attributes] for page in pages]
    assert [e.text for e in running[0]] == [e.text for e in running[1]]
    assert pages[0].all("img") == []
    assert not any("alert(1)</" in e.text for e in pages[0].all("script"))
    inside = Page(hostile._repr_html_())
    assert [element.tag for element in inside.elements] == ["iframe"]


def test_show_gives_the_page(reading, monkeypatch):
    monkeypatch.setitem(sys.modules, "IPython.display", None)
    assert reading.show() == reading._repr_html_()
    assert reading.show().startswith("<iframe srcdoc=")


def test_show_gives_what_ipython_asks_for(reading, monkeypatch):
    """It warns of a frame in HTML."""

    def frame(src, width, height, extras):
        return f'<iframe width="{width}" height="{height}" src="{src}" {" ".join(extras)}></iframe>'

    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(IFrame=frame))
    (shown,) = Page(reading.show()).all("iframe")
    (wanted,) = Page(reading._repr_html_()).all("iframe")
    assert shown.attributes["srcdoc"] == wanted.attributes["srcdoc"]
    assert (shown.attributes["src"], shown.attributes["height"]) == ("", "640")


def test_readings_and_models_are_short_where_they_are_printed(reading):
    assert repr(reading).startswith("<Reading of ")
    assert "2 layers of 4 heads" in repr(reading)
    assert len(repr(reading)) < 120
    assert repr(model("bert")) == "<CapturedModel bert: BertModel, float32, cpu>"
    public = headlight.Model(model("bert").transformer, name="mine")
    assert repr(public) == "<Model mine: BertModel, float32, cpu>"
    public = headlight.Model(model("bert").transformer, name="/home/me/models/mine")
    assert repr(public) == "<Model mine: BertModel, float32, cpu>"
    with pytest.raises(UsageError, match=r"^mine has no tokenizer"):
        public.read("the sea")
    local = read(model("bert"), "the sea").dataset.assign_attrs(model="/home/me/models/mine")
    assert " by mine: " in repr(Reading(local))


def test_a_model_lists_the_questions_that_it_answers():
    names = dir(headlight.Model(model("bert").transformer))
    assert {"read", "predict", "routes", "generate"} <= set(names)
    assert len(names) <= 13


def byte_level(*pieces):
    places = range(len(pieces))
    coords = {"query": places, "query_token": ("query", list(pieces))}
    coords |= {"key": places, "key_token": ("key", list(pieces))}
    return Reading(xarray.Dataset(coords=coords, attrs={"pieces": "byte-level"}))


def test_words_are_tokens_as_people_read_them():
    made = byte_level("The", "Ġserver", "Ġrest", "arted", "Ġthe", "Ġserver", "Ċ")
    assert made.words == ["The", "server", "rest", "arted", "the", "server", "↵"]
    assert made.index("the") == made.index("Ġthe") == made.index("the", side="key") == 4


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("servr", "no token of this text is 'servr'; choose one, such as 'server' (1)."),
        ("server", "'server' is the token at 1, 5 of this text; give one of these."),
        ("restarted", "'restarted' is 2 tokens; choose one, such as 'rest' (2), 'arted' (3)."),
        ("", "no token of this text is ''; choose one, such as 'The' (0), "),
        ("x" * 9, "no token of this text is 'xxxxxxxxx'; choose one, such as 'The' (0), "),
    ],
)
def test_a_word_that_is_no_token_of_its_own_is_refused_with_candidates(word, said):
    made = byte_level("The", "Ġserver", "Ġrest", "arted", "Ġthe", "Ġserver")
    with pytest.raises(UsageError, match=f"^{re.escape(said)}"):
        made.index(word)


def test_places_are_those_of_queries_that_were_kept():
    made = read(model("bert"), "the old mill", queries=[2, 3])
    assert made.index("mill") == 3
    assert made.index("the", side="key") == 1
    assert made.norm.sel(query=made.index("mill")).sizes["key"] == 5


def test_several_texts_are_no_text(unchecked):
    for given in ((["the sea", "a river"],), ("the sea", ["a river"])):
        with pytest.raises(UsageError, match=r"^a text is one string, not a list; "):
            read(model("bert"), *given)
    with pytest.raises(UsageError, match="nothing to read; give a text, ids, audio, or an image"):
        read(model("bert"), None)
    for other in (torch.tensor([[1, 2]]), np.zeros(3), {"input_ids": [1]}, 5):
        with pytest.raises(UsageError, match=rf"not a {type(other).__name__}; give it as one\.$"):
            read(model("bert"), other)


def test_tokens_may_take_the_place_of_numbers(reading):
    head = reading.weight.sel(layer=1, head=3).set_index(query="query_token", key="key_token")
    row, column = reading.tokens.index("mill"), reading.tokens.index("sea")
    expected = reading.weight.values[1, 3, row, column]
    assert head.sel(query="mill", key="sea").item() == expected
    assert head.to_pandas().loc["mill", "sea"] == expected


@pytest.mark.slow
def test_a_page_shows_what_a_run_says_and_links_to_its_report(tmp_path):
    found = model("bert")
    run, page = tmp_path / "some run", tmp_path / "pages" / "text.html"
    page.parent.mkdir()
    texts = ["the old mill", "a lake is full of mud"]
    survey = headlight.survey(texts, model=found, out=run)
    (run / "report.html").write_text("a report")
    read(found, TEXT).save(page, survey=run)
    header = json.loads(Page(page.read_text(encoding="utf-8")).by_id("header").text)
    assert header["report"] == "../some%20run/report.html"
    statistics = header["kinds"]["encoder"]["statistics"]
    of_run = {row.name: by for row, by in statistics_of(survey)}
    assert {"other", "next", "entropy", "rank"} <= {*of_run}
    for row in statistics:
        assert {*row["corpus"]} == {*row["by"]} & {*of_run.get(row["name"], ())}
        assert all(row["corpus"].values())
    with pytest.raises(ResultError):
        read(found, TEXT).save(page, survey=tmp_path)
