"""The widget's script in a real browser, with its kernel in this process."""

import base64
from contextlib import contextmanager

import pytest

import example_data
import headlight
from headlight.views.reading.widget import ReadingWidget
from views.browsers import chromium, needs_browser
from views.first_heads import farthest_apart, most_misleading, named

pytestmark = needs_browser

TEXT = "the cat sees a dog"
RENDER = """async script => {
  const module = await import(URL.createObjectURL(new Blob([script], {type: "text/javascript"})));
  const heard = [], traits = await kernel(null);
  const model = {
    get: name => traits[name],
    on: (_, act) => heard.push(act),
    off: () => {},
    send: async message => {
      for (const [content, buffer] of await kernel(message)) {
        const bytes = buffer && Uint8Array.from(atob(buffer), letter => letter.charCodeAt(0));
        for (const act of heard) act(content, bytes ? [new DataView(bytes.buffer)] : []);
      }
    },
  };
  module.default.render({model, el: document.getElementById("place")});
}"""


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return headlight.load(example_data.tiny_model(tmp_path_factory.mktemp("model")), head="any")


def kernel_of(widget: ReadingWidget):
    """What answers a message: contents, each with its buffer; without one, the traits."""

    def answer(message):
        if message is None:
            return {name: getattr(widget, name) for name in ("page", "height", "can")}
        sent = []
        widget.send = lambda content, buffers=None: sent.append(
            [content, buffers and base64.b64encode(buffers[0]).decode()]
        )
        widget._handle_custom_msg(message, [])
        return sent

    return answer


@contextmanager
def shown(widget):
    """The view of a widget, drawn; at the end there must have been no complaint."""
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 1440, "height": 1000})
        complaints = []
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.set_content("<div id=place></div>")
        page.expose_function("kernel", kernel_of(widget))
        page.evaluate(RENDER, widget._esm)
        view = page.frame_locator("#place iframe")
        view.locator("html[data-ready]").wait_for()
        view.locator("label", has_text="maps").first.click()
        view.locator("#maps:not([aria-busy]) .panel").first.wait_for()
        yield view
        assert complaints == []


def test_what_if_in_a_notebook(model):
    widget = model.explore(TEXT, height=700)
    with shown(widget) as view:
        view.locator("#what-box summary").click()
        view.locator("#what-ask").click()
        view.locator("#what-tokens tbody tr").first.wait_for()
        view.locator("#what-heads").click()
        view.locator("#what-said", has_text="4 heads, each removed alone.").wait_for()
        view.locator("#what-stop").wait_for(state="hidden")
        both = "all => { for (const name of ['heads', 'stop']) all[`what-${name}`].click(); }"
        view.locator("body").evaluate(f"() => ({both})(document.all)")
        view.locator("#what-said", has_text="Stopped.").wait_for()


def test_a_view_opens_on_the_head_that_it_names(model, tmp_path):
    reading = model.read(TEXT)
    expected = most_misleading(reading.dataset)
    assert expected[1] > 0  # on head 0 anything would open
    with shown(model.explore(TEXT)) as view:
        assert view.locator("#head-title").inner_text() == f"Head {named(expected)}"
    other = headlight.load(example_data.tiny_model(tmp_path, seed=5)).read(TEXT)
    expected = farthest_apart(reading.dataset, other.dataset)
    with shown(reading.explore(compare=other)) as view:
        assert view.locator("#head-title").inner_text() == f"Head {named(expected)}"


def test_two_readings_in_a_notebook(model):
    other = "the cat sees a small dog"
    widget = model.read(TEXT).explore(compare=model.read(other))
    with shown(widget) as view:
        view.locator("#text button").nth(2).click()
        said = view.locator("#readout", has_text="weight, difference").inner_text()
        assert "weight, second" in said
        assert view.locator("#text button[data-of=second]").count() == 1


def test_without_a_model_there_is_no_what_if(model):
    assert model.read(TEXT).explore().can == []
