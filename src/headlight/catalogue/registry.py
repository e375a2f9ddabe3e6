"""Registry of studies and commands: those of this package, and rows of other packages."""

import pkgutil
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from headlight.catalogue.distributions import DISTRIBUTIONS, IN_OTHER_DISTRIBUTIONS, PACKAGES
from headlight.catalogue.study import Study
from headlight.errors import HeadlightWarning, UnknownNameError, UsageError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "headlight.studies"
"""Group of entry points, and the package of our own studies."""

MEASURES = "headlight.measures"
"""Group of entry points whose value registers a measure."""

COMMANDS = "headlight.commands"
"""Group of entry points whose value is a `Command`."""

WRITERS = "headlight.writers"
"""Group of entry points whose value is a `headlight.catalogue.writers.Writer`."""

QUESTIONS = "headlight.questions"
"""Group of entry points whose value is a `headlight.catalogue.questions.Question`."""

T = TypeVar("T")
"""Type of the rows of a table; rows have names."""


@dataclass(frozen=True)
class Command:
    """Command of the program.

    Attributes:
        name: Name on the command line.
        panel: Heading of its place in the help.
        summary: First sentence of its help.
        add: Function that adds the command itself to a program of typer.
        order: Position in the help among commands of other packages.
    """

    name: str
    panel: str
    summary: str
    add: Callable[[Any], object]
    order: int = 1_000


@dataclass(frozen=True)
class _Found(Generic[T]):
    """Rows of a table, and reasons why other rows were refused; both by name."""

    rows: Mapping[str, T]
    refused: Mapping[str, str]


def studies() -> Mapping[str, Study]:
    """Return all studies by name, in the order in which help and documentation list them."""
    return _found().rows


def commands() -> Mapping[str, Command]:
    """Return the commands of other packages by name."""
    return _commands().rows


def refused() -> Mapping[str, str]:
    """Return the reasons why studies and commands are unavailable, as sentences by name."""
    here = {*studies(), *commands()}
    missing = {
        name: distribution.refusal(name)
        for name, distribution in IN_OTHER_DISTRIBUTIONS.items()
        if name not in here
    }
    return missing | {**_commands().refused, **_found().refused}


def find_study(name: str) -> Study:
    """Return the study of a name.

    Args:
        name: Name of the study, with underscores.

    Warns:
        HeadlightWarning: another package has a study of the same name, which is left out.

    Raises:
        UsageError: the study is part of a package that cannot be loaded or is not installed.
        UnknownNameError: there is no such study.
    """
    registered = _found()
    if name in registered.rows:
        if name in registered.refused:
            warnings.warn(registered.refused[name], HeadlightWarning, stacklevel=2)
        return registered.rows[name]
    if name in refused():
        raise UsageError(refused()[name])
    raise UnknownNameError("study", name, registered.rows)


def find_ours(name: str) -> Study | None:
    """Return a study of this project by its name, without loading other packages; None for others.

    A command of ours starts faster so, and runs where another package is damaged.
    """
    likely = f"{GROUP}.{name}"  # most studies have the name of their package
    if name.isidentifier() and find_spec(likely):
        study: Study | None = getattr(import_module(likely), "STUDY", None)
        if study and study.name == name:
            return study
    if name in IN_OTHER_DISTRIBUTIONS:
        entries = (entry for entry in _entries(GROUP) if entry.name == name and _is_ours(entry))
        with suppress(UsageError):  # `find_study` raises it again
            return next((_load(entry, {}, Study) for entry in entries), None)
    return next((study for study in _our_studies() if study.name == name), None)


def cannot_be_loaded() -> list[str]:
    """Return the names of unavailable studies, except those that other things have as well."""
    return [
        name
        for name in refused()
        if name.isidentifier() and name not in studies() and not _is_taken(name)
    ]


@cache
def taken() -> frozenset[str]:
    """Return the names of functions and commands that no study of another package may have."""
    # Both modules lie above the catalogue, so that they are imported late, and only for packages.
    root, program = (
        import_module("headlight").HOMES,
        import_module("headlight.cli.commands").BUILT_IN,
    )
    commands = {name for part in DISTRIBUTIONS.values() for name in part.commands}
    return frozenset({*root, *program, *commands})


def _is_taken(name: str) -> bool:
    return name in taken() or find_spec(f"headlight.{name}") is not None


@cache
def _found() -> _Found[Study]:
    rows = _load_all(GROUP, Study, {study.name: study for study in _our_studies()})
    in_order = sorted(rows.rows.values(), key=lambda study: (study.order, study.name))
    return _Found({study.name: study for study in in_order}, rows.refused)


@cache
def _commands() -> _Found[Command]:
    rows = _load_all(COMMANDS, Command, {})
    in_order = sorted(rows.rows.values(), key=lambda command: command.order)
    return _Found({command.name: command for command in in_order}, rows.refused)


@cache
def register_measures() -> None:
    """Let other packages register their measures.

    The value of an entry point of the group ``headlight.measures`` is a function without arguments
    that calls `headlight.measures.register_measure`.

    Warns:
        HeadlightWarning: a measure cannot be registered; the sentence names its package.
    """
    for entry in _entries(MEASURES):
        package = entry.dist.name if entry.dist else entry.value
        try:
            entry.load()()
        except Exception as problem:  # noqa: BLE001 - whatever the code of others raises
            warnings.warn(
                f"the measure {entry.name} of the package {package} is left out "
                f"({_why(problem)}); update or remove that package.",
                HeadlightWarning,
                stacklevel=2,
            )


def rows_of_packages(group: str, kind: type[T], ours: Mapping[str, T]) -> dict[str, T]:
    """Return the rows that other packages add to a table of ours, by name.

    Args:
        group: Group of their entry points.
        kind: Class of the rows.
        ours: Our rows, whose names are taken.

    Warns:
        HeadlightWarning: a row is left out; the sentence names the reason and the package.
    """
    loaded = _load_all(group, kind, ours)
    for sentence in loaded.refused.values():
        warnings.warn(sentence, HeadlightWarning, stacklevel=2)
    return {name: row for name, row in loaded.rows.items() if name not in ours}


def _load_all(group: str, kind: type[T], ours: Mapping[str, T]) -> _Found[T]:
    rows, refused = dict(ours), dict[str, str]()
    for entry in _entries(group):
        try:
            rows[entry.name] = _load(entry, rows, kind)
        except UsageError as error:
            refused[entry.name] = str(error)
    return _Found(rows, refused)


def _our_studies() -> Iterator[Study]:
    for module in pkgutil.iter_modules(import_module(GROUP).__path__, f"{GROUP}."):
        if hasattr(package := import_module(module.name), "STUDY"):
            yield package.STUDY


def _entries(group: str) -> list["EntryPoint"]:
    """Return the entry points of a group in a fixed order, those of this project first."""
    from importlib.metadata import entry_points

    # Ours come first and keep their names, whatever else is installed, and in whatever order.
    points = entry_points(group=group)
    return sorted(points, key=lambda entry: (not _is_ours(entry), entry.name, entry.value))


def _is_ours(entry: "EntryPoint") -> bool:
    return entry.module.partition(".")[0] in PACKAGES


def _why(problem: Exception) -> str:
    return " ".join(f"{type(problem).__name__}: {problem}".split()).rstrip(".:")


def _load(entry: "EntryPoint", rows: Mapping[str, T], kind: type[T]) -> T:
    """Return the row of an entry point.

    Args:
        entry: Entry point.
        rows: Rows with names that are taken.
        kind: Class of the row.

    Raises:
        UsageError: the row cannot be used; the sentence names its package.
    """
    package = entry.dist.name if entry.dist else entry.value
    noun = kind.__name__.lower()
    what = f"the {noun} {entry.name} of the package {package}"
    if not entry.name.isidentifier() or entry.name.startswith("_"):
        raise UsageError(f"{what} has a name that no function can have; rename it.")
    has_command = entry.group in (GROUP, COMMANDS, QUESTIONS)
    is_taken = has_command and _is_taken(entry.name) and not _is_ours(entry)
    if entry.name in rows or is_taken:
        raise UsageError(f"{what} is left out, since its name is taken; rename it.")
    try:
        row = entry.load()
    except Exception as problem:
        raise UsageError(
            f"{what} cannot be loaded ({_why(problem)}); update or remove that package."
        ) from problem
    if not isinstance(row, kind) or getattr(row, "name", None) != entry.name:
        raise UsageError(
            f"{what} is no {noun} of that name: {entry.value} must be a "
            f"{kind.__module__.rpartition('.')[0]}.{kind.__name__} with the name {entry.name!r}."
        )
    return row
