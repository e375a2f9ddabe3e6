"""Rows of the table of studies, and the kinds of sources that more than one study reads."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from headlight.catalogue.distributions import PACKAGES
from headlight.catalogue.embedded_models import ASSETS, EMBEDDED_CLASSIFIER
from headlight.catalogue.sources import STANDARD_INPUT, SourceKind
from headlight.errors import UsageError, setting
from headlight.files import standard_input
from headlight.settings import StudySettings

_CORPUS = "Study a corpus"

_CLASSIFIER = (
    'its name or folder, a `Model` that was loaded with ``head="classification"``, or a model of '
    "transformers in memory (then with ``tokenizer=``); by default the embedded classifier of "
    "short reviews."
)

TEXT = SourceKind(
    name="text",
    explanation="a path, a glob, ``hf:NAME``, ``-``, texts, an open corpus, or examples that "
    "are made already; for a model of speech recordings; by default the sample corpus.",
    argument="File, folder, glob, hf:NAME\\[:CONFIG]\\[:SPLIT]\\[:COLUMN], or - for standard "
    "input; for a model of speech recordings. Default: the sample corpus, as pairs.",
    label="text",
    noun="document",
    panel=_CORPUS,
)
"""Text."""

HAYSTACK = SourceKind(
    name="haystack",
    explanation="texts in which facts are hidden (a path, a glob, ``hf:NAME``, texts, an open "
    "corpus); by default the sample corpus.",
    argument="Texts in which facts are hidden: file, folder, glob, "
    "hf:NAME\\[:CONFIG]\\[:SPLIT]\\[:COLUMN]. Default: the sample corpus.",
    label="nothing, or text in which facts are hidden",
    noun="probe",
    panel=_CORPUS,
)
"""Text in which facts are hidden."""

LABELLED = SourceKind(
    name="labelled",
    explanation="labelled texts, or for a tagger, where the study takes one, sentences with "
    "tags (a path, a glob, ``hf:NAME``, an open corpus, tuples of a text and its label, or of "
    "words and tags); by default the sample reviews.",
    argument="Labelled texts: file, folder, glob or hf:NAME (TSV, CSV, JSON lines, SST, AG "
    "News, IMDB, newsgroups, MRPC, CoLA, MNLI); for a tagger words and tags in columns. "
    "Default: the sample reviews.",
    label="labelled texts",
    noun="text",
    model=f"a classifier: {_CLASSIFIER}",
    default_model=EMBEDDED_CLASSIFIER,
    sample=ASSETS / "sample.reviews.tsv",
)
"""Labelled text, for classifiers."""

TEXT_OR_LABELLED = SourceKind(
    name="text_or_labelled",
    explanation="texts, as other studies read them (by default the sample corpus); for a "
    "classifier labelled texts, as permutation reads them.",
    argument="Text, as other studies read it (default: the sample corpus, as pairs); "
    "for a classifier labelled texts, as permutation reads them.",
    label="text, or for a classifier labelled texts",
    noun="text",
    panel=_CORPUS,
)
"""Text, or for classifiers labelled text."""

if TYPE_CHECKING:
    import xarray

HOW_READ = ("format", "column", "columns", "label_column")
"""Settings of how files are read."""


@dataclass(frozen=True, kw_only=True)
class Study:
    """Study, declared once; its functions are imported when it is run.

    The package of its settings has a module ``study`` with ``run(source, model, settings, *,
    folder, command, progress)``, and a module ``page`` with ``sections(result)`` and
    ``summary(result)``.

    Attributes:
        name: Name of the function in the root, and of the command (with hyphens); the ``stage`` of
            its results.
        title: Subject in a few words.
        question: Question that it asks, as a sentence without a full stop.
        papers: Paper and section.
        source: Kind of source that it reads.
        settings: Class of its settings.
        examples: Examples of the command: arguments, and a remark or nothing.
        smallest: Settings with which a run is short, and its result has all variables.
        order: Position in help and documentation, in increasing order.
        taggers: Support for taggers, on sentences whose words have tags.
        on_shards: Single pass over the corpus, so that several processes can share a run.
    """

    name: str
    title: str
    question: str
    papers: str
    source: SourceKind
    settings: type[StudySettings]
    examples: Sequence[tuple[str, str]]
    smallest: Mapping[str, Any] = field(default_factory=dict)
    order: int = 1_000
    taggers: bool = False
    on_shards: bool = True

    @property
    def command(self) -> str:
        """Return the name of the study on the command line."""
        return self.name.replace("_", "-")

    @property
    def sentence(self) -> str:
        """Return the question of the study, as a sentence."""
        return f"{self.question[:1].upper()}{self.question[1:]}."

    @property
    def reads(self) -> str:
        """Return the name of the kind of source that it reads."""
        return self.source.name

    @property
    def package(self) -> str:
        """Return the package of the study: that of its settings."""
        return sys.modules[self.settings.__module__].__package__ or ""

    @property
    def is_ours(self) -> bool:
        """Return whether it is part of a distribution of this project."""
        return self.package.partition(".")[0] in {__name__.partition(".")[0], *PACKAGES}

    def check_files(self, source: Any, settings: StudySettings) -> None:
        """Refuse files whose beginning cannot be read, before a model is loaded.

        Args:
            source: Path, name or object of Python; objects are checked by the study itself.
            settings: Settings of the study.

        Raises:
            HeadlightError: a file cannot be read, or a format is set without a file.
        """
        chosen = [name for name in HOW_READ if getattr(settings, name, None) is not None]
        if source is None and chosen:
            raise UsageError(
                "the sample corpus has a format of its own; name a corpus, or leave out "
                f"{setting(chosen[0])}."
            )
        source = self.source.or_sample(source)
        if source == STANDARD_INPUT:
            # A closed stream is refused; an open one is left unread, as it can be read only once.
            standard_input()
        elif source is None or isinstance(source, str | Path):
            settings.check_source(None if source is None else str(source))
        settings.check_other_files()

    @cached_property
    def run(self) -> Callable[..., "xarray.Dataset"]:
        """Return ``run(source, model, settings, *, folder, command, progress)`` of the study."""
        function: Callable[..., "xarray.Dataset"] = import_module(f"{self.package}.study").run
        return function

    @cached_property
    def page(self) -> ModuleType:
        """Return the module with ``sections(result)`` and ``summary(result)``."""
        return import_module(f"{self.package}.page")
