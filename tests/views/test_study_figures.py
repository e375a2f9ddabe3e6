"""What figures of studies show of results that are known."""

import re

import numpy as np
import pytest
from matplotlib.colors import to_hex
from scipy.cluster.hierarchy import linkage

from headlight.views.pictures import (
    BarRow,
    Embedding,
    HeadMap,
    Line,
    LinePanel,
    Mark,
    bars,
    dendrogram,
    embedding,
    head_map,
    lines,
    svg_text,
)
from headlight.views.pictures.theme import SMALL
from headlight.views.pictures.token_bars import TokenBars, token_bars
from headlight.views.result_contents import pictures, sections
from headlight.views.sentences import lead_and_rest
from study_runs import ENCODED
from views.drawn import dots, line_named, texts

HEADS = ["L0H0", "L0H1", "L1H0"]


@pytest.fixture(scope="module")
def results(study_runs):
    return study_runs.results()


def lightness(colour: object) -> float:
    return sum(int(to_hex(colour)[at : at + 2], 16) for at in (1, 3, 5))


class TestDrawing:
    def test_what_stands_alone_in_a_row_is_beside_its_label(self):
        rows = [
            BarRow("several", [Mark("a", 0.1), Mark("b", 0.2), Mark("c", 0.3)]),
            BarRow("alone", [Mark("a", 0.4)]),
        ]
        (axes,) = bars(rows, dots=True).axes
        (place,) = [line.get_ydata()[0] for line in dots(axes) if line.get_xdata()[0] == 0.4]
        assert place == pytest.approx(axes.get_yticks()[1])

    def test_a_head_that_is_worse_than_a_baseline_is_grey_and_the_legend_is_not(self):
        rows = [
            BarRow("one", [Mark("weight", 0.1, colour="weight", note="L0H0", faint=True)]),
            BarRow("two", [Mark("weight", 0.4, colour="weight", note="L1H0"), Mark("norm", 0.5)]),
        ]
        figure = bars(rows, dots=True)
        faint, plain = (
            next(line.get_color() for line in dots(figure.axes[0]) if line.get_xdata()[0] == at)
            for at in (0.1, 0.4)
        )
        red, green, blue = (int(faint[at : at + 2], 16) for at in (1, 3, 5))
        assert max(red, green, blue) - min(red, green, blue) < 24
        assert figure.legends[0].legend_handles[0].get_color() == plain != faint
        assert {"0.100  L0H0", "0.400  L1H0", "0.500"} <= set(texts(figure))

    def test_an_axis_has_no_offset(self):
        line = Line("jsd", np.arange(4.0), np.linspace(0.10001, 0.10004, 4))
        figure = lines([LinePanel("", [line])])
        figure.canvas.draw()
        assert figure.axes[0].yaxis.get_offset_text().get_text() == ""

    def test_points_are_named_beside_them_and_known_to_the_page(self):
        at = np.array([1.0, 2.0, 3.0])
        line = Line("heads", at, at, marked=True, joined=False, heads=HEADS, named={2: "L1H0"})
        figure = lines([LinePanel("Each head", [line])])
        assert [text.get_text() for text in figure.axes[0].texts] == ["L1H0"]
        assert 'id="heads-0-0.L0H0.L0H1.L1H0"' in svg_text(figure)

    def test_points_of_a_plane_are_known_to_the_page_by_group(self):
        points = np.array([[0.0, 0.0], [1.0, np.nan], [1.0, 1.0], [2.0, 0.0]])
        panel = Embedding("A", points, ["0", "0", "1", "0"], heads=[*HEADS, "L0H3"])
        drawn = svg_text(embedding([panel]))
        assert 'id="heads-0-0.L0H0.L0H3"' in drawn
        assert 'id="heads-0-1.L1H0"' in drawn

    def test_of_error_rates_the_lowest_is_darkest(self):
        values = np.array([[0.1, 0.9]])
        for low_is_good in (False, True):
            figure = head_map([HeadMap("A", values, low_is_good=low_is_good, limits=(0, 1))])
            mesh = figure.axes[0].collections[0]
            low, high = map(lightness, mesh.to_rgba(values).reshape(-1, 4))
            assert (low < high) == low_is_good

    def test_a_chart_that_stands_alone_is_larger(self):
        panel = LinePanel("A", [Line("a", np.arange(3), np.arange(3))])
        alone, two = (lines([panel] * count).get_size_inches() for count in (1, 2))
        assert alone[0] > 1.4 * two[0] / 2

    @pytest.mark.slow
    def test_a_legend_stands_over_the_first_column_of_panels(self):
        names = ["the most important removed", "the most important alone", "random", "uniform"]
        x = np.arange(3)
        figure = lines([LinePanel("A", [Line(name, x, x) for name in names])] * 3)
        wide = figure.legends[0].get_window_extent().x1 / figure.dpi
        assert wide < figure.get_figwidth() / 3
        starts = re.search(r'data-columns="([^"]+)"', svg_text(figure))[1].split()
        assert list(map(float, starts)) == pytest.approx([0, 100 / 3, 200 / 3], abs=2)

    @pytest.mark.slow
    def test_four_panels_are_two_rows_of_two(self):
        x = np.arange(3)
        figure = lines([LinePanel(name, [Line("a", x, x)]) for name in "ABCD"])
        assert 'data-panels="2"' in svg_text(figure)


@pytest.mark.slow
class TestStudies:
    @pytest.mark.words
    def test_dependency_shows_all_measures_of_a_relation_in_one_row(self, study_runs):
        result = study_runs.result("dependency")
        first, second = sections(result)[:2]
        axes = first.drawings[0].draw().axes[0]
        rows = len(axes.get_yticks())
        assert len(dots(axes)) == rows * result.sizes["measure"]
        assert {drawing.choice for drawing in second.drawings} == set(result["measure"].values)

    def test_importance_has_a_panel_for_each_category_and_one_range(self, study_runs):
        result = study_runs.result("survey")
        panels = pictures(result)["importance"].draw().axes
        seen = result["importance"].sel(importance_query="all").notnull().any(["layer", "head"])
        assert len(panels) == int(seen.sum())
        assert len({axes.get_ylim() for axes in panels}) == 1

    def test_ranks_that_are_all_one_are_said_and_not_drawn(self, study_runs):
        result = study_runs.result("survey")
        assert "rank_heads" in pictures(result)
        alike = result.assign(rank_by_length=result["rank_by_length"] * 0 + 7)
        assert "rank_heads" not in pictures(alike)
        (section,) = (each for each in sections(alike) if each.name == "null-spaces")
        assert "The rank of T is 7 in all heads." in section.explanation

    @pytest.mark.words
    def test_alignment_opens_with_the_error_rate_of_each_measure(self, results):
        for name in ("alignment", ENCODED):
            first = sections(results[name])[0]
            table = first.tables[0].frame.sort_values("AER")
            (axes,) = first.drawings[0].draw().axes
            drawn = sorted(line.get_xdata()[0] for line in dots(axes))
            assert drawn == pytest.approx(table["AER"].tolist())

    def test_faithfulness_says_first_what_is_predicted(self, study_runs):
        result = study_runs.result("faithfulness")
        lead, _ = lead_and_rest(sections(result)[0].explanation)
        assert lead.startswith("p is the probability of the token that the model expects at a mask")
        assert f"its mean is {float(result['probability']):.2f}, over 10 texts" in lead

    @pytest.mark.papers
    def test_permutation_opens_with_a_figure(self, study_runs):
        result = study_runs.result("permutation")
        axes = sections(result)[0].drawings[0].draw().axes[0]
        assert [line.get_xdata()[0] for line in dots(axes)] == result["tvd"].values.tolist()

    def test_faithfulness_has_a_panel_for_each_map_beside_the_random_order(self, study_runs):
        result = study_runs.result("faithfulness")
        (section,) = [each for each in sections(result) if each.name == "curves"]
        panels = section.drawings[0].draw().axes
        assert len(panels) == result.sizes["map"] - 1
        for axes in panels:
            line = line_named(axes, "random order")
            assert line.get_ydata() == pytest.approx(result["lost"].sel(map="random").values)


class TestNumbersOfBars:
    """Numbers stand at the ends of bars, and never over each other."""

    def test_every_bar_has_its_number(self):
        rows = [BarRow("one", [Mark("weight", 0.42), Mark("norm", -0.08)]), BarRow("two", [])]
        assert {"42%", "−8.0%"} <= set(texts(bars(rows, percent=True)))
        assert {"0.420", "−0.0800"} <= set(texts(bars(rows, dots=True)))

    @pytest.mark.parametrize("number", [3, 16, 60])
    def test_numbers_over_tokens_do_not_meet(self, number):
        shares = np.random.default_rng(0).dirichlet(np.full(number, 0.3))
        figure = token_bars([TokenBars("weight", "weight", shares)], ["token"] * number)
        axes = figure.axes[0]
        boxes = [text.get_window_extent() for text in axes.texts]
        assert boxes
        assert not any(
            one.overlaps(other) for at, one in enumerate(boxes) for other in boxes[at + 1 :]
        )
        assert f"{shares.max():.0%}" in {text.get_text() for text in axes.texts}


@pytest.mark.parametrize("leaves", [24, 144])
def test_names_of_many_leaves_are_large_enough_and_do_not_meet(leaves):
    tree = linkage(np.random.default_rng(0).normal(size=(leaves, 4)), "average")
    figure = dendrogram(tree, [f"L{at // 12}H{at % 12}" for at in range(leaves)])
    names = [label for label in figure.axes[0].get_xticklabels() if label.get_text()]
    assert {name.get_size() for name in names} == {SMALL}
    boxes = [name.get_window_extent() for name in names]
    assert not any(one.overlaps(other) for at, one in enumerate(boxes) for other in boxes[at + 1 :])


@pytest.mark.parametrize(("columns", "written"), [(8, True), (60, False)])
def test_numbers_of_maps_are_written_where_they_fit(columns, written):
    figure = head_map([HeadMap("one", np.full((4, columns), 0.5))])
    numbers = figure.axes[0].texts
    assert bool(numbers) == written
    assert {number.get_size() for number in numbers} <= {SMALL}
