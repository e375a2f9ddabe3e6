"""Plan of a study: which attention of which model, on which examples, in which passes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

from headlight.capture import AttentionSite, CapturedModel, Objective, default_objective
from headlight.corpora import Corpus
from headlight.encode import Encoded
from headlight.engine.batch_size import batch_tokens
from headlight.errors import UsageError, setting
from headlight.reduce import Tally
from headlight.result.kinds import ALL
from headlight.settings.attribution import AttributionSettings
from headlight.study_settings.models import ModelSettings
from headlight.vocabulary import Kind, measures_that_need

E = TypeVar("E", bound=Encoded)
E_co = TypeVar("E_co", bound=Encoded, covariant=True)


@runtime_checkable
class CountedExamples(Protocol[E_co]):
    """Examples that can be iterated again, and say what was left out."""

    @property
    def counts(self) -> Any:
        """Return a dataclass of counts: what became of documents in the latest iteration."""

    def __iter__(self) -> Iterator[E_co]: ...


@dataclass(frozen=True)
class Pass:
    """One pass of the model over the examples.

    Attributes:
        measures: Measures observed in it; empty where a study has no choice of measures.
        objective: Objective of a backward pass, if there is one.
        attribution: Settings of contributions, if they are needed.
        folder: Name of the folder of unfinished work, within the folder of the run.
        residual: Whether records hold what the output of the attention is added to.
    """

    measures: tuple[str, ...] = ()
    objective: Objective | None = None
    attribution: AttributionSettings | None = None
    folder: str = ""
    residual: bool = False

    @property
    def forward_alone(self) -> bool:
        """Whether nothing but the model run forward is needed."""
        return self.objective is None and self.attribution is None

    def signature(self) -> dict[str, Any]:
        """Return the dependencies of this pass besides those of all passes, as JSON."""
        signature: dict[str, Any] = {}
        if self.measures:
            signature["measures"] = list(self.measures)
        if self.objective is not None:
            signature["objective"] = dict(self.objective.settings())
        if self.attribution is not None:
            signature["attribution"] = self.attribution.signature()
        return signature


@dataclass(frozen=True, eq=False)
class StudyPlan(Generic[E]):
    """Plan of a study.

    Attributes:
        name: Name of the study, as in ``headlight.survey``; the result's ``stage``.
        title: Title of the result.
        source: Name of the corpus.
        model: Part of the model that runs.
        kind: Kind of attention observed (the first, if several).
        sites: Observed attention modules.
        examples: Input of the model; empty where there are no passes.
        settings: All settings of the study.
        passes: Passes of the model over the examples.
        measures: Measures, in their order in the result.
        max_examples: Maximum number of examples.
        options: Dependencies of the result besides settings and model, as JSON.
        if_empty: Question to the user if no example can be made of the corpus.
        all_kinds: Whether all kinds were requested, and the result keeps them apart.
        query_block: Number of queries that its observers see at a time, where they can; see
            `headlight.engine.batch_runner.BatchRunner`.
        corpus: Corpus of which examples are made, where it is known.
        begin_shard: Callback that is given the examples of each shard before they are observed.
        seconds: Expected seconds of an example, see `BatchRunner`.
        end_rows: Callback that is given a function of the rows of the texts, shard by shard, once
            all are measured.
    """

    name: str
    title: str
    source: str
    model: CapturedModel
    kind: Kind
    sites: Sequence[AttentionSite]
    examples: CountedExamples[E]
    settings: ModelSettings
    passes: tuple[Pass, ...] = (Pass(),)
    measures: tuple[str, ...] = ()
    max_examples: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    if_empty: str = f"is its text too short, or longer than {setting('max_length')}?"
    all_kinds: bool = False
    query_block: int | None = 0
    corpus: Corpus[Any] | None = None
    begin_shard: Callable[[Sequence[E]], None] | None = None
    seconds: Callable[[E], float] | None = None
    end_rows: Callable[[Callable[[], Iterator[Tally]]], None] | None = None

    def by_kind(self) -> "dict[Kind, StudyPlan[E]]":
        """Return the plans of all observed kinds, each as if it were observed alone."""
        kinds = dict.fromkeys(site.kind for site in self.sites)
        return {
            kind: replace(
                self,
                kind=kind,
                sites=[site for site in self.sites if site.kind == kind],
                all_kinds=False,
            )
            for kind in kinds
        }

    def title_of(self, study_pass: Pass) -> str:
        """Return the title of a pass, shown before it begins; empty if it is the only pass."""
        if len(self.passes) == 1:
            return ""
        position = f"pass {self.passes.index(study_pass) + 1} of {len(self.passes)}"
        return f"{position}: {', '.join(study_pass.measures)}" if study_pass.measures else position

    @property
    def heads(self) -> dict[int, int]:
        """Return the number of heads in each observed layer."""
        return {site.layer: site.heads for site in self.sites}

    @property
    def layers(self) -> list[int]:
        """Return the numbers of the observed layers, in increasing order."""
        return sorted(self.heads)

    def signature(self, study_pass: Pass | None = None) -> dict[str, Any]:
        """Return everything that must be equal for two runs, or one of their passes, to agree."""
        signature = {
            **model_signature(self.model, self.settings),
            "study": self.name,
            "kind": ALL if self.all_kinds else self.kind,
            "layers": self.layers,
            "corpus": self.source,
            "attribution": None,
            **self.options,
        }
        for observed in self.passes if study_pass is None else (study_pass,):
            signature |= observed.signature()
        if study_pass is None and self.measures:
            signature["measures"] = list(self.measures)
        return signature


def model_signature(model: CapturedModel, settings: ModelSettings) -> dict[str, Any]:
    """Return the settings, and the model that they are about, as JSON."""
    chosen = {"batch_tokens": batch_tokens(model, settings)}
    return {**settings.signature(), **chosen, **model.identity()}


def plan_passes(
    measures: Sequence[str],
    objective: Objective | None,
    attribution: AttributionSettings | None,
    *,
    together: bool = False,
) -> tuple[Pass, ...]:
    """Plan a pass forward, and a pass backward if gradients are observed.

    They are two, since a loss may hide words that the forward measures must see.

    Args:
        measures: All observed measures.
        objective: Objective of the gradient; None where it is not among the measures.
        attribution: Settings of contributions, if they are among the measures.
        together: Whether to plan a single pass, in which all measures observe the input that the
            loss leaves visible.
    """
    needed = measures_that_need("attribution", measures)
    wanted = (attribution or AttributionSettings()) if needed else None
    backward = measures_that_need("gradient", measures)
    residual = bool(measures_that_need("residual", measures))
    if together or not backward:
        return (Pass(tuple(measures), objective, wanted, residual=residual),)
    forward = tuple(name for name in measures if name not in backward)
    first = (Pass(forward, None, wanted, residual=residual),) if forward else ()
    return (*first, Pass(backward, objective, None, "gradient"))


def required_objective(
    model: CapturedModel, measures: Sequence[str], objective: Objective | None, seed: int
) -> Objective | None:
    """Return the objective that the measures need: as given, or that of the model's training.

    Args:
        model: Model with the head that gives the loss.
        measures: All observed measures.
        objective: Given objective, if any.
        seed: Seed that selects the tokens hidden from a masked language model.

    Raises:
        MissingHeadError: an objective is needed, none is given, and the model has no language-model
            head.
        UsageError: an objective is given and not needed.
    """
    if measures_that_need("gradient", measures):
        return objective or default_objective(model, seed=seed)
    if objective:
        raise UsageError(
            "an objective is given, and no measure needs it; add 'gradient' to the measures."
        )
    return None
