"""Where studies are found: in our package of studies, and by entry points of other packages."""

import pkgutil
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from headlight.catalogue.study import Study
from headlight.errors import HeadlightWarning, UnknownNameError, UsageError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "headlight.studies"
"""Of entry points, and the package of our own studies."""

TAKEN = {
    *("HeadlightError", "Model", "Reading", "load", "open"),
    *(
        "aer",
        "align",
        "alternatives",
        "routes",
        "check",
        "compare",
        "explain",
        "gallery",
        "heads",
        "merge",
        "predict",
        "read",
        "reproduce",
        "serve",
        "status",
    ),
}
"""Names of the root and of commands, besides those of modules, that no study may have."""


@dataclass(frozen=True)
class _Found:
    """The studies that there are, and why others are none; both by name."""

    studies: Mapping[str, Study]
    refused: Mapping[str, str]


def studies() -> Mapping[str, Study]:
    """All studies by name, in the order in which help and documentation list them."""
    return _found().studies


def refused() -> Mapping[str, str]:
    """Studies of other packages that cannot be had, by name, each with a sentence that says why."""
    return _found().refused


def find_study(name: str) -> Study:
    """The study of that name.

    Warns:
        HeadlightWarning: another package has a study of the same name, which is left out.

    Raises:
        UsageError: it is a study of another package, which cannot be had.
        UnknownNameError: there is none.
    """
    found = _found()
    if name in found.studies:
        if name in found.refused:
            warnings.warn(found.refused[name], HeadlightWarning, stacklevel=2)
        return found.studies[name]
    if name in found.refused:
        raise UsageError(found.refused[name])
    raise UnknownNameError("study", name, found.studies)


def find_ours(name: str) -> Study | None:
    """Our study of that name, without a look at those of other packages."""
    likely = f"{GROUP}.{name}"  # most packages have the names of their studies
    if name.isidentifier() and find_spec(likely):
        study: Study | None = getattr(import_module(likely), "STUDY", None)
        if study and study.name == name:
            return study
    return next((study for study in _our_studies() if study.name == name), None)


def cannot_be_loaded() -> list[str]:
    """Free names under which another package has a study that cannot be had."""
    found = _found()
    return [
        name
        for name in found.refused
        if name.isidentifier() and name not in found.studies and not _is_taken(name)
    ]


def _is_taken(name: str) -> bool:
    return name in TAKEN or find_spec(f"headlight.{name}") is not None


@cache
def _found() -> _Found:
    from importlib.metadata import entry_points

    found, refused = {study.name: study for study in _our_studies()}, dict[str, str]()
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: (entry.name, entry.value)):
        try:
            found[entry.name] = _loaded(entry, found)
        except UsageError as error:
            refused[entry.name] = str(error)
    in_order = sorted(found.values(), key=lambda study: (study.order, study.name))
    return _Found({study.name: study for study in in_order}, refused)


def _our_studies() -> Iterator[Study]:
    for module in pkgutil.iter_modules(import_module(GROUP).__path__, f"{GROUP}."):
        if hasattr(package := import_module(module.name), "STUDY"):
            yield package.STUDY


def _loaded(entry: "EntryPoint", known: Mapping[str, Study]) -> Study:
    """The row that an entry point names.

    Raises:
        UsageError: it cannot be had; the sentence says which package to see to.
    """
    package = entry.dist.name if entry.dist else entry.value
    what = f"the study {entry.name} of the package {package}"
    if not entry.name.isidentifier() or entry.name.startswith("_"):
        raise UsageError(f"{what} has a name that no function can have; rename it.")
    if entry.name in known or _is_taken(entry.name):
        raise UsageError(f"{what} is left out, since its name is taken; rename it.")
    try:
        found = entry.load()
    except Exception as problem:
        why = " ".join(f"{type(problem).__name__}: {problem}".split()).rstrip(".:")
        raise UsageError(
            f"{what} cannot be loaded ({why}); update or remove that package."
        ) from problem
    if not isinstance(found, Study) or found.name != entry.name:
        raise UsageError(
            f"{what} is no study of that name: {entry.value} must be a headlight.catalogue.Study "
            f"with the name {entry.name!r}."
        )
    return found
