"""A paper as a list of exhibits, each made by one function that carries its name and title."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from headlight.errors import UnknownNameError, UsageError
from headlight.views.parts import Section
from headlight_papers.papers.reproduction import Reproduction, open_reproduction
from headlight_papers.papers.settings import PaperSettings
from headlight_papers.papers.sources import SOURCES, Sources
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
            raise UsageError("no exhibit is asked for; name at least one with --only.")
        return [each for each in self.exhibits if each.name in names]
