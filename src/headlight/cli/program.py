"""The entry: run a command, and turn every refusal into one sentence and an exit code."""

import os
import sys
from typing import Any

import typer

from headlight.analysis.allocator import keep_freed_memory
from headlight.cli.application import app
from headlight.errors import HeadlightError, RunInterruptedError, UsageError

BROKEN_PIPE = 141
"""What a shell reports of a program whose reader went away."""

# The parser's own class of usage errors lies in typer or in click, as its version has it.
ParserRefusal: Any = typer.BadParameter.__base__


def main() -> None:
    """Run, and turn every refusal into one sentence and an exit code."""
    keep_freed_memory()
    try:
        code = app(sys.argv[1:] or ["--help"], standalone_mode=False)
        if code == RunInterruptedError.exit_code:  # Ctrl-C, which the parser makes an exit code of
            _complain("interrupted.")
        sys.exit(code)
    except HeadlightError as error:
        _complain(f"error: {error}")
        sys.exit(error.exit_code)
    except ParserRefusal as error:
        _complain(f"error: {error.format_message().rstrip('.')}; see --help.")
        sys.exit(UsageError.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        _complain("interrupted.")
        sys.exit(RunInterruptedError.exit_code)
    except BrokenPipeError:
        # What is still waiting to be printed goes nowhere, instead of complaining at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(BROKEN_PIPE)


def _complain(sentence: str) -> None:
    typer.echo(sentence, err=True)
