"""What the help of commands says: examples that can be copied, and common options first."""

import re
import shlex
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from headlight.cli.application import app
from headlight.cli.setting_options import MORE

PROGRAM: Any = typer.main.get_command(app)


def commands(group: Any = PROGRAM, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    for name, each in group.commands.items():
        if each.epilog:
            yield " ".join((*path, name)), each
        yield from commands(each, (*path, name)) if hasattr(each, "commands") else ()


COMMANDS = dict(commands())


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


def test_common_options_come_first_and_all_are_there() -> None:
    options = [each for each in COMMANDS["coreference"].params if each.param_type_name == "option"]
    panels = [each.rich_help_panel for each in options]
    first = [each.name for each in options if each.rich_help_panel is None]
    assert {"measures", "layers", "max_documents", "max_length", "overlap"} <= set(first)
    assert len(first) <= 10
    more = [str(each).startswith(MORE) for each in panels]
    assert more == sorted(more), "what is rarely asked for stands last"
    assert sum(more) > 15
