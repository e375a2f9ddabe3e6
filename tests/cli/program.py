"""The program as a function of its arguments, in this process."""

from headlight.cli.program import app, refusals_said


def command(arguments: list[str]) -> int:
    """Run a command, and return its exit code."""
    with refusals_said() as ending:
        ending.code = int(app(arguments, standalone_mode=False) or 0)
    return ending.code
