"""The program: its commands, and refusals of its parser."""

import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from headlight.catalogue import (
    IN_OTHER_DISTRIBUTIONS,
    Command,
    cannot_be_loaded,
    commands,
    find_ours,
    refused,
    register_measures,
    studies,
)
from headlight.catalogue.annotated_sources import TRANSLATIONS
from headlight.catalogue.questions import QUESTIONS, Question, questions
from headlight.cli.help import HelpfulCommand
from headlight.cli.printing import complain, exit_code, guarded_terminal, say
from headlight.errors import HeadlightError, HeadlightWarning, RunInterruptedError, UsageError
from headlight.files import reason, storable
from headlight.processes import ignore_settings_of_folder, keep_freed_memory, safe_start
from headlight.version import __version__

if TYPE_CHECKING:
    from headlight.catalogue import Study

__all__ = ["app", "main"]


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


def _version(wanted: bool | None) -> None:
    if wanted:
        say(f"headlight {__version__}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool | None,  # None when it is not given, because a callback is eager
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = None,
) -> None:
    pass


def _entry(name: str, panel: str, summary: str, module: str | None = None) -> Command:
    """A command that is a function of its name, in a module of that name or of another."""

    def add(program: typer.Typer) -> None:
        home = import_module(f"headlight.cli.{module or name}")
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
        from headlight.cli.study import add_question

        add_question(program, question, TEXTS)

    return Command(question.name, TEXTS, question.sentence, add)


def _refusal(name: str) -> Command:
    def add(program: typer.Typer) -> None:
        from headlight.cli.study import add_refusal

        add_refusal(program, name)

    return Command(name.replace("_", "-"), OTHERS, refused()[name], add)


# Help lists them in this order; the summaries are the first sentences of their docstrings.
FIRST = (
    _entry("read", TEXTS, "Read one text, or two, and show the strongest links of its heads."),
    _entry(
        "serve",
        TEXTS,
        "Read texts in a browser: an app on this machine, with every head of what is typed.",
    ),
    *(_of_question(each) for each in QUESTIONS.values() if each.is_command),
    _entry(
        "sources",
        TEXTS,
        "Compare what passages contribute to an answer: attention, contributions, removal.",
        "read",
    ),
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
        "results",
    ),
    _entry(
        "heads",
        RESULTS,
        "Rank the heads of a survey by what they do, with intervals of 95%.",
        "results",
    ),
    _entry(
        "gallery",
        RESULTS,
        "Write the heads of surveys as pages for any web host, with a search over all models.",
        "results",
    ),
    _entry(
        "align",
        TRANSLATIONS,
        "Link the words of sentences and their translations by a translator or an encoder.",
    ),
    _entry(
        "aer",
        TRANSLATIONS,
        "Score word alignments: precision, recall and AER, with intervals.",
    ),
    _entry(
        "status",
        RUNS,
        "Show the progress of a run, and the number of its processes.",
        "results",
    ),
    _entry(
        "merge",
        RUNS,
        "Make the result from what workers have measured; missing parts are measured first.",
        "results",
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


def make_app() -> typer.Typer:
    """The program, with options for the settings and measures that there are when it is called."""
    program = typer.Typer(
        name="headlight",
        cls=group_of(Commands(entries, find_entry)),
        help="What attention in Transformers really does, beyond the raw attention weight.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    program.callback()(_root)
    return program


app = make_app()


# The parser's own class of usage errors lies in typer or in click, as its version has it.
ParserRefusal: Any = typer.BadParameter.__base__


def main() -> None:
    """Run, and turn every refusal into one sentence and an exit code."""
    keep_freed_memory()
    warnings.showwarning = partial(_show_warning, warnings.showwarning)
    with safe_start(), guarded_terminal() as output:
        ignore_settings_of_folder()
        register_measures()
        code = _run(sys.argv[1:] or ["--help"])
        output.flush()
        code = code or exit_code(output.failure)
    sys.exit(code)


def _show_warning(
    show: Callable[..., None], message: Any, category: type[Warning], *place: Any, **more: Any
) -> None:
    """Our own as one sentence, those of libraries as they are."""
    if issubclass(category, HeadlightWarning):
        complain(f"note: {message}")
    else:
        show(message, category, *place, **more)


PLAIN = {"integer": "a whole number", "number": "a number", "boolean": "yes or no"}


def _sentence(refusal: str) -> str:
    """Return the parser's message in our words, with what to do about it."""
    sentence = refusal.rstrip(".").replace("Value error, ", "")
    sentence = sentence.replace("Input should be greater than or equal to", "it must be at least")
    sentence = re.sub(
        r"Input should be a valid (\w+)(, .*)?",
        lambda kind: f"{PLAIN.get(kind[1], kind[1])} is needed",
        sentence,
    )
    return f"{sentence} See --help." if sentence.endswith("?") else f"{sentence}; see --help."


def _run(arguments: list[str]) -> int:
    try:
        code = app(arguments, standalone_mode=False)
        if code == RunInterruptedError.exit_code:  # Ctrl-C, which the parser makes an exit code of
            complain("interrupted.")
        return int(code or 0)
    except HeadlightError as error:
        complain(f"error: {error.with_options()}")
        return error.exit_code
    except ParserRefusal as error:
        complain(f"error: {_sentence(error.format_message())}")
        return UsageError.exit_code
    except (KeyboardInterrupt, typer.Abort):
        complain("interrupted.")
        return RunInterruptedError.exit_code
    except OSError as error:
        if error.filename is None:
            raise
        # Of a file that nobody has looked at before, or that was removed meanwhile.
        complain(f"error: {storable(error.filename)} cannot be used: {reason(error)}.")
        return HeadlightError.exit_code
