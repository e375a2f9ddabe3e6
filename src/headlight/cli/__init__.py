"""The command line."""

from headlight.cli.program import app, main

__all__ = ["app", "main"]
