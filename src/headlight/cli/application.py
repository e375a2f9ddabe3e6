"""The program: its name, its version and its commands."""

from importlib import import_module
from typing import TYPE_CHECKING, Annotated

import typer

from headlight.catalogue import (
    IN_PAPERS,
    Command,
    cannot_be_loaded,
    commands,
    find_ours,
    refused,
    studies,
)
from headlight.catalogue.questions import QUESTIONS, Question
from headlight.catalogue.sources import TRANSLATIONS
from headlight.cli.commands import Commands, group_of
from headlight.cli.help import HelpfulCommand
from headlight.cli.printing import say
from headlight.version import __version__

if TYPE_CHECKING:
    from headlight.catalogue import Study

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
    _entry("read", TEXTS, "Read one text, or two, and show the strongest links of its heads."),
    _entry(
        "serve",
        TEXTS,
        "Read texts in a browser: an app on this machine, with every head of what is typed.",
    ),
    *(_of_question(each) for each in QUESTIONS.values() if each.is_command),
    _entry(
        "check",
        TEXTS,
        "Say whether the attention of a model can be captured exactly, module by module.",
    ),
)
LAST = (
    _entry(
        "compare",
        RESULTS,
        "Say which heads differ between surveys: of models, checkpoints, corpora or precisions.",
    ),
    _entry("heads", RESULTS, "Rank the heads of a survey by what they do, with intervals of 95%."),
    _entry(
        "gallery",
        RESULTS,
        "Write the heads of surveys as pages for any web host, with a search over all models.",
    ),
    _entry(
        "align",
        TRANSLATIONS,
        "Link the words of sentences and their translations, as a translator or an encoder sees "
        "them.",
    ),
    _entry(
        "aer",
        TRANSLATIONS,
        "Score word alignments: precision, recall and AER, with intervals.",
    ),
    _entry("status", RUNS, "Say how far a run has come, and how many processes are at it."),
    _entry(
        "merge",
        RUNS,
        "Make the result of what workers have measured; what is missing is measured first.",
        "status",
    ),
)
OWN = {each.name: each for each in (*FIRST, *LAST)}


def entries() -> dict[str, Command]:
    """All commands, with those of the studies that there are now."""
    refusals = [_refusal(name) for name in cannot_be_loaded() if name not in IN_PAPERS]
    between = [*map(_of_study, studies().values()), *refusals]
    own = {each.name: each for each in (*FIRST, *between, *LAST)}
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
    return entries().get(name) or (_refusal(study) if study in IN_PAPERS else None)


def make_app() -> typer.Typer:
    """The program, with options for the settings and measures that there are when it is called."""
    made = typer.Typer(
        name="headlight",
        cls=group_of(Commands(entries, find_entry)),
        help="What attention in Transformers really does, beyond the raw attention weight.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    made.callback()(_root)
    return made


app = make_app()
