"""Commands for words of translations: `align` and `aer`, each in a module of its name."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from headlight.catalogue import Command
from headlight_words.sources import PANEL


def _add(name: str) -> Callable[[Any], None]:
    """Return a function that adds a command, which is a function in a module of the same name."""

    def add(program: Any) -> None:
        from headlight.cli.help import HelpfulCommand

        home = import_module(f"headlight_words.cli.{name}")
        epilog = getattr(home, f"{name.upper()}_EXAMPLES")
        make = program.command(name, cls=HelpfulCommand, epilog=epilog, rich_help_panel=PANEL)
        make(getattr(home, name))

    return add


ALIGN = Command(
    "align",
    PANEL,
    "Link the words of sentences and their translations by a translator or an encoder.",
    _add("align"),
    order=1,
)
AER = Command(
    "aer",
    PANEL,
    "Score word alignments: precision, recall and AER, with intervals.",
    _add("aer"),
    order=2,
)
