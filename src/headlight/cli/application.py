"""The program: its name, its version and its commands."""

from typing import Annotated

import typer

from headlight import __version__
from headlight.cli.alternatives import ALTERNATIVES_EXAMPLES, alternatives
from headlight.cli.check import CHECK_EXAMPLES, check
from headlight.cli.read import READ_EXAMPLES, read
from headlight.cli.reproduce import REPRODUCE_EXAMPLES, reproduce
from headlight.cli.survey import SURVEY_EXAMPLES, survey

app = typer.Typer(
    name="headlight",
    help="What attention in Transformers really does, beyond the raw attention weight.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool | None) -> None:
    if wanted:
        typer.echo(f"headlight {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool | None,  # None when it is not given, because a callback is eager
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = None,
) -> None:
    pass


# Help lists them in this order.
app.command(epilog=SURVEY_EXAMPLES)(survey)
app.command(epilog=READ_EXAMPLES)(read)
app.command(epilog=REPRODUCE_EXAMPLES)(reproduce)
app.command(epilog=CHECK_EXAMPLES)(check)
app.command(epilog=ALTERNATIVES_EXAMPLES)(alternatives)
