"""Parts of a survey: what each observes in a batch, and the variables that it has."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from jaxtyping import Int64

from headlight.capture import Kind
from headlight.encode import Encoded
from headlight.encode.batch import Batch
from headlight.engine.plan import Pass, StudyPlan
from headlight.observations.positions import Positions
from headlight.observations.text_ids import units_of
from headlight.observations.variables import Variable
from headlight.reduce import Tally
from headlight.studies.survey import SurveySettings
from headlight.studies.survey.part_observer import PartObserver

TEXTS = ("passages", "drawn")
"""Members of a tally that hold texts, and no statistic."""

Variables: TypeAlias = dict[str, Any]
"""Variables of a result by name, as `xarray.Dataset` takes them; coordinates are among them."""


@dataclass(frozen=True, eq=False)
class Subject:
    """One batch of a survey, and what is known before it is observed.

    Attributes:
        plan: of one kind of attention.
        one: the pass in which it is observed.
        settings: of the survey.
        batch: of texts.
        examples: of which it was made.
        words: ids of the words of each class, by row of the table of statistics.
        known: what was found out of the corpus before the passes, by part.
        observers: the parts that observe it so far, by name.
    """

    plan: StudyPlan[Encoded]
    one: Pass
    settings: SurveySettings
    batch: Batch
    examples: Sequence[Encoded]
    words: Mapping[str, Sequence[int]] = field(default_factory=dict)
    known: Mapping[str, Any] = field(default_factory=dict)
    observers: dict[str, PartObserver] = field(default_factory=dict)

    @cached_property
    def sides(self) -> tuple[Positions, Positions]:
        """Positions of queries and keys."""
        return Positions.for_kind(self.batch, self.plan.kind)

    @cached_property
    def host(self) -> Batch:
        """Return the batch on the host, for what is made of its tokens once."""
        return self.batch.on_host()

    @cached_property
    def units(self) -> Int64[np.ndarray, " text"]:
        """The unit of the corpus that each text is of."""
        return units_of(self.examples)

    @property
    def texts(self) -> tuple[Batch, Sequence[Encoded], Kind]:
        """The batch, its examples, and which attention of it is looked at."""
        return self.batch, self.examples, self.plan.kind

    @property
    def reads_sound(self) -> bool:
        """Whether frames of sound attend, which are no words."""
        return self.plan.model.hears and self.plan.kind == "encoder"


@dataclass(frozen=True, eq=False)
class Outcome:
    """Observations of a pass of a survey on one kind of attention, from which its result is made.

    Attributes:
        plan: of one kind of attention.
        one: the pass in which it was observed.
        settings: of the survey.
        tally: what the observers of all batches saw.
        known: see `Subject`.
        variables: of the parts so far.
    """

    plan: StudyPlan[Encoded]
    one: Pass
    settings: SurveySettings
    tally: Tally
    known: Mapping[str, Any] = field(default_factory=dict)
    variables: Variables = field(default_factory=dict)

    @property
    def measures(self) -> tuple[str, ...]:
        """Return the measures of the pass."""
        return self.one.measures

    @cached_property
    def found(self) -> dict[str, Any]:
        """The statistics of every member of the tally, but for the texts."""
        return {name: each.compute() for name, each in self.tally.items() if name not in TEXTS}

    @property
    def tokenizer(self) -> Any:
        """Return the tokenizer of the model."""
        return self.plan.model.tokenizer


@dataclass(frozen=True, kw_only=True)
class Part:
    """A part of the survey.

    Attributes:
        name: of the part; where it is chosen, that in the setting ``numbers``.
        variables: those that it may have.
        compute: makes its variables; none where nothing was observed.
        observe: makes the observer of a batch, or None where there is nothing to observe; without
            it the part is made of what `headlight.studies.survey.observer` sees for all.
        attributes: makes attributes of the result, after its variables.
        compressed: variables that take the most room.
        chosen: whether it is left out unless ``numbers`` names it.
        of_loss: whether it is observed in the pass backward, which has an objective.
    """

    name: str
    variables: Mapping[str, Variable]
    compute: Callable[[Outcome], Variables]
    observe: Callable[[Subject], PartObserver | None] | None = None
    attributes: Callable[[Outcome], Mapping[str, Any]] = lambda _: {}
    compressed: Sequence[str] = ()
    chosen: bool = False
    of_loss: bool = False

    def observer(self, subject: Subject) -> PartObserver | None:
        """Return its observer of a batch, in the pass in which it has one."""
        left_out = self.chosen and self.name not in subject.settings.numbers
        passed = subject.one.objective if self.of_loss else subject.one.measures
        return None if left_out or not passed or self.observe is None else self.observe(subject)
