"""Parts of a survey: their observers of a batch, and their variables."""

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
"""Members of a tally that hold texts, not statistics."""

Variables: TypeAlias = dict[str, Any]
"""Variables of a result by name, as `xarray.Dataset` takes them; coordinates are among them."""


@dataclass(frozen=True, eq=False)
class Subject:
    """Batch of a survey, with the knowledge available before it is observed.

    Attributes:
        plan: Plan for one kind of attention.
        model_pass: Pass in which the batch is observed.
        settings: Settings of the survey.
        batch: Batch of texts.
        examples: Examples that the batch holds.
        words: Ids of the words of each class, by row of the table of statistics.
        known: Knowledge of the corpus from before the passes, by part.
        observers: Observers of the parts so far, by name of the part.
    """

    plan: StudyPlan[Encoded]
    model_pass: Pass
    settings: SurveySettings
    batch: Batch
    examples: Sequence[Encoded]
    words: Mapping[str, Sequence[int]] = field(default_factory=dict)
    known: Mapping[str, Any] = field(default_factory=dict)
    observers: dict[str, PartObserver] = field(default_factory=dict)

    @cached_property
    def sides(self) -> tuple[Positions, Positions]:
        """Return the positions of queries and keys."""
        return Positions.for_kind(self.batch, self.plan.kind)

    @cached_property
    def host(self) -> Batch:
        """Return the batch on the host, where masks and pairs of its tokens are made once."""
        return self.batch.on_host()

    @cached_property
    def units(self) -> Int64[np.ndarray, " text"]:
        """Return the number of the unit of the corpus that each text belongs to."""
        return units_of(self.examples)

    @property
    def texts(self) -> tuple[Batch, Sequence[Encoded], Kind]:
        """Return the batch, its examples, and the kind of attention observed."""
        return self.batch, self.examples, self.plan.kind

    @property
    def reads_sound(self) -> bool:
        """Return whether frames of sound attend, which are no words."""
        return self.plan.model.hears and self.plan.kind == "encoder"


@dataclass(frozen=True, eq=False)
class Outcome:
    """Observations of a pass of a survey on one kind of attention, from which its result is made.

    Attributes:
        plan: Plan for one kind of attention.
        model_pass: Pass in which attention was observed.
        settings: Settings of the survey.
        tally: Statistics from the observers of all batches.
        known: Knowledge of the corpus from before the passes, by part.
        variables: Variables of the parts computed so far.
    """

    plan: StudyPlan[Encoded]
    model_pass: Pass
    settings: SurveySettings
    tally: Tally
    known: Mapping[str, Any] = field(default_factory=dict)
    variables: Variables = field(default_factory=dict)

    @property
    def measures(self) -> tuple[str, ...]:
        """Return the measures of the pass."""
        return self.model_pass.measures

    @cached_property
    def statistics(self) -> dict[str, Any]:
        """Return the statistics of every member of the tally, except those that hold texts."""
        return {name: member.compute() for name, member in self.tally.items() if name not in TEXTS}

    @property
    def tokenizer(self) -> Any:
        """Return the tokenizer of the model."""
        return self.plan.model.tokenizer


@dataclass(frozen=True, kw_only=True)
class Part:
    """Part of the survey.

    Attributes:
        name: Name of the part; for an optional one, its name in the setting ``numbers``.
        variables: Variables that the part may have, by name.
        compute: Function that returns the variables; none if nothing was observed.
        observe: Function that returns the observer of a batch, or None if there is nothing to
            observe; a part without it uses the statistics of `headlight.studies.survey.observer`.
        attributes: Function that returns attributes of the result, called after `compute`.
        compressed: Names of the largest variables, which are stored compressed.
        chosen: Whether the part is left out unless ``numbers`` names it.
        of_loss: Whether the part is observed in the backward pass, which has an objective.
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
        """Return the observer of a batch; None in passes where the part has none."""
        left_out = self.chosen and self.name not in subject.settings.numbers
        passed = subject.model_pass.objective if self.of_loss else subject.model_pass.measures
        return None if left_out or not passed or self.observe is None else self.observe(subject)
