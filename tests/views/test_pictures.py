"""Every picture shows the numbers that it was given, whatever the numbers and words are."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection
from matplotlib.colors import LogNorm, to_hex
from matplotlib.patches import Rectangle
from matplotlib.text import Text
from numpy.testing import assert_allclose
from scipy.cluster.hierarchy import linkage

from headlight.errors import UsageError
from headlight.views.colours import series_styles
from headlight.views.pictures import (
    BarRow,
    Box,
    BoxPanel,
    DensityPanel,
    Embedding,
    HeadMap,
    Line,
    LinePanel,
    LinkDrawing,
    Mark,
    Reference,
    attention_lines,
    bars,
    boxes,
    dendrogram,
    density,
    embedding,
    head_map,
    lines,
    svg_text,
    table_picture,
    weight_and_length,
    windowed,
)
from headlight.views.pictures.attention_lines import GAP, ROW
from headlight.views.pictures.heat_map_layout import cell_texts
from headlight.views.pictures.theme import CYCLE, STRONG
from headlight.views.pictures.values_by_layer import LayerPanel, LayerSeries, points_by_layer
from views.drawn import HOSTILE, dots, line_named, points, texts

VALUES = np.array([[0.1, 0.5, np.nan], [0.2, 0.4, 0.9]])


class TestPointsByLayer:
    def test_heads_that_are_far_from_the_others_are_named_where_that_is_asked_for(self):
        values = np.full((3, 4), 0.1)
        values[1, 2], values[2] = 0.9, np.nan
        series = [LayerSeries("a", values)]
        named = texts(points_by_layer([LayerPanel("A", series, named=True)]))
        assert [text for text in named if text.startswith("L")] == ["L1H2"]
        assert "L1H2" not in texts(points_by_layer([LayerPanel("A", series)]))

    def test_a_dot_for_each_head_and_a_line_through_the_means(self):
        figure = points_by_layer([LayerPanel("A", [LayerSeries("to [SEP]", VALUES, "sep")])])
        (axes,) = figure.axes
        (cloud,) = dots(axes)
        assert_allclose(points(cloud), [[0, 0.1], [0, 0.5], [1, 0.2], [1, 0.4], [1, 0.9]])
        assert_allclose(points(line_named(axes, "to [SEP]")), [[0, 0.3], [1, 0.5]])
        assert to_hex(cloud.get_color()) == series_styles()["sep"].light

    def test_series_stand_beside_each_other_and_lines_in_the_middle(self):
        series = [LayerSeries(name, VALUES) for name in "ab"]
        (axes,) = points_by_layer([LayerPanel("A", series)]).axes
        left, right = (points(cloud)[0, 0] for cloud in dots(axes))
        assert left == pytest.approx(-right)
        assert right > left
        assert points(line_named(axes, "b"))[0, 0] == 0

    def test_values_without_heads_are_only_a_line(self):
        (axes,) = points_by_layer([LayerPanel("A", [LayerSeries("a", VALUES[:, 0])])]).axes
        assert dots(axes) == []
        assert_allclose(points(line_named(axes, "a")), [[0, 0.1], [1, 0.2]])

    def test_what_was_not_observed_is_not_drawn(self):
        empty = LayerSeries("empty", np.full((2, 3), np.nan))
        panel = LayerPanel("A", [empty, LayerSeries("a", VALUES), LayerSeries("b", VALUES)])
        figure = points_by_layer([panel])
        assert [line.get_label() for line in figure.axes[0].get_lines()].count("empty") == 0
        assert "empty" not in texts(figure)
        assert texts(points_by_layer([LayerPanel("nothing", [empty])])).count("nothing") == 1

    def test_panels_with_the_same_series_share_a_legend_and_colours(self):
        series = [LayerSeries(name, VALUES) for name in ("a", "b")]
        figure = points_by_layer([LayerPanel("A", series), LayerPanel("B", series[::-1])])
        assert [text.get_text() for text in figure.legends[0].get_texts()] == ["a", "b"]
        first, second = (line_named(axes, "a").get_color() for axes in figure.axes)
        assert first == second == CYCLE[0]

    def test_no_series_has_the_colour_of_another_one_of_the_palette(self):
        named = [LayerSeries(name, VALUES, name) for name in ("cls", "sep", "punctuation")]
        series = [LayerSeries("unmasked", VALUES), *named, LayerSeries("masked", VALUES)]
        (axes,) = points_by_layer([LayerPanel("A", series)]).axes
        assert len({line_named(axes, one.label).get_color() for one in series}) == len(series)

    def test_a_name_may_begin_with_an_underscore(self):
        series = [LayerSeries(name, VALUES) for name in ("_a", "b")]
        figure = points_by_layer([LayerPanel("A", series), LayerPanel("B", series)])
        assert [text.get_text() for text in figure.legends[0].get_texts()] == ["_a", "b"]

    def test_other_panels_name_their_lines_at_their_ends(self):
        low, high = np.array([0.5, 0.2]), np.array([0.5, 0.8])
        one = LayerPanel("A", [LayerSeries("low", low), LayerSeries("high", high)])
        other = LayerPanel("B", [LayerSeries("low", low), LayerSeries("middle", high)])
        figure = points_by_layer([one, other])
        assert not figure.legends
        places = {text.get_text(): text.xy[1] for text in figure.axes[0].texts}
        assert places["high"] > places["low"]

    def test_references_percentages_limits_and_the_papers_own_numbers(self):
        reference = Reference(0.25, "uniform attention")
        panel = LayerPanel(
            "A", [LayerSeries("a", VALUES)], percent=True, limits=(0.0, 1.0),
            references=[reference, Reference(np.nan, "unknown")], first_layer=1,
        )  # fmt: skip
        figure = points_by_layer([panel])
        (axes,) = figure.axes
        assert axes.get_ylim() == (0, 1)
        assert axes.yaxis.get_major_formatter()(0.4) == "40%"
        assert list(axes.get_xticks()) == [1, 2]
        assert any(list(line.get_ydata()) == [0.25, 0.25] for line in axes.get_lines())
        assert "uniform attention" in texts(figure)
        assert "unknown" not in texts(figure)

    def test_panels_of_shares_have_one_range_and_others_their_own(self):
        low, high = (LayerSeries("a", scale * VALUES) for scale in (1, 0.1))
        shares = [LayerPanel("A", [one], percent=True) for one in (low, high)]
        own = LayerPanel("B", [high], percent=True, limits=(0.0, 0.5))
        first, second, third = points_by_layer([*shares, own]).axes
        assert first.get_ylim() == second.get_ylim()
        assert third.get_ylim() == (0, 0.5)
        numbers = [LayerPanel("A", [one]) for one in (low, high)]
        first, second = points_by_layer(numbers).axes
        assert first.get_ylim() != second.get_ylim()

    def test_many_layers_have_few_ticks(self):
        (axes,) = points_by_layer([LayerPanel("A", [LayerSeries("a", np.ones((48, 2)))])]).axes
        assert list(axes.get_xticks()) == list(range(0, 48, 3))


class TestAttentionLines:
    WEIGHTS = np.array([[0.5, 0.25], [0.0, np.nan], [1.0, 0.001]])

    def drawn(self, **settings):
        drawing = LinkDrawing("Head 1-2", ["a", "b", "c"], ["x", "y"], self.WEIGHTS, **settings)
        return attention_lines([drawing])

    def links(self, figure):
        (collection,) = figure.findobj(LineCollection)
        return list(zip(collection.get_segments(), collection.get_colors(), strict=True))

    def test_lines_lead_from_query_to_key_and_are_as_dark_as_the_weight(self):
        figure = self.drawn()
        links = self.links(figure)
        assert_allclose([colour[3] for _, colour in links], [0.25, 0.5, 1.0])
        faint, first, last = (segment for segment, _ in links)
        rows = {text.get_text(): text.get_position()[1] for text in figure.axes[0].texts}
        assert faint[1][0] - faint[0][0] == pytest.approx(GAP)
        assert faint[1][1] - faint[0][1] == pytest.approx(rows["y"] - rows["a"]) == ROW
        assert first[1][1] == pytest.approx(first[0][1])
        assert last[1][1] - last[0][1] == pytest.approx(rows["x"] - rows["c"]) == -2 * ROW

    def test_lines_of_faint_tokens_are_grey_and_do_not_count_for_the_darkest(self):
        weights = np.array([[0.0, 1.0], [0.6, 0.0]])
        drawing = LinkDrawing("h", ["a", "b"], ["a", "s"], weights, faint=[1], darkest=None)
        shades = [colour[3] for _, colour in self.links(attention_lines([drawing]))]
        assert_allclose(shades, [0.25, 0.25])
        plain = LinkDrawing(
            "h", ["a", "b", "s"], ["a", "b", "s"], np.diag([0.6, 0.3, 0.9]), faint=[2]
        )
        found = sorted(colour[3] for _, colour in self.links(attention_lines([plain])))
        assert_allclose(found, [0.25, 0.5, 1.0])

    def test_a_long_text_is_cut_to_what_is_red(self):
        words = [f"w{number}" for number in range(100)]
        weights = np.arange(10_000.0).reshape(100, 100)
        drawing = LinkDrawing(
            "h", words, words, weights, ["n"], links=[(60, 55), (99, 56)], faint=[0, 56]
        )
        shown = windowed(drawing, 20)
        assert shown.queries == shown.keys == words[52:72]
        assert_allclose(shown.weights, weights[52:72, 52:72])
        assert (shown.links, shown.faint) == ([(8, 3)], [4])
        assert shown.notes == ["n", "tokens 53 to 72 of 100"]
        assert windowed(drawing, 100) is drawing

    def test_spread_attention_is_light(self):
        drawing = LinkDrawing("h", ["a"], ["x", "y"], np.array([[0.1, 0.05]]))
        shades = [colour[3] for _, colour in self.links(attention_lines([drawing]))]
        assert_allclose(shades, [0.1, 0.2])
        darker = LinkDrawing("h", ["a"], ["x", "y"], np.array([[0.1, 0.05]]), darkest=0.1)
        assert_allclose([c[3] for _, c in self.links(attention_lines([darker]))], [0.5, 1.0])

    @pytest.mark.parametrize(
        ("settings", "red_links", "red_words"),
        [
            ({"highlighted": {0}}, {(0, 0), (0, 1), (2, 0)}, {"a", "x"}),
            ({"links": {(2, 0)}}, {(2, 0)}, {"c", "x"}),
            ({}, set(), set()),
        ],
    )
    def test_red_words_and_links(self, settings, red_links, red_words):
        figure = self.drawn(**settings)
        rows = {text.get_text(): text.get_position()[1] for text in figure.axes[0].texts}
        found = set()
        for segment, colour in self.links(figure):
            if to_hex(colour[:3]) == STRONG:
                query = round((segment[0][1] + 0.043 - rows["a"]) / ROW)
                key = round((segment[1][1] + 0.043 - rows["x"]) / ROW)
                found.add((query, key))
        assert found == red_links
        words = {t.get_text() for t in figure.axes[0].texts if t.get_color() == STRONG}
        assert words == red_words

    def test_links_that_are_named_can_be_seen(self):
        drawing = LinkDrawing("h", ["a", "b"], ["a", "b"], np.array([[0.001, 1], [1, 0.8]]),
                              links=[(0, 0), (1, 1)])  # fmt: skip
        shades = {tuple(c[:3]): c[3] for _, c in self.links(attention_lines([drawing]))[-2:]}
        assert len(shades) == 1  # both red
        found = sorted(c[3] for _, c in self.links(attention_lines([drawing]))[-2:])
        assert_allclose(found, [0.5, 0.8])

    def test_head_words_are_underlined_on_both_sides(self):
        figure = self.drawn(underlined={1})
        rows = {text.get_text(): text.get_position()[1] for text in figure.axes[0].texts}
        heights = [points(line)[0, 1] for line in figure.axes[0].get_lines()]
        assert heights == pytest.approx([rows["b"] + 0.025, rows["y"] + 0.025])

    def test_a_long_text_is_cut_and_says_so(self):
        words = [str(index) for index in range(50)]
        drawing = LinkDrawing("h", words, words, np.eye(50))
        figure = attention_lines([drawing], longest=20)
        assert texts(figure).count("… 30 more") == 2
        assert "20" not in texts(figure)
        assert len(self.links(figure)) == 20

    def test_weights_and_tokens_have_to_agree(self):
        with pytest.raises(UsageError, match=r"'h' has weights of shape \(2, 2\) for 1 queries"):
            LinkDrawing("h", ["a"], ["b"], np.eye(2))

    def test_notes_and_title(self):
        shown = texts(self.drawn(notes=["86.8% accuracy at the dobj relation"]))
        assert "86.8% accuracy at the dobj relation" in shown
        assert "Head 1-2" in shown


class TestHeadMap:
    def cells(self, axes):
        collection = next(c for c in (*axes.collections, *axes.images) if c.get_array() is not None)
        return collection, np.ma.filled(collection.get_array().astype(float), np.nan)

    def test_cells_hold_the_values_and_missing_ones_are_hatched(self):
        figure = head_map([HeadMap("A", VALUES)])
        axes = figure.axes[0]
        assert_allclose(self.cells(axes)[1].reshape(VALUES.shape), VALUES)
        assert any(patch.get_hatch() for patch in axes.patches)
        assert sorted(text.get_text() for text in axes.texts) == [".10", ".20", ".40", ".50", ".90"]
        assert not any(p.get_hatch() for p in head_map([HeadMap("A", np.eye(2))]).axes[0].patches)

    @pytest.mark.parametrize(
        ("values", "shown"),
        [
            ([0.0, 0.02, 0.5], [".00", ".02", ".50"]),
            ([-0.001, 0.2, 1.0], [".00", ".20", "1.00"]),
            ([0.0, 0.0], [".00", ".00"]),
            ([0.869, 1.67], ["0.87", "1.67"]),
            ([0.5, 12.34], ["0.5", "12.3"]),
            ([2.0, 345.6], ["2", "346"]),
            ([0.0, 0.0031], ["0.0e+00", "3.1e-03"]),
        ],
    )
    def test_numbers_of_one_map_have_one_form(self, values, shown):
        assert cell_texts(np.array([values]), "") == [shown]

    def test_numbers_of_maps_with_one_range_have_one_form(self):
        tiny, large = HeadMap("A", np.full((2, 2), 0.004)), HeadMap("B", np.full((2, 2), 0.05))
        assert set(texts(head_map([tiny, large]))) >= {".00", ".05"}

    def test_maps_of_different_units_have_ranges_of_their_own(self):
        jsd, kl = HeadMap("A", np.eye(2), unit="JSD"), HeadMap("B", 9 * np.eye(2), unit="KL")
        figure = head_map([jsd, kl])
        assert [axes.collections[0].get_clim() for axes in figure.axes[:2]] == [(0, 1), (0, 10)]

    def test_rows_run_down_and_labels_are_theirs(self):
        one = HeadMap("A", VALUES, rows=["r0", "r1"], columns=["c0", "c1", "c2"], format=".0%")
        axes = head_map([one]).axes[0]
        assert axes.get_ylim() == (1.5, -0.5)
        assert [label.get_text() for label in axes.get_yticklabels()] == ["r0", "r1"]
        assert [label.get_text() for label in axes.get_xticklabels()] == ["c0", "c1", "c2"]
        places = {text.get_text(): text.get_position() for text in axes.texts}
        assert places["90%"] == (2, 1)

    @pytest.mark.slow
    def test_maps_of_one_scale_share_its_range(self):
        small, large = HeadMap("A", np.eye(2)), HeadMap("B", 4 * np.eye(2))
        other = HeadMap("C", 9 * np.eye(2), scale="norm")
        ranges = [
            self.cells(axes)[0].get_clim() for axes in head_map([small, large, other]).axes[:3]
        ]
        assert ranges == [(0, 4), (0, 4), (0, 10)]
        alone = head_map([small, large], shared=False)
        assert [self.cells(axes)[0].get_clim() for axes in alone.axes[:2]] == [(0, 1), (0, 4)]

    def test_differences_have_zero_in_the_middle(self):
        figure = head_map([HeadMap("A", np.array([[-0.1, 0.3]]), scale="change")])
        assert self.cells(figure.axes[0])[0].get_clim() == (-0.3, 0.3)

    def test_numbers_can_be_read_on_their_cells(self):
        figure = head_map([HeadMap("A", np.array([[0.0, 1.0]]))])
        light, dark = figure.axes[0].texts
        assert light.get_color() == "#000000"
        assert dark.get_color() == "#ffffff"

    def test_framed_cells(self):
        axes = head_map([HeadMap("A", VALUES, framed=[(1, 2)])]).axes[0]
        frames = [p for p in axes.patches if isinstance(p, Rectangle) and not p.get_fill()]
        assert [frame.get_xy() for frame in frames] == [(1.5, 0.5)]

    @pytest.mark.slow
    def test_labels_are_thinned_where_they_do_not_fit(self):
        names = [f"{index // 12}-{index % 12}" for index in range(144)]
        axes = head_map([HeadMap("A", np.full((3, 144), 0.123), columns=names)]).axes[0]
        shown = [label.get_text() for label in axes.get_xticklabels()]
        assert shown == names[:: 144 // len(shown)]
        assert len(shown) < 144
        assert not axes.texts
        chosen = ["" if index % 12 else name for index, name in enumerate(names)]
        axes = head_map([HeadMap("A", np.full((3, 144), 0.123), columns=chosen)]).axes[0]
        assert [label.get_text() for label in axes.get_xticklabels()] == chosen

    @pytest.mark.slow
    def test_many_cells_are_one_image(self):
        values = np.arange(2500.0).reshape(50, 50)
        figure = head_map([HeadMap("A", values)])
        assert_allclose(self.cells(figure.axes[0])[1], values)
        assert svg_text(figure).count("<path") < 300

    def test_a_map_needs_cells_and_a_label_each(self):
        with pytest.raises(UsageError, match=r"shape \(2, 3\) and labels for \(1, 3\)"):
            HeadMap("A", VALUES, rows=["one"])
        with pytest.raises(UsageError, match="'A' has values of shape"):
            HeadMap("A", np.ones((0, 3)))

    def test_titles_are_broken_where_the_map_beside_would_be_in_their_way(self):
        names = ["tokens copied (paper), weight", "tokens copied (paper), norm", "short"]
        figure = head_map([HeadMap(name, VALUES[:, :2]) for name in names])
        written = [axes.get_title("left") for axes in figure.axes[: len(names)]]
        assert [" ".join(each.split("\n")) for each in written] == names
        assert "\n" in written[0]
        assert written[2] == "short"
        boxes = [
            next(text for text in axes.findobj(Text) if text.get_text() == name).get_window_extent()
            for axes, name in zip(figure.axes, written, strict=False)
        ]
        assert all(one.x1 < two.x0 for one, two in pairwise(boxes))

    def test_none_of_four_maps_stands_alone_in_a_row(self):
        figure = head_map([HeadMap(name, VALUES) for name in "abcd"])
        (grid,) = {axes.get_subplotspec().get_gridspec() for axes in figure.axes[:4]}
        assert (grid.nrows, grid.ncols) == (2, 2)


class TestEmbedding:
    POINTS = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0], [np.nan, 1.0]])

    def test_points_stand_in_their_groups(self):
        figure = embedding([Embedding("A", self.POINTS, ["x", "y", "x", "y"])])
        (axes,) = figure.axes
        assert_allclose(points(line_named(axes, "x")), self.POINTS[[0, 2]])
        assert_allclose(points(line_named(axes, "y")), self.POINTS[[1]])
        assert [t.get_text() for t in axes.get_legend().get_texts()] == ["x", "y"]
        assert axes.get_aspect() == 1

    def test_groups_in_order_run_from_dark_to_light(self):
        figure = embedding([Embedding("A", self.POINTS, ["0", "1", "2", "2"], ordered=True)])
        colours = [line_named(figure.axes[0], name).get_color() for name in "012"]
        shades = [sum(int(c[i : i + 2], 16) for i in (1, 3, 5)) for c in colours]
        assert shades == sorted(shades)
        assert len(set(colours)) == 3

    def test_the_legend_keeps_the_order_asked_for(self):
        panel = Embedding("A", self.POINTS, ["x", "y", "z", "x"], order=["z", "gone", "x"])
        legend = embedding([panel]).axes[0].get_legend()
        assert [text.get_text() for text in legend.get_texts()] == ["z", "x", "y"]

    def test_labels_stand_near_their_points(self):
        panel = Embedding("A", self.POINTS, ["x"] * 4, {0: "origin", 2: "top", 3: "nowhere"})
        (axes,) = embedding([panel]).axes
        places = {text.get_text(): np.array(text.get_position()) for text in axes.texts}
        assert set(places) == {"origin", "top"}
        for name, index in (("origin", 0), ("top", 2)):
            distances = np.linalg.norm(self.POINTS[:3] - places[name], axis=1)
            assert distances.argmin() == index

    def test_every_point_needs_a_group(self):
        with pytest.raises(UsageError, match=r"points of shape \(4, 2\) for 1 groups"):
            Embedding("A", self.POINTS, ["x"])


class TestDendrogram:
    def test_leaves_have_their_labels_and_the_colours_of_their_groups(self):
        tree = np.array([[0, 2, 1.0, 2], [1, 3, 2.0, 3]])
        figure = dendrogram(tree, ["a", "b", "c"], ["0", "1", "0"], y_label="divergence")
        (axes,) = figure.axes
        assert [label.get_text() for label in axes.get_xticklabels()] == ["b", "a", "c"]
        assert list(line_named(axes, "0").get_xdata()) == [1, 2]
        assert list(line_named(axes, "1").get_xdata()) == [0]
        assert axes.get_ylabel() == "divergence"

    def test_every_leaf_needs_a_label_and_a_group(self):
        with pytest.raises(UsageError, match="3 leaves, but 2 labels"):
            dendrogram(np.array([[0, 2, 1.0, 2], [1, 3, 2.0, 3]]), ["a", "b"])
        with pytest.raises(UsageError, match="2 labels and 1 groups"):
            dendrogram(np.array([[0, 1, 1.0, 2]]), ["a", "b"], ["x"])


class TestBars:
    ROWS = (
        BarRow("dobj", [Mark("weight", 0.8, 0.7, 0.9, "weight"), Mark("norm", 0.6)],
               {"fixed offset": 0.4, "unknown": np.nan}, note="8-10"),
        BarRow("det", [Mark("weight", 0.5, colour="weight")], {"fixed offset": 0.3}),
    )  # fmt: skip

    def test_bars_are_as_long_as_their_values_and_rows_run_down(self):
        (axes,) = bars(self.ROWS).axes
        lengths = [(patch.get_width(), patch.get_y()) for patch in axes.patches]
        assert [length for length, _ in lengths] == [0.8, 0.6, 0.5]
        assert [height for _, height in lengths] == sorted(height for _, height in lengths)
        assert axes.get_ylim()[0] > axes.get_ylim()[1]
        assert [label.get_text() for label in axes.get_yticklabels()] == ["dobj", "det"]

    def test_intervals_ticks_and_notes(self):
        figure = bars(self.ROWS, percent=True)
        (axes,) = figure.axes
        across = [tuple(line.get_xdata()) for line in axes.get_lines()]
        assert across.count((0.7, 0.9)) == 2  # the line and the light ground under it
        assert across.count((0.4, 0.4)) == 1
        assert across.count((0.3, 0.3)) == 1
        assert not any(np.isnan(pair).any() for pair in across)
        assert "8-10" in texts(figure)
        names = [text.get_text() for text in figure.legends[0].get_texts()]
        assert names == ["weight", "norm", "fixed offset"]

    def test_dots(self):
        (axes,) = bars(self.ROWS, dots=True, limits=(0, 1)).axes
        assert [points(line)[0, 0] for line in dots(axes)] == [0.8, 0.6, 0.5]
        assert not axes.patches
        assert axes.get_xlim() == (0, 1)

    def test_nothing_to_draw(self):
        with pytest.raises(UsageError, match="at least one row"):
            bars([])


class TestLinesBoxesDensity:
    def test_lines_with_bands(self):
        x, y = np.arange(3), np.array([0.1, np.nan, 0.3])
        line = Line("a", x, y, y - 0.1, y + 0.1, "norm", dashed=True, marked=True)
        (axes,) = lines([LinePanel("A", [line], "layer", "value")]).axes
        drawn = line_named(axes, "a")
        assert_allclose(points(drawn), np.c_[x, y])
        assert drawn.get_color() == series_styles()["norm"].light
        assert drawn.is_dashed()
        band = axes.collections[0].get_paths()[0].vertices
        assert {0.0, 0.2} <= {round(float(value), 6) for value in band[:, 1]}
        assert (axes.get_xlabel(), axes.get_ylabel()) == ("layer", "value")

    def test_points_are_named_in_a_legend_since_they_have_no_ends(self):
        x = np.arange(3.0)
        series = [Line("seen", x, x, marked=True, joined=False), Line("mean", x, x)]
        figure = lines([LinePanel("", series)])
        assert [text.get_text() for text in figure.legends[0].get_texts()] == ["seen", "mean"]
        assert not figure.axes[0].texts

    def test_points_without_a_line_over_whole_numbers(self):
        x, y = np.array([1, 2, 4]), np.array([0.3, 0.1, 0.2])
        line = Line("a", x, y, marked=True, joined=False)
        (axes,) = lines([LinePanel("A", [line], whole=True)]).axes
        drawn = line_named(axes, "a")
        assert_allclose(points(drawn), np.c_[x, y])
        assert drawn.get_linestyle() == "None"
        assert drawn.get_marker() not in ("", "None")
        assert all(tick == int(tick) for tick in axes.get_xticks())

    def test_logarithmic_axes_have_plain_ticks(self):
        x = np.geomspace(1, 1e5, 9)
        figure = lines([LinePanel("A", [Line("a", x, 1 / x)], x_log=True, y_log=True)])
        (axes,) = figure.axes
        assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
        assert axes.xaxis.get_major_formatter()(1000) == "1,000"
        assert axes.yaxis.get_major_formatter()(1e-5) == "1e-5"
        assert "$" not in svg_text(figure)

    def test_logarithmic_axes_have_few_ticks(self):
        x = np.geomspace(1e-12, 1, 9)
        (axes,) = lines([LinePanel("A", [Line("a", x, x)], x_log=True)]).axes
        inside = [tick for tick in axes.get_xticks() if x[0] <= tick <= x[-1]]
        assert 2 <= len(inside) <= 5

    @pytest.mark.parametrize("span", [1.01, 1.3, 3, 12, 40])
    def test_a_logarithmic_axis_within_a_power_of_ten_has_ticks(self, span):
        x = np.geomspace(6.1e-8, 6.1e-8 * span, 9)
        (axes,) = lines([LinePanel("A", [Line("a", x, x)], x_log=True)]).axes
        inside = [tick for tick in axes.get_xticks() if x[0] / 1.1 <= tick <= x[-1] * 1.1]
        assert 2 <= len(inside) <= 8

    def test_a_reference_may_be_on_the_horizontal_axis(self):
        line = Line("a", np.arange(9), np.arange(9))
        marks = [Reference(3.0, "width", upright=True)]
        (axes,) = lines([LinePanel("A", [line], references=marks)]).axes
        assert any(list(each.get_xdata()) == [3.0, 3.0] for each in axes.get_lines())
        (words,) = axes.texts
        assert (words.get_text(), words.xy[0]) == ("width", 3.0)

    def test_panels_of_shares_have_one_range(self):
        panels = [
            LinePanel(name, [Line("a", np.arange(3), scale * np.arange(3))], percent=True)
            for name, scale in (("A", 0.1), ("B", 0.4))
        ]
        first, second = lines(panels).axes
        assert first.get_ylim() == second.get_ylim()

    def test_many_lines_have_a_legend_in_their_panel(self):
        series = [Line(f"head {h}", np.arange(2), np.arange(2) * h) for h in range(9)]
        (axes,) = lines([LinePanel("A", series)]).axes
        assert len(axes.get_legend().get_texts()) == 9

    def test_a_box_holds_the_quartiles(self):
        values = np.append(np.arange(101.0), np.nan)
        box = Box.from_values("all", values)
        assert (box.low, box.first, box.median, box.third, box.high) == (5, 25, 50, 75, 95)
        (axes,) = boxes([BoxPanel("A", [box, Box.from_values("none", np.array([]))])]).axes
        (patch,) = axes.patches
        assert (patch.get_y(), patch.get_height()) == (25, 50)
        ends = [tuple(line.get_ydata()) for line in axes.get_lines()]
        assert ends == [(5, 25), (75, 95), (50, 50)]
        assert [label.get_text() for label in axes.get_xticklabels()] == ["all", "none"]

    def test_counts_are_those_of_the_pairs(self):
        rng = np.random.default_rng(0)
        x, y = rng.random(500), rng.random(500)
        x[0] = np.nan
        panel = DensityPanel.from_pairs("A", x, y, bins=7, x_label="α")
        expected, _, _ = np.histogram2d(x[1:], y[1:], bins=7)
        assert_allclose(panel.counts, expected)
        figure = density([panel, DensityPanel.from_pairs("B", x, y, bins=3)])
        mesh = figure.axes[0].collections[0]
        assert isinstance(mesh.norm, LogNorm)
        assert_allclose(np.ma.filled(mesh.get_array(), 0).reshape(7, 7), expected.T)
        assert len(figure.axes) == 3  # one scale of colours for both

    def test_what_has_no_logarithm_is_left_out(self):
        x, y = np.array([0.0, 1.0, 100.0]), np.array([1.0, -1.0, 2.0])
        assert DensityPanel.from_pairs("A", x, y, x_log=True).counts.sum() == 2
        assert DensityPanel.from_pairs("A", x, y, x_log=True, y_log=True).counts.sum() == 1
        assert DensityPanel.from_pairs("A", x, y).counts.sum() == 3

    def test_weights_and_lengths_share_their_axes_and_tiny_weights_are_at_the_left(self):
        pairs = np.array([[0.5, 2.0], [1e-27, 1.0], [0.0, 1.0], [np.nan, 1.0], [1.0, 4.0]])
        one, other = (weight_and_length("A", some, 4.0) for some in (pairs, pairs[:1]))
        assert_allclose(one.x_edges[[0, -1]], [1e-6, 1])
        assert_allclose(one.x_edges, other.x_edges)
        assert_allclose(one.y_edges, other.y_edges)
        assert one.counts.sum() == 3
        assert one.counts[0].sum() == 1
        assert one.y_edges[-1] > 4.0

    @pytest.mark.parametrize("x", [np.array([]), np.array([np.nan]), np.array([2.0])])
    def test_few_pairs_are_drawn(self, x):
        assert density([DensityPanel.from_pairs("A", x, x, x_log=True)]).axes

    def test_edges_enclose_the_cells(self):
        with pytest.raises(UsageError, match=r"a side of n cells has n \+ 1"):
            DensityPanel("A", np.ones((2, 2)), np.arange(3), np.arange(2))


class TestTablePicture:
    FRAME = pd.DataFrame(
        {"relation": ["det", "dobj"], "accuracy": [94.31, np.nan], "offset": [1, -2]}
    )

    def test_cells_are_texts_and_numbers_stand_flush_right(self):
        figure = table_picture(
            self.FRAME, formats={"accuracy": ".1f", "offset": "+d"}, highlight=[(0, "accuracy")]
        )
        shown = {text.get_text(): text for text in figure.axes[0].texts}
        assert {"relation", "accuracy", "offset", "det", "dobj", "94.3", "–", "+1", "−2"} == set(
            shown
        )
        assert shown["94.3"].get_weight() == "bold"
        assert shown["94.3"].get_ha() == "right"
        assert shown["det"].get_ha() == "left"
        assert shown["94.3"].get_position()[0] == shown["–"].get_position()[0]
        assert shown["det"].get_position()[1] < shown["dobj"].get_position()[1]

    def test_formats_are_checked(self):
        with pytest.raises(UsageError, match="no column 'uas' in the table; it has relation"):
            table_picture(self.FRAME, formats={"uas": ".1f"})
        with pytest.raises(UsageError, match="'Q' does not fit the number"):
            table_picture(self.FRAME, formats={"accuracy": "Q"})
        with pytest.raises(UsageError, match="at least one column"):
            table_picture(pd.DataFrame())

    def test_an_empty_table_has_its_header(self):
        assert texts(table_picture(self.FRAME.iloc[:0])) == ["relation", "accuracy", "offset"]


def hostile_pictures():
    """Every function with words that could break something."""
    words, count = HOSTILE, len(HOSTILE)
    title = "\x1b[31m\u202e$x$"
    series = [LayerSeries(word, VALUES) for word in words]
    frame = pd.DataFrame({word or "empty": [word, word] for word in words})
    return {
        "layers": lambda: points_by_layer([LayerPanel(w, series) for w in words], title=title),
        "ends": lambda: points_by_layer([LayerPanel(words[0], series[:5])]),
        "links": lambda: attention_lines(
            [LinkDrawing(words[1], words, words, np.eye(count), notes=words)], title=title
        ),
        "map": lambda: head_map([HeadMap(title, np.eye(count), words, words, unit=title)]),
        "embedding": lambda: embedding(
            [Embedding(words[1], np.eye(count, 2), words, dict(enumerate(words)), note=title)]
        ),
        "tree": lambda: dendrogram(linkage(np.eye(count)), words, words, title=title),
        "bars": lambda: bars(
            [BarRow(w, [Mark(w, 0.5)], {w + "!": 0.2}, note=w) for w in words if w], title=title
        ),
        "lines": lambda: lines(
            [LinePanel(w, [Line(w, np.arange(2), np.arange(2))]) for w in words]
        ),
        "boxes": lambda: boxes(
            [BoxPanel(title, [Box.from_values(w, np.arange(9)) for w in words])]
        ),
        "density": lambda: density([DensityPanel.from_pairs(title, np.arange(9), np.arange(9))]),
        "table": lambda: table_picture(frame, title=title),
    }


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", hostile_pictures())
@pytest.mark.slow
def test_words_are_shown_as_they_are(name):
    figure = hostile_pictures()[name]()
    svg = svg_text(figure)
    assert "<script" not in svg
    assert "\x1b" not in svg
    assert "\u202e" not in svg
    assert "$x$" in "".join(texts(figure))


@pytest.mark.parametrize(
    "draw", [points_by_layer, attention_lines, head_map, embedding, lines, boxes, density, bars]
)
def test_a_picture_of_nothing_is_refused(draw):
    with pytest.raises(UsageError, match="needs at least one"):
        draw([])
