"""The page of a reading in a real browser: what it shows, and how it is used."""

import json
import re
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

from headlight.findings import highlights, pieces_of
from headlight.result.kinds import concat_kinds
from headlight.views.reading.corpus_results import InCorpus
from headlight.views.reading.packing import pack
from headlight.views.reading.weight_against_norm import opening_sentence
from headlight.views.result_page import result_page
from long_cases import mostly_long
from reading.test_generation import decoder
from views.browsers import needs_browser, settle
from views.sample_results import counted, reading_sample, survey_sample
from views.test_in_corpus import relations

pytestmark = needs_browser

HOSTILE = (
    *("[CLS]", "</script><b>", "<img src=x onerror=alert(1)>", "a\u2028b", "שלום", "##ים"),
    *("🦉", "x" * 10_000, " ", "[SEP]"),
)


def numbers(shown, name):
    """What the page would write as JSON."""
    with shown.page.expect_download() as download:
        shown.page.locator("#export-box").evaluate("each => { each.open = true; }")
        shown.page.click("#export-json")
    return json.loads(Path(download.value.path()).read_text(encoding="utf-8"))[name]


@pytest.mark.parametrize("head", mostly_long(["0-1", "1-2"], "1-2"))
def test_the_numbers_of_the_page_are_those_of_the_reading(show, head):
    reading = reading_sample(2, 3)
    bounds = {
        name: row["bound"]
        for name, row in pack(reading).header["kinds"]["encoder"]["measures"].items()
    }
    shown = show(reading, f"#h={head}")
    layer, number = map(int, head.split("-"))
    for name in ("weight", "norm", "effective", "merged_norm"):
        values = reading[name].sel(layer=layer)
        values = values.sel(head=number) if "head" in values.dims else values
        far = np.abs(np.array(numbers(shown, name)) - values.values)
        assert far.max() <= bounds[name] + 1e-3 * float(np.abs(values).max())


@pytest.mark.long
def test_effective_attention_that_is_the_weight_is_said_to_be_and_not_opened(show):
    reading = reading_sample(2, 2)
    assert show(reading).page.locator("#panels b").all_inner_texts() == [
        *("weight", "norm", "effective")
    ]
    reading["effective"] = reading["weight"].copy()
    reading.attrs["head_dim"] = 32
    shown = show(reading)
    assert shown.page.locator("#panels b").all_inner_texts() == ["weight", "norm"]
    assert "6 tokens are fewer than the head's 32 dimensions" in shown.text("#equal")


def test_the_first_token_of_a_decoder_is_hidden_with_the_special_ones(show):
    decoder = counted(reading_sample(2, 2, tuple("abcd")).assign_attrs(kind="decoder"))
    shown = show(decoder, "#h=0-0")
    assert shown.page.locator("#text button").all_inner_texts() == ["b", "c", "d"]
    assert shown.text("#special-of") == "First and special tokens"
    assert "the first token" in shown.text("#card")
    shown = show(reading_sample(2, 2, tuple("abcd")), "#h=0-0&s=out")
    assert shown.page.locator("#text button").count() == 4


def test_induction_heads_are_found_first(show):
    reading = reading_sample(2, 2, tuple("abababa")).assign_attrs(kind="decoder")
    reading["weight"][:] = np.eye(7)
    reading["weight"][1, 0, 2:] = np.eye(7, k=-1)[2:] * 0.8 + np.eye(7)[2:] * 0.2
    shown = show(counted(reading), "#m=weight")
    options = shown.page.locator("#sort option").all_inner_texts()
    assert "to what followed earlier equal tokens" in options
    shown.page.locator("#sort").select_option("induction")
    assert shown.page.locator("#leading button").first.inner_text() == "L1H0 80%"


@pytest.mark.long
def test_what_few_rows_do_is_shown_and_not_ranked(show):
    reading = counted(reading_sample(2, 2, tuple("abcda")).assign_attrs(kind="decoder"))
    shown = show(reading, "#h=0-0&m=weight")
    assert "to what followed earlier equal tokens (1 of 5 rows)" in shown.text("#card")
    options = shown.page.locator("#sort option").all_inner_texts()
    assert "to what followed earlier equal tokens" not in options
    assert "to the first token" in options


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_the_terminal_opens_with_the_title_of_the_page(show, kind):
    reading = counted(reading_sample(3, 4, tuple("abcdefg")).assign_attrs(kind=kind))
    said = show(reading, "#v=bars").text("#said").translate({0x2068: None, 0x2069: None})
    numbers = re.compile(r"(\d+)%")
    wanted = opening_sentence(reading)
    assert numbers.sub("%", said) == numbers.sub("%", wanted)
    # Cells of a page are rounded to a byte.
    pairs = zip(numbers.findall(said), numbers.findall(wanted), strict=True)
    assert all(abs(int(one) - int(other)) <= 1 for one, other in pairs)


def test_a_generated_token_leads_to_the_row_that_predicted_it(show):
    made = decoder().generate("the river keeps", max_new_tokens=3)
    shown = show(made.dataset, "#v=bars")
    tokens = [each.label for each in pieces_of(made.dataset, "query_next")][:-1]
    assert shown.page.locator("#generated button").all_inner_texts() == tokens
    (share, *_) = shown.page.locator("#generated tbody td:nth-child(2)").all_inner_texts()
    after = f"“\u2068{tokens[0]}\u2069” was written after “\u2068keeps\u2069”"
    assert shown.text("#said").startswith(f"{after}, with a probability of {share}. In ")
    assert "goes on with “the river keeps”" in shown.text("header h1")
    assert shown.page.locator("#bars .chosen").text_content() == "\u2068keeps\u2069"
    shown.page.click('#generated [data-row="2"]')
    assert shown.text("#said").startswith(f"“\u2068{tokens[2]}\u2069” was written after ")
    assert shown.page.locator("#bars [data-bar=weight]").count() == 5, "as many as it sees"
    shown.page.click("input[value=maps]")
    assert shown.page.locator("#target button").count() == 4, "rows of the prompt are left out"


@pytest.mark.long
@pytest.mark.parametrize("width", [390, 1440])
def test_labels_of_tokens_are_not_cut_at_the_left(show, width):
    tokens = tuple(f"<|im_{at}_start|>" for at in range(40))
    shown = show(reading_sample(1, 1, tokens).assign_attrs(kind="decoder"), "#v=bars")
    shown.page.set_viewport_size({"width": width, "height": 800})
    settle(shown.page, 200)
    left = shown.page.locator("#bars").bounding_box()["x"]
    labels = shown.page.locator("#bars text[data-token]")
    assert min(each.bounding_box()["x"] for each in labels.all()) >= left


def test_words_are_sums_over_keys_and_means_over_queries(show):
    reading = reading_sample(1, 1, ("[CLS]", "in", "##deed", "so", "[SEP]"))
    reading = reading.assign_coords(
        query_word=("query", [-1, 0, 0, 1, -1]), key_word=("key", [-1, 0, 0, 1, -1])
    )
    shown = show(reading, "#u=words&s=out")
    weight = reading["weight"].values[0, 0]
    expected = [
        [weight[1:3, 1:3].sum() / 2, weight[1:3, 3].mean()],
        [weight[3, 1:3].sum(), weight[3, 3]],
    ]
    np.testing.assert_allclose(numbers(shown, "weight"), expected, atol=0.009)
    assert [each.inner_text() for each in shown.page.locator("#text button").all()] == [
        "indeed",
        "so",
    ]


@pytest.mark.long
def test_tokens_of_a_byte_level_vocabulary_are_shown_as_text(show):
    tokens = ("The", "ĠMary", "Ċ", "ĠJos", "Ã©", "ĠðŁ")
    reading = reading_sample(1, 1, tokens).assign_attrs(pieces="byte-level")
    shown = show(reading, "#q=1&k=3")
    words = shown.page.locator("#text button")
    assert words.all_inner_texts() == ["The", "Mary", "↵", "Jos", "é", "\\xf0\\x9f"]
    assert [each.get_attribute("title") for each in words.all()] == [None, *tokens[1:]]
    begins = words.evaluate_all("all => all.map(each => each.classList.contains('begins'))")
    assert begins == [False, True, False, True, False, True]
    assert shown.text("#readout").startswith("\u2068Mary\u2069 → \u2068Jos\u2069")
    shown.page.locator("#export-box").evaluate("each => { each.open = true; }")
    shown.page.click("#export-latex")
    taken = shown.page.input_value("#taken")
    assert "$\\hookleftarrow$" in taken
    pieces = re.findall(r"strut (.*?)}(?= ?\\colorbox|}\n)( ?)", taken)
    assert pieces[:2] == [("The", " "), ("Mary", "")]
    assert pieces[3:5] == [("Jos", ""), ("é", " ")]
    assert "Ġ" not in taken


def test_the_page_opens_at_the_last_word_where_the_norm_is_farthest_from_the_weight(show):
    reading = reading_sample(2, 3)
    gap = np.abs(reading["weight"] - reading["norm"] / reading["norm"].sum("key"))
    query = max(np.flatnonzero(reading["query_category"].values == "other"))
    layer, head = np.unravel_index(gap[:, :, query].sum("key").values.argmax(), (2, 3))
    plain = ~np.isin(reading["key_category"].values, ["cls", "sep"])
    key = np.where(plain, gap[layer, head, query].values, 0).argmax()
    shown = show(reading)
    tokens = [f"\u2068{reading['key_token'].values[at]}\u2069" for at in (query, key)]
    assert shown.text("#readout").startswith(" → ".join(tokens))
    assert f"h={layer}-{head}&m=weight&q={query}&k={key}" in shown.address
    norm = reading["norm"].values[layer, head, query]
    part = re.search(r"\((\d+)% of its row\)", shown.text("#readout"))
    assert float(part[1]) == pytest.approx(100 * norm[key] / norm.sum(), abs=1)


def bars(shown, name):
    """Heights of the bars of a measure, by the place of the token."""
    found = shown.page.locator(f'#bars [data-bar="{name}"]').evaluate_all(
        "all => all.map(each => [each.dataset.key, each.getAttribute('height')])"
    )
    return {int(key): float(height) for key, height in found}


def test_the_title_and_the_bars_are_of_the_chosen_token(show):
    reading = reading_sample(2, 3)
    reading["weight"][1, 2, 4] = [0.7, 0.1, 0.1, 0.05, 0.03, 0.02]
    reading["vector_norm"][1, 2] = [0.1, 1, 2, 1, 1, 1]
    reading["norm"] = (reading["weight"] * reading["vector_norm"]).transpose(*reading.norm.dims)
    shown = show(reading, "#h=1-2&q=4&v=bars&s=out")
    words = reading["key_token"].values
    share = reading["norm"].values[1, 2, 4] / reading["norm"].values[1, 2, 4].sum()
    said = re.sub("[\u2068\u2069]", "", shown.text("#said"))
    assert f"looks at “{words[0]}” (70% of the weight) but takes only " in said
    part = re.search(rf"(\d+)% comes from “{words[2]}", said)
    assert float(part[1]) == pytest.approx(100 * share[2], abs=1.5)
    heights = bars(shown, "norm")
    assert set(heights) == {1, 2, 3, 4}  # special tokens are hatched
    unit = heights[2] / share[2]
    for at, height in heights.items():
        assert height == pytest.approx(max(unit * share[at], 1), abs=0.3 * unit / 100)
    assert shown.page.locator("#bars [data-hidden]").count() == 4
    shown.page.click("#parked")
    assert set(bars(shown, "weight")) == set(range(6))
    shown.page.locator("#bars [data-token='2']").first.click()
    assert "q=2" in shown.address
    assert f"“{words[2]}" in re.sub("[\u2068\u2069]", "", shown.text("#said"))
    cells = shown.page.locator("#apart rect")
    assert cells.count() == 6
    cells.first.click()
    assert shown.text("#said").startswith("In L0H0, ")
    assert "h=0-0" in shown.address


@pytest.mark.long
@pytest.mark.parametrize(
    "weights",
    [
        [0.7, 0.05, 0.1, 0.05, 0.03, 0.07],  # more and less than any other token has
        [0.0, 0.5, 0.2, 0.2, 0.1, 0.0],  # nothing
        [0.3, 0.04, 0.03, 0.02, 0.01, 0.6],  # two that are beyond the scale
    ],
)
@pytest.mark.parametrize("width", [1280, 390])
def test_of_two_bars_the_higher_one_has_the_larger_number(show, weights, width):
    reading = reading_sample(1, 1)
    reading["weight"][0, 0, 2] = weights
    reading["norm"] = (reading["weight"] * reading["vector_norm"]).transpose(*reading.norm.dims)
    shown = show(reading, "#q=2&v=bars&s=out", viewport={"width": width, "height": 900})
    drawn = shown.page.locator("#bars rect:has(title)").evaluate_all(
        "all => all.map(each => [each.textContent, each.getAttribute('height')])"
    )
    all_bars = sorted(
        (float(re.search(r"([\d.]+)% of", said)[1]), float(height), "broken" in said)
        for said, height in drawn
    )
    assert len(all_bars) == 2 * len(weights)
    assert all(one[1] <= other[1] for one, other in pairwise(all_bars))
    whole = [(share, height) for share, height, is_broken in all_bars if not is_broken]
    unit = whole[-1][1] / whole[-1][0]
    for share, height in whole:
        assert height == pytest.approx(unit * share, abs=0.02 * whole[-1][1])
    broken = [share for share, _, is_broken in all_bars if is_broken]
    assert shown.page.locator("#bars [data-broken]").count() == 2 * len(broken)
    labels = shown.page.locator("#bars text.value").all_text_contents()
    for share in broken:  # beside a mark stands the number
        assert any(abs(float(label.rstrip("%")) - share) <= 0.55 for label in labels)
    assert ("with a break" in shown.text("#bars-said")) == bool(broken)


APART = """() => {
  const boxes = [...document.querySelectorAll(SELECTOR)].map((each) => each.getBBox());
  return boxes.every((one, at) => boxes.slice(at + 1).every((other) =>
    one.x + one.width <= other.x || other.x + other.width <= one.x ||
    one.y + 2 >= other.y + other.height - 2 || other.y + 2 >= one.y + one.height - 2));
}"""
"""Whether no label lies over another; the boxes of letters are some pixels taller than they."""


@pytest.mark.parametrize("width", [1280, 390])
def test_numbers_of_bars_stand_apart(show, width):
    words = tuple(f"word{at}" for at in range(40))
    reading = reading_sample(1, 1, words)
    weights = 1 + 0.02 * np.sin(np.arange(40))
    weights[:12] += 20
    reading["weight"][0, 0, 3] = weights / weights.sum()
    shown = show(reading, "#q=3&v=bars", viewport={"width": width, "height": 900})
    assert shown.page.locator("#bars text.value").count() > 6
    assert shown.page.evaluate(APART.replace("SELECTOR", "'#bars text.value'"))
    high, room = shown.page.evaluate(
        "[Math.min(...[...document.querySelectorAll('#bars text.value')].map(e => e.getBBox().y)),"
        " document.querySelector('#bars').getBoundingClientRect().width]"
    )
    assert high >= -3
    assert room <= width


@pytest.mark.long
def test_tokens_without_room_are_counted_with_what_they_hold(show):
    words = tuple(f"word{at}" for at in range(40))
    shown = show(reading_sample(1, 1, words), "#q=3&v=bars", viewport={"width": 390, "height": 900})
    weight = reading_sample(1, 1, words)["weight"].values[0, 0, 3]
    said = shown.text("#bars-said")
    found = re.search(r"Left out for want of room: (\d+) tokens with (\d+)% of the weight", said)
    assert found, said
    drawn = bars(shown, "weight")
    assert len(drawn) + int(found[1]) == len(words)
    left = 100 * np.delete(weight, list(drawn)).sum()
    assert int(found[2]) == pytest.approx(left, abs=1)


@pytest.mark.long
def test_the_first_token_is_never_the_first_picture_of_a_decoder(show):
    decoder = counted(reading_sample(2, 2, tuple("abcd")).assign_attrs(kind="decoder"))
    shown = show(decoder, "#v=bars")
    assert 0 not in bars(shown, "weight")
    assert shown.page.locator("#bars [data-hidden='0']").count() == 2
    assert "hatched, not drawn to scale: " in shown.text("#parked")


@pytest.mark.long
@pytest.mark.parametrize("number", [30, 40])
def test_maps_of_forty_tokens_have_labels(show, number):
    shown = show(reading_sample(1, 2, tuple(f"token{at}" for at in range(number))))
    moved = shown.page.locator(".cursor").first.get_attribute("style")
    assert float(re.search(r"translate\(([\d.]+)px", moved)[1]) > 20  # beside names of rows
    assert shown.page.evaluate("document.documentElement.scrollWidth") <= 1440


def test_the_heads_that_come_first_are_named_with_their_numbers(show):
    reading = reading_sample(2, 3, tuple("abcdef"))
    reading["weight"][1, 1] = np.eye(6)
    shown = show(counted(reading), "#h=0-0")
    assert not shown.page.locator("#leading").is_visible()
    shown.page.select_option("#sort", "current")
    first = shown.page.locator("#leading button")
    assert first.count() == 5
    assert first.first.inner_text() == "L1H1 100%"
    first.first.click()
    assert shown.text("#head-title") == "Head L1H1"
    shown.page.click("#by-cell")
    numbers = [float(each.split()[1].strip("%")) for each in first.all_inner_texts()]
    assert numbers == sorted(numbers, reverse=True)


@pytest.mark.long
def test_links_of_the_same_words_are_told_apart_by_their_places(show):
    shown = show(reading_sample(1, 1, ("[CLS]", "the", "cat", "the", "[SEP]")))
    shown.page.locator("#links-box").evaluate("each => { each.open = true; }")
    shown.page.wait_for_selector("#links tbody tr")
    words = set(shown.page.locator("#links tbody td:not(:last-child)").all_inner_texts())
    assert words == {"[CLS]", "the (1)", "cat", "the (3)", "[SEP]"}


def test_hostile_tokens_are_text(show):
    shown = show(reading_sample(1, 2, HOSTILE))
    assert shown.page.locator("#text img").count() == 0
    found = shown.page.locator("#text button").evaluate_all("all => all.map(e => e.textContent)")
    assert found == list(HOSTILE)
    shown.page.keyboard.press("w")


def test_a_link_brings_the_state_back(show):
    reading = reading_sample(3, 4, tuple("abcdefgh"))
    address = (
        "#h=2-3&m=norm&q=2,4&k=5&u=words&c=common&d=to&t=0.04&o=entropy"
        "&p=weight,difference&l=weight&s=shown"
    )
    shown = show(reading, address)
    shown.page.evaluate("document.getElementById('export-link').click()")
    link = shown.page.input_value("#taken").partition("#")[2]
    assert sorted(link.split("&")) == sorted(address[1:].split("&"))
    assert shown.text("#head-title") == "Head L2H3"
    assert shown.page.input_value("#sort") == "entropy"


def test_a_head_leads_to_the_report_of_a_survey_and_shows_what_it_says(show, tmp_path):
    survey = survey_sample(2, 3)
    survey["share_low"], survey["share_high"] = survey["share"] - 0.0196, survey["share"] + 0.0196
    (tmp_path / "report.html").write_text(result_page(survey), encoding="utf-8")
    corpus = InCorpus(survey=survey, dependency=relations(), report="report.html")
    about = next(each for each in highlights(survey) if each.head is not None)
    address = f"#h={about.layer}-{about.head}&o=relation nsubj"
    shown = show(reading_sample(2, 3), address, corpus=corpus)
    assert about.text in shown.text("#in-corpus")
    assert shown.page.input_value("#sort") == "relation nsubj"
    share = float(
        survey["share"].sel(query_category="all", key_category="sep", measure="weight")[
            about.layer, about.head
        ]
    )
    low, high = (100 * max(share + by, 0) for by in (-0.0196, 0.0196))
    assert f"corpus {100 * share:.1f}% ±{(high - low) / 2:.1f}" in shown.text("#card")
    assert "nsubj, found in the corpus" in shown.text("#card")
    shown.page.click("#in-corpus a")
    shown.page.wait_for_selector("#detail h3")
    assert shown.text("#detail h3") == f"Head L{about.layer}H{about.head}"
    shown.requests.clear()  # the report, after the click


def test_a_head_of_a_report_is_ringed_in_all_its_pictures_and_framed_in_the_grid(browser, tmp_path):
    path = tmp_path / "report.html"
    path.write_text(result_page(survey_sample(2, 3)), encoding="utf-8")
    page = browser.new_page()
    page.goto(path.as_uri())
    assert page.locator(".rings").count() == 0
    page.hover("#L1H2 rect")
    assert page.locator(".cell.linked").count() == 1
    ringed = page.locator(".picture:not([hidden]) .rings").evaluate_all(
        "all => all.map(each => each.childElementCount)"
    )
    assert len(ringed) == 7
    assert min(ringed) > 0
    page.close()


@pytest.mark.long
def test_a_report_shows_one_set_of_shares_at_a_time(browser, tmp_path):
    path = tmp_path / "report.html"
    path.write_text(result_page(survey_sample(2, 3)), encoding="utf-8")
    page = browser.new_page()
    page.goto(path.as_uri())
    shown = page.locator("#shares .picture:not([hidden])")
    assert shown.evaluate_all("all => all.map(each => each.dataset.name)") == ["shares"]
    page.click("#shares > details > summary")
    page.locator("[data-pictures=shares] label").nth(2).click()
    assert shown.evaluate_all("all => all.map(each => each.dataset.name)") == ["shares_from_sep"]
    page.close()


def test_nonsense_in_an_address_is_passed_over(show):
    shown = show(reading_sample(1, 2), "#h=9-9&m=nothing&q=77&k=-3&u=x&p=y&t=z&o=<b>")
    assert shown.text("#head-title").startswith("Head L0H")


def test_everything_by_the_keyboard(show):
    shown = show(reading_sample(3, 4, tuple("abcdefgh")), "#h=0-0")
    press = shown.page.keyboard.press
    press("]")
    press(".")
    assert shown.text("#head-title") == "Head L1H1"
    press("[")
    press(",")
    press(",")
    assert shown.text("#head-title") == "Head L0H3"
    press("2")
    shown.page.wait_for_url(lambda url: "m=norm" in url)  # the address is written in a while
    press("d")
    assert shown.page.locator(".panel").count() == 4
    press("w")
    press("x")
    assert "u=words" in shown.address
    assert "s=faint" in shown.address
    press("t")
    assert shown.text("#text-title").startswith("What gives to")
    press("l")
    assert shown.page.locator("#lines-box").evaluate("each => each.open")
    shown.page.locator(".map").first.focus()
    before = shown.text("#readout")
    press("ArrowDown")
    press("ArrowRight")
    assert shown.text("#readout") != before
    press("Escape")
    press("/")
    assert shown.page.evaluate("document.activeElement.id") == "sort"


def test_heads_are_found_by_what_they_do(show):
    reading = reading_sample(2, 3, tuple("abcdef"))
    reading["weight"][1, 1] = np.eye(6)
    shown = show(counted(reading), "#h=0-0")
    shown.page.select_option("#sort", "current")
    box = shown.page.locator("#picker").bounding_box()
    shown.page.mouse.move(box["x"] + 40, box["y"] + 40)
    assert "L1H1" in shown.text("#hovered")
    assert "itself 100%" in shown.text("#hovered")
    shown.page.mouse.click(box["x"] + 40, box["y"] + 40)
    assert shown.text("#head-title") == "Head L1H1"
    shown.page.click("#alike")
    shown.page.click("#by-cell")


def test_pointing_shows_and_a_click_keeps(show):
    shown = show(reading_sample(1, 1, tuple("abcdefgh")), "#h=0-0&p=weight")
    box = shown.page.locator(".panel canvas").bounding_box()
    shown.page.mouse.move(box["x"] + box["width"] - 5, box["y"] + box["height"] - 5)
    assert "\u2068h\u2069 → \u2068h\u2069" in shown.text("#readout")
    shown.page.mouse.click(box["x"] + box["width"] - 5, box["y"] + box["height"] - 5)
    shown.page.mouse.move(box["x"] + box["width"] - 5, box["y"] + box["height"] / 2)
    assert shown.text("#readout").startswith("\u2068h\u2069")
    words = shown.page.locator("#text button")
    words.nth(2).click()
    words.nth(3).click(modifiers=["Shift"])
    assert shown.address.split("&")[2] == "q=2,3"
    assert shown.text("#text-title").replace("\u2068", "").replace("\u2069", "") == (
        "What “c + d” attends to"
    )


def test_pictures_and_lines_can_be_taken_away(show):
    reading = reading_sample(2, 2)
    shown = show(reading, "#h=1-1&p=weight,norm,merged_norm,difference")
    shown.page.locator("#export-box").evaluate("each => { each.open = true; }")
    with shown.page.expect_download() as download:
        shown.page.click("#export-svg")
    picture = ElementTree.parse(download.value.path())
    cells = [
        float(each.attrib["data-value"])
        for each in picture.iter("{http://www.w3.org/2000/svg}rect")
    ]
    assert len(cells) == 4 * 36
    expected = reading["weight"].sel(layer=1, head=1).values.ravel()
    np.testing.assert_allclose(cells[:36], expected, atol=0.005)
    with shown.page.expect_download() as download:
        shown.page.click("#export-png")
    pixels = Image.open(download.value.path()).convert("RGB")
    assert pixels.size == (
        2 * int(picture.getroot().get("width")),
        2 * int(picture.getroot().get("height")),
    )
    for cell in list(picture.iter("{http://www.w3.org/2000/svg}rect"))[::7]:
        place = [2 * int(cell.get(side)) + 12 for side in ("x", "y")]
        assert "#{:02x}{:02x}{:02x}".format(*pixels.getpixel(place)) == cell.get("fill")
    said = [each.text for each in picture.iter("{http://www.w3.org/2000/svg}text")]
    tops = shown.page.locator("#panels .top").all_inner_texts()
    assert {"L1H1 weight", "layer 1 merged norm (no head)", "0", "cat"} | {
        each.replace("± ", "+") for each in tops
    } <= set(said)
    shown.page.click("#export-python")
    assert shown.page.input_value("#taken").endswith('["weight"].sel(layer=1, head=1)')
    shown.page.click("#export-latex")
    assert shown.page.input_value("#taken").count("\\colorbox") == 6


def test_cross_attention_and_all_kinds(show):
    one = reading_sample(2, 3).assign_attrs(kind="encoder")
    other = reading_sample(1, 2).isel(query=slice(0, 4)).assign_attrs(kind="cross")
    shown = show(concat_kinds({"encoder": one, "cross": other}))
    assert shown.page.input_value("#kind") == "cross"
    assert "columns are attended to, and are the source’s" in shown.text("#maps")
    shown.page.select_option("#kind", "encoder")
    shown.page.wait_for_selector("#target", state="hidden")
    assert "source’s" not in shown.text("#maps")
    shown.page.select_option("#kind", "cross")
    shown.page.wait_for_selector("#target button:nth-child(3)")
    assert shown.page.locator("#text button").count() == 4
    assert "cross L0H" in shown.text("#head-title")
    shown.page.locator("#target button").nth(2).click()
    assert "q=3" in shown.address


@pytest.mark.long
def test_cells_that_are_not_kept_are_said(show):
    reading = reading_sample(2, 2, tuple(f"w{at}" for at in range(80)))
    shown = show(reading, "#h=0-0", megabytes=0.06)
    assert "strongest cells are kept" in shown.text("#maps")
    assert "headlight serve, or a larger --page-size" in shown.text("#maps")
    found = np.array(numbers(shown, "weight"), dtype=float)
    assert np.isnan(found).any()
    assert np.isfinite(found).any(-1).all()


@pytest.mark.parametrize(
    ("width", "scheme"),
    [(390, "light"), pytest.param(1440, "dark", marks=pytest.mark.long)],
)
def test_nothing_is_wider_than_the_window(show, width, scheme):
    shown = show(
        reading_sample(4, 12, tuple(f"word{at}" for at in range(40))),
        viewport={"width": width, "height": 900},
        color_scheme=scheme,
    )
    assert shown.page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("scheme", mostly_long(["light", "dark"], "dark"))
def test_the_page_can_be_used_by_all(show, scheme):
    from axe_playwright_python.sync_playwright import Axe

    shown = show(reading_sample(2, 3), color_scheme=scheme, bypass_csp=True)
    for box in ("links-box", "lines-box", "layers-box", "export-box", "keys-box"):
        shown.page.locator(f"#{box}").evaluate("each => { each.open = true; }")
    found = Axe().run(shown.page)
    told = [
        (each["id"], [node["target"] for node in each["nodes"]])
        for each in found.response["violations"]
    ]
    assert told == []


TWO = (("[CLS]", "the", "cat", "sat", "[SEP]"), ("[CLS]", "the", "old", "cat", "sat", "[SEP]"))


def two(layers=2, heads=3):
    """Readings of two texts that share all tokens but one."""
    return [
        reading_sample(layers, heads, tokens, seed).assign_coords(
            query_word=("query", [-1, *range(len(tokens) - 2), -1]),
            key_word=("key", [-1, *range(len(tokens) - 2), -1]),
        )
        for seed, tokens in enumerate(TWO)
    ]


def test_two_readings_differ_where_tokens_agree(show):
    first, second = two()
    shown = show(first, "#h=1-2", second=second)
    found = np.array(numbers(shown, "weight-difference"), dtype=float)
    own = second["weight"].values[1, 2][np.ix_([0, 1, 3, 4, 5], [0, 1, 3, 4, 5])]
    there = np.ix_([0, 1, 3, 4, 5], [0, 1, 3, 4, 5])
    np.testing.assert_allclose(found[there], own - first["weight"].values[1, 2], atol=0.012)
    assert np.isnan(found[2]).all()
    assert np.isnan(found[:, 2]).all()
    tokens = shown.page.locator("#text button")
    assert tokens.nth(2).get_attribute("data-of") == "second"
    assert shown.page.locator("#panels b").all_inner_texts() == [
        *("weight", "weight, second", "weight, difference")
    ]
    assert shown.page.locator(".controls fieldset:visible legend").all_inner_texts() == [
        *("Measure", "Of")
    ]
    assert shown.page.locator(".controls fieldset:visible label").count() == 4 + 3
    shown.page.keyboard.press("2")
    assert "norm, difference" in shown.page.locator("#panels").inner_text()
    assert shown.page.locator('input[name="measure"]:checked').input_value() == "norm-difference"
    shown.page.locator("label", has_text="the second").click()
    assert shown.page.locator('input[name="measure"]:checked').input_value() == "norm-second"
    shown.page.locator("label:visible", has_text="weight").click()
    assert shown.page.locator('input[name="measure"]:checked').input_value() == "weight-second"
    shown.page.keyboard.press("d")
    shown.page.keyboard.press("2")
    assert shown.page.locator('input[name="measure"]:checked').input_value() == "norm-difference"
    shown.page.locator(".panel .map").last.focus()
    shown.page.keyboard.press("ArrowRight")
    assert shown.text("#readout").count("norm") == 3
    for box in ("#links-box", "#lines-box", "#layers-box"):
        shown.page.locator(f"{box} summary").click()
    assert shown.page.locator("#links tbody tr").count() == 20


@pytest.mark.long
def test_colours_of_differences_reach_to_the_largest(show):
    first, second = (
        reading_sample(2, 3, ("[CLS]", "the", noun, "sat", "[SEP]"), 0) for noun in ("cat", "dog")
    )
    changed = second["weight"].copy()
    changed[1, 2, 1, 1:3] += [0.25, -0.25]  # all other heads are the same in both
    shown = show(first, "#h=1-2&c=common", second=second.assign(weight=changed))
    top = shown.page.locator("#panels .panel").last.locator(".top").inner_text()
    assert 0 < float(re.findall(r"[\d.]+", top)[0]) < 60
    words = shown.page.locator("#text button").all_inner_texts()
    assert any("cat / dog" in word for word in words)
    assert shown.page.locator("#text button[data-of]").count() == 0


def test_tokens_of_a_chat_say_whose_they_are(show):
    tokens = ("[CLS]", "the", "cat", "sat", "[SEP]")
    names = ["template", "user", "user", "assistant", "template"]
    reading = reading_sample(2, 3, tokens, 0)
    reading = reading.assign_coords(key_segment=("key", names), query_segment=("query", names))
    shown = show(reading, "#h=1-2&m=weight&q=2")
    segments = shown.page.locator("#text [data-segment]")
    runs = [each.get_attribute("data-segment") for each in segments.all()]
    assert runs == ["template", "user", "assistant", "template"]
    row = reading["weight"].values[1, 2, 2]
    told = dict(re.findall(r"(\w+) ([\d.]+)%", shown.text("#by-segment")))
    for name in ("template", "user", "assistant"):
        share = row[np.array(names) == name].sum() / row.sum()
        assert float(told[name]) == pytest.approx(100 * share, abs=0.6)
    shown.page.locator("#direction").select_option("to")
    assert shown.page.locator("#by-segment").is_hidden()


def test_the_first_view_of_a_chat_says_who_said_what_and_what_each_gets(show):
    tokens = ("[CLS]", "the", "cat", "sat", "[SEP]")
    names = ["template", "user", "user", "assistant", "template"]
    reading = counted(reading_sample(2, 3, tokens, 0))
    chat = reading.assign_coords(key_segment=("key", names), query_segment=("query", names))
    shown = show(chat, "#h=1-2&q=2&v=bars")
    assert [each.inner_html() for each in shown.page.locator("#bars .role").all()] == [
        *("user", "assistant")
    ]
    (titles, *rows) = [row.split("\t") for row in shown.text("#messages").splitlines()]
    assert titles == ["role", "message", "weight", "norm"]
    assert [row[:2] for row in rows[:2]] == [["user", "the cat"], ["assistant", "sat"]]
    for column, measure in enumerate(("weight", "norm"), 2):
        values = reading[measure].values[1, 2, 2]
        for role, *cells in rows:
            share = values[np.array(names) == role].sum() / values.sum()
            assert float(cells[column - 1].strip("%")) == pytest.approx(100 * share, abs=1.5)
    assert show(reading, "#h=1-2&q=2&v=bars").page.locator("#messages, #bars .role").count() == 0


def test_a_link_brings_the_state_of_two_readings_back(show):
    address = "#h=1-1&m=norm-second&q=2&k=3&c=own&o=apart&p=norm,norm-second&s=shown"
    shown = show(two()[0], address, second=two()[1])
    shown.page.evaluate("document.getElementById('export-link').click()")
    link = shown.page.input_value("#taken").partition("#")[2]
    assert sorted(link.split("&")) == sorted(address[1:].split("&"))
    shown.page.evaluate("document.getElementById('export-python').click()")
    assert 'the old cat sat [SEP]")["norm"].sel(layer=1, head=1)' in shown.page.input_value(
        "#taken"
    )


@pytest.mark.long
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_two_readings_fit_a_telephone_and_all_can_use_them(show, scheme):
    from axe_playwright_python.sync_playwright import Axe

    size = {"width": 390, "height": 800}
    shown = show(two()[0], second=two()[1], viewport=size, color_scheme=scheme, bypass_csp=True)
    assert shown.page.evaluate("document.documentElement.scrollWidth") <= 390
    found = Axe().run(shown.page)
    assert [(each["id"], each["nodes"][0]["target"]) for each in found.response["violations"]] == []


def test_two_models_of_other_shapes_stand_side_by_side(show):
    shown = show(two()[0], "#h=0-3", second=two(1, 4)[1])
    assert shown.page.locator("#panels b").all_inner_texts() == ["weight", "weight, second"]
    assert "other shapes" in shown.page.inner_text("header")
    assert "weight not there" in shown.text("#readout")


def plainly(shown, place):
    return re.sub("[\u2068\u2069]", "", shown.text(place))


def test_the_title_of_two_texts_compares_what_both_have_and_a_word_as_a_whole(show):
    texts = ("[CLS]", "the", "nur", "##se", "sat", "."), ("[CLS]", "the", "guard", "sat", ".")
    numbers = [-1, 0, 1, 1, 2, 3], [-1, 0, 1, 2, 3]
    rows = [0.1, 0.1, 0.4, 0.3, 0.05, 0.05], [0.1, 0.1, 0.7, 0.05, 0.05]
    readings = []
    for tokens, words, row in zip(texts, numbers, rows, strict=True):
        reading = reading_sample(2, 3, tokens).assign_coords(
            query_word=("query", words), key_word=("key", words)
        )
        reading["weight"][:] = reading["norm"][:] = row
        readings.append(reading)
    # In one head the word gets less in the second text, and [CLS] more.
    for name in ("weight", "norm"):
        readings[1][name][1, 2] = [0.4, 0.1, 0.4, 0.05, 0.05]
        readings[1][name][1, 1] = [0.15, 0.1, 0.65, 0.05, 0.05]
    shown = show(readings[0], "#v=bars", second=readings[1])
    assert shown.text("#head-title") == "Head L1H2"
    assert "less from “nurse / guard” in the second: 40% against 70%" in plainly(shown, "#said")
    assert shown.page.locator("#others tr").count() == 0  # no other head is apart by ten points
    shown = show(readings[0], "#v=bars&h=0-1&q=4", second=readings[1])
    assert plainly(shown, "#said").endswith("takes about as much from each token in both.")
    shown.page.wait_for_selector("#others tr")
    assert shown.page.locator("#others tr").count() == 1


@pytest.mark.long
def test_unknown_tokens_and_small_differences_make_no_title(show):
    tokens = ("[CLS]", "[UNK]", "[UNK]", "cat", ".", "[SEP]")
    reading = reading_sample(2, 3, tokens)
    reading["weight"][:] = [0.05, 0.05, 0.05, 0.7, 0.05, 0.1]
    reading["norm"][:] = [0.05, 0.05, 0.05, 0.65, 0.05, 0.15]
    shown = show(reading, "#v=bars&h=0-0&q=1")
    assert "is unknown to the tokenizer" in plainly(shown, "#said")
    shown = show(reading, "#v=bars&h=0-0&q=4")
    assert "(70% of the weight) and takes about as much: 65%" in plainly(shown, "#said")
    assert shown.page.locator("#others tr").count() == 0
