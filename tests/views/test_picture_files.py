"""Pictures as files, the style they are drawn in, and where their labels go."""

import re
import subprocess
import sys
from itertools import pairwise
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from matplotlib.figure import Figure

from headlight.errors import ResultError, UsageError
from headlight.files import printable
from headlight.views.colours import contrast, series_styles
from headlight.views.pictures import (
    Embedding,
    HeadMap,
    LinkDrawing,
    attention_lines,
    embedding,
    head_map,
    save_picture,
    svg_text,
)
from headlight.views.pictures.label_placing import place_labels, spread
from headlight.views.pictures.theme import CYCLE, readable
from headlight.views.pictures.values_by_layer import LayerPanel, LayerSeries, points_by_layer
from headlight.views.titles import shortened
from views.drawn import HOSTILE


def layers(seed: int = 0):
    values = np.random.default_rng(seed).random((4, 3))
    return points_by_layer([LayerPanel("A", [LayerSeries("to [SEP]", values)], percent=True)])


def hatched_map():
    return head_map([HeadMap("A", np.array([[0.1, np.nan]]), framed=[(0, 0)])])


class TestFiles:
    @pytest.mark.parametrize("draw", [layers, hatched_map])
    def test_the_same_picture_gives_the_same_bytes(self, draw, tmp_path):
        first = [path.read_bytes() for path in save_picture(draw(), tmp_path, "a")]
        second = [path.read_bytes() for path in save_picture(draw(), tmp_path, "b")]
        assert first == second
        assert b"dc:date" not in first[0]

    @pytest.mark.slow
    def test_a_figure_can_be_written_again_and_again(self, tmp_path):
        series = [LayerSeries("a", np.eye(4)), LayerSeries("b", np.eye(4))]
        panels = [LayerPanel("A", series, percent=True), LayerPanel("B", series)]
        figure = points_by_layer(panels)
        first = svg_text(figure)
        save_picture(figure, tmp_path, "a")
        assert svg_text(figure) == first

    @pytest.mark.parametrize("draw", [layers, hatched_map])
    def test_each_file_is_drawn_once(self, draw, tmp_path, monkeypatch):
        drawn = []
        once = Figure.draw
        monkeypatch.setattr(Figure, "draw", lambda *given: drawn.append(1) or once(*given))
        save_picture(draw(), tmp_path, "a")
        assert len(drawn) == 2

    def test_another_picture_gives_other_bytes(self):
        assert svg_text(layers(0)) != svg_text(layers(1))

    def test_both_kinds_are_written_and_nothing_else(self, tmp_path):
        paths = save_picture(layers(), tmp_path, "figure-2")
        assert [path.name for path in paths] == ["figure-2.svg", "figure-2.png"]
        assert sorted(tmp_path.iterdir()) == sorted(paths)
        assert paths[0].read_text(encoding="utf-8") == svg_text(layers())
        assert paths[1].read_bytes().startswith(b"\x89PNG")

    def test_a_folder_that_is_not_there(self, tmp_path):
        with pytest.raises(ResultError, match=r"figure\.svg cannot be written"):
            save_picture(layers(), tmp_path / "missing", "figure")

    def test_texts_are_texts_in_fonts_that_are_everywhere(self):
        root = ElementTree.fromstring(svg_text(layers()))
        texts = list(root.iter("{http://www.w3.org/2000/svg}text"))
        assert "layer" in [text.text for text in texts]
        assert all("Verdana, sans-serif" in text.get("style", "") for text in texts)

    def test_a_hostile_word_cannot_change_the_file(self):
        drawing = LinkDrawing("h", HOSTILE, HOSTILE, np.eye(len(HOSTILE)))
        root = ElementTree.fromstring(svg_text(attention_lines([drawing])))
        shown = {text.text for text in root.iter("{http://www.w3.org/2000/svg}text")}
        assert {"$x$", "$\\frac{", "&amp;]]>", "😀", "_hidden"} <= shown

    def test_coordinates_are_short(self):
        assert not re.search(r'[" ]-?\d+\.\d{3,}', re.sub(r"<!--.*?-->", "", svg_text(layers())))


class TestStyle:
    def test_settings_of_the_user_neither_matter_nor_change(self):
        plain = svg_text(layers())
        changed = {"font.size": 30, "text.parse_math": True, "axes.facecolor": "red"}
        with mpl.rc_context(changed):
            before = dict(mpl.rcParams)
            assert svg_text(layers()) == plain
            assert dict(mpl.rcParams) == before

    @pytest.mark.slow
    def test_matplotlib_is_loaded_when_something_is_drawn_and_pyplot_never(self):
        program = (
            "import sys, numpy as np\n"
            "from headlight.views.pictures import HeadMap, head_map, svg_text\n"
            "assert 'matplotlib' not in sys.modules\n"
            "svg_text(head_map([HeadMap('A', np.eye(2))]))\n"
            "assert 'matplotlib' in sys.modules\n"
            "assert 'matplotlib.pyplot' not in sys.modules\n"
        )
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    def test_without_matplotlib_it_says_what_to_install(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "matplotlib.style", None)
        with pytest.raises(UsageError, match=r"pip install matplotlib"):
            layers()

    def test_names_of_lines_can_be_read(self):
        for colour in (*CYCLE, *(style.light for style in series_styles().values())):
            assert contrast(colour, "#ffffff") > 3
            assert contrast(readable(colour), "#ffffff") >= 4.6

    @pytest.mark.parametrize("seen", ["normal", "deuteranopia", "protanopia"])
    def test_colours_are_told_apart_by_colour_blind_people(self, seen):
        categories = [
            series_styles()[name].light for name in ("cls", "sep", "punctuation", "other")
        ]
        measures = [series_styles()[n].light for n in ("weight", "norm", "effective", "gradient")]
        for colours in (CYCLE, categories, measures):
            places = np.array([_lab(_VISION[seen] @ _linear(colour)) for colour in colours])
            distances = np.linalg.norm(places[:, None] - places, axis=2)
            assert distances[~np.eye(len(colours), dtype=bool)].min() > 11


# Machado et al. (2009), a physiologically-based model of colour vision deficiency, severity 1.
_VISION = {
    "normal": np.eye(3),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
}


def _linear(colour: str) -> np.ndarray:
    values = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def _lab(linear: np.ndarray) -> np.ndarray:
    """CIE L*a*b*, in which a distance of about 2 can just be seen."""
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    xyz = to_xyz @ np.clip(linear, 0, 1) / [0.9505, 1, 1.089]
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


class TestLabels:
    @given(st.lists(st.floats(-1, 2), max_size=12), st.floats(0.01, 0.3))
    def test_spread_positions_keep_their_order_distance_and_bounds(self, positions, gap):
        moved = spread(positions, gap, 0.0, 1.0)
        order = sorted(range(len(positions)), key=lambda index: positions[index])
        room = min(gap, 1 / max(len(positions) - 1, 1))
        ordered = [moved[index] for index in order]
        assert all(b - a >= room - 1e-9 for a, b in pairwise(ordered))
        assert all(-1e-9 <= value <= 1 + 1e-9 for value in moved)

    def test_positions_far_enough_apart_stay(self):
        assert spread([0.8, 0.2, 0.5], 0.1, 0.0, 1.0) == pytest.approx([0.8, 0.2, 0.5])

    def test_two_at_one_place_move_by_half_the_gap_each(self):
        assert spread([0.5, 0.5], 0.2, 0.0, 1.0) == pytest.approx([0.4, 0.6])

    @pytest.mark.slow
    @settings(deadline=None, max_examples=25)
    @given(st.integers(0, 100), st.integers(1, 8))
    def test_labels_of_points_apart_do_not_overlap_and_stay_inside(self, seed, count):
        rng = np.random.default_rng(seed)
        # One point in each cell of a grid, so that there is room.
        cells = rng.permutation(9)[:count]
        anchors = np.c_[cells // 3, cells % 3] * 1.6 + 0.4 + rng.random((count, 2)) * 0.8
        sizes = np.c_[rng.uniform(0.2, 0.7, count), np.full(count, 0.12)]
        centres = place_labels(anchors, sizes, anchors, (4.8, 4.8))
        assert (centres - sizes / 2 >= -1e-9).all()
        assert (centres + sizes / 2 <= 4.8 + 1e-9).all()
        gaps = np.abs(centres[:, None] - centres) - (sizes[:, None] + sizes) / 2
        apart = gaps.max(axis=2)[~np.eye(count, dtype=bool)]
        assert (apart >= 0).all()

    def test_labels_of_a_picture_do_not_overlap(self):
        rng = np.random.default_rng(1)
        points = rng.normal(size=(80, 2))
        labels = {int(index): f"{index} coreference" for index in range(10)}
        figure = embedding([Embedding("A", points, ["x"] * 80, labels)])
        figure.canvas.draw()
        boxes = [text.get_window_extent() for text in figure.axes[0].texts]
        assert len(boxes) == 10
        overlaps = [
            (i, j) for i in range(10) for j in range(i) if boxes[i].padded(-1).overlaps(boxes[j])
        ]
        assert overlaps == []


class TestWords:
    @given(st.text(), st.integers(1, 30))
    @pytest.mark.slow
    def test_shortened_words_are_short_and_printable(self, text, most):
        short = shortened(text, most)
        assert len(short) <= most
        assert all(character.isprintable() for character in short)

    def test_what_fits_stays_and_what_does_not_ends_in_dots(self):
        assert shortened("coreference", 11) == "coreference"
        assert shortened("coreference", 10) == "coreferen…"
        assert shortened("語語語", 6) == "語語語"
        assert shortened("語語語", 5) == "語語…"

    def test_controls_are_written_out(self):
        assert printable("a\x1b[31m\n\u202eb") == "a\\x1b[31m\\n\\u202eb"
