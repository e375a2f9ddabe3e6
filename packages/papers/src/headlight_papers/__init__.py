"""Papers on attention, reproduced with Headlight, and the studies that serve one paper each."""

from typing import Any

from headlight.catalogue import Command

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
