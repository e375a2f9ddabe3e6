"""A survey in short fits a narrow terminal, and begins with what stands out most."""

from html import escape

import pytest
import xarray as xr
from rich.console import Console

from headlight.errors import UnknownNameError
from headlight.findings import heads, highlights
from headlight.views import terminal_table
from headlight.views.accessor import HeadlightAccessor, show_in_notebook
from headlight.views.result_contents import findings
from headlight.views.result_terminal import study_terminal
from headlight.views.sentences import short_sentence
from headlight.vocabulary import NUMBERING
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
    assert len(text.splitlines()) <= 22, "with what was read above it, and the report below"


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


def test_a_row_has_the_shares_of_a_head_by_each_measure():
    result = survey_sample(6, 8)
    rows = [line.split() for line in printed(terminal_table(result)).splitlines()]
    about = next(each for each in highlights(result) if each.question == "current")
    row = next(each for each in rows if each and each[0] == f"L{about.layer}H{about.head}")
    shares = result["neighbour"].sel(offset=0)[:, about.layer, about.head]
    assert row[-len(shares) :] == [f"{100 * share:.1f}%" for share in shares.values]


def test_the_strongest_findings_come_first_in_short_and_names_are_plain_text():
    result = survey_sample(6, 8, corpus="[red]a\x1b[0m")
    text = printed(study_terminal(result))
    assert "[red]a\\x1b[0m" in text
    flowing = " ".join(text.split())
    said = [short_sentence(each) for each in findings(result)[:3]]
    assert flowing.startswith(said[0])
    assert [flowing.count(each) for each in said] == [1, 1, 1]
    places = [flowing.index(f"• {each}") for each in said[1:]]
    assert places == sorted(places)
    assert max(places) < flowing.index("attends")
    assert "95%" not in text
    assert flowing.count(NUMBERING) == 1
    assert f"{len(highlights(result)) - 3} more findings in the report." in flowing


@pytest.mark.parametrize(
    ("text", "short"),
    [
        (
            "30% (95%: 2% to 40%) goes there, but 8% (95%: 7% to 9%). More.",
            "30% goes there, but 8%.",
        ),
        ("Layers 1 to 4 (above 100): " + "a" * 150 + ".", "Layers 1 to 4."),
        ("It is in layer 1: 4%. More.", "It is in layer 1: 4%."),
        ("a" * 200 + ".", "a" * 200 + "."),
        ("", ""),
    ],
)
def test_a_finding_in_short_has_no_interval_and_one_sentence(text, short):
    assert short_sentence(text) == short


def test_layers_have_the_numbers_of_the_model_where_a_survey_holds_some_only():
    part = survey_sample(6, 8).isel(layer=[1, 4])
    about = [each for each in highlights(part) if each.question == "current"]
    assert {each.layer for each in about} <= {1, 4}
    assert all(f"L{each.layer}H{each.head}" in printed(terminal_table(part)) for each in about)


@pytest.mark.slow
def test_a_notebook_shows_what_was_found_and_a_part_as_xarray_does():
    from IPython.testing.globalipapp import get_ipython

    shell = get_ipython()
    show_in_notebook()
    result = survey_sample(6, 8, corpus="<b>a")

    def shown(dataset):
        return shell.display_formatter.formatters["text/html"].lookup_by_type(xr.Dataset)(dataset)

    assert escape(findings(result)[0]) in shown(result)
    assert len(shown(result)) < 20_000 < len(result._repr_html_())
    assert "<b>a" not in shown(result)
    part = result.sel(layer=1)
    plain = xr.Dataset({"a": ("b", [1, 2])})
    for dataset in (part, plain, plain.assign_attrs(stage="no study")):
        assert "xr-wrap" in shown(dataset)


@pytest.mark.slow
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
