"""Table of commands: those of studies, those of questions of one text, and all others."""

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
    """Commands by name, each made when it is first looked up.

    Args:
        entries: Function that returns all entries, in the order of the help.
        find: Function that returns the entry of a name, or None, without loading the others.
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
            # A program of a single command without a callback would be that command itself.
            alone.callback()(lambda: None)
            entry.add(alone)
            group: Any = typer.main.get_group(alone)
            self._made[name] = group.commands[name]
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries())

    def __len__(self) -> int:
        return len(self.entries())


def group_of(commands: Commands) -> type[TyperGroup]:
    """Return the class of a program with these commands, which are made when they are needed."""

    class Group(TyperGroup):
        def __init__(self, **attributes: Any) -> None:
            super().__init__(**attributes)
            # In the place of the dictionary of the parser, which is made at once.
            self.commands: Any = commands

        def list_commands(self, ctx: Any) -> list[str]:
            return list(commands)

        def format_help(self, ctx: Any, formatter: Any) -> None:
            """Print the help of an outline, whose commands have a summary and no options."""
            # The list needs summaries only, and no command has to be made for them.
            outline = copy(self)
            outline.commands = {
                entry.name: TyperCommand(
                    entry.name, help=entry.summary, rich_help_panel=entry.panel
                )
                for entry in commands.entries().values()
            }
            super(Group, outline).format_help(ctx, formatter)

    return Group


TEXTS = "Look at texts"
RUNS = "Runs of many workers"
RESULTS = "Look at results"
OTHERS = "Cannot be loaded"


def _entry(name: str, panel: str, summary: str) -> Command:
    """Return the entry of a command whose module and function have its name."""

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


# Help lists them in this order; the summaries are the first sentences of their docstrings.
FIRST = (
    _of_question(QUESTIONS["read"]),
    _entry(
        "serve",
        TEXTS,
        "Read texts in a browser: an app on this machine, with every head of what is typed.",
    ),
    *(_of_question(row) for row in QUESTIONS.values() if row.is_command and row.name != "read"),
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
BUILT_IN = {entry.name: entry for entry in (*FIRST, *LAST)}
"""Commands of this distribution besides studies, by name."""


def entries() -> dict[str, Command]:
    """Return all commands by name, including those of installed studies, questions and packages."""
    refusals = [_refusal(name) for name in cannot_be_loaded() if name not in IN_OTHER_DISTRIBUTIONS]
    of_studies = [*map(_of_study, studies().values()), *refusals]
    of_questions = [
        _of_question(question)
        for name, question in questions().items()
        if question.is_command and name not in QUESTIONS
    ]
    ours = {entry.name: entry for entry in (*FIRST, *of_questions, *of_studies, *LAST)}
    return ours | {name: entry for name, entry in commands().items() if name not in ours}


def find_entry(name: str) -> Command | None:
    """Return the command of a name; one of ours without loading the studies of other packages."""
    if name in BUILT_IN:
        return BUILT_IN[name]
    study = name.replace("-", "_")
    if (ours := find_ours(study)) is not None:
        return _of_study(ours)
    if name in commands():
        return commands()[name]
    return entries().get(name) or (_refusal(study) if study in IN_OTHER_DISTRIBUTIONS else None)
