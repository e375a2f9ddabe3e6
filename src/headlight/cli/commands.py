"""The table of commands: of studies, of questions of one text, and all others."""

from collections.abc import Callable, Iterator, Mapping
from copy import copy
from importlib import import_module
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand, TyperGroup

from headlight.catalogue import (
    IN_OTHER_DISTRIBUTIONS,
    Command,
    cannot_be_loaded,
    commands,
    find_ours,
    refused,
    studies,
)
from headlight.catalogue.questions import QUESTIONS, Question, questions
from headlight.cli.help import HelpfulCommand

if TYPE_CHECKING:
    from headlight.catalogue import Study


class Commands(Mapping[str, Any]):
    """The commands by name, each made when it is first asked for.

    Args:
        entries: all of them, in the order of the help.
        find: the entry of a name, if there is one, without a look at the others.
    """

    def __init__(
        self, entries: Callable[[], Mapping[str, Command]], find: Callable[[str], Command | None]
    ) -> None:
        self.entries = entries
        self._find = find
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            entry = self._find(name)
            if entry is None:
                raise KeyError(name)
            alone = typer.Typer(rich_markup_mode="rich")
            alone.callback()(lambda: None)  # or the program would be the command itself
            entry.add(alone)
            group: Any = typer.main.get_group(alone)
            self._made[name] = group.commands[name]
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries())

    def __len__(self) -> int:
        return len(self.entries())


def group_of(commands: Commands) -> type[TyperGroup]:
    """The class of a program that has these commands."""

    class Group(TyperGroup):
        def __init__(self, **attributes: Any) -> None:
            super().__init__(**attributes)
            self.commands: Any = commands

        def list_commands(self, ctx: Any) -> list[str]:
            return list(commands)

        def format_help(self, ctx: Any, formatter: Any) -> None:
            """As of a program whose commands have no options, which this help does not show."""
            outline = copy(self)
            outline.commands = {
                each.name: TyperCommand(each.name, help=each.summary, rich_help_panel=each.panel)
                for each in commands.entries().values()
            }
            super(Group, outline).format_help(ctx, formatter)

    return Group


TEXTS = "Look at texts"
RUNS = "Runs of many workers"
RESULTS = "Look at results"
OTHERS = "Cannot be loaded"


def _entry(name: str, panel: str, summary: str) -> Command:
    """A command that is a function of its name, in a module of that name."""

    def add(program: typer.Typer) -> None:
        home = import_module(f"headlight.cli.{name}")
        epilog = getattr(home, f"{name.upper()}_EXAMPLES")
        make = program.command(name, cls=HelpfulCommand, epilog=epilog, rich_help_panel=panel)
        make(getattr(home, name))

    return Command(name, panel, summary, add)


def _of_study(study: "Study") -> Command:
    def add(program: typer.Typer) -> None:
        from headlight.cli.study import add_study

        add_study(program, study)

    return Command(study.command, study.source.panel, study.sentence, add)


def _of_question(question: Question) -> Command:
    def add(program: typer.Typer) -> None:
        from headlight.cli.question import add_question

        add_question(program, question, TEXTS)

    return Command(question.name, TEXTS, question.sentence, add)


def _refusal(name: str) -> Command:
    def add(program: typer.Typer) -> None:
        from headlight.cli.study import add_refusal

        add_refusal(program, name)

    return Command(name.replace("_", "-"), OTHERS, refused()[name], add)


READ, *QUESTIONS_AFTER = (_of_question(row) for row in QUESTIONS.values() if row.is_command)

# Help lists them in this order; the summaries are the first sentences of their docstrings.
FIRST = (
    READ,
    _entry(
        "serve",
        TEXTS,
        "Read texts in a browser: an app on this machine, with every head of what is typed.",
    ),
    *QUESTIONS_AFTER,
    _entry(
        "check",
        TEXTS,
        "Check that the attention of a model can be captured exactly, module by module.",
    ),
)
LAST = (
    _entry(
        "compare",
        RESULTS,
        "Compare the heads of surveys: of models, checkpoints, corpora or precisions.",
    ),
    _entry(
        "heads",
        RESULTS,
        "Rank the heads of a survey by what they do, with intervals of 95%.",
    ),
    _entry(
        "gallery",
        RESULTS,
        "Write the heads of surveys as pages for any web host, with a search over all models.",
    ),
    _entry(
        "status",
        RUNS,
        "Show the progress of a run, and the number of its processes.",
    ),
    _entry(
        "merge",
        RUNS,
        "Make the result from what workers have measured; missing parts are measured first.",
    ),
)
OWN = {each.name: each for each in (*FIRST, *LAST)}


def entries() -> dict[str, Command]:
    """All commands, with those of the studies that there are now."""
    refusals = [_refusal(name) for name in cannot_be_loaded() if name not in IN_OTHER_DISTRIBUTIONS]
    between = [*map(_of_study, studies().values()), *refusals]
    asked = [
        _of_question(each)
        for name, each in questions().items()
        if each.is_command and name not in QUESTIONS
    ]
    own = {each.name: each for each in (*FIRST, *asked, *between, *LAST)}
    return own | {name: each for name, each in commands().items() if name not in own}


def find_entry(name: str) -> Command | None:
    """The command of that name, without a look at other studies where it is one of ours."""
    if name in OWN:
        return OWN[name]
    study = name.replace("-", "_")
    if (ours := find_ours(study)) is not None:
        return _of_study(ours)
    if name in commands():
        return commands()[name]
    return entries().get(name) or (_refusal(study) if study in IN_OTHER_DISTRIBUTIONS else None)
