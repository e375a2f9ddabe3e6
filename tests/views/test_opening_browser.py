"""What a page shows when it is opened as people open it: by itself, with nothing after the #."""

import pytest

import headlight
from headlight.result.kinds import split_kinds
from studies.models import saved
from views.browsers import needs_browser
from views.first_heads import farthest_apart, most_misleading, named

pytestmark = needs_browser

TEXT = "the river is old , the mill near it fell"
TRANSLATION = "a valley knows the old bridge"


@pytest.fixture
def opened(open_page, tmp_path):
    """Saves a reading as users do and opens the file."""

    def of(reading, **options):
        reading.save(tmp_path / "page.html", **options)
        return open_page(tmp_path / "page.html")

    return of


@pytest.fixture(scope="module")
def model_of(tmp_path_factory):
    made = {}

    def of(family, **settings):
        name = f"{family} {settings}"
        if name not in made:
            made[name] = headlight.load(saved(family, tmp_path_factory.mktemp(family), **settings))
        return made[name]

    return of


def test_a_page_opens_on_the_head_that_it_names(opened, model_of):
    found = {}
    texts = dict.fromkeys(("bert", "llama"), "the mill near the river is full")
    for family, text in texts.items():
        reading = model_of(family).read(text)
        found[family] = most_misleading(reading.dataset)
        assert opened(reading).text("#head-title") == f"Head {named(found[family])}"
    assert all(head for _, head in found.values())  # on head 0 anything would open


def test_each_kind_of_an_encoder_decoder_opens_on_its_own_head(opened, model_of):
    reading = model_of("bart").read(TEXT, TRANSLATION, kind="all")
    expected = {kind: most_misleading(part) for kind, part in split_kinds(reading.dataset).items()}
    assert list(expected) == ["encoder", "decoder", "cross"]
    assert sum(head > 0 for _, head in expected.values()) >= 2
    shown = opened(reading)
    assert shown.text("#head-title") == f"Head cross {named(expected['cross'])}"
    for kind in ("decoder", "encoder"):
        shown.page.select_option("#kind", kind)
        shown.page.wait_for_function(
            "kind => document.getElementById('head-title').innerText.includes(kind)", arg=kind
        )
        assert shown.text("#head-title") == f"Head {kind} {named(expected[kind])}"


def test_one_kind_of_an_encoder_decoder(opened, model_of):
    reading = model_of("bart").read(TEXT, TRANSLATION, kind="cross")
    shown = opened(reading)
    assert shown.text("#head-title").endswith(named(most_misleading(reading.dataset)))


def test_weights_alone_open_on_the_lines_of_a_layer(opened, model_of):
    reading = model_of("bert").read(TEXT)
    shown = opened(headlight.view(reading.weight.values, reading.tokens))
    assert "v=lines" in shown.address
    assert (
        shown.text("#layer-lines-title") == f"All heads of layer {shown.page.input_value('#layer')}"
    )
    assert not shown.page.locator("#export-python").is_visible()
    shown.page.locator("label", has_text="bars").first.click()
    assert "(weight, up)" in shown.text("#bars-said")
    assert "norm" not in shown.text("#bars-said")


def test_two_readings_open_where_they_are_farthest_apart(opened, model_of):
    models = model_of("bert"), model_of("bert", hidden_act="relu")
    first, second = (model.read(TEXT) for model in models)
    place = farthest_apart(first.dataset, second.dataset)
    assert place[1] > 0
    shown = opened(first, compare=second)
    assert shown.text("#head-title") == f"Head {named(place)}"


def test_the_address_that_it_writes_is_of_what_it_shows(opened, model_of):
    reading = model_of("bert").read(TEXT)
    layer, head = most_misleading(reading.dataset)
    shown = opened(reading)
    assert f"h={layer}-{head}&" in shown.address
    assert shown.page.input_value("#head") == str(head)
    shown.page.locator("label", has_text="maps").first.click()
    frame = shown.page.locator("#picked").bounding_box()
    canvas = shown.page.locator("#picker").bounding_box()
    column = (frame["x"] - canvas["x"] - 26) / (frame["width"] - 2)
    assert round(column) == head
