"""Folders that all processes of one run of the tests share."""

import shutil
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock


class Shared:
    """Folders by name, each filled once, by whichever process asks first; the others wait.

    Whoever changes files works on a copy.

    Args:
        folder: in which they are.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __call__(self, name: str, fill: Callable[[Path], object]) -> Path:
        """The folder of this name.

        Args:
            name: of the folder.
            fill: makes the folder, which does not exist yet, and what is in it.
        """
        folder, filled = self._folder / name, self._folder / f"{name}.filled"
        with FileLock(self._folder / f"{name}.lock"):
            if not filled.exists():
                shutil.rmtree(folder, ignore_errors=True)
                fill(folder)
                filled.touch()
        return folder
