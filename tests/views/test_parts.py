"""Tables, maps and curves of variables: every number stands where its labels say."""

from math import nan

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from headlight.errors import UsageError
from headlight.views.parts import By, Columns, Curve, Map, Section, Table, columns, curves, maps
from headlight.views.parts.bar_charts import bars
from headlight.views.parts.box_plots import MARKS, boxes, boxes_of
from headlight.views.section_pages import SectionPage, section_page
from views.drawn import dots, line_named, points, texts

CHANGE = By("change", {"uniform": "all alike"}, "attention")


@pytest.fixture
def result() -> xr.Dataset:
    random = np.random.default_rng(0)
    axes = {
        "moved": ("change", "layer"),
        "moved_low": ("change", "layer"),
        "moved_high": ("change", "layer"),
        "by_head": ("layer", "head", "change"),
        "spread": ("layer", "head"),
        "count": ("layer",),
        "tokens": ("step",),
    }
    sizes = {"change": 2, "layer": 3, "head": 2, "step": 4}
    found = xr.Dataset(
        {name: (dims, random.random([sizes[dim] for dim in dims])) for name, dims in axes.items()},
        coords={
            "change": ["permuted", "uniform"],
            "layer": [1, 3, 4],
            "head": [0, 1],
            "step": [0.0, 0.25, 0.5, 1.0],
        },
    )
    found["by_head"][1, 1] = np.nan
    found["spread"][1, 1] = np.nan
    found["count"] = found["count"].round() + 2
    found["moved"].attrs.update(long_name="how far {it} moves", units="nats")
    return found


class TestColumns:
    def test_rows_are_labels_and_columns_are_variables(self, result):
        table = columns(
            "moved",
            "How far",
            result.isel(layer=1),
            CHANGE,
            Columns("moved", ".3f", "TVD", interval=True),
            Columns("moved_high", label="again", interval=False),
        )
        frame = table.frame
        assert (table.name, table.caption) == ("moved", "How far")
        assert list(frame.columns) == ["attention", "TVD", "low", "high", "again"]
        assert list(frame["attention"]) == ["permuted", "all alike"]
        for row, change in enumerate(["permuted", "uniform"]):
            cell = result.sel(change=change, layer=3)
            wanted = [cell["moved"], cell["moved_low"], cell["moved_high"], cell["moved_high"]]
            assert list(frame.iloc[row, 1:]) == [float(each) for each in wanted]
        assert table.formats == {"TVD": ".3f", "low": ".3f", "high": ".3f"}

    def test_heads_that_are_not_there_have_no_row(self, result):
        frame = columns(
            "heads",
            "",
            result,
            ("layer", "head"),
            Columns("by_head", label="moved, {change}", by=CHANGE),
            Columns("spread", label="spread"),
        ).frame
        assert list(frame.columns) == [
            "layer", "head", "moved, permuted", "moved, all alike", "spread",
        ]  # fmt: skip
        assert list(zip(frame["layer"], frame["head"], strict=True)) == [
            (1, 0), (1, 1), (3, 0), (4, 0), (4, 1),
        ]  # fmt: skip
        for row in frame.to_dict("records"):
            head = result.sel(layer=row["layer"], head=row["head"])
            assert row["moved, all alike"] == float(head["by_head"].sel(change="uniform"))
            assert row["spread"] == float(head["spread"])

    def test_of_heads_that_rows_do_not_name_the_mean_is_shown(self, result):
        frame = columns("layers", "", result, "layer", Columns("spread", label="a")).frame
        for row in frame.to_dict("records"):
            of_layer = result["spread"].sel(layer=row["layer"]).values
            assert row["a"] == pytest.approx(of_layer[np.isfinite(of_layer)].mean())

    def test_nothing_else_is_averaged_in_silence(self, result):
        with pytest.raises(UsageError, match="change would be lost"):
            columns("layers", "", result, "layer", Columns("moved"))

    def test_a_variable_that_is_not_there(self, result):
        with pytest.raises(UsageError, match="no variable 'loss'"):
            columns("layers", "", result, "layer", Columns("loss"))

    def test_counts_are_whole_and_names_are_those_of_the_variables(self, result):
        chosen = result.sel(change="uniform")
        frame = columns(
            "a", "", chosen, "layer", Columns("count", label="n", whole=True), Columns("moved")
        ).frame
        assert frame["n"].dtype == np.int64
        assert list(frame.columns) == ["layer", "n", "how far {it} moves"]

    def test_a_value_without_a_dimension_of_the_rows_stays_the_same_along_it(self, result):
        table = columns("a", "", result, ("change", "layer"), Columns("count", label="n"))
        assert list(table.frame["n"]) == [*result["count"].values] * 2

    def test_rows_without_a_heading_have_columns_of_their_own(self, result):
        named = result.assign_coords(who=("layer", ["a", "b", "c"]))
        table = columns("a", "", named, By("layer", heading=""), Columns("who", label="who"))
        assert table.frame.to_dict("list") == {"who": ["a", "b", "c"]}


class TestMaps:
    def test_a_map_for_each_label(self, result):
        figure = maps(result, Map("by_head", by=CHANGE, unit="TVD"))()
        drawn = [axes for axes in figure.axes if axes.get_title("left")]
        assert [axes.get_title("left") for axes in drawn] == ["permuted", "all alike"]
        for axes, change in zip(drawn, ["permuted", "uniform"], strict=True):
            wanted = result["by_head"].sel(change=change).transpose("layer", "head").values
            shown = np.ma.filled(axes.collections[0].get_array(), np.nan)
            assert np.array_equal(shown, wanted, equal_nan=True)
            assert [each.get_text() for each in axes.get_yticklabels()] == ["1", "3", "4"]
        assert "TVD" in texts(figure)

    def test_a_unit_is_that_of_the_variable(self, result):
        figure = maps(result, Map("moved", "A", rows=CHANGE, columns="layer"))()
        assert "nats" in texts(figure)
        assert figure.axes[0].get_ylabel() == "attention"

    def test_a_map_of_nothing_is_left_out(self, result):
        empty = result.assign(nothing=result["spread"] * np.nan)
        figure = maps(empty, Map("nothing", "A"), Map("spread", "B"))()
        assert figure.axes[0].get_title("left") == "B"
        assert not {"A"} & set(texts(figure))


class TestCurves:
    def test_values_by_layer_have_a_dot_for_each_head_and_a_line_of_means(self, result):
        figure = curves(result, Curve("by_head", panel="Moved", by=CHANGE))()
        (axes,) = figure.axes
        assert axes.get_title("left") == "Moved"
        line = points(line_named(axes, "all alike"))
        wanted = result["by_head"].sel(change="uniform").mean("head").values
        assert np.array_equal(line[:, 0], [1, 3, 4])
        assert line[:, 1] == pytest.approx(wanted)
        assert sum(len(points(each)) for each in dots(axes)) == 10

    def test_panels_are_told_apart_by_what_their_titles_name(self, result):
        figure = curves(result, Curve("by_head", "mean", "With {change}", by=CHANGE))()
        titles = [axes.get_title("left") for axes in figure.axes]
        assert titles == ["With permuted", "With all alike"]

    def test_an_interval_is_a_band(self, result):
        figure = curves(
            result, Curve("moved", panel="A", by="change", interval=True, y_label="nats")
        )()
        (axes,) = figure.axes
        band = axes.collections[0].get_paths()[0].vertices[:, 1]
        here = result.sel(change="permuted")
        assert band.min() == min(here["moved_low"].min(), here["moved_high"].min())
        assert (axes.get_xlabel(), axes.get_ylabel()) == ("layer", "nats")

    def test_curves_over_other_numbers(self, result):
        figure = curves(result, Curve("tokens", "a", over="step", x_label="share"))()
        (axes,) = figure.axes
        wanted = np.stack([result["step"].values, result["tokens"].values], axis=1)
        assert np.array_equal(points(line_named(axes, "a")), wanted)
        assert axes.get_xlabel() == "share"

    def test_points_over_a_variable_are_told_apart_by_a_coordinate(self):
        models = pd.DataFrame({"tvd": [0.3, 0.1, 0.2], "jsd": [3.0, 1.0, 2.0], "of": list("aba")})
        found = models.to_xarray()
        found["tvd"].attrs["long_name"] = "how far predictions move"
        shown = (
            Curve("jsd", name, over="tvd", selection={"of": name}, joined=False) for name in "ab"
        )
        (axes,) = curves(found, *shown)().axes
        assert points(line_named(axes, "a")).tolist() == [[0.3, 3.0], [0.2, 2.0]]
        assert points(line_named(axes, "b")).tolist() == [[0.1, 1.0]]
        assert len(dots(axes)) == 2
        assert axes.get_xlabel() == "how far predictions move"

    def test_each_line_has_its_own_places_on_the_horizontal_axis(self, result):
        shown = Curve("by_head", "{layer}", by=("change", "layer"), over="spread", ordered=True)
        (axes,) = curves(result.sel(change=["uniform"]), shown)().axes
        for layer in (1, 3, 4):
            here = result.sel(layer=layer, change="uniform")
            wanted = np.stack([here["spread"], here["by_head"]], axis=1)
            np.testing.assert_array_equal(points(line_named(axes, str(layer))), wanted)
        assert len({line_named(axes, str(layer)).get_color() for layer in (1, 3, 4)}) == 3

    def test_colours_dashes_and_the_axis_are_those_that_are_asked_for(self, result):
        look = {"colour": {"uniform": "#0b559f"}, "dashed": ["uniform"], "marked": True}
        shown = Curve("moved", by=CHANGE, logarithmic=True, **look)
        (axes,) = curves(result, shown)().axes
        alike, other = line_named(axes, "all alike"), line_named(axes, "permuted")
        assert alike.get_color() == "#0b559f" != other.get_color()
        assert (alike.is_dashed(), other.is_dashed()) == (True, False)
        assert axes.get_xscale() == "log"


class TestBarsAndBoxes:
    def test_a_row_has_a_mark_for_each_series_its_interval_and_what_it_is_compared_with(self):
        frame = pd.DataFrame(
            {
                "relation": ["det", "det", "obj"],
                "measure": ["weight", "norm", "weight"],
                "right": [0.5, 0.7, 0.2],
                "low": [0.4, 0.6, np.nan],
                "high": [0.6, 0.9, np.nan],
                "offset": [0.3, 0.3, np.nan],
                "head": ["L0H1", "L0H1", "L2H3"],
            }
        )
        more = {"series": "measure", "ticks": ["offset"], "note": "head"}
        figure = bars(frame, "relation", "right", x_label="accuracy", **more)()
        (axes,) = figure.axes
        assert [label.get_text() for label in axes.get_yticklabels()] == ["det", "obj"]
        assert sorted(float(points(each)[0, 0]) for each in dots(axes)) == [0.2, 0.5, 0.7]
        reaches = {
            tuple(each.get_xdata()) for each in axes.get_lines() if len(each.get_xdata()) == 2
        }
        assert reaches == {(0.4, 0.6), (0.6, 0.9), (0.3, 0.3)}
        assert {"weight", "norm", "offset", "L0H1", "L2H3", "accuracy"} <= {*texts(figure)}

    def test_boxes_of_values_stand_in_the_order_of_their_categories(self):
        values = np.arange(101.0)
        bins = pd.Categorical(["low"] * 101, ["low", "high"])
        frame = pd.DataFrame({"bin": bins, "value": values, "series": 1, "model": "LSTM"})
        colours, names = {0: "#111111", 1: "#222222"}, {0: "first", 1: "second"}
        draw = boxes(frame, "bin", "value", panel="model", colours=colours, names=names)
        figure = draw()
        (axes,) = figure.axes
        assert axes.get_title("left") == "LSTM"
        assert [label.get_text() for label in axes.get_xticklabels()] == ["low", "high"]
        assert axes.get_xticks().tolist() == [0.5, 2.5], "under the middle of their boxes"
        (legend,) = figure.legends
        assert [text.get_text() for text in legend.get_texts()] == ["first", "second"]
        (box,) = axes.patches
        assert (box.get_x() + box.get_width() / 2, box.get_y()) == (1, 25)
        assert box.get_y() + box.get_height() == 75

    def test_boxes_of_marks_are_those_of_the_result(self, result):
        marks = np.sort(np.random.default_rng(0).random([2, 3, 5]))
        found = result.assign(box=(("change", "layer", "mark"), marks), mark=list(MARKS))
        figure = boxes_of(found, "box", "layer", panel="by {change}", by=CHANGE)()
        assert [axes.get_title("left") for axes in figure.axes] == ["by permuted", "by all alike"]
        for axes, wanted in zip(figure.axes, marks, strict=True):
            drawn = [(box.get_y(), box.get_y() + box.get_height()) for box in axes.patches]
            np.testing.assert_allclose(drawn, wanted[:, [1, 3]])
            assert [label.get_text() for label in axes.get_xticklabels()] == ["1", "3", "4"]


class TestHeadsFirst:
    frame = pd.DataFrame(
        {"layer": [0, 0, 1, 1], "head": [0, 1] * 2, "share": [0.2, nan, 0.9, 0.5], "n": range(1, 5)}
    )

    def test_the_head_with_most_is_first_and_takes_its_interval_and_its_mark_with_it(self):
        around = {"share": [0.1, nan, 0.3, 0.4]}
        strong = [(2, "n"), (0, "share")]
        table = Table("t", "", self.frame, around=around, highlight=strong).ranked()
        assert table.frame["n"].tolist() == [3, 4, 1, 2]
        assert table.around["share"][:3] == [0.3, 0.4, 0.1]
        assert set(table.highlight) == {(0, "n"), (2, "share")}
        page = section_page(SectionPage("A", "", [Section("a", "A", "", tables=[table])]))
        shown = [page.index(f"{value:.3f} ±") for value in (0.9, 0.5, 0.2)]
        assert shown == sorted(shown)

    def test_where_small_is_near_the_smallest_is_first(self):
        table = Table("t", "", self.frame, smallest_first=True).ranked()
        assert table.frame["n"].tolist() == [1, 4, 3, 2]

    @pytest.mark.parametrize("change", [{"sums": ("n",)}, {"frame": frame.drop(columns="head")}])
    def test_parts_of_a_sum_and_other_rows_stay_as_they_stand(self, change):
        table = Table(**{"name": "t", "caption": "", "frame": self.frame} | change)
        assert table.ranked() is table
