"""The lines of all heads of a layer, which the page of a reading opens with."""

import re
from base64 import b64decode
from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from headlight.result.kinds import concat_kinds
from headlight.views.colours import contrast
from long_cases import mostly_long
from views.browsers import needs_browser
from views.sample_results import reading_sample

pytestmark = needs_browser

TOKENS = tuple("abcdef")
PAPER = {"light": "#fbfbf9", "dark": "#14171a"}


def is_open(shown):
    return shown.page.locator("#layer-lines-box").is_visible()


def strongest(shown):
    """The list beside the picture, without the marks of directions."""
    return [
        re.sub("[\u2068\u2069]", "", each)
        for each in shown.page.locator("#strongest li").all_text_contents()
    ]


def point(shown, right, at, of):
    """Move the pointer to the token of a column."""
    box = shown.page.locator("#layer-lines").bounding_box()
    x = box["x"] + (box["width"] - 40 if right else 40)
    shown.page.mouse.move(x, box["y"] + 6 + (box["height"] - 12) * (at + 0.5) / of)


def colours_across(shown):
    """The colours of the picture from the top down, half way between the columns."""
    canvas = shown.page.locator("#layer-lines")
    picture = canvas.evaluate("canvas => canvas.toDataURL().split(',')[1]")
    pixels = np.array(Image.open(BytesIO(b64decode(picture))).convert("RGBA"))
    return pixels[:, pixels.shape[1] // 2]


def swatch(shown, head):
    return shown.page.locator(f'#swatches [data-head="{head}"] .lines')


def planted(heads=3):
    """Each head attends to one other token, another one for each head; nothing else."""
    reading = reading_sample(2, heads, TOKENS)
    for head in range(heads):
        reading["weight"][1, head] = np.roll(np.eye(6), head, axis=1)
    return reading


def test_they_are_a_tab_of_the_page(show):
    reading = reading_sample(2, 3)
    shown = show(reading, "#v=lines")
    assert is_open(shown)
    assert shown.page.locator("#layer-lines").bounding_box()["y"] < 700  # on the first screen
    assert "v=lines" in shown.address
    title = shown.text("#layer-lines-title")
    assert title == f"All heads of layer {shown.page.input_value('#layer')}"
    named = show(reading, "#h=1-2")
    assert not is_open(named)
    assert named.text("#head-title") == "Head L1H2"
    assert "v=" not in named.address
    named.page.locator("label", has_text="lines").first.click()
    assert "v=lines" in named.address
    back = show(reading, named.address)
    assert is_open(back)
    assert back.text("#head-title") == "Head L1H2"
    assert back.text("#layer-lines-title") == "All heads of layer 1"


def test_the_strongest_lines_are_drawn_and_their_part_of_the_weight_is_said(show):
    tokens = tuple(f"w{at}" for at in range(40))
    reading = reading_sample(1, 3, tokens, 5)
    weights = reading["weight"].values[0].astype(float)
    ordered = np.sort(weights.ravel())[::-1]
    part = ordered[:1500].sum() / ordered.sum()
    shown = show(reading, "#v=lines")
    words = r"The 1,500 strongest of 4,(\d+) lines are drawn: (\d+)% of the weight"
    found = re.search(words, shown.text("#drawn"))
    assert found, shown.text("#drawn")
    assert (weights > 0.01).sum() <= 4000 + int(found[1]) <= 4800  # the smallest are stored as 0
    assert abs(float(found[2]) - 100 * part) <= 1
    head, row, column = np.unravel_index(weights.argmax(), weights.shape)
    assert strongest(shown)[0].startswith(f"w{row} → w{column} ")
    assert strongest(shown)[0].endswith(f"(head {head})")
    assert strongest(shown)[0][:-2] in shown.page.locator("#layer-lines").get_attribute(
        "aria-label"
    ).replace("\u2068", "").replace("\u2069", "")
    point(shown, False, 7, 40)
    assert re.search("All 1[012][0-9] lines of “\u2068w7\u2069” are drawn", shown.text("#drawn"))


def test_equal_lines_are_drawn_of_all_heads_and_tokens_alike(show):
    reading = reading_sample(1, 2, tuple(f"w{at}" for at in range(40)))
    reading["weight"][:] = 1 / 40
    shown = show(reading, "#v=lines")
    assert "The 1,500 strongest of 3,200 lines are drawn: 47% of the weight" in shown.text("#drawn")
    painted = colours_across(shown)[:, 3] > 0
    halves = np.array_split(painted, 2)
    assert min(half.mean() for half in halves) > 0.7


@pytest.mark.parametrize("scheme", mostly_long(["light", "dark"], "dark"))
def test_each_head_has_a_colour_that_is_seen(show, scheme):
    shown = show(reading_sample(1, 16), "#v=lines", color_scheme=scheme)
    colours = [
        "#" + "".join(f"{int(each):02x}" for each in re.findall(r"\d+", colour))
        for colour in shown.page.locator("#swatches .lines").evaluate_all(
            "all => all.map(each => getComputedStyle(each).backgroundColor)"
        )
    ]
    assert len(set(colours)) == 16
    assert min(contrast(colour, PAPER[scheme]) for colour in colours) >= 3


def test_heads_are_shown_and_hidden(show):
    shown = show(planted(), "#h=1-0&v=lines")

    def drawn():
        return {tuple(colour[:3]) for colour in colours_across(shown).tolist() if colour[3] > 250}

    colours = shown.page.locator("#swatches .lines").evaluate_all(
        "all => all.map(each => getComputedStyle(each).backgroundColor)"
    )
    colours = [tuple(map(int, re.findall(r"\d+", each))) for each in colours]
    assert set(colours) <= drawn()
    swatch(shown, 1).click()
    assert drawn() & set(colours) == {colours[0], colours[2]}
    assert swatch(shown, 1).get_attribute("aria-pressed") == "false"
    assert shown.address.endswith("&n=1")
    swatch(shown, 2).dblclick()
    assert drawn() & set(colours) == {colours[2]}
    assert "All 6 lines are drawn" in shown.text("#drawn")
    swatch(shown, 2).dblclick()
    assert set(colours) <= drawn()
    swatch(shown, 0).focus()
    shown.page.keyboard.press("Shift+Enter")
    assert shown.address.endswith("&n=1,2")
    shown.page.click("#every-head")
    assert "&n=" not in shown.address
    assert shown.page.locator("#every-head").is_disabled()
    back = show(planted(), "#h=1-0&v=lines&n=0,1&y=k3")
    assert strongest(back) == ["b → d 100% (head 2)"]


def test_a_token_shows_its_lines_alone_and_a_click_keeps_them(show):
    shown = show(planted(), "#h=1-0&v=lines")
    point(shown, False, 4, 6)
    assert set(strongest(shown)) == {
        *("e → e 100% (head 0)", "e → f 100% (head 1)", "e → a 100% (head 2)")
    }
    point(shown, True, 0, 6)
    assert set(strongest(shown)) == {
        *("a → a 100% (head 0)", "f → a 100% (head 1)", "e → a 100% (head 2)")
    }
    box = shown.page.locator("#layer-lines").bounding_box()
    shown.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 20)
    assert "All 18 lines are drawn" in shown.text("#drawn")
    point(shown, False, 2, 6)
    shown.page.mouse.down()
    shown.page.mouse.up()
    shown.page.mouse.move(5, 5)
    assert len(strongest(shown)) == 3
    assert "y=q2" in shown.address
    assert shown.text("#text-title") == "What “\u2068c\u2069” attends to"
    shown.page.keyboard.press("Escape")
    assert len(strongest(shown)) == 6
    shown.page.locator(".lines-frame").focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight"):
        shown.page.keyboard.press(key)
    assert "y=k1" in shown.address


def test_the_number_of_a_head_leads_to_it(show):
    shown = show(reading_sample(3, 4, tuple(f"w{at}" for at in range(60))), "#v=lines")
    shown.page.select_option("#layer", "2")
    assert shown.text("#layer-lines-title") == "All heads of layer 2"
    shown.page.locator('#swatches [data-head="3"] .go').click()
    assert shown.text("#head-title") == "Head L2H3"
    shown.page.wait_for_function(
        "() => Math.abs(document.getElementById('head-title').getBoundingClientRect().top) < 200"
    )
    marked = shown.page.locator("#swatches [aria-current]")
    assert marked.all_inner_texts() == ["3"]


def test_any_measure_and_kind(show):
    one = reading_sample(2, 3).assign_attrs(kind="encoder")
    other = reading_sample(1, 2, TOKENS, 3).isel(query=slice(0, 4)).assign_attrs(kind="cross")
    shown = show(concat_kinds({"encoder": one, "cross": other}), "#v=lines")
    assert shown.text("#layer-lines-title") == "All heads of cross layer 0"
    assert re.search("All 4[5-8] lines", shown.text("#drawn"))
    shown.page.keyboard.press("2")
    top = float(other["norm"].max())
    assert strongest(shown)[0].split()[3] == f"{float(f'{top:.2g}'):g}"
    shown.page.select_option("#kind", "encoder")
    shown.page.locator("#swatches .swatch").nth(2).wait_for()
    shown.page.locator("label", has_text="merged norm (no head)").first.click()
    assert not shown.page.locator("#swatches").is_visible()
    shown.page.click("#find-heads")
    assert shown.page.evaluate("document.activeElement.id") == "sort"
    assert re.search("All 1[4-6] lines", shown.text("#drawn"))  # special tokens are hidden
    assert "head" not in strongest(shown)[0]


def test_differences_of_two_readings_are_broken_where_they_are_less(show):
    first, second = reading_sample(1, 1, TOKENS, 1), reading_sample(1, 1, TOKENS, 1)
    first["weight"][0, 0] = np.eye(6)
    second["weight"][0, 0] = np.roll(np.eye(6), 1, axis=1)
    shown = show(first, "#v=lines", second=second)
    assert shown.text("#drawn") == "Broken lines are less. All 12 lines are drawn."
    said = strongest(shown)
    assert len(said) == 6
    assert {line.split()[3] for line in said} <= {"+100%", "-100%"}
