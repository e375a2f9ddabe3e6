"""The program: its commands, and refusals in one sentence with an exit code."""

import re
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import typer

from headlight.catalogue import register_measures
from headlight.cli.commands import Commands, entries, find_entry, group_of
from headlight.cli.guarded_terminal import exit_code, guarded_terminal
from headlight.cli.printing import complain, say
from headlight.errors import HeadlightError, HeadlightWarning, RunInterruptedError, UsageError
from headlight.files import reason, storable
from headlight.processes import ignore_settings_of_folder, keep_freed_memory, safe_start
from headlight.version import __version__


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
    """Make the program; a command is made when it is called, with the measures of that moment."""
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

# The class of the parser's usage errors is in typer or in click, depending on its version.
ParserRefusal: Any = typer.BadParameter.__base__


def main() -> None:
    """Run the program; a refusal is printed as one sentence and ends with its exit code."""
    keep_freed_memory()
    warnings.showwarning = partial(_show_warning, warnings.showwarning)
    with safe_start(), guarded_terminal() as output:
        ignore_settings_of_folder()
        register_measures()
        with refusals_said() as ending:
            ending.code = int(app(sys.argv[1:] or ["--help"], standalone_mode=False) or 0)
        output.flush()  # a full disk is only noticed when the buffer is written
        code = ending.code or exit_code(output.failure)
    sys.exit(code)


def _show_warning(
    show: Callable[..., None], message: Any, category: type[Warning], *place: Any, **more: Any
) -> None:
    """Print warnings of ours as a sentence, and those of libraries as Python does."""
    if issubclass(category, HeadlightWarning):
        complain(f"note: {message}")
    else:
        show(message, category, *place, **more)


PLAIN = {"integer": "a whole number", "number": "a number", "boolean": "yes or no"}


def _sentence(refusal: str) -> str:
    """Return a message of the parser in plain words, with advice."""
    sentence = refusal.rstrip(".").replace("Value error, ", "")
    sentence = sentence.replace("Input should be greater than or equal to", "it must be at least")
    sentence = re.sub(
        r"Input should be a valid (\w+)(, .*)?",
        lambda kind: f"{PLAIN.get(kind[1], kind[1])} is needed",
        sentence,
    )
    return f"{sentence} See --help." if sentence.endswith("?") else f"{sentence}; see --help."


@dataclass
class Ending:
    """Ending of the program.

    Attributes:
        code: Exit code.
    """

    code: int = 0


@contextmanager
def refusals_said() -> Iterator[Ending]:
    """Print refusals inside the block as one sentence; the yielded object gets the exit code."""
    ending = Ending()
    try:
        yield ending
        # The parser turns Ctrl-C into an exit code without a word.
        if ending.code == RunInterruptedError.exit_code:
            complain("interrupted.")
    except HeadlightError as error:
        complain(f"error: {error.with_options()}")
        ending.code = error.exit_code
    except ParserRefusal as error:
        complain(f"error: {_sentence(error.format_message())}")
        ending.code = UsageError.exit_code
    except (KeyboardInterrupt, typer.Abort):
        complain("interrupted.")
        ending.code = RunInterruptedError.exit_code
    except OSError as error:
        if error.filename is None:
            raise
        # Files are checked before the work; this one was not, or was removed in the meantime.
        complain(f"error: {storable(error.filename)} cannot be used: {reason(error)}.")
        ending.code = HeadlightError.exit_code
