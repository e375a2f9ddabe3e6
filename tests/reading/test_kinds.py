"""Readings of translators of five families: one kind of attention, and all kinds at once."""

import json

import pytest
import xarray
from rich.console import Console

import headlight
from headlight.errors import UnknownNameError, UsageError
from headlight.reading import read
from headlight.views import reading_json, reading_page, reading_terminal
from translators import FAMILIES, SOURCE, TARGET
from views.pages import Page

WORDS = {"encoder": (SOURCE, SOURCE), "decoder": (TARGET, TARGET), "cross": (TARGET, SOURCE)}


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_all_kinds_are_those_of_three_readings(family):
    """To what rounding changes: a reading of one kind leaves the others their fused attention."""
    model = FAMILIES[family].model(**({} if family == "t5" else {"encoder_layers": 3}))
    together = read(model, SOURCE, TARGET, kind="all")
    assert together.kinds == ["encoder", "decoder", "cross"]
    for kind, (attending, attended) in WORDS.items():
        part, alone = together.of_kind(kind), read(model, SOURCE, TARGET, kind=kind)
        xarray.testing.assert_allclose(part.dataset, alone.dataset, rtol=1e-4, atol=1e-5)
        assert part.tokens == alone.tokens
        assert part.dataset.attrs["kind"] == kind
        weight = part["weight"]
        assert weight.sizes["query"] == len(part.dataset["query_token"])
        assert float(abs(weight.sum("key") - 1).max()) < 1e-5
        for side, text in (("query", attending), ("key", attended)):
            words = part.dataset[f"{side}_word"].values
            assert set(words[words >= 0]) == set(range(len(text.split())))
            special = part.dataset[f"{side}_category"].values[words < 0]
            assert set(special) <= {"cls", "sep"}


@pytest.mark.slow
def test_all_kinds_are_kept_and_shown(tmp_path):
    reading = read(FAMILIES["m2m_100"].model(), SOURCE, TARGET, kind="all")
    opened = headlight.open(reading.save(tmp_path / "reading.nc"))
    data = json.loads(reading_json(opened))
    assert list(data["kinds"]) == reading.kinds
    for kind, found in data["kinds"].items():
        part = opened.headlight.of_kind(kind)
        xarray.testing.assert_identical(part, reading.of_kind(kind).dataset)
        assert found == json.loads(reading_json(part))
    page = Page(reading_page(opened))
    assert [e.text for e in page.all("option")][:3] == reading.kinds
    header = json.loads(page.by_id("header").text)
    for kind, found in header["kinds"].items():
        written = data["kinds"][kind]["queries"]
        assert {name: found["queries"][name] for name in written} == written
        # As they are shown, and which of them no title is about.
        assert set(found["queries"]) - set(written) == {"texts", "marks", "unsaid", "unknown"}
        assert found["layers"] == data["kinds"][kind]["layer_numbers"]
    assert header["kinds"]["cross"]["heads"] == [2] * len(header["kinds"]["cross"]["layers"])
    console = Console(width=120, record=True)
    console.print(reading_terminal(opened, "norm", 1))
    said = console.export_text()
    headings = ("Attention of the encoder", "Attention of the decoder", "Cross-attention, from the")
    assert [said.index(each) for each in headings] == sorted(map(said.index, headings))
    assert "cross L1H1" in said
    assert " (cross-attention), “" in said.splitlines()[0]
    assert "cross L1H2" not in said, "its decoder has two heads, its encoder four"


def test_cross_attention_alone_says_from_where_it_goes():
    reading = read(FAMILIES["marian"].model(), SOURCE, TARGET, kind="cross")
    assert reading["weight"].sizes["query"] != reading["weight"].sizes["key"]
    page = Page(reading_page(reading.dataset))
    assert any("from the target to the source" in e.text for e in page.all("p"))
    assert reading.tokens[0] == "<pad>"
    assert str(reading.dataset["key_token"].values[-1]) == "</s>"


@pytest.mark.slow
def test_refusals():
    model = FAMILIES["marian"].model()
    with pytest.raises(UsageError, match="all attention of marian needs a second text; give one"):
        read(model, SOURCE, kind="all")
    with pytest.raises(UsageError, match="contributions are those of one kind of attention at a"):
        read(model, SOURCE, TARGET, kind="all", attribution=True)
    reading = read(model, SOURCE, TARGET, kind="all")
    with pytest.raises(UsageError, match=r"of several kinds of attention .*; choose one with"):
        reading.tokens  # noqa: B018 - it is the looking that is refused
    with pytest.raises(
        UnknownNameError, match="no kind of attention in this result is called 'cros'"
    ):
        reading.of_kind("cros")
