"""The table of measures: everything that shows, stores or offers a measure takes it from there."""

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import get_args

import numpy as np
import pandas
import pytest
from rich.console import Console

from headlight.capture.one_text import capture_one
from headlight.encode import encode_one
from headlight.errors import CaptureError, UnknownNameError, UsageError
from headlight.findings.statistics import OF_READING, ROWS_OF_READING
from headlight.measures import Scores, register_measure, unregister_measure
from headlight.reading import Reading, read
from headlight.result import save_csv
from headlight.studies.distances import DistanceSettings
from headlight.studies.survey import SurveySettings
from headlight.studies.survey.study import run
from headlight.views import reading_page, reading_terminal
from headlight.views.pictures.theme import colour_of, marker_of
from headlight.views.result_contents import pictures
from headlight.views.result_page import result_page
from headlight.vocabulary import (
    CATEGORIES,
    CATEGORY_LABELS,
    MEASURES,
    PER_LAYER,
    Colour,
    Marker,
    Measure,
    check_measures,
    measure,
    measure_names,
    measure_table,
    measures_that_need,
)
from studies.models import subject
from views.pages import Page

TEXT = "the old mill , the river and the sea keeps sand near the town ."
SQUARED = Measure(
    name="squared",
    symbol="α²",
    short="squared",
    label="squared weight",
    meaning="the weight, squared",
    source="ours",
    marker="plus",
)
TOGETHER = Measure(
    name="together",
    symbol="Σα",
    short="sum of heads",
    label="weights of all heads",
    meaning="the weights of all heads, summed",
    source="ours",
    axes=PER_LAYER,
)


@pytest.fixture(autouse=True)
def toys() -> Iterator[None]:
    """Two measures that nothing in the package names."""
    register_measure(SQUARED, lambda scores: scores.weight**2)
    register_measure(TOGETHER, lambda scores: scores.weight.sum(1, keepdim=True))
    yield
    unregister_measure("squared")
    unregister_measure("together")


@pytest.fixture
def reading() -> Reading:
    return read(subject("bert"), TEXT)


@pytest.fixture
def survey():
    settings = SurveySettings(measures=("weight", "squared", "together"))
    return run([TEXT], subject("bert"), settings, progress=False)


def printed(renderable: object) -> str:
    console = Console(width=120, force_terminal=False, color_system=None)
    with console.capture() as capture:
        console.print(renderable)
    return capture.get()


def test_a_reading_has_it(reading, tmp_path):
    np.testing.assert_allclose(reading.squared, reading.weight**2, rtol=1e-6)
    np.testing.assert_allclose(reading["together"], reading.weight.sum("head"), rtol=1e-6)
    assert reading["together"].dims == PER_LAYER
    assert reading.squared.attrs == {"long_name": "squared weight α²", "units": "1"}
    assert {"squared", "together"} <= set(dir(reading))
    saved = json.loads(reading.save(tmp_path / "one.json").read_text())
    np.testing.assert_allclose(saved["squared"], reading.squared, rtol=1e-3, atol=1e-6)
    assert Reading(reading.dataset).squared.identical(reading.squared)


def test_a_survey_has_it(survey, reading):
    for name in ("squared", "together"):
        score = reading[name] if name == "squared" else reading[name].expand_dims(head=[0], axis=1)
        values = score.values
        rows = [values[..., reading.dataset["key_category"] == kind].sum(-1) for kind in CATEGORIES]
        total = np.stack(rows, axis=-1).mean(2)
        heads = range(values.shape[1])
        found = survey.sel(measure=name, query_category="all", head=list(heads))
        np.testing.assert_allclose(found["total"], total, rtol=1e-5)
        share = total / total.sum(-1, keepdims=True)
        np.testing.assert_allclose(found["share"], share, rtol=1e-5)
        assert np.isfinite(found["entropy"]).all()
    assert survey["total"].sel(measure="together", head=[1, 2, 3]).isnull().all()


@pytest.mark.slow
def test_the_report_has_it(survey):
    text = result_page(survey)
    page = Page(text)
    view = json.loads(page.by_id("data").text)["views"]["other.squared"]
    shares = survey["share"].sel(measure="squared", query_category="all", key_category="other")
    assert view["values"] == [float(f"{value:.4g}") for value in shares.values.ravel()]
    (axes, *_) = pictures(survey)["shares"].draw().axes
    assert "squared" in [line.get_label() for line in axes.get_lines()]
    assert ".s-squared{" in text
    assert "sum of heads: entropy" in text


def test_the_page_has_it(reading):
    page = Page(reading_page(reading.dataset))
    inputs = [e.attributes for e in page.all("input") if e.attributes.get("name") == "measure"]
    buttons = {each["value"]: each for each in inputs}
    assert buttons["squared"]["data-explanation"] == "Squared weight α²: the weight, squared."
    assert (buttons["squared"]["data-heads"], buttons["together"]["data-heads"]) == (
        "each",
        "together",
    )
    text = printed(reading_terminal(reading.dataset, "squared", 2))
    assert "strongest links by squared" in text


@pytest.mark.slow
def test_tables_have_it(survey, tmp_path):
    save_csv(survey, tmp_path)
    table = pandas.read_csv(tmp_path / "measure-layer-head-offset.csv")
    row = table[(table.measure == "squared") & (table["layer"] == 1) & (table["head"] == 2)]
    wanted = survey["neighbour"].sel(measure="squared", layer=1, head=2)
    np.testing.assert_allclose(row["neighbour"], wanted)


def test_pictures_have_it():
    assert colour_of("squared", 0) == colour_of("gradient", 0)
    assert marker_of("squared", 0) == "P"


@pytest.mark.slow
@pytest.mark.parametrize("command", ["survey", "distances", "read"])
def test_help_offers_it(command):
    program = (
        "from headlight.vocabulary import Measure, add_measure\n"
        "add_measure(Measure(name='squared', symbol='', short='', label='', meaning='', source=''))"
        "\nfrom headlight.cli import main\nmain()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, command, "--help"], capture_output=True, text=True
    )
    assert "squared" in done.stdout, done.stderr


def test_settings_take_it():
    assert SurveySettings(measures=("together",)).measures == ("together",)
    assert DistanceSettings(measures=("squared",)).measures == ("squared",)
    with pytest.raises(UsageError, match="of a layer and not of a head"):
        DistanceSettings(measures=("together",))


def test_a_name_is_taken_once():
    with pytest.raises(UsageError, match="already"):
        register_measure(SQUARED, lambda scores: scores.weight)
    with pytest.raises(UnknownNameError, match="Did you mean 'squared'"):
        unregister_measure("sqared")


def test_rows_are_complete():
    for row in measure_table():
        assert row.name.isidentifier()
        assert "" not in (row.symbol, row.short, row.label, row.meaning, row.source)
        assert row.colour in get_args(Colour)
        assert row.marker in get_args(Marker)
        assert row.axes[0] == "layer"
        assert row.pairwise or not (row.default or row.share or row.signed)
    assert set(MEASURES) < set(measure_names())
    assert tuple(CATEGORY_LABELS) == CATEGORIES


def test_every_row_has_its_function():
    seen: set[str] = set()

    def visit(record) -> None:
        scores = Scores(record)
        for row in measure_table():
            if row.needs in ("gradient", "attribution"):
                with pytest.raises(CaptureError):
                    scores.of(row.name)
                continue
            score = scores.of(row.name)
            assert score.ndim == len(row.axes) + (row.pairwise and not row.per_head)
            seen.add(row.name)

    found = subject("bert")
    reading = read(found, TEXT, residual=True)
    example = encode_one(found.tokenizer, TEXT)
    capture_one(found, example, found.sites, visit, residual=True)
    assert {*seen, OF_READING, ROWS_OF_READING} == set(map(str, reading.dataset.data_vars))
    without = set(map(str, read(found, TEXT).dataset.data_vars))
    assert seen - without == {"block_norm", "layer_norm"}


def test_what_measures_need():
    asked = ("weight", "gradient", "attribution")
    assert measures_that_need("gradient", asked) == ("gradient",)
    assert measures_that_need("attribution", asked) == ("attribution",)
    assert measure("merged_norm").per_head is False


@pytest.mark.parametrize(
    ("names", "part"),
    [
        (("weight", "nrom"), "'nrom'. Did you mean 'norm'"),
        (("rank",), "'rank'"),
        ((), "at least one"),
        (("norm", "norm"), "each of them once"),
    ],
)
def test_measures_that_are_refused(names, part):
    with pytest.raises(UsageError, match=part):
        check_measures(names)
