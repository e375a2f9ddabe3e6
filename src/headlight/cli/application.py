"""The program: its name, its version and its commands."""

from typing import Annotated

import typer

from headlight import __version__
from headlight.catalogue import cannot_be_loaded, studies
from headlight.catalogue.sources import TRANSLATIONS
from headlight.cli.aer import AER_EXAMPLES, aer
from headlight.cli.align import ALIGN_EXAMPLES, align
from headlight.cli.alternatives import ALTERNATIVES_EXAMPLES, alternatives
from headlight.cli.check import CHECK_EXAMPLES, check
from headlight.cli.printing import say
from headlight.cli.read import READ_EXAMPLES, read
from headlight.cli.reproduce import REPRODUCE_EXAMPLES, papers_app
from headlight.cli.serve import SERVE_EXAMPLES, serve
from headlight.cli.status import MERGE_EXAMPLES, STATUS_EXAMPLES, merge_command, status
from headlight.cli.study import add_refusal, add_study

TEXTS = "Look at texts"
RUNS = "Runs of many workers"
PAPERS = "Papers"


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


def make_app() -> typer.Typer:
    """The program, with options for the settings and measures that there are now."""
    made = typer.Typer(
        name="headlight",
        help="What attention in Transformers really does, beyond the raw attention weight.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    made.callback()(_root)
    # Help lists them in this order.
    made.command(epilog=READ_EXAMPLES, rich_help_panel=TEXTS)(read)
    made.command(epilog=SERVE_EXAMPLES, rich_help_panel=TEXTS)(serve)
    made.command(epilog=ALTERNATIVES_EXAMPLES, rich_help_panel=TEXTS)(alternatives)
    made.command(epilog=CHECK_EXAMPLES, rich_help_panel=TEXTS)(check)
    for study in studies().values():
        add_study(made, study)
    for name in cannot_be_loaded():
        add_refusal(made, name)
    made.command(epilog=ALIGN_EXAMPLES, rich_help_panel=TRANSLATIONS)(align)
    made.command(epilog=AER_EXAMPLES, rich_help_panel=TRANSLATIONS)(aer)
    made.command(epilog=STATUS_EXAMPLES, rich_help_panel=RUNS)(status)
    made.command(epilog=MERGE_EXAMPLES, rich_help_panel=RUNS)(
        merge_command(lambda arguments: made(arguments, standalone_mode=False))
    )
    made.add_typer(
        papers_app(), name="reproduce", epilog=REPRODUCE_EXAMPLES, rich_help_panel=PAPERS
    )
    return made


app = make_app()
