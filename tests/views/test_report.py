"""The report is one safe file, and shows the numbers of the result."""

import json
import math
import re
from urllib.parse import parse_qs

import numpy as np
import pytest
from rich.console import Console

from headlight.findings import Attended, Passage, highlights, piece_text
from headlight.studies.survey.page.headline import finding_pictures
from headlight.studies.survey.page.highlighted_heads import SHOWN
from headlight.studies.survey.page.shares import neighbours_section, shares_section
from headlight.views.head_grid import head_grid
from headlight.views.headline import BarList
from headlight.views.passages import drawn_passage, strongest
from headlight.views.pictures import svg_text
from headlight.views.result_contents import findings, headline, pictures, tables
from headlight.views.result_page import result_page as report
from headlight.views.result_terminal import study_terminal
from headlight.views.sentences import INTERVAL, claim, short_sentence
from headlight.vocabulary import measure
from page_words import words_when_open
from views.drawn import dots, line_named, points, texts
from views.pages import Page
from views.sample_results import survey_sample

SIZES = [
    (1, 1, True),
    (1, 1, False),
    (6, 8, False),
    pytest.param(12, 12, True, marks=pytest.mark.drawn),
]
HOSTILE = "</script><script>alert(1)</script>\"'><img src=x onerror=alert(2)>&amp;"


@pytest.mark.slow
@pytest.mark.parametrize(("layers", "heads", "special"), SIZES)
def test_one_file_that_loads_nothing(layers, heads, special):
    text = report(survey_sample(layers, heads, special=special, pruned=True))
    page = Page(text)
    loaded = [e for e in page.elements if {"src", "srcset"} & set(e.attributes)]
    assert all(str(e.attributes["src"]).startswith("data:image/svg+xml;base64,") for e in loaded)
    assert all(str(e.attributes["href"]).startswith("#") for e in page.all("a"))
    assert not re.search(r"url\(|@import|https?://", text)
    assert len(text.encode()) < 2_000_000


@pytest.mark.drawn
@pytest.mark.long
def test_a_large_model_fits():
    text = report(survey_sample(32, 32, pruned=True))
    assert len(text.encode()) < 6_000_000
    assert len([e for e in Page(text).all("g") if "cell" in str(e.attributes["class"])]) == 1024


@pytest.mark.slow
def test_hostile_text_stays_text():
    result = survey_sample(3, 4, corpus=HOSTILE)
    names = ("model", "revision", "title", "corpus_digest", "created", "kind")
    result.attrs.update(dict.fromkeys(names, HOSTILE))
    result.attrs["versions"] = json.dumps({HOSTILE: HOSTILE})
    result.attrs["settings"] = HOSTILE
    result.attrs["category_names"] = json.dumps({"sep": HOSTILE, "cls": HOSTILE})
    page = Page(report(result, command=f"headlight survey {HOSTILE}"))
    plain = Page(report(survey_sample(3, 4)))
    for tag in ("script", "svg", "style", "img"):
        assert len(page.all(tag)) == len(plain.all(tag))
    assert {str(e.attributes["class"]) for e in page.all("img")} <= {"drawing", "drawing alone"}
    assert not [name for e in page.elements for name in e.attributes if name.startswith("on")]
    assert HOSTILE in page.all("h1")[0].text
    labels = [str(e.attributes["alt"]) for e in page.all("img")]
    assert any(HOSTILE in label for label in labels)
    assert any(HOSTILE in e.text for e in page.all("title") if "svg" not in e.inside)
    data = page.by_id("data").text
    assert not set("<>&") & set(data)
    assert HOSTILE in json.loads(data)["views"]["sep.weight"]["title"]


@pytest.mark.usefixtures("undrawn")
def test_the_grid_shows_the_share_of_weight_to_sep():
    result = survey_sample(3, 4)
    page = Page(report(result))
    expected = result["share"].sel(measure="weight", query_category="all", key_category="sep")
    view = json.loads(page.by_id("data").text)["views"]["sep.weight"]
    assert view["values"] == [float(f"{v:.4g}") for v in expected.values.ravel()]
    titles = [e.text for e in page.all("title") if "g" in e.inside]
    assert titles[5] == f"Head L1H1: {100 * float(expected[1, 1]):.1f}%"


@pytest.mark.usefixtures("undrawn")
def test_differences_are_norm_minus_weight():
    result = survey_sample(2, 3)
    view = json.loads(Page(report(result)).by_id("data").text)["views"]["sep.norm-weight"]
    shares = result["share"].sel(query_category="all", key_category="sep")
    expected = (shares.sel(measure="norm") - shares.sel(measure="weight")).values.ravel()
    assert view["values"] == pytest.approx(expected, rel=1e-3)
    assert view["low"] == -view["high"]
    assert view["high"] >= max(abs(expected))


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn")
def test_what_effective_attention_lacks_is_said_and_shown():
    result = survey_sample(2, 3)
    share = result["share"].sel(query_category="all").sum("key_category")
    lost = (share.sel(measure="weight") - share.sel(measure="effective")).values
    page = Page(report(result))
    view = json.loads(page.by_id("data").text)["views"]["unreached."]
    assert view["values"] == pytest.approx(lost.ravel(), rel=1e-3, abs=1e-4)
    drawn = texts(pictures(result)["matrices"].draw())
    assert f"{100 * lost.mean():.1f}%" in drawn, "the map of effective attention adds up to 100%"
    layer, head = np.unravel_index(lost.argmax(), lost.shape)
    said = next(e.text for e in page.all("details") if "cannot reach the output" in e.text)
    assert f"adds up to {100 * (1 - lost.mean()):.0f}%" in said
    assert f"head L{layer}H{head}: {100 * lost.max():.0f}%" in said


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn")
def test_short_texts_have_effective_attention_that_is_the_weight_and_the_report_says_so():
    result = survey_sample(2, 3)
    said = "equal to the weight here, as in texts with no more tokens than a head has dimensions"
    assert said not in report(result)
    for name in (name for name in result if "measure" in result[name].dims):
        result[name].loc[{"measure": "effective"}] = result[name].sel(measure="weight")
    assert said in report(result)
    console = Console(width=200, force_terminal=False)
    with console.capture() as capture:
        console.print(study_terminal(result))
    assert said in " ".join(capture.get().split())


def test_passages_of_byte_level_vocabularies_are_text():
    shown = [piece_text(piece, "byte-level") for piece in ("ĠMary", "Ġdr", "ank", "Ċ")]
    tokens = [Attended(at, f"raw{at}", each, 0.25) for at, each in enumerate(shown)]
    passage = Passage(shown[1], 1, 4, tokens, 0.5, 0.0)
    drawn = drawn_passage(passage, self_attention=True)
    assert re.sub("<[^>]*>", "", drawn) == "Mary drank↵"
    assert 'title="raw0 25' in drawn
    assert drawn.count('class="q10') == 4  # half of 20 steps: the root of 25%, of one scale for all
    assert strongest(passage).startswith("dr → Mary")


@pytest.mark.usefixtures("undrawn")
def test_every_measure_is_explained_where_it_is_first_named():
    page = Page(report(survey_sample(2, 2)))
    terms = [e.text for e in page.all("dd")]
    for name in ("weight", "norm", "effective"):
        assert any(measure(name).meaning in term for term in terms)
    views = json.loads(page.by_id("data").text)["views"]
    assert all(view["help"] for view in views.values())


@pytest.mark.slow
def test_every_head_is_drawn_from_measure_to_measure():
    result = survey_sample(3, 4)
    drawn = pictures(result)["from_weight_to_norm"].draw()
    axes = next(each for each in drawn.axes if each.get_title("left") == "Share of [SEP]")
    (lines,) = axes.collections
    share = result["share"].sel(query_category="all", key_category="sep").values.reshape(3, -1)
    ends = np.stack([path.vertices for path in lines.get_paths()])
    assert np.array_equal(ends[:, :, 1], share.T)
    assert np.array_equal(ends[:, :, 0], np.tile(np.arange(3), (12, 1)))
    named = {each.get_text() for each in axes.texts}
    change = np.abs(share - share[0]).max(axis=0)
    most = [f"L{n // 4}H{n % 4}" for n in np.argsort(-change)[:5] if change[n] > 0.1]
    assert named == set(most)
    assert points(line_named(axes, "mean"))[:, 1] == pytest.approx(share.mean(axis=1))


@pytest.mark.slow
def test_the_heads_that_stand_out_are_named():
    result = survey_sample(3, 4)
    result["neighbour"][:] = 0.05
    result["neighbour"].loc[{"measure": "weight", "layer": 1, "head": 2, "offset": 1}] = 0.97
    drawn = pictures(result)["neighbours"].draw()
    named = {
        axes.get_title("left"): [each.get_text() for each in axes.texts] for axes in drawn.axes
    }
    assert named["Share of the next token"][0] == "L1H2"
    assert list(named) == ["Share of the next token"], "panels of what no head does are left out"


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn")
def test_missing_heads_are_marked_and_not_drawn():
    result = survey_sample(2, 4, pruned=True)
    page = Page(report(result))
    assert str(page.by_id("L1H3").attributes["class"]) == "cell none"
    for name in ("shares", "neighbours", "from_weight_to_norm"):
        drawn = svg_text(pictures(result)[name].draw())
        assert "L1H1" in drawn
        assert "L1H3" not in drawn


@pytest.mark.slow
def test_every_figure_says_how_to_read_it_and_where_it_is_from():
    text = report(survey_sample())
    for source in (
        "Clark et al. (2019), Figure 2",
        "Kobayashi et al. (2020), Figure 3",
        "Brunner et al. (2020), Figure 1b–c",
        "Clark et al. (2019), Section 3.2",
        "Clark et al. (2019), Section 3.1",
        "Clark et al. (2019), Figure 4",
        "Kobayashi et al. (2020), Tables 1 and 4",
        "Brunner et al. (2020), Figure 1a",
    ):
        assert source in text
    page = Page(text)
    assert len(page.all("img")) == 1 + 5 + 1 + 1 + 1 + 1 + 1 + 2
    assert all(e.attributes["alt"] for e in page.all("img"))


@pytest.mark.slow
def test_dots_and_lines_stand_where_their_values_are():
    result = survey_sample(4, 3)
    drawn = pictures(result)["shares"].draw()
    axes = next(each for each in drawn.axes if each.get_title("left") == "Share of [SEP]")
    values = result["share"].sel(query_category="all", key_category="sep")
    for name, each in zip(["weight", "norm", "effective"], dots(axes), strict=True):
        assert np.array_equal(points(each)[:, 1], values.sel(measure=name).values.ravel())
        line = points(line_named(axes, name))
        assert line[:, 1] == pytest.approx(values.sel(measure=name).mean("head").values)


@pytest.mark.slow
def test_maps_hold_the_means_of_the_shares():
    result = survey_sample(4, 3)
    drawn = pictures(result)["matrices"].draw()
    axes = next(each for each in drawn.axes if "norm" in each.get_title("left"))
    shares = result["share"].sel(measure="norm").mean(["layer", "head"])
    wanted = shares.transpose("query_category", "key_category").values
    np.testing.assert_allclose(axes.collections[0].get_array(), wanted)


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn")
def test_tables_hold_every_head_with_numbers_to_sort_by():
    result = survey_sample(3, 4)
    page = Page(report(result))
    cells = [float(str(e.attributes["data-v"])) for e in page.all("td") if "data-v" in e.attributes]
    assert all(math.isfinite(value) for value in cells)
    share = result["share"].sel(measure="norm", query_category="all", key_category="sep")
    assert any(math.isclose(value, 100 * float(share[2, 3]), rel_tol=1e-5) for value in cells)
    frame = tables(result)["heads"].frame
    assert list(zip(frame["layer"], frame["head"], strict=True)) == list(np.ndindex(3, 4))
    assert frame["norm [SEP] %"].tolist() == (100 * share).values.ravel().tolist()
    headers = [e for e in page.all("th") if "aria-sort" in e.attributes]
    assert {e.attributes["aria-sort"] for e in headers} == {"none"}


def test_what_is_known_of_heads_and_layers_beside_shares_has_tables():
    result = survey_sample(3, 4)
    known = tables(result)
    assert list(known)[:2] == ["layers", "heads"]
    frame = known["heads"].frame.set_index(["layer", "head"])
    own = result["neighbour"].sel(measure="norm", offset=0, layer=2, head=1)
    assert frame.loc[(2, 1), "norm itself %"] == 100 * float(own)
    layers = known["layers_beside"].frame.set_index("layer")
    assert layers.loc[1, "‖x‖ CV"] == float(result["input_norm_cv"][1])
    row = known["dispersion"].frame.iloc[0]
    most = np.unravel_index(int(np.argmax(result["vector_norm_cv"].values)), (3, 4))
    assert row["largest CV"] == float(result["vector_norm_cv"].max())
    assert row["largest in"] == f"L{most[0]}H{most[1]}"
    assert row["longest"] == float(result["vector_norm_max"].max())


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn")
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


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("most", ["cls", "sep", "punctuation"])
def test_the_grid_begins_with_what_the_first_finding_is_about(most):
    result = survey_sample(3, 4)
    result["share"][:] = 0.2
    result["neighbour"][:] = 0.01
    result["share"].loc[{"key_category": most, "layer": 2, "measure": "weight"}] = 0.9
    page = Page(report(result))
    assert highlights(result)[0].question == most
    assert json.loads(page.by_id("data").text)["first"] == f"{most}.weight"
    checked = {str(e.attributes["value"]) for e in page.all("input") if "checked" in e.attributes}
    assert most in checked


@pytest.mark.usefixtures("undrawn")
def test_words_from_the_outside_have_their_own_direction():
    result = survey_sample(2, 2, corpus="שלום.txt")
    page = Page(report(result))
    assert page.all("h1")[0].attributes["dir"] == "ltr"  # a sentence of ours
    assert any(e.text == "שלום.txt" for e in page.all("bdi"))


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn")
def test_the_foot_holds_command_versions_and_digest():
    result = survey_sample()
    text = report(result)
    for words in (result.attrs["command"], result.attrs["corpus_digest"], "5.23.0", "992"):
        assert words in text
    assert "headlight survey other" in report(result, command="headlight survey other")


@pytest.mark.slow
def test_a_result_of_one_measure_is_drawn():
    page = Page(report(survey_sample(2, 2).sel(measure=["weight"])))
    values = {e.attributes["value"] for e in page.all("input") if e.attributes["name"] == "measure"}
    assert values == {"weight"}


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn")
def test_layers_have_the_numbers_of_the_model_where_a_survey_holds_some_only():
    result = survey_sample(6, 3).isel(layer=[1, 4])
    page = Page(report(result))
    names = [f"L{layer}H{head}" for layer in (1, 4) for head in range(3)]
    cells = [str(e.attributes.get("id")) for e in page.all("g")]
    assert [name for name in cells if re.fullmatch(r"L\dH\d", name)] == names
    rows = [e.text for e in page.all("th") if e.attributes.get("scope") == "row"]
    assert set(rows) >= {"1", "4"}
    assert not {"0", "2", "3", "5"} & set(rows)
    drawn = svg_text(pictures(result)["shares"].draw())
    heads = re.findall(r'id="heads-[^."]*\.([^"]*)"', drawn)
    assert heads
    assert all(each.split(".") == names for each in heads)


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn")
def test_the_title_is_the_first_finding_and_the_others_stand_open_below():
    result = survey_sample(6, 8)
    page, (first, *others) = report(result), highlights(result)
    title = short_sentence(first.text)
    assert Page(page).all("h1")[0].text == title
    assert "95%" not in title
    assert page.index(title) < page.index('class="answer') < page.index('id="highlights"')
    assert [page.count(str(claim(each.text))) for each in others] == [1] * len(others)
    assert str(claim(first.text)) not in page
    shown = re.findall(r'href="#head=(L\d+H\d+)&', page)
    about = [each for each in (first, *others) if each.head is not None]
    assert shown == [f"L{each.layer}H{each.head}" for each in about]
    words = " ".join(words_when_open(page))
    open_others = [short_sentence(each.text).rstrip(".") in words for each in others]
    assert open_others == [at < SHOWN for at in range(len(others))]


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize(("layers", "heads"), [(6, 8), (12, 12)])
def test_few_words_are_seen_before_anything_is_unfolded(layers, heads):
    assert len(words_when_open(report(survey_sample(layers, heads)))) <= 1200


def test_the_findings_begin_with_the_title_and_have_its_intervals():
    result = survey_sample(6, 8)
    result = result.assign(
        {f"share_{end}": result["share"] + by for end, by in (("low", -0.02), ("high", 0.02))}
    )
    answer = headline(result)
    assert answer is not None
    assert "95%" in findings(result)[0]
    assert INTERVAL.sub("", findings(result)[0]).startswith(answer.title)


@pytest.mark.parametrize(("layers", "heads"), [(12, 12), (17, 3), (3, 17)])
def test_squares_of_many_layers_or_heads_hold_no_numbers(layers, heads):
    grid = head_grid(survey_sample(layers, heads))
    assert grid is not None
    many = max(layers, heads) > 16
    assert bool(grid.views[grid.first]["cells"]) != many
    assert ("dense" in grid.drawing) == many


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn")
def test_the_answer_shows_its_head_by_weight_and_norm_among_all_heads():
    result = survey_sample(6, 8)
    result["share"][:] = 0.1
    share = result["share"].sel(query_category="all", key_category="sep")
    where = {"query_category": "all", "key_category": "sep", "layer": 4, "head": 7}
    result["share"].loc[{**where, "measure": "weight"}] = 0.8
    result["share"].loc[{**where, "measure": "norm"}] = 0.2
    share = result["share"].sel(query_category="all", key_category="sep")
    answer = headline(result)
    assert answer is not None
    assert answer.title == "80% of L4H7's weight goes to [SEP], but only 20% of its norm."
    bars, drawing, head = answer.pictures
    means = [float(share.sel(measure=name).mean()) for name in ("weight", "norm")]
    assert [(bar.value, bar.is_reference) for bar in bars.bars] == [
        ("80%", False),
        ("20%", False),
        *((f"{100 * mean:.0f}%", True) for mean in means),
    ]
    assert [bar.share for bar in bars.bars] == pytest.approx([1, 0.25, *(m / 0.8 for m in means)])
    (axes,) = drawing.draw().axes
    weight, norm = (100 * share.sel(measure=name).values.ravel() for name in ("weight", "norm"))
    np.testing.assert_allclose(points(line_named(axes, "a head")), np.stack([weight, norm], 1))
    assert "to [SEP]" in axes.get_xlabel()
    assert "L4H7" in {each.get_text() for each in axes.texts}
    assert head.title == "L4H7"
    page = report(result)
    assert page.count('data-name="weight_against_norm"') == 1


@pytest.mark.parametrize("behaviour", ["previous", "next"])
def test_heads_of_the_title_are_ranked_beside_the_mean(behaviour):
    result = survey_sample(3, 4)
    result["share"][:] = 0.25
    result["neighbour"][:] = 0.05
    row = {"measure": ["weight", "norm"], "offset": {"previous": -1, "next": 1}[behaviour]}
    result["neighbour"].loc[{**row, "layer": 1, "head": 2}] = 0.95
    result["neighbour"].loc[{**row, "layer": 2, "head": 0}] = 0.6
    answer = headline(result)
    assert answer is not None
    assert answer.title.startswith("Head L1H2 gives 95% of its weight")
    bars = answer.pictures[0]
    mean = (0.95 + 0.6 + 10 * 0.05) / 12
    assert [(bar.label, bar.value) for bar in bars.bars] == [
        ("L1H2", "95%"),
        ("L2H0", "60%"),
        ("mean of all 12 heads", f"{100 * mean:.0f}%"),
    ]
    assert [bar.share for bar in bars.bars] == pytest.approx([1, 0.6 / 0.95, mean / 0.95])


@pytest.mark.parametrize("seed", [0, 1])
def test_the_pictures_of_every_finding_show_its_head(seed):
    result = survey_sample(3, 4, seed=seed)
    for highlight in highlights(result):
        picture, *_ = finding_pictures(result, highlight)
        if isinstance(picture, BarList):
            name = f"L{highlight.layer}H{highlight.head}"
            if name in short_sentence(highlight.text):
                assert name in f"{picture.title} {picture.bars[0].label}", highlight.text
            assert len(picture.bars) > 1
            assert max(bar.share for bar in picture.bars) == 1
            assert min(bar.share for bar in picture.bars) >= 0


def test_panels_that_are_left_out_are_named():
    """A kind of token, or a neighbour, to which no head gives much."""
    result = survey_sample(2, 2).copy(deep=True)
    result["share"][:] = result["neighbour"][:] = 0.5
    assert (
        "Left out"
        not in shares_section(result).explanation + neighbours_section(result).explanation
    )
    result["share"].loc[{"key_category": "punctuation"}] = 0.05
    result["neighbour"].loc[{"offset": 1}] = 0.05
    left = "Left out, since no head gives 10% there: "
    assert shares_section(result).explanation.endswith(f"{left}punctuation.")
    assert f"{left}the next token." in neighbours_section(result).explanation
    drawn = {f"to_{name}" for name in ("cls", "sep", "other")}
    (drawing, *_) = shares_section(result).drawings
    assert len(drawing.draw().axes) == len(drawn)
