"""The command line: parse, call, print."""

from headlight.cli.application import app
from headlight.cli.program import main

__all__ = ["app", "main"]
