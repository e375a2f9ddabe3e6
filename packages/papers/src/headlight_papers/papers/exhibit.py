"""A paper as a list of exhibits, and the page on which they are made one after the other."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from headlight.analysis.folder import remove_work_folder
from headlight.errors import ResultError, UnknownNameError, UsageError, setting
from headlight.output_folder import OutputFolder
from headlight.result import versions
from headlight.views.parts import Section
from headlight.views.sections import SectionPage, section_page
from headlight_papers.papers.reproduction import Reproduction, open_reproduction, text_name
from headlight_papers.papers.settings import PAGE, RUNS, PaperSettings
from headlight_papers.papers.sources import SOURCES, Sources, titled_sources
from headlight_papers.papers.writer import ExhibitWriter

Make = Callable[[Reproduction, ExhibitWriter], Section]


@dataclass(frozen=True)
class Need:
    """Need of an exhibit besides text.

    Attributes:
        missing: what is said where it is not there.
        there: asks a reproduction for it.
    """

    missing: str
    there: Callable[[Reproduction], object]


def _given(name: str) -> Need:
    """Data of one kind."""
    title = SOURCES[name].title
    return Need(f"no {title} were given (--{name})", lambda made: made.sources.named(name))


NEEDS = {
    name: _given(name) for name in ("dependency", "coreference", "pairs", "tagged", "labelled")
}
NEEDS |= {
    "cola": Need(
        "no sentences of CoLA were given (--pairs)", lambda it: "cola" in it.sources.tasks
    ),
    "mnli": Need(
        "no sentence pairs of MNLI were given (--pairs)", lambda it: "mnli" in it.sources.tasks
    ),
    "gold": Need(
        "no translations with gold links were given (--translations and --gold)",
        lambda it: it.sources.translations and it.sources.gold,
    ),
    "compared": Need("no second model was given (--compare)", lambda it: it.compared),
    "translator": Need("no translation model is loaded (--translator)", lambda it: it.translator),
    "masks": Need("the model has no mask token, or --masks is 0", lambda it: it.masks),
    "gradient": Need(
        "the model has no language-model head, or gradient is not among --measures",
        lambda it: it.wants_gradient,
    ),
}
"""By name; `Sources.check` knows those that are read."""


@dataclass(frozen=True)
class ExhibitSpec:
    """One exhibit: a table or figure of the paper.

    Attributes:
        name: ``table-1``.
        title: what it shows.
        source: where the paper has it.
        make: makes its section, but for name, title and source, and writes its files.
        needs: what it cannot do without, of `NEEDS`.
    """

    name: str
    title: str
    source: str
    make: Make
    needs: tuple[str, ...] = ()

    def missing(self, reproduction: Reproduction) -> str | None:
        """Return why the exhibit cannot be made; None where it can."""
        lacking = (NEEDS[need] for need in self.needs if not NEEDS[need].there(reproduction))
        return next((need.missing for need in lacking), None)

    def create(self, reproduction: Reproduction) -> Section:
        """Return the exhibit, with its files in the folder of the reproduction."""
        writer = ExhibitWriter(reproduction.folder, self.name)
        section = self.make(reproduction, writer)
        return replace(
            section,
            name=self.name,
            title=self.title,
            source=self.source,
            files=writer.written,
        )


def exhibit(
    name: str, title: str, source: str, needs: tuple[str, ...] = ()
) -> Callable[[Make], ExhibitSpec]:
    """Make a function an exhibit; for the arguments see `ExhibitSpec`."""
    return lambda make: ExhibitSpec(name, title, source, make, needs)


@dataclass(frozen=True)
class Paper:
    """Paper that can be reproduced.

    Attributes:
        name: ``clark2019``.
        settings: the class of its settings, which says what it reads and which models it takes.
        introduction: what it is, and how names and numbers are to be read.
        exhibits: in the order of the page.
    """

    name: str
    settings: type[PaperSettings]
    introduction: str
    exhibits: tuple[ExhibitSpec, ...]

    @property
    def title(self) -> str:
        """The page's."""
        return self.settings.title

    @property
    def loads_model(self) -> bool:
        """Whether its exhibits are about a model that is loaded; else it trains its own."""
        return bool(self.settings.models)

    def open(
        self,
        model: str | Path | None,
        sources: Sources,
        settings: PaperSettings,
        folder: Path,
        **options: Any,
    ) -> Reproduction:
        """A reproduction, with the models that it needs; for the arguments see `open_reproduction`.

        Raises:
            ModelError: there is no such model.
            UsageError: it does not fit, or one is named and the paper trains its own.
        """
        if self.loads_model:
            return open_reproduction(model, sources, settings, folder, **options)
        if model or options.get("compared") or options.get("translator"):
            raise UsageError(f"{self.name} trains models of its own; leave out those of others.")
        return Reproduction(None, None, sources, settings, folder)

    def select(self, names: Sequence[str] | None) -> list[ExhibitSpec]:
        """The exhibits of these names, in the paper's order; by default all.

        Raises:
            UsageError: no name is given, or one is unknown.
        """
        if names is None:
            return list(self.exhibits)
        known = [each.name for each in self.exhibits]
        for name in names:
            if name not in known:
                raise UnknownNameError(f"exhibit of {self.name}", name, known)
        if not names:
            raise UsageError(f"no exhibit is selected; name at least one with {setting('only=')}.")
        return [each for each in self.exhibits if each.name in names]


OWN = "models of the paper, trained here"
STILL_MISSING = (
    "Not made yet: the reproduction is at work, or was interrupted; then go on with the same "
    "command and --resume."
)


def reproduce(
    paper: Paper,
    reproduction: Reproduction,
    only: Sequence[str] | None = None,
    *,
    command: str = "",
    on_exhibit: Callable[[ExhibitSpec, Section | None], object] = lambda spec, exhibit: None,
) -> Path:
    """Write every exhibit as pictures (SVG, PNG), CSV and a section of one HTML page.

    What is finished is kept in its folder, so that an interrupted reproduction goes on where it
    stopped. The page is there from the first exhibit on, and says what is still missing.

    Args:
        paper: what to reproduce.
        reproduction: on which model and data.
        only: names of exhibits; by default all.
        command: how it was asked for, for the record.
        on_exhibit: is called with each exhibit, or with None for one that is missing.

    Returns:
        The page.

    Raises:
        UsageError: an exhibit is unknown.
        HeadlightError: data or model are refused; exhibits made before are kept.
    """
    specs = paper.select(only)
    made: list[Section] = []
    missing = {spec.name: (spec.title, STILL_MISSING) for spec in specs}
    path, output = reproduction.folder / PAGE, OutputFolder(reproduction.folder, ResultError)
    with reproduction.unchanged():
        for spec in specs:
            reason = spec.missing(reproduction)
            exhibit = None if reason else spec.create(reproduction)
            if exhibit is None:
                missing[spec.name] = (spec.title, reason or "")
            else:
                del missing[spec.name]
                made.append(exhibit)
            page = SectionPage(
                title=paper.title,
                introduction=paper.introduction,
                sections=made,
                facts=_facts(paper, reproduction),
                missing=list(missing.values()),
                attributes=_attributes(paper, reproduction),
                command=command,
            )
            output.write(PAGE, section_page(page).encode())
            on_exhibit(spec, exhibit)
    remove_work_folder(reproduction.folder / RUNS)
    return path


def _facts(paper: Paper, reproduction: Reproduction) -> list[tuple[str, str]]:
    """Return the models and data of a reproduction, in a few words."""
    models = {
        "model": reproduction.loaded,
        "compared with": reproduction.compared,
        "translator": reproduction.translator,
    }
    rows = titled_sources(paper.settings.reads)
    named = {row.title: reproduction.sources.named(name) for name, row in rows.items()}
    read = {title: ", ".join(Path(name).name for name in names) for title, names in named.items()}
    if "text" in rows:
        read[rows["text"].title] = text_name(reproduction)
    return [
        *((label, model.name) for label, model in models.items() if model is not None),
        *((title, names) for title, names in read.items() if names),
    ]


def _attributes(paper: Paper, reproduction: Reproduction) -> dict[str, object]:
    sources, reads = asdict(reproduction.sources), paper.settings.reads
    settings = {**asdict(reproduction.settings), **{name: sources[name] for name in reads}}
    others = {"compared": reproduction.compared, "translator": reproduction.translator}
    for name, model in others.items():
        if model is not None:
            settings |= {name: model.name, f"{name}_revision": model.revision}
    model = reproduction.loaded
    return {
        **(model.origin if model else {"model": OWN, "revision": ""}),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": json.dumps(versions()),
        "settings": json.dumps(settings),
    }
