"""Papers on attention, reproduced with Headlight, and the studies that serve one paper each."""

from importlib import import_module
from typing import Any

from headlight.catalogue import DISTRIBUTIONS, Command

REPRODUCE_SUMMARY = (
    "Make the tables and figures of a paper on your model and data, beside the published numbers."
)


def _add_reproduce(program: Any) -> None:
    from headlight_papers.cli import REPRODUCE_EXAMPLES, papers_app

    program.add_typer(
        papers_app(), name="reproduce", epilog=REPRODUCE_EXAMPLES, rich_help_panel=PANEL
    )


PANEL = "Papers"
REPRODUCE = Command("reproduce", PANEL, REPRODUCE_SUMMARY, _add_reproduce)
"""The row of the command, by an entry point of the group ``headlight.commands``."""


def __getattr__(name: str) -> Any:
    """Return the function of a study of this distribution, which is that of the root."""
    if name in DISTRIBUTIONS["papers"].studies:
        return getattr(import_module("headlight"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *DISTRIBUTIONS["papers"].studies])
