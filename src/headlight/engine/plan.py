"""Plan of a study: which attention of which model, on which examples, in which passes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

from headlight.capture import AttentionSite, CapturedModel, Objective, default_objective
from headlight.corpora import Corpus
from headlight.encode import Encoded
from headlight.engine.batch_size import batch_tokens
from headlight.errors import UsageError, setting
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
        """A dataclass of numbers: what became of the documents in the latest iteration."""

    def __iter__(self) -> Iterator[E_co]: ...


@dataclass(frozen=True)
class Pass:
    """One pass of the model over the examples.

    Attributes:
        measures: those that are observed in it; empty where a study has no choice of measures.
        objective: with one, the model is run backward as well.
        attribution: how contributions are computed, if they are needed.
        folder: where what is half done is kept, within the folder of the run.
        residual: whether records hold what the output of the attention is added to.
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
        name: of the study, as in ``headlight.survey``; the result's ``stage``.
        title: what the result is about.
        source: what the corpus is called.
        model: the part of the model that runs.
        kind: which attention is looked at; of several kinds at once, the first.
        sites: its modules.
        examples: what the model reads; empty where there are no passes.
        settings: all settings of the study.
        passes: how often the model runs, and with what.
        measures: in the order in which the result has them.
        max_examples: largest number of examples.
        options: what the result depends on besides settings and model, as JSON.
        if_empty: what to ask if no example can be made of the corpus.
        all_kinds: whether all kinds were asked for, and the result keeps them apart.
        query_block: how many queries its observers see at a time, where they can; see
            `headlight.engine.batch_runner.BatchRunner`.
        corpus: of which examples are made, where it is known.
        begin_shard: is given the examples of each shard of the corpus before they are observed.
        seconds: the seconds that an example is expected to take, see `BatchRunner`.
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

    def by_kind(self) -> "dict[Kind, StudyPlan[E]]":
        """The plans of all kinds that are looked at, each as if it were looked at alone."""
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

    def title_of(self, one: Pass) -> str:
        """Return what a pass is called before it begins; nothing of the only one."""
        if len(self.passes) == 1:
            return ""
        of = f"pass {self.passes.index(one) + 1} of {len(self.passes)}"
        return f"{of}: {', '.join(one.measures)}" if one.measures else of

    @property
    def heads(self) -> dict[int, int]:
        """Return the number of heads in each observed layer."""
        return {site.layer: site.heads for site in self.sites}

    @property
    def layers(self) -> list[int]:
        """The numbers of the observed layers, in increasing order."""
        return sorted(self.heads)

    def signature(self, one: Pass | None = None) -> dict[str, Any]:
        """Everything that must be equal for two runs, or for one pass of them, to be the same."""
        signature = {
            **model_signature(self.model, self.settings),
            "study": self.name,
            "kind": ALL if self.all_kinds else self.kind,
            "layers": self.layers,
            "corpus": self.source,
            "attribution": None,
            **self.options,
        }
        for each in self.passes if one is None else (one,):
            signature |= each.signature()
        if one is None and self.measures:
            signature["measures"] = list(self.measures)
        return signature


def model_signature(model: CapturedModel, settings: ModelSettings) -> dict[str, Any]:
    """The settings, and the model that they are about, as JSON."""
    chosen = {"batch_tokens": batch_tokens(model, settings)}
    return {**settings.signature(), **chosen, **model.identity()}


def plan_passes(
    measures: Sequence[str],
    objective: Objective | None,
    attribution: AttributionSettings | None,
    *,
    together: bool = False,
) -> tuple[Pass, ...]:
    """One pass forward, and one backward: a loss may hide words, which the other must see.

    Args:
        measures: all that are observed.
        objective: of the gradient; None where it is not among them.
        attribution: how contributions are computed, if they are among them.
        together: everything in one pass, in which all measures look at what the loss lets be seen.
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
    """The objective that the measures need: the one given, or what the model was trained for.

    Args:
        model: with the head that gives the loss.
        measures: all that are observed.
        objective: the one given, if any is.
        seed: which tokens are hidden from a masked language model.

    Raises:
        MissingHeadError: one is needed, none is given, and the model has no language-model head.
        UsageError: one is given and not needed.
    """
    if measures_that_need("gradient", measures):
        return objective or default_objective(model, seed=seed)
    if objective:
        raise UsageError(
            "an objective is given, and no measure needs it; add 'gradient' to the measures."
        )
    return None
