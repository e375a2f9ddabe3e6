"""Plan of a study: which attention of which model, on which examples, in which passes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

from headlight.analysis import BATCH_TOKENS, ModelSettings
from headlight.capture import AttentionSite, CapturedModel, Objective, default_objective
from headlight.capture.one_text import require_reader
from headlight.corpora import Corpus
from headlight.encode import Encoded
from headlight.errors import UsageError, setting
from headlight.result.kinds import ALL
from headlight.settings.flow import AttributionSettings
from headlight.vocabulary import Kind, measures_that_need

T = TypeVar("T")
E = TypeVar("E", bound=Encoded)
E_co = TypeVar("E_co", bound=Encoded, covariant=True)

SHARE = "corpus_share"
"""The attribute of a result that says about which share of its corpus was read, where a limit ended
the reading."""

LONGEST_DEFAULT = 512
"""Tokens of an example at most, where a model takes more and nothing is said."""

PAIR_LENGTH = 128
"""Tokens of adjacent segments, as Clark et al. (2019) cut them."""

SCORE_BYTES = 1 << 30
"""Bytes that the measures of a layer fill on a GPU, where nothing is said about batches."""


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
        examples: what the model reads.
        settings: all settings of the study.
        passes: how often the model runs, and with what.
        measures: in the order in which the result has them.
        max_examples: largest number of examples.
        options: what the result depends on besides settings and model, as JSON.
        if_empty: what to ask if no example can be made of the corpus.
        all_kinds: whether all kinds were asked for, and the result keeps them apart.
        query_block: how many queries its observers see at a time, where they can; see
            `headlight.analysis.batch_runner.BatchRunner`.
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


def share_read(corpus: Corpus[Any] | None, elements: int | None) -> dict[str, float]:
    """About which share of a corpus was read, as an attribute of the result; none if not known.

    It depends on the files and the number alone, and so is the same however a run came about.

    Args:
        corpus: which.
        elements: how many of its first elements were read; None for as many as it was limited to.
    """
    limit = elements if corpus is None or corpus.limit is None else corpus.limit
    share = corpus.share_of(limit) if corpus is not None and limit else None
    return {} if share is None else {SHARE: share}


def model_signature(model: CapturedModel, settings: ModelSettings) -> dict[str, Any]:
    """The settings, and the model that they are about, as JSON."""
    chosen = {"batch_tokens": batch_tokens(model, settings)}
    return {**settings.signature(), **chosen, **model.identity()}


def batch_tokens(model: CapturedModel, settings: ModelSettings) -> int:
    """Return the tokens of a batch: those that are set, or what suits the device.

    On a GPU, batch × heads × length² numbers of 4 bytes for each measure fill `SCORE_BYTES` at the
    maximal length; of a language model's predictions, batches are those of a CPU, for a vocabulary
    fills more.  How much memory is free does not matter, so that a resumed run has the same ones.

    Args:
        model: the part of the model that runs.
        settings: of the study; they may have a maximal length, and measures.
    """
    if settings.batch_tokens is not None:
        return settings.batch_tokens
    predicts_words = settings.required_head in ("language_model", "any")
    if predicts_words or model.transformer.device.type == "cpu":
        return BATCH_TOKENS
    measures = len(getattr(settings, "measures", None) or ("weight",))
    heads = max(site.heads for site in model.sites)
    return max(BATCH_TOKENS, SCORE_BYTES // (4 * heads * measures * text_length(model, settings)))


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


def check_repeatable(corpus: Corpus[T]) -> Corpus[T]:
    """A corpus, if it can be read more than once.

    Raises:
        UsageError: it cannot.
    """
    if corpus.once:
        raise UsageError(
            f"the corpus ({corpus.source}) is read more than once; give a list, or files."
        )
    return corpus


def check_tokenizer(model: CapturedModel) -> Any:
    """The tokenizer of a model that is to read text, or of one of speech that reads transcripts.

    Raises:
        UsageError: it has none, or reads something else.
    """
    if not model.hears:
        require_reader(model)
    return model.require_tokenizer("a study reads text")


def encoder_for_one_text(model: CapturedModel, kind: Kind | None) -> CapturedModel:
    """Return the part of a model that reads a single text: of an encoder-decoder the encoder.

    Raises:
        UsageError: attention of a decoder is asked for that reads a second text, or the model reads
            no text.
    """
    model = model.reader()
    require_reader(model)
    if not model.has_decoder_inputs:
        return model
    if kind in ("decoder", "cross"):
        raise UsageError(
            f"{kind} attention of {model} needs two texts per example, and here is one; "
            "choose the encoder."
        )
    return model.encoder()


def choose_sites(model: CapturedModel, settings: ModelSettings) -> tuple[Kind, list[AttentionSite]]:
    """Return the selected kind of attention, the first if there are several, and its modules.

    Raises:
        UsageError: there is no such kind or layer, or no layer is asked for.
    """
    first = model.kinds[0]
    kinds = model.kinds if settings.kind == ALL else (settings.kind or first,)
    sites = [site for kind in kinds for site in model.sites_of(kind, settings.layers)]
    return kinds[0], sites


def choose_length(model: CapturedModel, asked: int | None, most: int = LONGEST_DEFAULT) -> int:
    """Tokens of an example at most: what is asked, or what the model takes and is customary.

    Raises:
        UsageError: the model takes fewer.
    """
    longest = model.longest
    length = asked if asked is not None else min(most, longest or most)
    if longest is not None and length > longest:
        raise UsageError(
            f"{setting('max_length')} is {length}, and {model} takes at most {longest} "
            "tokens; allow fewer."
        )
    return length


def text_length(model: CapturedModel, settings: ModelSettings) -> int:
    """Return the tokens of a text at most, see `choose_length`; of two segments together.

    Raises:
        UsageError: the model takes fewer than are set.
    """
    most = PAIR_LENGTH if getattr(settings, "pairs", False) else LONGEST_DEFAULT
    return choose_length(model, getattr(settings, "max_length", None), most)
