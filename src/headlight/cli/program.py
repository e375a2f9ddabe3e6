"""The entry: run a command, and turn every refusal into one sentence and an exit code."""

import re
import sys
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import typer

from headlight.analysis.allocator import keep_freed_memory
from headlight.catalogue import register_measures
from headlight.cli.application import app
from headlight.cli.printing import complain, exit_code, guarded_terminal
from headlight.errors import (
    HeadlightError,
    HeadlightWarning,
    RunInterruptedError,
    UsageError,
)
from headlight.processes import safe_start

# The parser's own class of usage errors lies in typer or in click, as its version has it.
ParserRefusal: Any = typer.BadParameter.__base__


def main() -> None:
    """Run, and turn every refusal into one sentence and an exit code."""
    keep_freed_memory()
    warnings.showwarning = partial(_show_warning, warnings.showwarning)
    with safe_start(), guarded_terminal() as output:
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
    said = refusal.rstrip(".").replace("Value error, ", "")
    said = said.replace("Input should be greater than or equal to", "it must be at least")
    said = re.sub(r"Input should be a valid (\w+)(, .*)?", lambda m: _wanted(m[1]), said)
    return f"{said} See --help." if said.endswith("?") else f"{said}; see --help."


def _wanted(kind: str) -> str:
    return f"{PLAIN.get(kind, kind)} is needed"


def _run(arguments: list[str]) -> int:
    try:
        code = app(arguments, standalone_mode=False)
        if code == RunInterruptedError.exit_code:  # Ctrl-C, which the parser makes an exit code of
            complain("interrupted.")
        return int(code or 0)
    except HeadlightError as error:
        complain(f"error: {error}")
        return error.exit_code
    except ParserRefusal as error:
        complain(f"error: {_sentence(error.format_message())}")
        return UsageError.exit_code
    except (KeyboardInterrupt, typer.Abort):
        complain("interrupted.")
        return RunInterruptedError.exit_code
