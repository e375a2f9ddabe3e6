"""What is made of the rows of studies: functions, what editors know of them, free names."""

import inspect
import re
import runpy
import subprocess
import sys
from importlib import import_module
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.main import get_command

import headlight
from headlight import cli as application
from headlight.catalogue import (
    DISTRIBUTIONS,
    IN_OTHER_DISTRIBUTIONS,
    Distribution,
    Study,
    registry,
    studies,
)
from headlight.catalogue.questions import questions
from headlight.cli.program import app, make_app
from headlight.corpora import format_table, open_corpus
from headlight.errors import HeadlightWarning, UsageError
from headlight.reading.model import Model
from headlight.settings import entries

ROOT = Path(__file__).resolve().parents[2]
SHARED = [
    "source", "model", "tokenizer", "name",
    "out", "resume", "overwrite", "workers", "corpus_name", "progress",
]  # fmt: skip


@pytest.mark.parametrize("name", studies())
def test_a_function_has_a_parameter_for_each_setting_and_explains_it(name: str) -> None:
    function, settings = getattr(headlight, name), studies()[name].settings
    parameters = inspect.signature(function).parameters
    assert list(parameters)[: len(SHARED)] == SHARED
    assert set(settings.hints()) <= set(parameters)
    explained = entries(function.__doc__, "Args")
    assert list(explained) == list(parameters)
    assert all(explained.values())
    assert {each: parameters[each].default for each in settings.hints()} == vars(settings())


@pytest.mark.parametrize("name", studies())
def test_the_smallest_settings_are_settings(name: str) -> None:
    study = studies()[name]
    assert study.settings.from_mapping(study.smallest)
    assert all(len(example) == 2 for example in study.examples)


def test_a_function_is_found_again_where_it_says_that_it_is() -> None:
    found = getattr(import_module(headlight.distances.__module__), headlight.distances.__qualname__)
    assert found is headlight.distances  # as it is looked up in another process


COMMAND_LINE = re.compile(r"(?<![\w-])--[a-z]|\d,\d+-\d|\bmodel:\d|more than once|between commas")
"""Ways of writing values and options that only the command line has."""


@pytest.mark.papers
@pytest.mark.parametrize("name", [*studies(), *questions()])
def test_what_python_says_of_settings_is_not_written_as_on_the_command_line(name: str) -> None:
    rows = [table[name] for table in (studies(), questions()) if name in table]
    said = [explained for row in rows for explained in row.settings.explanations().items()]
    assert said
    assert [each for each in said if COMMAND_LINE.search(each[1])] == []
    for object_ in (headlight, Model):
        assert not COMMAND_LINE.search(getattr(getattr(object_, name, None), "__doc__", None) or "")


@pytest.mark.papers
def test_editors_read_what_the_catalogue_says() -> None:
    script = runpy.run_path(str(ROOT / "scripts" / "stubs.py"))
    for path, text in script["stubs"]().items():
        assert path.read_text(encoding="utf-8") == text, "run scripts/stubs.py"


@pytest.mark.papers
def test_a_distribution_has_the_functions_of_its_studies() -> None:
    for each in DISTRIBUTIONS.values():
        package = import_module(each.package)
        for name in each.studies:
            assert getattr(package, name) is getattr(headlight, name)
        assert {*each.studies} <= {*dir(package)}
        with pytest.raises(AttributeError, match="no attribute 'survey'"):
            _ = package.survey


def test_the_core_names_no_type_of_another_distribution() -> None:
    stub = (ROOT / "src" / "headlight" / "__init__.pyi").read_text(encoding="utf-8")
    assert not [each for each in DISTRIBUTIONS.values() if each.package in stub]


USED = """
import headlight

headlight.survey("corpus.txt", max_examples=3, layers=range(2), measures=["weight"])
headlight.distances("corpus.txt", overflow="split")
"""
REFUSED = {
    'headlight.survey("corpus.txt", max_exampels=3)': 'Unexpected keyword argument "max_exampels"',
    'headlight.survey("corpus.txt", max_examples="many")': 'has incompatible type "str"',
    'headlight.survey("corpus.txt", overflow="spill")': "has incompatible type",
    'headlight.distances(overflow="loose")': "has incompatible type",
}


@pytest.mark.slow
def test_a_type_checker_knows_every_setting(tmp_path: Path) -> None:
    """With the file for editors alone, beside nothing that it imports."""
    pytest.importorskip("mypy")
    (tmp_path / "headlight").mkdir()
    stub = ROOT / "src" / "headlight" / "__init__.pyi"
    (tmp_path / "headlight" / stub.name).write_bytes(stub.read_bytes())
    (tmp_path / "user.py").write_text("\n".join([USED, *REFUSED]))
    # What is not named here is skipped: thousands of files of other packages.
    files = ["user.py", f"headlight/{stub.name}"]
    options = ["--strict", "--ignore-missing-imports", "--follow-imports=skip"]
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", *options, "--config-file=", *files],
        cwd=tmp_path,
        env={"MYPYPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    lines = re.findall(r"^user.py:(\d+): error: (.*)$", checked.stdout, re.MULTILINE)
    first = len(USED.splitlines()) + 2
    assert [int(number) for number, _ in lines] == list(range(first, first + len(REFUSED)))
    for (_, said), expected in zip(lines, REFUSED.values(), strict=True):
        assert expected in said


# Studies of other packages that cannot be had


@pytest.fixture
def declared(monkeypatch: pytest.MonkeyPatch):
    """Declares entry points, until the test is over."""

    def declare(group: str = registry.GROUP, **values: str) -> None:
        entries = [EntryPoint(name, value, group) for name, value in values.items()]
        monkeypatch.setattr(
            "importlib.metadata.entry_points",
            lambda group: [entry for entry in entries if entry.group == group],
        )
        monkeypatch.setattr("headlight.cli.program.app", make_app())  # which keeps its commands
        forget()

    def forget() -> None:
        registry._found.cache_clear()
        registry._commands.cache_clear()
        questions.cache_clear()
        format_table.cache_clear()

    yield declare
    monkeypatch.undo()
    forget()


def test_a_study_that_cannot_be_loaded_is_refused_in_a_sentence(declared) -> None:
    declared(broken="no_such_package:STUDY")
    assert "broken" not in studies()
    assert next(iter(studies())) == "survey"
    with pytest.raises(UsageError, match=r"broken .* cannot be loaded \(ModuleNotFoundError"):
        _ = headlight.broken
    assert "broken" not in dir(headlight)


def test_what_is_no_study_of_its_name_is_refused(declared) -> None:
    declared(other="headlight.studies.distances:STUDY", text="json:dumps")
    for name in ("other", "text"):
        with pytest.raises(UsageError, match="is no study of that name"):
            registry.find_study(name)


@pytest.mark.parametrize("name", ["load", "open", "corpora", "read", "is valid", "_private"])
def test_a_name_that_is_taken_or_cannot_be_had_is_refused(declared, name: str) -> None:
    declared(**{name: "headlight.studies.distances:STUDY"})
    assert name not in studies()
    with pytest.raises(UsageError, match=r"name is taken; rename it|a name that no function"):
        registry.find_study(name)


def test_a_study_of_ours_stays_where_another_has_its_name(declared) -> None:
    declared(distances="json:dumps")
    with pytest.warns(HeadlightWarning, match="distances .* is left out, since its name is taken"):
        found = registry.find_study("distances")
    assert isinstance(found, Study)
    assert found.is_ours


INSTALL = (
    r"is part of headlight-papers, which is not installed; pip install 'headlight-attention\[p"
)


def test_without_the_other_distribution_a_study_says_what_to_install(declared) -> None:
    declared()
    assert not {*IN_OTHER_DISTRIBUTIONS} & {*studies(), *registry.commands(), *headlight.__all__}
    for each in DISTRIBUTIONS.values():
        for name in each.studies:
            with pytest.raises(UsageError, match=f"^{re.escape(each.refusal(name))}"):
                getattr(headlight, name)
            with pytest.raises(UsageError, match=f"^{re.escape(each.refusal(name))}"):
                registry.find_study(name)
    with pytest.raises(UsageError, match=f"^adversary {INSTALL}"):
        _ = headlight.adversary
    with pytest.raises(AttributeError):
        _ = headlight.reproduce  # which is a command alone


@pytest.mark.parametrize(
    "arguments",
    [
        ["reproduce"],
        ["reproduce", "--list"],
        ["reproduce", "clark2019", "--data", "corpora"],
        ["adversary", "reviews.tsv", "--seed", "3"],
        ["token-identity", "--help"],
    ],
    ids=" ".join,
)
def test_without_the_other_distribution_a_command_says_what_to_install(
    declared, headlight, arguments: list[str]
) -> None:
    declared()
    assert re.search(INSTALL, headlight.refused(*arguments, code=2))


def test_without_the_other_distribution_help_lists_what_there_is(declared, headlight) -> None:
    declared()
    _, listed, _ = headlight("--help")
    assert "survey" in listed
    assert not {name.replace("_", "-") for name in IN_OTHER_DISTRIBUTIONS} & {*listed.split()}


def test_formats_models_and_questions_say_what_to_install(declared, monkeypatch) -> None:
    row = Distribution(
        extra="songs", formats=("verses",), models=("headlight-singer",), questions=("rhyme",)
    )
    for module in ("corpora.formats", "catalogue.embedded_models", "catalogue.questions"):
        monkeypatch.setattr(f"headlight.{module}.DISTRIBUTIONS", {"songs": row})
    declared()
    install = r" is part of headlight-songs, .* pip install 'headlight-attention\[songs\]'\.$"
    for ask in (open_corpus, headlight.survey):
        with pytest.raises(UsageError, match=f"^the format verses{install}"):
            ask(str(ROOT / "README.md"), format="verses")
    with pytest.raises(UsageError, match=f"^headlight-singer{install}"):
        headlight.load("headlight-singer")
    with pytest.raises(UsageError, match=f"^rhyme{install}"):
        headlight.load().rhyme("The sea.")


def test_of_two_packages_ours_has_the_study(declared) -> None:
    """The other one says that its name is taken."""
    name, ours = "guided", "headlight_papers.studies.guided:STUDY"
    pytest.importorskip("headlight_papers")
    declared(guided=ours)
    assert [entry.value for entry in registry._entries(registry.GROUP)] == [ours]
    assert studies()[name].is_ours
    assert registry.find_ours(name) is studies()[name]


def test_a_command_of_another_package_takes_the_place_of_no_study(monkeypatch, declared) -> None:
    row = registry.Command("survey", "Others", "Of somebody else.", lambda _: None)
    monkeypatch.setitem(sys.modules, "stranger", SimpleNamespace(SURVEY=row))
    declared(registry.COMMANDS, survey="stranger:SURVEY")
    assert registry.commands() == {"survey": row}
    assert application.commands.entries()["survey"].panel != row.panel


def test_a_command_that_cannot_be_loaded_is_refused_in_a_sentence(declared, headlight) -> None:
    declared(registry.COMMANDS, reproduce="headlight_papers.nowhere:REPRODUCE", dance="json:dumps")
    assert not registry.commands()
    assert "is no command of that name" in registry.refused()["dance"]
    assert "the command reproduce of" in headlight.refused("reproduce", "--list", code=2)


@pytest.mark.papers
def test_names_that_are_taken_are_those_of_the_root_and_of_commands() -> None:
    commands = {*get_command(app).commands} - {each.command for each in studies().values()}
    assert {*headlight.__all__, *commands} - {*studies()} == registry.taken()
