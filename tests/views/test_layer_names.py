"""Whatever shows a result of some layers names them, and their heads, as the model counts them."""

import re
from base64 import b64decode

import numpy as np
import pytest
import xarray as xr
from rich.console import Console

from headlight.catalogue import studies
from headlight.views import reading_json, reading_page, reading_terminal
from headlight.views.result_contents import pictures, summary, tables
from headlight.views.result_terminal import study_terminal
from headlight.vocabulary import NUMBERING
from long_cases import mostly_long
from study_runs import HEADS, LAYERS, StudyRuns, uneven
from views.browsers import CHROMIUM
from views.dark import check_dark_pictures


@pytest.fixture(params=studies())
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def result(study_runs: StudyRuns, name: str) -> xr.Dataset:
    return study_runs.result(name)


def printed(renderable: object) -> str:
    console = Console(width=200, force_terminal=False, color_system=None)
    with console.capture() as capture:
        console.print(renderable)
    return capture.get()


def with_texts_of_pictures(page: str) -> str:
    """The page and the texts of its pictures."""
    drawn = re.findall(r"data:image/svg\+xml;base64,([^\"]+)", page)
    return "\n".join([re.sub(r"base64,[^\"]+", "", page), *(b64decode(d).decode() for d in drawn)])


def heads_named(text: str) -> set[tuple[int, int]]:
    text = text.replace(NUMBERING, "")
    assert not re.search(r"[Hh]eads? \d+-\d+", text)
    return {(int(layer), int(head)) for layer, head in re.findall(r"\bL(\d+)H(\d+)\b", text)}


@pytest.mark.slow
def test_pages_and_terminal_name_no_other_head(study_runs, name, result):
    page = (study_runs.folder(name) / "report.html").read_text()
    for text in (with_texts_of_pictures(page), printed(study_terminal(result))):
        # The grid of a survey has a square for each head that any layer has.
        empty = {(3, 1)} if result.attrs["stage"] == "survey" else set()
        assert heads_named(text) <= HEADS | empty
        assert not re.search(r"\b[Ll]ayers? (0|2)\b", text)


@pytest.mark.slow
def test_tables_and_summaries_number_layers_as_the_model(result):
    for table in tables(result).values():
        frame = table.frame
        if "layer" in frame and len(frame):  # no head has a sink there
            assert set(frame["layer"]) == set(LAYERS)
        numbered = [re.fullmatch(r"layer (\d+)", str(name)) for name in frame.columns]
        assert {int(name[1]) for name in numbered if name} <= set(LAYERS)
        assert heads_named(frame.to_csv()) <= HEADS
        if {"layer", "head"} <= set(frame):
            assert set(zip(frame["layer"], frame["head"], strict=True)) <= HEADS
    named = [re.search(r"layer_(\d+)", name) for name in summary(result)]
    assert {int(name[1]) for name in named if name} <= set(LAYERS)


@pytest.mark.slow
def test_pictures_have_the_numbers_of_layers_at_their_axes(result):
    for drawing in pictures(result).values():
        for axes in drawing.draw().axes:
            if "layer" in axes.get_ylabel():
                assert [each.get_text() for each in axes.get_yticklabels()] == ["1", "3"]
            # A line across the whole panel stands for no layer.
            drawn = [line for line in axes.get_lines() if line.get_transform() == axes.transData]
            if axes.get_xlabel() == "layer" and drawn:
                points = np.concatenate([line.get_xdata() for line in drawn])
                labels = [each.get_text() for each in axes.get_xticklabels()]
                if labels == ["1", "3"]:  # boxes stand beside each other, whatever their names
                    continue
                assert set(np.round(points).astype(int)) == set(LAYERS)


@pytest.mark.parametrize("name", mostly_long(studies(), "distances"), indirect=True)
@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")
def test_figures_follow_a_dark_page(study_runs, name, result, browser):
    seen = check_dark_pictures(browser, study_runs.folder(name) / "report.html")
    assert seen == len(pictures(result))


BEST_HEADS = {"dependency": "weight", "coreference": "best", "distances": "nearest"}
"""Studies that name best heads, and the table that does."""


@pytest.mark.parametrize("name", list(BEST_HEADS), indirect=True)
@pytest.mark.slow
def test_best_heads_are_those_with_the_numbers_beside_them(result):
    stage = result.attrs["stage"]
    rows = tables(result)[BEST_HEADS[stage]].frame.to_dict("records")
    for row in rows:
        if stage == "distances":
            place = (result["layer"] == row["layer"]) & (result["head"] == row["head"])
            at = re.fullmatch(r"L(\d+)H(\d+)", row["nearest by weight"])
            other = (result["layer"] == int(at[1])) & (result["head"] == int(at[2]))
            found = result["distance"].sel(measure="weight").values[place.values][:, other.values]
            assert found.item() == pytest.approx(row["divergence by weight"])
        elif row["head"]:
            layer, head = map(int, re.fullmatch(r"L(\d+)H(\d+)", row["head"]).groups())
            place = {"layer": layer, "head": head, "direction": row["attending"]}
            chosen = (
                result["accuracy"].sel(measure="weight", relation=row["relation"], **place)
                if stage == "dependency"
                else result["accuracy"].sel(measure=row["who"], mention_kind="all", **place)
            )
            assert float(chosen) == pytest.approx(row.get("accuracy", row.get("all")))


def test_a_reading_names_the_layers_that_it_has(study_runs):
    reading = uneven(study_runs.data).read("the old cat sees a mill .", layers=LAYERS).dataset
    page, said = reading_page(reading), printed(reading_terminal(reading, "weight", 1))
    assert '"layers":[1,3]' in page
    assert '"layer_numbers":[1,3]' in reading_json(reading)
    assert heads_named(said) == HEADS
    for layer, head in HEADS:
        # Links to special tokens are counted, not listed.
        values = reading["weight"].sel(layer=layer, head=head).values[:, 1:-1]
        line = next(line for line in said.splitlines() if f"L{layer}H{head} " in line)
        shown = re.search(r"→ \S+ ([\d.]+)", line)
        assert shown
        assert float(shown[1]) == pytest.approx(float(values.max()), rel=6e-3)
    merged = printed(reading_terminal(reading, "merged_norm", 1)).splitlines()
    assert [line.split()[0] for line in merged if re.match(r"\d", line)] == ["1", "3"]
