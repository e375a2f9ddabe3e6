"""The row of a study: all that is said of it anywhere, beside the fields of its settings."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from headlight.catalogue.sources import SOURCES, Reads, SourceKind
from headlight.settings import StudySettings

if TYPE_CHECKING:
    import xarray

PAPERS = "headlight_papers"
"""The package of the distribution headlight-papers, which may not be installed."""


@dataclass(frozen=True, kw_only=True)
class Study:
    """A study, declared once; its functions are looked up when it is run.

    It lies in the package of its settings: ``study`` has ``run(source, model, settings, *, folder,
    command, progress)``, and ``page`` has ``sections(result)`` and ``summary(result)``.

    Attributes:
        name: of the function in the root, and of the command, there with hyphens; the ``stage`` of
            its results.
        title: what it is about, in a few words.
        question: what it asks, as a sentence without a full stop.
        papers: paper and section.
        reads: what its source is.
        settings: the class of its settings.
        examples: of the command: arguments, and a remark or nothing.
        smallest: settings with which it has all variables of its result, and takes a moment.
        order: its place in help and documentation, before those of larger numbers.
        taggers: whether it also studies taggers, on sentences whose words have tags.
        on_shards: whether it goes through its corpus once and is done, so that several processes
            can share a run.
        no_sentence: why its report shows no text of the corpus, where it shows none.
    """

    name: str
    title: str
    question: str
    papers: str
    reads: Reads
    settings: type[StudySettings]
    examples: Sequence[tuple[str, str]]
    smallest: Mapping[str, Any] = field(default_factory=dict)
    order: int = 1_000
    taggers: bool = False
    on_shards: bool = True
    no_sentence: str = ""

    @property
    def command(self) -> str:
        """Its name on the command line."""
        return self.name.replace("_", "-")

    @property
    def sentence(self) -> str:
        """Return the question of the study, as a sentence."""
        return f"{self.question[:1].upper()}{self.question[1:]}."

    @property
    def source(self) -> SourceKind:
        """Return the kind of source that it reads."""
        return SOURCES[self.reads]

    @property
    def package(self) -> str:
        """Return the package of the study: that of its settings."""
        return sys.modules[self.settings.__module__].__package__ or ""

    @property
    def is_ours(self) -> bool:
        """Whether a distribution of this project has it, and not another package."""
        return self.package.partition(".")[0] in (__name__.partition(".")[0], PAPERS)

    @cached_property
    def run(self) -> Callable[..., "xarray.Dataset"]:
        """``run(source, model, settings, *, folder, command, progress)``."""
        found: Callable[..., "xarray.Dataset"] = import_module(f"{self.package}.study").run
        return found

    @cached_property
    def page(self) -> ModuleType:
        """The module with ``sections(result)`` and ``summary(result)``."""
        return import_module(f"{self.package}.page")
