"""The survey's short table fits a narrow terminal and shows the layer means."""

import pytest
from rich.console import Console

from headlight.errors import UnknownNameError
from headlight.findings import heads, highlights
from headlight.views import terminal_table
from headlight.views.accessor import HeadlightAccessor
from headlight.views.result_page import findings
from headlight.views.study_terminal import study_terminal
from views.sample_results import survey_sample


def printed(renderable: object) -> str:
    console = Console(width=80, force_terminal=False, color_system=None)
    with console.capture() as capture:
        console.print(renderable)
    return capture.get()


@pytest.mark.parametrize(("layers", "heads"), [(1, 1), (12, 12), (32, 32)])
@pytest.mark.parametrize("special", [True, False])
def test_eighty_columns_are_enough(layers, heads, special):
    text = printed(terminal_table(survey_sample(layers, heads, special=special, pruned=True)))
    assert max(len(line) for line in text.splitlines()) <= 80
    assert "…" not in text
    rows = [line for line in text.splitlines() if line[:5].strip().isdigit() and "/" in line]
    assert len(rows) == layers
    assert ("[SEP]" in text.splitlines()[1]) == special


@pytest.mark.slow
@pytest.mark.parametrize("study", ["guided", "ablation"])
def test_tables_of_studies_leave_columns_out_rather_than_shorten(study_runs, study):
    result = study_runs.result(study)
    lines = printed(study_terminal(result)).splitlines()
    main = next(iter(result.headlight.tables))
    frame = result.headlight.table(main)
    assert max(map(len, lines)) <= 80
    assert not any("…" in line for line in lines)
    first = [str(each) for each in frame[frame.columns[0]]]
    if study != "ablation":  # whose last column is a text, which goes over several lines
        assert all(any(line.startswith(each) for line in lines) for each in first)
        assert any("more columns in the files" in line for line in lines)
    assert all(word in " ".join(lines) for name in frame.columns[:3] for word in name.split())


def test_cells_are_means_over_heads():
    result = survey_sample(3, 4)
    rows = printed(terminal_table(result)).splitlines()
    shares = result["share"].sel(query_category="all", key_category="sep").mean("head")
    weight, norm = (float(shares.sel(measure=m)[1]) for m in ("weight", "norm"))
    assert rows[3].split()[2] == f"{100 * weight:.0f}/{100 * norm:.0f}"


def test_findings_follow_and_names_are_plain_text():
    result = survey_sample(6, 8, corpus="[red]a\x1b[0m")
    text = printed(terminal_table(result))
    assert "[red]a\\x1b[0m" in text
    flowing = " ".join(text.split())
    assert all(highlight.text in flowing for highlight in highlights(result))


def test_layers_have_the_numbers_of_the_model_where_a_survey_holds_some_only():
    text = printed(terminal_table(survey_sample(6, 8).isel(layer=[1, 4])))
    rows = [line for line in text.splitlines() if line[:5].strip().isdigit() and "/" in line]
    assert [line.split()[0] for line in rows] == ["1", "4"]


def test_the_accessor_says_what_was_found_and_what_there_is():
    accessor = HeadlightAccessor(survey_sample(6, 8, corpus="<b>a"))
    text = repr(accessor)
    said = findings(accessor._result)
    assert said[0] in text
    assert len(text.splitlines()) <= 6
    assert "tables: " in text
    assert "plots: " in text
    page = accessor._repr_html_()
    assert page.count("<table") == 1
    assert "<b>" not in page
    assert len(page) < 20_000


def test_heads_are_ranked_by_the_accessor_as_by_the_function():
    result = survey_sample(6, 8)
    ranked = HeadlightAccessor(result).heads("entropy", by="norm")
    assert ranked.equals(heads(result, "entropy", by="norm"))
    with pytest.raises(UnknownNameError):
        HeadlightAccessor(result).heads("entropi")
