"""Heads of a text as pictures: what is drawn, the files, and what is refused."""

import numpy as np
import pytest
from PIL import Image

from headlight.errors import UnknownNameError, UsageError
from headlight.reading import Reading, read
from headlight.views import reading_page
from studies.models import model, uneven

TEXT = "the old mill , the river and the sea ."
HOSTILE = "<script>alert(1)</script> & $x$ the mill"


@pytest.fixture(scope="module")
def reading() -> Reading:
    return read(model("bert"), TEXT)


@pytest.mark.slow
def test_cells_tokens_title_and_scale_are_those_of_the_reading(reading):
    figure = reading.plot(1, 2, "norm").figure
    axes, bar = figure.axes
    drawn = axes.collections[0].get_array().reshape(len(reading.tokens), -1)
    np.testing.assert_array_equal(drawn, reading.norm.sel(layer=1, head=2))
    for labels in (axes.get_xticklabels(), axes.get_yticklabels()):
        assert [label.get_text() for label in labels] == reading.tokens
    assert axes.get_title("left") == "L1H2: norm ‖αf(x)‖"
    assert bar.get_ylabel() == "weighted norm ‖αf(x)‖"
    assert TEXT in figure.get_suptitle()
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("attended token", "attending token")


@pytest.mark.slow
def test_all_that_is_named_stands_side_by_side_and_on_one_scale(reading):
    figure = reading.plot([0, 1], (0, 3), ["weight", "norm"], title="four heads").figure
    panels = [each for each in figure.axes if each.get_title("left")]
    assert [each.get_title("left").split(" ")[:2] for each in panels] == [
        [f"L{layer}H{head}:", name]
        for layer in (0, 1)
        for head in (0, 3)
        for name in ("weight", "norm")
    ]
    for first in (0, 1):  # of one measure
        assert len({each.collections[0].get_clim() for each in panels[first::2]}) == 1
    assert figure.get_suptitle() == "four heads"


@pytest.mark.slow
def test_numbers_below_0_have_0_in_the_middle(reading):
    changed = reading.dataset.copy(deep=True)
    changed["effective"][1, 2, 0, 0] = -2.0
    low, high = Reading(changed).plot(1, 2, "effective").figure.axes[0].collections[0].get_clim()
    assert low == -high <= -2
    changed["effective"] = changed["effective"].clip(-1e-6)  # rounding alone
    low, _ = Reading(changed).plot(1, 2, "effective").figure.axes[0].collections[0].get_clim()
    assert low > -1e-5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("suffix", "begin"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")]
)
def test_the_suffix_says_how_it_is_written_and_the_bytes_are_the_same(
    reading, suffix, begin, tmp_path
):
    paths = [
        reading.plot(1, measure="merged_norm").save(tmp_path / f"{name}.{suffix}") for name in "ab"
    ]
    first, second = (path.read_bytes() for path in paths)
    assert first.startswith(begin)
    assert first == second
    assert sorted(tmp_path.iterdir()) == paths


@pytest.mark.slow
def test_a_picture_is_saved_as_matplotlib_does_it(reading, tmp_path):
    for picture in (reading.plot(1, 2), reading.plot_row(0, 1, 2)):
        saved, named = (getattr(picture, save) for save in ("save", "savefig"))
        for suffix in ("png", "svg", "pdf"):
            kept = saved(tmp_path / f"a.{suffix}").read_bytes()
            assert named(tmp_path / f"b.{suffix}").read_bytes() == kept
        small = named(tmp_path / "small.png", dpi=50, bbox_inches="tight", transparent=True)
        with Image.open(small) as drawn, Image.open(tmp_path / "a.png") as large:
            assert drawn.width < large.width / 2
        assert named(tmp_path / "clear.svg", transparent=True).read_bytes().startswith(b"<?xml")
        with pytest.raises(UsageError, match=r"\.png, \.svg, \.pdf"):
            picture.savefig(tmp_path / "a.jpg", dpi=50)


@pytest.mark.slow
def test_tokens_are_texts_and_no_markup():
    text = read(model("bert"), HOSTILE).plot(0, 0)._repr_svg_()
    assert "<script" not in text
    assert "lt;" in text


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ((9, 0), "there is no layer 9 in this reading, which has 0 and 1"),
        ((0, -1), "there is no head -1 in this reading, which has 0 to 3"),
        ((0, 0, "merged_norm"), "leave the head out"),
        ((0,), "weight is of single heads; name the head of layer 0"),
        ((0, 0, "entropy"), "entropy is no measure of pairs of tokens"),
        ((0, 0, "gradient"), "gradient is not in this reading"),
        (([], 0), "nothing is selected"),
        (([0, 1] * 8, [0, 1, 2, 3]), "64 maps"),
    ],
)
def test_what_cannot_be_drawn_is_refused_in_a_sentence(reading, asked, said):
    with pytest.raises(UsageError, match=said):
        reading.plot(*asked)


@pytest.mark.slow
def test_an_unknown_measure_another_suffix_and_several_kinds_are_refused(reading, tmp_path):
    with pytest.raises(UnknownNameError, match="measure"):
        reading.plot(0, 0, "wieght")
    with pytest.raises(UsageError, match=r"\.png, \.svg, \.pdf"):
        reading.plot(0, 0).save(tmp_path / "a.jpg")
    both = read(model("bart"), TEXT, "a lake", kind="all")
    with pytest.raises(UsageError, match="choose one with of_kind"):
        both.plot(0, 0)
    cross = both.of_kind("cross").plot(0, 0).figure.axes[0]
    assert len(cross.get_yticks()) < len(cross.get_xticks())


def test_a_head_that_one_layer_does_not_have():
    with pytest.raises(UsageError, match="layer 1 has no head 3: it has fewer"):
        read(uneven(), TEXT).plot(1, 3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "isolated"), [("שלום! the sea", True), ("مرحبا", True), ("the sea", False)]
)
def test_titles_from_right_to_left_are_isolated(tmp_path, text, isolated):
    read(model("bert"), text).plot(1, 2).save(tmp_path / "a.svg")
    drawn = (tmp_path / "a.svg").read_text()
    assert (f"“\u2068{text}\u2069”" in drawn) == isolated
    assert (f"“{text}”" in drawn) != isolated
    title = reading_page(read(model("bert"), text).dataset).partition("</title>")[0]
    assert title.endswith(" · Headlight")
    assert ("\u2068" in title) == isolated


@pytest.mark.slow
def test_cells_that_a_decoder_cannot_see_are_blank():
    text = read(model("llama"), TEXT)
    axes = text.plot(1, 2, "norm").figure.axes[0]
    drawn = axes.collections[0].get_array().reshape(len(text.tokens), -1)
    np.testing.assert_array_equal(drawn.mask, np.triu(np.ones(drawn.shape, dtype=bool), 1))
    assert not [each for each in axes.patches if each.get_hatch()]
    assert not np.ma.is_masked(read(model("bert"), TEXT).plot(1, 2).figure.axes[0].collections[0])


def bar_heights(picture):
    return [[bar.get_height() for bar in axes.patches] for axes in picture.figure.axes]


@pytest.mark.slow
def test_a_row_is_bars_over_the_tokens_weight_above_norm(reading):
    place = reading.index("mill")
    picture = reading.plot_row("mill", layer=1, head=2)
    row = reading.dataset.sel(layer=1, head=2, query=place)
    above, below = bar_heights(picture)
    np.testing.assert_allclose(above, row.weight, rtol=1e-5)
    np.testing.assert_allclose(below, row.norm / row.norm.sum(), rtol=1e-5)
    titles = [axes.get_title("left") for axes in picture.figure.axes]
    assert titles[0].startswith("L1H2 · where “mill” looks")
    assert titles[1].startswith("L1H2 · what “mill” takes")
    assert bar_heights(reading.plot_row(place, layer=1, head=2)) == [above, below]


def test_a_row_of_a_decoder_ends_where_it_sees_nothing_more():
    text = read(model("llama"), TEXT)
    above, below = bar_heights(text.plot_row(4, layer=0, head=1))
    assert len(above) == len(below) == 5
    assert sum(above) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("mil", 1, 2), "no token of this text is 'mil'; choose one, such as 'mill' "),
        ((99, 1, 2), "there is no token 99 in this reading, which has 0 to "),
        (("mill", 9, 2), "there is no layer 9 in this reading"),
        (("mill", 1, -1), "there is no head -1 in this reading"),
    ],
)
def test_a_row_that_is_not_there_is_refused(reading, asked, said):
    with pytest.raises(UsageError, match=f"^{said}"):
        reading.plot_row(*asked)


@pytest.mark.slow
def test_a_row_of_several_kinds_and_one_of_a_very_long_text():
    kinds = read(model("t5"), TEXT, "a river", kind="all")
    with pytest.raises(UsageError, match="several kinds of attention"):
        kinds.plot_row("mill", 1, 2)
    with pytest.raises(UsageError, match="several kinds of attention"):
        kinds.index("mill")
