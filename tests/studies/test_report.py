"""What lies in the folder of a survey, for a corpus that means harm."""

from pathlib import Path

import pandas
import pytest
import xarray

from headlight.catalogue import find_study
from headlight.catalogue.writers import run_writers
from headlight.corpora import SAMPLE_TEXT
from headlight.engine.folder import RunFolder
from headlight.engine.text_plan import plan_text_study
from headlight.output_folder import OutputFolder
from headlight.reports.report import StudyResult, write_report
from headlight.studies.survey import SurveySettings
from headlight.studies.survey.study import run as run_survey
from headlight.views import result_contents
from headlight.views.passages import NO_PAGES
from open_folders import opening
from studies.models import model
from views.pages import Page
from views.sample_results import survey_sample

survey = opening(run_survey)

pytestmark = pytest.mark.usefixtures("undrawn")

NAME = '<b>bold & "quoted"\' \u05e9\u05dc\u05d5\u05dd.txt'
HOSTILE = """<script>alert(1)</script> the sea </script>

& &amp; "quoted" 'single' <img src=x onerror=alert(2)> the mill

\u202e\u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627 the \u2028 river
"""


def scripts(page: Page) -> list[str]:
    return [element.text for element in page.all("script")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("report")
    corpus = place / NAME
    corpus.write_text(HOSTILE)
    found = model("bert")
    command = f"headlight survey '{corpus}'"
    result = survey(
        str(corpus), found, folder=RunFolder(path=place / "out"), command=command, progress=False
    )
    write_report(result, OutputFolder(place / "out"), {"study": "survey"})
    return place


@pytest.mark.slow
def test_sections_are_made_once_for_tables_and_page(tmp_path, monkeypatch) -> None:
    made = []
    page = find_study("survey").page
    sections = page.sections

    def counted(result, pages=NO_PAGES):
        made.append(result)
        return sections(result, pages)

    monkeypatch.setattr(page, "sections", counted)
    write_report(survey_sample(2, 3), OutputFolder(tmp_path), {"study": "survey"})
    assert len(made) == 1


@pytest.mark.parametrize("takes", [True, False])
def test_any_study_whose_page_shows_passages_gets_the_pages_of_texts(takes, monkeypatch) -> None:
    given = {("encoder", 0): "texts/0.html"}
    seen = []
    page = find_study("distances").page

    def with_pages(result, pages=NO_PAGES):
        seen.append(pages)
        return []

    monkeypatch.setattr(page, "sections", with_pages if takes else lambda result: [])
    assert result_contents.sections(xarray.Dataset(attrs={"stage": "distances"}), given) == []
    assert seen == [given] * takes


@pytest.mark.slow
def test_text_of_the_corpus_and_its_name_stay_text(folder):
    page = Page((folder / "out" / "report.html").read_text())
    assert all(each.attributes["class"] == "drawing" for each in page.all("img"))
    assert not any(element.text.startswith("bold") for element in page.all("b"))
    assert not any("alert(" in text for text in scripts(page))
    assert not [a for e in page.elements for a in e.attributes if a.startswith("on")]
    assert any(NAME in element.text for element in page.elements if element.tag != "script")


@pytest.mark.slow
def test_the_result_opens_elsewhere(folder):
    with xarray.open_dataset(folder / "out" / "result.nc") as result:
        assert result.attrs["examples"] == 3
        assert NAME in result.attrs["corpus"]
        frame = result["share"].to_dataframe()
        assert list(frame.index.names) == list(result["share"].dims)
        for variable in result.data_vars.values():  # not as one: its rows are all axes crossed
            assert not variable.dims or len(variable.to_dataframe()) == variable.size


@pytest.mark.slow
def test_the_tables_hold_the_numbers_of_the_result(folder):
    with xarray.open_dataset(folder / "out" / "result.nc") as result:
        tables = {
            path.name: pandas.read_csv(path) for path in (folder / "out/tables").glob("*.csv")
        }
        heads = tables["layer-head.csv"].set_index(["layer", "head"])
        expected = result["vector_norm_mean"].to_dataframe()["vector_norm_mean"]
        pandas.testing.assert_series_equal(heads["vector_norm_mean"], expected, rtol=1e-12)
        columns = {name for table in tables.values() for name in table.columns}
        assert (
            set(
                result.drop_dims(
                    ["kept", "token", "group", "decile", "drawn"], errors="ignore"
                ).data_vars
            )
            <= columns
        )


def test_the_sample_corpus(tmp_path):
    found = model("bert", vocab_size=99)
    settings = SurveySettings(max_examples=5)
    planned = plan_text_study("survey", "Survey", None, found, settings).settings
    assert (planned.pairs, planned.max_length) == (True, 64)
    shorter = SurveySettings(max_length=20)
    assert plan_text_study("survey", "Survey", None, found, shorter).settings.max_length == 20
    result = survey(None, found, settings, progress=False)
    assert SAMPLE_TEXT.exists()
    assert result.attrs["corpus"] == "the sample corpus"
    assert result.attrs["examples"] == 5


@pytest.mark.slow
def test_every_format_of_runs_can_be_made_of_a_result() -> None:
    result = StudyResult(survey_sample(2, 3))
    for path, row in run_writers().items():
        assert row.write(result), path
