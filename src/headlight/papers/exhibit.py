"""A paper as a list of exhibits, each made by one function that carries its name and title."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headlight.errors import UnknownNameError, UsageError
from headlight.papers.reproduction import Reproduction, open_reproduction
from headlight.papers.settings import ReproductionSettings
from headlight.papers.sources import Sources
from headlight.papers.writer import ExhibitWriter
from headlight.views.exhibits import Comparison, Exhibit, Picture, Table

NEEDS = {
    "dependency": "no treebank was given (--dependency)",
    "coreference": "no coreference corpus was given (--coreference)",
    "pairs": "no sentence pairs were given (--pairs)",
    "cola": "no sentences of CoLA were given (--pairs)",
    "mnli": "no sentence pairs of MNLI were given (--pairs)",
    "compared": "no second model was given (--compare)",
    "translator": "no translation model is loaded (--translator)",
    "gold": "no translations with gold links were given (--translations and --gold)",
    "tagged": "no tagged sentences were given (--tagged)",
    "labelled": "no labelled texts were given (--labelled)",
    "gradient": "the model has no language-model head, or gradient is not among --measures",
}
"""What an exhibit may need besides text, and what is said where it is missing."""


@dataclass(frozen=True)
class Content:
    """What the function of an exhibit makes; for the fields see `Exhibit`."""

    explanation: str
    pictures: Sequence[Picture] = ()
    tables: Sequence[Table] = ()
    comparisons: Sequence[Comparison] = ()
    notes: Sequence[str] = ()


Make = Callable[[Reproduction, ExhibitWriter], Content]


@dataclass(frozen=True)
class ExhibitSpec:
    """One exhibit: a table or figure of the paper.

    Attributes:
        name: ``table-1``.
        title: what it shows.
        source: where the paper has it.
        make: makes its content from the results of a reproduction, and writes its files.
        needs: what it cannot do without, of `NEEDS`.
    """

    name: str
    title: str
    source: str
    make: Make
    needs: tuple[str, ...] = ()

    def missing(self, reproduction: Reproduction) -> str | None:
        """Why it cannot be made; None where it can."""
        sources = reproduction.sources
        have = {
            "dependency": bool(sources.dependency),
            "coreference": bool(sources.coreference),
            "pairs": bool(sources.pairs),
            "cola": "cola" in sources.tasks,
            "mnli": "mnli" in sources.tasks,
            "compared": reproduction.compared is not None,
            "translator": reproduction.translator is not None,
            "gold": bool(sources.translations and sources.gold),
            "tagged": bool(sources.tagged),
            "labelled": bool(sources.labelled),
            "gradient": reproduction.wants_gradient,
        }
        return next((NEEDS[need] for need in self.needs if not have[need]), None)

    def create(self, reproduction: Reproduction) -> Exhibit:
        """The exhibit, and its files in the folder of the reproduction."""
        writer = ExhibitWriter(reproduction.folder, self.name)
        content = self.make(reproduction, writer)
        return Exhibit(self.name, self.title, self.source, **vars(content), files=writer.written)


def exhibit(
    name: str, title: str, source: str, needs: tuple[str, ...] = ()
) -> Callable[[Make], ExhibitSpec]:
    """Make a function an exhibit; for the arguments see `ExhibitSpec`."""
    return lambda make: ExhibitSpec(name, title, source, make, needs)


@dataclass(frozen=True)
class Paper:
    """What can be reproduced of a paper.

    Attributes:
        name: ``clark2019``.
        title: the page's.
        introduction: what it is, and how names and numbers are to be read.
        exhibits: in the order of the page.
        of_any_kind: whether its exhibits can be made of any kind of attention, decoders' too.
        loads_model: whether they are about a model that is loaded; else it trains its own.
        defaults: settings by name, where nobody chooses; most are the choice of the authors.
    """

    name: str
    title: str
    introduction: str
    exhibits: tuple[ExhibitSpec, ...]
    of_any_kind: bool = False
    loads_model: bool = True
    defaults: Mapping[str, Any] = field(default_factory=dict)

    def resolve(self, settings: ReproductionSettings) -> ReproductionSettings:
        """The settings, with the paper's defaults where nothing was chosen.

        Raises:
            UsageError: a kind of attention is asked for, and the exhibits are of the first kind
                that the model has.
        """
        if settings.kind is not None and not self.of_any_kind:
            raise UsageError(
                f"the exhibits of {self.name} are of the first attention that a model has, in an "
                "encoder-decoder of its encoder; leave out --kind."
            )
        defaults = {"segment_ids": "pair", **self.defaults}
        return settings.replace(
            **{name: given for name, given in defaults.items() if getattr(settings, name) is None}
        )

    def open(
        self,
        model: str | Path | None,
        sources: Sources,
        settings: ReproductionSettings,
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
            raise UsageError(
                f"{self.name} trains models of its own; leave out --model, --compare and "
                "--translator."
            )
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
