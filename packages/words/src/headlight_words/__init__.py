"""Annotated and parallel text: word alignment, dependency, coreference, probes that parse."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from headlight.catalogue import DISTRIBUTIONS, Command
from headlight_words.sources import ASSETS, EMBEDDED_TRANSLATOR, PANEL

EMBEDDED_MODELS = {EMBEDDED_TRANSLATOR: ASSETS / "translator"}
"""Folders of the models that come with the package: a translator from German to English."""


def _add(name: str) -> Callable[[Any], None]:
    """Return what adds a command, a function of its name in a module of that name."""

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


def __getattr__(name: str) -> Any:
    """Return the function of a study of this distribution, which is that of the root."""
    if name in DISTRIBUTIONS["words"].studies:
        return getattr(import_module("headlight"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *DISTRIBUTIONS["words"].studies])
