"""The app in a real browser: the command runs, a text is typed, and the view opens."""

import os
import re
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager

import pytest
from transformers import AutoTokenizer

import example_data
import headlight
from headlight.reading.edits import Edit
from picture_material import encoder, picture, saved
from views.browsers import needs_browser
from views.first_heads import farthest_apart, most_misleading, named

pytestmark = needs_browser

TEXT = "the cat sees a dog"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return example_data.tiny_model(tmp_path_factory.mktemp("model"))


@contextmanager
def served(*options):
    """The address of the app, while it runs."""
    command = [sys.executable, "-m", "headlight", "serve", *options]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ}
    ) as running:
        try:
            found = re.search(r"http://127.0.0.1:\d+/#token=\S+", running.stdout.readline())
            assert found, running.stderr.read()
            yield found.group()
        finally:
            # Ctrl-C is how it ends, and no failure.
            running.send_signal(signal.SIGINT)
            _, said = running.communicate(timeout=300)
        assert (running.returncode, said) == (0, "")


@pytest.fixture(scope="module")
def address(model):
    with served("--model", str(model), "--max-tokens", "9") as found:
        yield found


@pytest.fixture
def page(browser):
    found = browser.new_context(viewport={"width": 1440, "height": 1000}).new_page()
    complaints, asked = [], []
    found.on("console", lambda message: complaints.append(message.text))
    found.on("pageerror", lambda error: complaints.append(str(error)))
    found.on("request", lambda request: asked.append(request.url))
    yield found
    assert complaints == []
    own = ("http://127.0.0.1:", "data:", "blob:", "about:srcdoc")
    assert [url for url in asked if not url.startswith(own)] == []
    found.context.close()


def typed(page, address, text=TEXT):
    page.goto(address)
    page.wait_for_selector("html[data-ready]")
    page.fill("#text", text)
    page.press("#text", "Control+Enter")
    return page.frame_locator("#view iframe")


def drawn(view):
    view.locator("html[data-ready]").wait_for()
    view.locator("label", has_text="maps").first.click()
    view.locator("#maps:not([aria-busy]) .panel").first.wait_for()


def test_a_chosen_picture_is_seen(page, tmp_path):
    folder = saved(encoder("vit"), tmp_path / "vit")
    with served("--model", str(folder)) as address:
        page.goto(address)
        page.wait_for_selector("html[data-ready]")
        assert page.locator("textarea").count() == 0
        page.set_input_files("#image", picture(tmp_path / "a.png"))
        page.click("#read")
        view = page.frame_locator("#view iframe")
        view.locator("html[data-ready]").wait_for()
        images = view.locator("#bars image")
        images.nth(1).wait_for(state="attached")  # bars follow the maps
        assert images.count() == 2


def test_a_typed_text_is_seen(page, address, model):
    view = typed(page, address)
    drawn(view)
    assert view.locator("#text button").all_inner_texts() == TEXT.split()
    assert "token" not in page.url
    reading = headlight.load(model).read(TEXT)
    first = most_misleading(reading.dataset)
    assert first[1] > 0  # on head 0 anything would open
    assert view.locator("#head-title").inner_text() == f"Head {named(first)}"
    head = int(view.locator("#head").input_value())
    weight = reading.weight.sel(head=head)
    for layer in (0, 1):
        view.locator("#layer").select_option(str(layer))
        view.locator("#maps:not([aria-busy])").wait_for()
        view.locator("#text button").nth(2).click()
        shown = float(
            re.search(r"weight (\d+(\.\d)?)%", view.locator("#readout").inner_text()).group(1)
        )
        key = chosen_key(page)
        expected = float(weight.sel(layer=layer, query=2, key=key))
        assert shown == pytest.approx(100 * expected, abs=1.2)
    # What needs the cells of all layers fetches them.
    view.locator("#layers-box summary").click()
    view.locator("#layers-map[style]").wait_for()
    view.locator("#by-cell").click()


def test_an_address_without_its_token_opens_the_same_view_again(page, address):
    view = typed(page, address)
    drawn(view)
    view.locator("#head-title").click()
    page.keyboard.press("2")
    page.wait_for_url("**m=norm**")
    page.reload()
    view = page.frame_locator("#view iframe")
    drawn(view)
    assert view.locator('input[name="measure"]:checked').get_attribute("value") == "norm"
    view.locator("#export-box summary").click()
    view.locator("#export-link").click()
    assert view.locator("#taken").input_value() == page.url


@pytest.mark.long
def test_light_and_dark_are_those_of_the_view(page, address):
    view = typed(page, address)
    drawn(view)
    view.locator("button.theme").click()
    view.locator("button.theme").click()
    page.wait_for_selector("html[data-theme='dark']", state="attached")


def test_refusals_are_shown_as_sentences(page, address):
    typed(page, address, "the cat " * 10)
    page.locator("#said", has_text="shorten it").wait_for()
    assert page.locator("#cancel").is_hidden()


def test_a_chat_is_typed_message_by_message(page, model, tmp_path):
    folder = tmp_path / "chats"
    tokenizer = AutoTokenizer.from_pretrained(shutil.copytree(model, folder))
    tokenizer.chat_template = "{% for each in messages %}{{ each['content'] }} {% endfor %}"
    tokenizer.save_pretrained(folder)
    with served("--model", str(folder)) as address:
        page.goto(address)
        page.wait_for_selector("html[data-ready]")
        page.locator("#as label", has_text="a chat").click()
        assert page.locator("#text, #pair").evaluate_all(
            "each => each.every((field) => !field.checkVisibility())"
        )
        for text in ("the cat", "sees", "a dog"):
            page.locator("#messages textarea").last.fill(text)
            page.click("#add-message")
        roles = [each.input_value() for each in page.locator("#messages select").all()]
        assert roles == ["user", "assistant", "user", "assistant"]
        page.locator("#messages .remove").last.click()
        page.locator("#messages select").first.select_option("system")
        page.click("#read")
        view = page.frame_locator("#view iframe")
        view.locator("#messages tr").nth(3).wait_for()
        said = [row.split("\t")[:2] for row in view.locator("#messages").inner_text().splitlines()]
        assert said[1:4] == [["system", "the cat"], ["assistant", "sees"], ["user", "a dog"]]


def test_without_a_token_it_is_said_where_it_is(browser, address):
    page = browser.new_context().new_page()
    page.goto(address.partition("#")[0])
    page.locator("#said", has_text="the terminal").wait_for()
    page.context.close()


def test_another_site_can_neither_frame_nor_ask_it(browser, address):
    page = browser.new_context().new_page()
    own = address.partition("#")[0]
    page.route("http://evil.example/", lambda route: route.fulfill(
        body=f"<iframe src='{own}'></iframe>", content_type="text/html"
    ))  # fmt: skip
    page.goto("http://evil.example/")
    asked = (
        "url => fetch(url, {method: 'POST', mode: 'no-cors', body: '{}'})"
        ".then(answer => answer.type, () => 'no')"
    )
    assert page.evaluate(asked, f"{own}functions/read") in ("opaque", "no")
    inside = [frame for frame in page.frames if frame != page.main_frame]
    assert all(
        "Read" not in (frame.content() if frame.url.startswith(own) else "") for frame in inside
    )
    page.context.close()


@pytest.mark.parametrize(
    ("width", "scheme"),
    [(390, "light"), pytest.param(1440, "dark", marks=pytest.mark.long)],
)
def test_nothing_is_wider_than_the_window_and_all_can_use_it(browser, address, width, scheme):
    from axe_playwright_python.sync_playwright import Axe

    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, bypass_csp=True
    )
    page = context.new_page()
    drawn(typed(page, address))
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    found = Axe().run(page)
    assert [(each["id"], each["nodes"][0]["target"]) for each in found.response["violations"]] == []
    context.close()


@pytest.mark.long
def test_no_icon_is_asked_for_without_the_token(page, address):
    page.goto(address)
    assert page.locator("link[rel=icon]").get_attribute("href") == "data:,"


@pytest.mark.long
def test_heads_in_turn_can_be_stopped(page, address):
    view = typed(page, address)
    drawn(view)
    view.locator("#what-box summary").click()
    assert view.locator("#what-stop").is_hidden()
    # The answer never comes; the button tells the app to cancel the request by its name.
    page.route("**/functions/each_head", lambda route: None)
    view.locator("#what-heads").click()
    with page.expect_request("**/cancel") as cancelled:
        view.locator("#what-stop").click()
    assert cancelled.value.post_data_json["request"]
    page.unroute_all(behavior="ignoreErrors")


def test_what_if_the_head_attended_otherwise(page, address, model):
    view = typed(page, address)
    drawn(view)
    view.locator("#what-box summary").click()
    view.locator("#what-ask").click()
    view.locator("#what-tokens tbody tr").first.wait_for()
    layer, head = (int(view.locator(f"#{name}").input_value()) for name in ("layer", "head"))
    expected = headlight.load(model, head="any").what_if(TEXT, edits=Edit(layer=layer, head=head))
    shown = view.locator("#what-tokens tbody tr td:nth-child(2)").all_inner_texts()
    assert [float(each) for each in shown] == pytest.approx(expected.kl.values.tolist(), rel=0.06)
    view.locator("#what-change").select_option("weights")
    view.locator("#what-weights").fill("1 x")
    view.locator("#what-ask").click()
    view.locator("#what-said", has_text="weights").wait_for()
    view.locator("#what-heads").click()
    view.locator("#what-said", has_text="4 heads, each removed alone.").wait_for()
    divergences = view.locator("#what-effects tbody tr td:nth-child(2)").all_inner_texts()
    assert [float(each) for each in divergences] == sorted(map(float, divergences), reverse=True)
    view.locator("#what-effects tbody button").last.click()
    chosen = view.locator("#what-effects tbody button").last.inner_text()
    assert chosen in view.locator("#head-title").inner_text()


def chosen_key(page) -> int:
    """Which the address says, a moment after it was chosen."""
    page.wait_for_url(re.compile(r"k=\d+"))
    return int(re.search(r"k=(\d+)", page.url).group(1))


def test_two_texts_are_compared(page, address, model):
    page.goto(address)
    page.wait_for_selector("html[data-ready]")
    page.fill("#compare", "the cat sees a cat")
    page.fill("#text", TEXT)
    page.press("#text", "Control+Enter")
    view = page.frame_locator("#view iframe")
    drawn(view)
    assert view.locator("#what-box").is_hidden()
    view.locator("#text button").nth(2).click()
    view.locator("#readout", has_text="weight, difference").wait_for()
    layer, head = (int(view.locator(f"#{name}").input_value()) for name in ("layer", "head"))
    first, second = (
        headlight.load(model).read(text).weight.sel(layer=layer, head=head)
        for text in (TEXT, "the cat sees a cat")
    )
    key = chosen_key(page)
    shown = re.search(r"difference ([-+]?\d+(\.\d)?)%", view.locator("#readout").inner_text())
    expected = 100 * float(second[2, key] - first[2, key])
    assert float(shown.group(1)) == pytest.approx(expected, abs=2.0)


@pytest.mark.long
def test_two_models_are_compared(page, model, tmp_path):
    other = example_data.tiny_model(tmp_path, seed=5)
    with served("--model", str(model), "--compare-model", str(other)) as address:
        view = typed(page, address)
        drawn(view)
        readings = [headlight.load(each).read(TEXT).dataset for each in (model, other)]
        title = view.locator("#head-title").inner_text()
        assert title == f"Head {named(farthest_apart(*readings))}"
        view.locator("#text button").nth(2).click()
        said = view.locator("#readout", has_text="weight, difference").inner_text()
        layer, head = (int(view.locator(f"#{name}").input_value()) for name in ("layer", "head"))
        key = chosen_key(page)
        first, second = (
            float(headlight.load(each).read(TEXT).weight.sel(layer=layer, head=head)[2, key])
            for each in (model, other)
        )
        shown = float(re.search(r"difference ([-+−]?\d+(\.\d)?)%", said).group(1))
        assert shown == pytest.approx(100 * (second - first), abs=2.0)
        # What is not ticked is not compared.
        page.get_by_label("Compare with the model").uncheck()
        before = page.locator("body").get_attribute("data-reading")
        page.press("#text", "Control+Enter")
        page.locator(f"body:not([data-reading={before!r}])").wait_for()
        drawn(view)
        assert view.locator("input[value=weight-second]").count() == 0


@pytest.mark.long
def test_an_encoder_decoder_has_all_kinds_of_attention(page):
    source, target = "Das Haus ist alt.", "The house is old."
    with served("--model", "headlight-translator") as address:
        page.goto(address)
        page.wait_for_selector("html[data-ready]")
        page.get_by_label("Text of the decoder").fill(target)
        page.fill("#text", source)
        page.press("#text", "Control+Enter")
        view = page.frame_locator("#view iframe")
        drawn(view)
        kinds = view.locator("#kind option").all_inner_texts()
        assert kinds == ["encoder", "decoder", "cross"]
        view.locator("#kind").select_option("cross")
        view.locator("#head-title", has_text="cross").wait_for()
        view.locator("#maps:not([aria-busy])").wait_for()
        assert view.locator("#text button").all_inner_texts()[:2] == ["das", "haus"]
        assert view.locator("#target button").all_inner_texts()[:2] == ["the", "house"]
        view.locator("#what-box summary").click()
        view.locator("#what-ask").click()
        view.locator("#what-tokens tbody tr").first.wait_for()
        tokens = view.locator("#what-tokens tbody tr td:first-child").all_inner_texts()
        assert [each.strip("\u2068\u2069") for each in tokens][1:3] == ["the", "house"]
        view.locator("#what-change").select_option("previous")
        view.locator("#what-ask").click()
        view.locator("#what-said", has_text="cross-attention").wait_for()
