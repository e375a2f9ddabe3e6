"""The folder of a run as an argument of a command."""

from typing import TYPE_CHECKING, Annotated

import typer

from headlight.errors import RunError, UsageError

if TYPE_CHECKING:
    from headlight.files import Location


Run = Annotated[str, typer.Argument(help="Folder of the run, or its address in a store.")]


def existing_run(run: str) -> "Location":
    """Return the folder of a run, which exists.

    Raises:
        UsageError: there is none.
        RunError: there is no driver for its address.
    """
    from headlight.files import location

    folder = location(run, error=RunError)
    if not folder.exists():
        raise UsageError(f"{folder} is no folder; name that of a run.")
    return folder
