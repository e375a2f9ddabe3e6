"""The folder of a run as an argument of a command."""

from typing import TYPE_CHECKING, Annotated

import typer

from headlight.errors import RunError, UsageError

if TYPE_CHECKING:
    from headlight.files import Location


Run = Annotated[str, typer.Argument(help="Folder of the run, or its address in a store.")]


def existing_run(run: str) -> "Location":
    """Return the folder of a run that exists.

    Args:
        run: Path of the folder, or its address in a store.

    Raises:
        UsageError: there is no such folder.
        RunError: a library for its address is missing.
    """
    from headlight.files import location

    folder = location(run, error=RunError)
    if not folder.exists():
        raise UsageError(f"{folder} is no folder; name that of a run.")
    return folder
