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
        with refusals_said() as ending:
            ending.code = int(app(sys.argv[1:] or ["--help"], standalone_mode=False) or 0)
        output.flush()
        code = ending.code or exit_code(output.failure)
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


@dataclass
class Ending:
    """How the program ends.

    Attributes:
        code: Exit code.
    """

    code: int = 0


@contextmanager
def refusals_said() -> Iterator[Ending]:
    """Within the block, a refusal is said in one sentence; what is given is its exit code."""
    ending = Ending()
    try:
        yield ending
        if ending.code == RunInterruptedError.exit_code:  # the parser makes an exit code of Ctrl-C
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
        # Of a file that nobody has looked at before, or that was removed meanwhile.
        complain(f"error: {storable(error.filename)} cannot be used: {reason(error)}.")
        ending.code = HeadlightError.exit_code
