"""The report is one safe file, and shows the numbers of the result."""

import json
import math
import re
from urllib.parse import parse_qs

import numpy as np
import pytest

from headlight.views import report
from headlight.vocabulary import measure
from views.pages import Page
from views.sample_results import survey_sample

SIZES = [(1, 1), (6, 8), (12, 12)]
HOSTILE = "</script><script>alert(1)</script>\"'><img src=x onerror=alert(2)>&amp;"


@pytest.mark.parametrize(("layers", "heads"), SIZES)
@pytest.mark.parametrize("special", [True, False])
def test_one_file_that_loads_nothing(layers, heads, special):
    text = report(survey_sample(layers, heads, special=special, pruned=True))
    page = Page(text)
    assert not [e for e in page.elements if {"src", "srcset"} & set(e.attributes)]
    assert all(str(e.attributes["href"]).startswith("#") for e in page.all("a"))
    assert not re.search(r"url\(|@import|https?://", text)
    assert len(text.encode()) < 2_000_000


@pytest.mark.slow
def test_a_large_model_fits():
    text = report(survey_sample(32, 32, pruned=True))
    assert len(text.encode()) < 6_000_000
    assert len([e for e in Page(text).all("g") if "cell" in str(e.attributes["class"])]) == 1024


def test_hostile_text_stays_text():
    result = survey_sample(3, 4, corpus=HOSTILE)
    names = ("model", "revision", "title", "corpus_digest", "created", "kind")
    result.attrs.update(dict.fromkeys(names, HOSTILE))
    result.attrs["versions"] = json.dumps({HOSTILE: HOSTILE})
    result.attrs["settings"] = HOSTILE
    result.attrs["category_names"] = json.dumps({"sep": HOSTILE, "cls": HOSTILE})
    page = Page(report(result, command=f"headlight survey {HOSTILE}"))
    plain = Page(report(survey_sample(3, 4)))
    for tag in ("script", "svg", "style"):
        assert len(page.all(tag)) == len(plain.all(tag))
    assert page.all("img") == []
    assert not [name for e in page.elements for name in e.attributes if name.startswith("on")]
    assert page.all("h1")[0].text == HOSTILE
    labels = [str(e.attributes["aria-label"]) for e in page.all("svg") if "role" in e.attributes]
    assert any(HOSTILE in label for label in labels)
    assert any(HOSTILE in e.text for e in page.all("title") if "svg" not in e.inside)
    data = page.by_id("data").text
    assert not set("<>&") & set(data)
    assert HOSTILE in json.loads(data)["views"]["sep.weight"]["title"]


def test_the_grid_shows_the_share_of_weight_to_sep():
    result = survey_sample(3, 4)
    page = Page(report(result))
    expected = result["share"].sel(measure="weight", query_category="all", key_category="sep")
    view = json.loads(page.by_id("data").text)["views"]["sep.weight"]
    assert view["values"] == [float(f"{v:.4g}") for v in expected.values.ravel()]
    titles = [e.text for e in page.all("title") if "g" in e.inside]
    assert titles[5] == f"Head L1H1: {100 * float(expected[1, 1]):.1f}%"


def test_differences_are_norm_minus_weight():
    result = survey_sample(2, 3)
    view = json.loads(Page(report(result)).by_id("data").text)["views"]["sep.norm-weight"]
    shares = result["share"].sel(query_category="all", key_category="sep")
    expected = (shares.sel(measure="norm") - shares.sel(measure="weight")).values.ravel()
    assert view["values"] == pytest.approx(expected, rel=1e-3)
    assert view["low"] == -view["high"]
    assert view["high"] >= max(abs(expected))


def test_what_effective_attention_lacks_is_said_and_shown():
    result = survey_sample(2, 3)
    share = result["share"].sel(query_category="all").sum("key_category")
    lost = (share.sel(measure="weight") - share.sel(measure="effective")).values
    page = Page(report(result))
    view = json.loads(page.by_id("data").text)["views"]["unreached."]
    assert view["values"] == pytest.approx(lost.ravel(), rel=1e-3, abs=1e-4)
    rows = [e for e in page.all("td") if e.text == f"{100 * lost.mean():.1f}"]
    assert rows, "the matrix of effective attention adds up to 100%"
    layer, head = np.unravel_index(lost.argmax(), lost.shape)
    said = next(e.text for e in page.all("li") if "cannot reach the output" in e.text)
    assert f"adds up to {100 * (1 - lost.mean()):.0f}%" in said
    assert f"head L{layer}H{head} ({100 * lost.max():.0f}%)" in said


def test_every_measure_is_explained_where_it_is_first_named():
    page = Page(report(survey_sample(2, 2)))
    terms = [e.text for e in page.all("dd")]
    for name in ("weight", "norm", "effective"):
        assert any(measure(name).meaning in term for term in terms)
    views = json.loads(page.by_id("data").text)["views"]
    assert all(view["help"] for view in views.values())


def test_the_takeaway_draws_every_head_from_measure_to_measure():
    result = survey_sample(3, 4)
    page = Page(report(result))
    lines = next(e for e in page.all("path") if e.attributes.get("class") == "slopes s-sep")
    drawn = str(lines.attributes["d"]).split("M")[1:]
    assert len(drawn) == 12
    ends = [[float(at) for at in re.findall(r" ([\d.]+)", line)] for line in drawn]
    share = result["share"].sel(query_category="all", key_category="sep").values.reshape(3, -1)
    order = np.argsort(share.T.ravel())
    assert np.all(np.diff(np.array(ends).ravel()[order]) <= 0.011)  # the higher, the more


def test_the_heads_that_stand_out_are_named_beside_their_dots():
    result = survey_sample(3, 4)
    result["neighbour"][:] = 0.05
    result["neighbour"].loc[{"measure": "weight", "layer": 1, "head": 2, "offset": 1}] = 0.97
    page = Page(report(result))
    labels = [e for e in page.all("text") if e.attributes.get("class") == "head-label"]
    assert [e.text for e in labels].count("L1H2") >= 1
    dots = next(
        e for e in page.all("path") if e.attributes.get("data-series") == "to the next token"
    )
    places = re.findall(r"M([\d.]+) ([\d.]+)h0", str(dots.attributes["d"]))
    x, y = map(float, places[1 * 4 + 2])
    near = [
        e
        for e in labels
        if e.text == "L1H2"
        and abs(float(str(e.attributes["x"])) - x) < 40
        and abs(float(str(e.attributes["y"])) - y) < 20
    ]
    assert near


def test_missing_heads_are_marked_and_not_drawn():
    page = Page(report(survey_sample(2, 4, pruned=True)))
    assert str(page.by_id("L1H3").attributes["class"]) == "cell none"
    dots = [
        str(e.attributes["data-heads"]) for e in page.all("path") if "data-heads" in e.attributes
    ]
    assert dots
    assert not any("L1H3 " in names for names in dots if "examples" not in names)


def test_every_figure_says_how_to_read_it_and_where_it_is_from():
    text = report(survey_sample())
    for source in (
        "Clark et al. (2019), Figure 2",
        "Kobayashi et al. (2020), Figure 3",
        "Brunner et al. (2020), Figure 1b–c",
        "Clark et al. (2019), Section 3.1",
        "Clark et al. (2019), Figure 4",
        "Kobayashi et al. (2020), Tables 1 and 4",
        "Brunner et al. (2020), Figure 1a",
    ):
        assert source in text
    page = Page(text)
    panels = [e for e in page.all("svg") if e.attributes.get("class") == "panel"]
    assert len(panels) == 3 + 5 * 3 + 3 + 2 + 2 + 2
    assert all(e.attributes["role"] == "img" and e.attributes["aria-label"] for e in panels)


def test_dots_stand_where_their_values_are():
    result = survey_sample(4, 3)
    page = Page(report(result))
    dots = next(e for e in page.all("path") if e.attributes.get("data-series") == "to [SEP]")
    heights = [float(y) for y in re.findall(r"M[\d.]+ ([\d.]+)", str(dots.attributes["d"]))]
    values = result["share"].sel(measure="weight", query_category="all", key_category="sep")
    flat = values.values.ravel()
    # Positions are straight in the values: two points give the line, all lie on it.
    low, high = flat.argmin(), flat.argmax()
    slope = (heights[high] - heights[low]) / (flat[high] - flat[low])
    expected = [heights[low] + slope * (value - flat[low]) for value in flat]
    assert slope < 0
    assert heights == pytest.approx(expected, abs=0.02)


def test_tables_hold_every_head_with_numbers_to_sort_by():
    result = survey_sample(3, 4)
    page = Page(report(result))
    rows = [e for e in page.all("th") if e.attributes.get("scope") == "row"]
    assert [e.text for e in rows if re.fullmatch(r"L\dH\d", e.text)] == [
        f"L{layer}H{head}" for layer in range(3) for head in range(4)
    ]
    cells = [float(str(e.attributes["data-v"])) for e in page.all("td") if "data-v" in e.attributes]
    assert all(math.isfinite(value) for value in cells)
    wanted = float(
        result["share"].sel(measure="norm", query_category="all", key_category="sep")[2, 3]
    )
    assert any(math.isclose(value, wanted, rel_tol=1e-5) for value in cells)
    headers = [e for e in page.all("th") if "aria-sort" in e.attributes]
    assert {e.attributes["aria-sort"] for e in headers} == {"ascending", "none"}


def test_a_finding_leads_to_the_picture_that_shows_it():
    page = Page(report(survey_sample(4, 4)))
    links = [parse_qs(str(e.attributes["href"])[1:]) for e in page.all("a")]
    shown = [link for link in links if "head" in link]
    assert len(shown) > 3
    names = {str(e.attributes.get("id")) for e in page.all("g")}
    views = json.loads(page.by_id("data").text)["views"]
    for link in shown:
        assert link["head"][0] in names
        assert f"{link['question'][0]}.{link.get('measure', [''])[0]}" in views


@pytest.mark.parametrize("most", ["cls", "sep", "punctuation"])
def test_the_grid_begins_with_the_kind_of_token_that_gets_most(most):
    result = survey_sample(3, 4)
    result["share"][:] = 0.2
    result["share"].loc[{"key_category": "other"}] = 0.9
    result["share"].loc[{"key_category": most, "layer": 2}] = 0.4
    page = Page(report(result))
    assert json.loads(page.by_id("data").text)["first"] == f"{most}.weight"
    checked = {str(e.attributes["value"]) for e in page.all("input") if "checked" in e.attributes}
    assert most in checked


def test_words_from_the_outside_have_their_own_direction():
    result = survey_sample(2, 2, corpus="שלום.txt")
    result.attrs["title"] = "שלום עולם."
    page = Page(report(result))
    assert page.all("h1")[0].attributes["dir"] == "auto"
    assert any(e.text == "שלום.txt" for e in page.all("bdi"))


def test_a_share_a_hair_below_zero_leaves_no_panel_empty():
    result = survey_sample(3, 4)
    result["share"][:] = result["share"].clip(0.05)
    result["share"].loc[{"measure": "effective", "layer": 1, "head": 1}] = -0.001
    page = Page(report(result))
    ticks = [e.text for e in page.all("text") if e.attributes.get("class") == "tick"]
    assert "-50" not in ticks
    assert not any(tick.startswith(("-", "−")) for tick in ticks)


def test_the_foot_holds_command_versions_and_digest():
    result = survey_sample()
    text = report(result)
    for words in (result.attrs["command"], result.attrs["corpus_digest"], "5.23.0", "992"):
        assert words in text
    assert "headlight survey other" in report(result, command="headlight survey other")


def test_a_result_of_one_measure_is_drawn():
    page = Page(report(survey_sample(2, 2).sel(measure=["weight"])))
    values = {e.attributes["value"] for e in page.all("input") if e.attributes["name"] == "measure"}
    assert values == {"weight"}


def test_layers_have_the_numbers_of_the_model_where_a_survey_holds_some_only():
    result = survey_sample(6, 3).isel(layer=[1, 4])
    page = Page(report(result))
    names = [f"L{layer}H{head}" for layer in (1, 4) for head in range(3)]
    cells = [str(e.attributes.get("id")) for e in page.all("g")]
    assert [name for name in cells if re.fullmatch(r"L\dH\d", name)] == names
    rows = [e.text for e in page.all("th") if e.attributes.get("scope") == "row"]
    assert [row for row in rows if re.fullmatch(r"L\dH\d", row)] == names
    assert [row for row in rows if re.fullmatch(r"\d", row)] == ["1", "4"]
    dots = next(e for e in page.all("path") if e.attributes.get("data-series") == "to [SEP]")
    named = str(dots.attributes["data-heads"]).split("|")
    assert [name.split()[0] for name in named] == names
