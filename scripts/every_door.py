"""Import every module of what is installed, and ask every command for its help.

    PYTHON scripts/every_door.py

PYTHON is that of the environment that is tried.  The extras `serve` and `widget` have to be there,
without which their modules cannot be imported.  Prints each command with the first sentence of its
help, and ends with 1 if a module cannot be imported, or a command does not show its help.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("headlight", "headlight_words", "headlight_papers")


def main() -> int:
    packages = [name for name in PACKAGES if find_spec(name)]
    modules = [module for package in packages for module in modules_in(package)]
    problems = [problem for module in modules if (problem := import_problem(module))]
    print(f"{len(modules)} modules of {' and '.join(packages)}: {len(problems)} cannot be imported")
    (entry,) = entry_points(group="console_scripts", name="headlight")
    command_line = entry.load()
    os.environ["COLUMNS"] = "200"  # so that no sentence is broken
    for words, sentence in commands():
        print(f"  {' '.join(words):32}{sentence}")
        shown = shown_by(command_line, [*words, "--help"])
        if sentence not in " ".join(shown.split()):
            problems.append(f"{' '.join(words)} --help: {shown or 'shows nothing'}")
    print("".join(f"{each}\n" for each in problems), end="", file=sys.stderr)
    return int(bool(problems))


def modules_in(package: str) -> list[str]:
    """Return the name of an installed package and those of all modules below it."""
    (place,) = import_module(package).__path__
    if Path(place).is_relative_to(ROOT / "src") or Path(place).is_relative_to(ROOT / "packages"):
        sys.exit(f"{package} is not installed here: it is imported from {place}.")
    # A package that cannot be imported is listed all the same, and tried again.
    below = walk_packages([place], f"{package}.", onerror=lambda name: None)
    return [package, *(module.name for module in below)]


def import_problem(module: str) -> str | None:
    """Import a module; return what is wrong with it, or None."""
    try:
        import_module(module)
    except Exception as error:  # noqa: BLE001 - whatever it is, the other modules are tried too
        return f"{module}: {type(error).__name__}: {error}"
    return None


def commands() -> Iterator[tuple[list[str], str]]:
    """Return the words and the first paragraph of every command, also of those inside others."""
    from typer.main import get_command

    from headlight.cli.program import app

    def below(group: Any, *path: str) -> Iterator[tuple[list[str], str]]:
        for name, command in group.commands.items():
            paragraph = " ".join((command.help or "").split("\n\n")[0].split())
            yield [*path, name], paragraph
            yield from below(command, *path, name) if hasattr(command, "commands") else ()

    return below(get_command(app))


def shown_by(command_line: Any, arguments: list[str]) -> str:
    """Return what the command `headlight` prints, or how it ended if that was no success."""
    sys.argv = ["headlight", *arguments]
    with redirect_stdout(StringIO()) as shown:
        try:
            command_line()
        except SystemExit as end:
            return f"ended with {end.code}" if end.code else shown.getvalue()
    return shown.getvalue()


if __name__ == "__main__":
    sys.exit(main())
