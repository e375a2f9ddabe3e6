"""A paper as a list of exhibits that can be made."""

from collections.abc import Callable
from dataclasses import dataclass

from headlight.errors import UnknownNameError, UsageError
from headlight.papers.reproduction import Study
from headlight.papers.writer import ExhibitWriter
from headlight.views.exhibits import Exhibit

NEEDS = {
    "dependency": "no treebank was given (--dependency)",
    "coreference": "no coreference corpus was given (--coreference)",
    "pairs": "no sentence pairs were given (--pairs)",
    "cola": "no sentences of CoLA were given (--pairs)",
    "mnli": "no sentence pairs of MNLI were given (--pairs)",
    "compared": "no second model was given (--compare)",
    "gradient": "the model has no language-model head, or gradient is not among --measures",
}
"""What an exhibit may need besides text, and what is said where it is missing."""


@dataclass(frozen=True)
class Plan:
    """One exhibit: a table or figure of the paper.

    Attributes:
        name: ``table-1``.
        title: what it shows.
        make: makes it from a study, on a desk.
        needs: what it cannot do without, of `NEEDS`.
    """

    name: str
    title: str
    make: Callable[[Study, ExhibitWriter], Exhibit]
    needs: tuple[str, ...] = ()

    def missing(self, study: Study) -> str | None:
        """Why it cannot be made; None where it can."""
        have = {
            "dependency": bool(study.sources.dependency),
            "coreference": bool(study.sources.coreference),
            "pairs": bool(study.sources.pairs),
            "cola": "cola" in study.sources.tasks,
            "mnli": "mnli" in study.sources.tasks,
            "compared": study.compared is not None,
            "gradient": study.wants_gradient,
        }
        return next((NEEDS[need] for need in self.needs if not have[need]), None)


@dataclass(frozen=True)
class Paper:
    """What can be reproduced of a paper.

    Attributes:
        name: ``clark2019``.
        title: the page's.
        introduction: what it is, and how names and numbers are to be read.
        plans: its exhibits, in the order of the page.
        segment_ids: of pairs of paragraphs, as its authors set them: ``zeros`` or ``pair``.
        of_any_kind: whether its exhibits can be made of any kind of attention, decoders' too.
    """

    name: str
    title: str
    introduction: str
    plans: tuple[Plan, ...]
    segment_ids: str = "pair"
    of_any_kind: bool = False

    def demand_kind(self, kind: str | None) -> None:
        """Complain where a kind of attention is asked for that the exhibits do not know.

        Raises:
            UsageError: they are of the first kind that the model has.
        """
        if kind is not None and not self.of_any_kind:
            raise UsageError(
                f"the exhibits of {self.name} are of the first attention that a model has, in an "
                "encoder-decoder of its encoder; leave out --kind."
            )

    def chosen(self, names: tuple[str, ...] | None) -> list[Plan]:
        """The exhibits of these names, in the paper's order; by default all.

        Raises:
            UsageError: no name is given, or one is unknown.
        """
        if names is None:
            return list(self.plans)
        known = [plan.name for plan in self.plans]
        for name in names:
            if name not in known:
                raise UnknownNameError(f"exhibit of {self.name}", name, known)
        if not names:
            raise UsageError("no exhibit is asked for; name at least one with --only.")
        return [plan for plan in self.plans if plan.name in names]
