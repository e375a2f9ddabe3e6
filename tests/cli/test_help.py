"""What the help of commands says: examples that can be copied, and common options first."""

import re
import shlex
from collections.abc import Iterator
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from headlight.cli.commands import entries
from headlight.cli.program import app
from headlight.cli.setting_options import MORE

PROGRAM: Any = typer.main.get_command(app)


def commands(group: Any = PROGRAM, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    for name, each in group.commands.items():
        if each.epilog:
            yield " ".join((*path, name)), each
        yield from commands(each, (*path, name)) if hasattr(each, "commands") else ()


COMMANDS = dict(commands())


def test_the_program_lists_commands_by_the_first_sentence_of_their_help() -> None:
    assert list(entries()) == list(PROGRAM.commands)
    for name, entry in entries().items():
        made = PROGRAM.commands[name]
        first = made.help.split("\n\n")[0].replace("\n", " ")
        assert (made.name, made.rich_help_panel, first) == (name, entry.panel, entry.summary)


GENITIVES = ("Of", "What", "How", "Which", "Whose", "Where", "Whether", "By", "From", "So", "Those")
DIALECT = re.compile(
    r"what becomes of|looked? (?:at|for)\b|go on with|put together|of which|stop after|"
    r"at a time;|\bas many\b|become links|learnt",
    re.IGNORECASE,
)


@pytest.mark.papers
def test_options_are_explained_by_a_noun_phrase_or_a_verb() -> None:
    odd = [
        f"{name} --{each.name}: {words}"
        for name, command in COMMANDS.items()
        for each in command.params
        if (words := getattr(each, "help", None))
        if words.split()[0] in GENITIVES or DIALECT.search(words)
    ]
    assert not odd


def test_names_are_completed_with_what_commands_are_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_HEADLIGHT_COMPLETE", "complete_zsh")
    monkeypatch.setenv("_TYPER_COMPLETE_ARGS", "headlight sur")
    said = CliRunner().invoke(app, [], prog_name="headlight").stdout
    assert said.count('":"') == 1
    assert '"survey":"Measure weights' in said


def test_a_name_that_is_no_command_gets_one_that_is_near() -> None:
    refusal = CliRunner().invoke(app, ["surwey"], env={"TERM": "dumb", "COLUMNS": "200"})
    assert "Did you mean 'survey'" in refusal.output


@pytest.mark.parametrize("name", COMMANDS)
def test_examples_can_be_copied_into_a_terminal(name: str) -> None:
    """What stands beside a command is a comment to a shell, and the parser takes the rest."""
    heading, *shown = COMMANDS[name].epilog.replace(r"\[", "[").split("\n\n")
    assert heading == "[bold]Examples[/bold]"
    assert shown
    for each in shown:
        assert max(map(len, each.splitlines())) <= 78
        typed = re.sub(r"#.*\n", "", each).replace("\\\n", "")
        words = shlex.split(typed)
        if words[0] == "echo":
            words = words[words.index("|") + 1 :]
        if ">" in words:
            words = words[: words.index(">")]
        assert words.pop(0) == "headlight"
        parse(words)


def parse(words: list[str]) -> None:
    """Refuses what the parser does not take."""
    command, context = PROGRAM, None
    while words and words[0] in getattr(command, "commands", {}):
        context = command.context_class(command, parent=context)
        command = command.commands[words.pop(0)]
    if "--help" not in words:
        command.make_context(None, words, parent=context)


@pytest.mark.words
def test_common_options_come_first_and_all_are_there() -> None:
    options = [each for each in COMMANDS["dependency"].params if each.param_type_name == "option"]
    panels = [each.rich_help_panel for each in options]
    first = [each.name for each in options if each.rich_help_panel is None]
    assert {"measures", "layers", "max_examples", "max_length"} <= set(first)
    assert len(first) <= 10
    more = [str(each).startswith(MORE) for each in panels]
    assert more == sorted(more), "what is rarely asked for stands last"
    assert sum(more) > 15


@pytest.mark.parametrize(
    "name", ["survey", "read", pytest.param("reproduce clark2019", marks=pytest.mark.papers)]
)
def test_help_has_examples_first_and_every_option(name: str) -> None:
    env = {"TERM": "dumb", "COLUMNS": "80"}
    text = CliRunner().invoke(app, [*name.split(), "--help"], env=env).stdout
    assert text.index("Examples") < text.index("Options") < text.index("The model")
    listed = [each for each in COMMANDS[name].params if not each.hidden]
    flags = {flag for each in listed for flag in each.opts if flag[:2] == "--"}
    shown = set(re.findall(r"--[a-z-]+", text[text.index("Options") :]))
    assert flags <= shown
    lines = text.splitlines()
    assert len(lines) < 180
    assert max(map(len, lines)) <= 80


def test_help_names_the_value_of_an_option_and_keeps_brackets() -> None:
    env = {"TERM": "dumb", "COLUMNS": "80"}
    text = CliRunner().invoke(app, ["survey", "--help"], env=env).stdout
    assert "--max-examples N " in text
    assert "hf:NAME[:CONFIG][:SPLIT][:COLUMN]" in text
    assert "<encoder|decoder|cross|all>" in text
    assert "[default: auto]" in text
