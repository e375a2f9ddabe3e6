"""Whatever needs no model is refused before one is loaded: on the command line, and in Python."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer

import headlight
import headlight.reading.model
import headlight.reports.study_run  # both before `load_model` is another
from headlight.catalogue import studies
from headlight.catalogue.questions import QUESTIONS
from headlight.cli.program import app
from headlight.errors import HeadlightError
from studies.command import Command

TEXTS = {
    **{name: (name, "the sea") for name, row in QUESTIONS.items() if row.is_command},
    "sources": ("sources", "who?", "--context=a passage"),
    "patch": ("patch", "the sea", "--compare-text=the sun"),
    "similarity": ("similarity", "the sea", "the sun"),
    "align": ("align",),
    "check": ("check",),
    "serve": ("serve",),
}
"""Commands without a folder of a run, as they are given nothing wrong."""
COMMANDS = {
    **{row.command: (row.command, "--out=run") for row in studies().values()},
    **TEXTS,
}

OF_THE_MODEL = {
    **dict.fromkeys(("target", "against"), "a word of the vocabulary, or a class"),
    **dict.fromkeys(("answer", "context", "compare_text", "prefix"), "any text"),
    **dict.fromkeys(("name", "compare_name", "corpus_name"), "shown as it is"),
    **dict.fromkeys(("revision", "compare_revision"), "known by a hub alone"),
    "class_names": "words of the labels, in the order of the model's",
    "gold_format": "heeded with gold links alone",
    "out": "a folder that is made",
}
"""Options that take any word, and why; `out` of studies alone."""
NEGATIVE = {
    *("position", "token", "query", "key", "against_key"),  # backwards from the end
    *("seed", "seeds", "attribution_seed", "offsets"),
}
"""Numbers that may be below 0."""
NOT_EMPTY = ("target", "against", "answer", "context", "compare_text", "model", "tokenizer")
"""Options whose value may be any word, and has to be one."""


@pytest.fixture(scope="module")
def program() -> Any:
    return typer.main.get_group(app)


@pytest.fixture
def no_model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A folder with nothing but an empty one, where no model is loaded."""

    def unwanted(*_: object, **__: object) -> None:
        raise AssertionError("a model was loaded")

    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    for module in ("headlight.capture", "headlight.reports.study_run", "headlight.reading.model"):
        monkeypatch.setattr(f"{module}.load_model", unwanted)


def _valued(command: Any) -> list[Any]:
    """The options of a command that take a value."""
    return [
        each
        for each in command.params
        if each.opts[0].startswith("-") and not (each.is_flag or each.secondary_opts)
    ]


def _tried(program: Any, headlight: Command, name: str, values: Any) -> list[str]:
    """What is not refused, with the values that are tried for each option."""
    accepted = []
    for option in _valued(program.commands[name]):
        flag = next(each for each in option.opts if each.startswith("--"))
        others = [each for each in COMMANDS[name] if not each.startswith(f"{flag}=")]
        for value in values(name, option):
            try:
                code, _, complained = headlight(*others, f"{flag}={value}")
            except AssertionError:
                accepted.append(f"{flag}={value}")
            else:
                assert code in (1, 2), (flag, value, complained)
                assert complained.startswith("error: "), (flag, value)
                assert len(complained.splitlines()) == 1, (flag, value)
    return accepted


def _wrong(name: str, option: Any) -> list[str]:
    """Values that are wrong for an option, whatever it takes."""
    empty = [""] if option.name in NOT_EMPTY else []
    if option.name in OF_THE_MODEL and (option.name != "out" or name not in TEXTS):
        return empty
    may_be_negative = option.name in NEGATIVE or (name, option.name) == ("align", "out")
    return ["nowhere/none", *empty, *([] if may_be_negative else ["-7"])]


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_wrong_values_of_every_option(
    name: str, program: Any, headlight: Command, no_model: None
) -> None:
    assert not _tried(program, headlight, name, _wrong)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("read|the sea|--heads|99", "have no head 99: their heads are 0 to"),
        ("read|the sea|--layers|99", "has no layer 99: its layers are 0 to"),
        ("read|the sea|--image|none.png", "none.png"),
        ("read|the sea|--image|words.txt", "words.txt is no picture"),
        ("read|--audio|none.wav", "there is no audio file 'none.wav'"),
        ("read|--audio|words.txt", "words.txt cannot be read as sound"),
        ("read|the sea|--html|a.html|--compare-model|nowhere/none", "there is no folder 'nowhere"),
        ("read|the sea|--html|a.html|--compare-text| ", "text to compare with is empty"),
        ("read|the sea|--html|a.html|--survey|folder", "folder holds no result.nc"),
        ("read|the sea|", "second text is empty"),
        ("read|the sea|--tokenizer|folder", "there is no tokenizer in folder"),
        ("predict|the sea|", "second text is empty"),
        ("predict|the sea|--compare-text|words.txt", "words.txt is a file here"),
        ("alternatives|the sea|--head|99", "have no head 99"),
        ("explain|the sea|--head|99", "have no head 99"),
        ("patch|the sea", "say which with --compare-text"),
        ("sources|who?", "there is no passage to compare; give some as --context."),
        ("sources|who?|--context|empty.txt", "passage 1 is empty"),
        ("sources|who?|--context|a|--chosen|L0H99", "have no head 99"),
        ("sources|who?|--context|a|--chosen|L99H0", "has no layer 99"),
        ("sources|--examples|words.txt", "words.txt, line 1: no JSON"),
        ("sources|--examples|half.jsonl", "example 1 is no object with question, context"),
        *(
            pytest.param(*row, marks=pytest.mark.words)
            for row in (
                ("align|--format|tsv", "--format and --columns are about files of pairs"),
                ("align|--html|a.html|--gold|none.talp", "none.talp"),
                ("align|--reverse-model|folder", "folder holds no config.json"),
            )
        ),
        ("serve|--compare-model|folder", "folder holds no config.json"),
        ("ablation|--label-column|label", "name a corpus, or leave out --label-column"),
    ],
)
def test_what_goes_together_wrongly(
    arguments: str, said: str, headlight: Command, no_model: None
) -> None:
    for name, content in (("words.txt", "the sea"), ("empty.txt", " "), ("half.jsonl", "{}")):
        Path(name).write_text(content)
    code, _, complained = headlight(*arguments.split("|"))
    assert code in (1, 2)
    assert said in complained
    assert len(complained.splitlines()) == 1


def test_a_folder_that_cannot_be_written_to(
    headlight: Command, no_model: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.access", lambda *_: False)  # whoever runs the tests
    assert "the folder folder cannot be written to" in headlight.refused(
        "read", "the sea", "--html", "folder/a.html", code=2
    )


@pytest.mark.parametrize("name", [*studies()])
def test_studies_in_python(name: str, no_model: None) -> None:
    with pytest.raises(HeadlightError, match="nowhere/none"):
        getattr(headlight, name)("nowhere/none")


@pytest.mark.parametrize(
    "load",
    [
        lambda: headlight.load("nowhere/none"),
        lambda: headlight.load(head="tail"),
        lambda: headlight.load(dtype="float23"),
        lambda: headlight.load(tokenizer="nowhere/none"),
        lambda: headlight.load(device="abacus"),
    ],
)
def test_models_in_python(
    load: Callable[[], Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def unwanted(*_: object) -> None:
        raise AssertionError("weights were read")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("headlight.capture.loading._model", unwanted)
    with pytest.raises(HeadlightError):
        load()
