"""What can be asked about attention and coreference, and what the paper leaves open."""

from dataclasses import dataclass

from headlight.analysis.settings import BATCH_TOKENS
from headlight.attribution_settings import AttributionSettings
from headlight.capture import Kind
from headlight.errors import UnknownNameError, UsageError
from headlight.measures import MEASURES, ValueBias, check_measures
from headlight.measures.words import NORM_POOLINGS
from headlight.pool.words import QUERIES
from headlight.studies.coreference.sieves import SIEVES

CANDIDATES = ("mentions", "words")
NESTED = ("include", "exclude")
EVALUATED = ("resolvable", "all")
HEAD_WORDS = ("annotated", "last")
OTHERWISE = ("nothing", "nearest")

TOKENS = 128
"""Clark et al. (2019), footnote 4: "We truncate documents to 128 tokens long"."""


@dataclass(frozen=True, kw_only=True)
class TaskSettings:
    """Which mentions are evaluated, and which may be picked; all of it is open in the paper.

    Attributes:
        singletons: whether mentions that are alone in their chain may be picked; OntoNotes, which
            the paper used, has none.
        nested: whether a mention may be picked for one that it contains or that contains it:
            ``include`` (*his* for *his wife*), or ``exclude``.
        evaluated: mentions with an antecedent in the window (``resolvable``), or also those whose
            antecedents are all outside, which nobody can get right (``all``).
        head_word: the head word that the corpus gives, mostly by its parse (``annotated``), or the
            ``last`` word of the mention.
        sieves: the sieves of the rules, names from `sieves.SIEVES`, in order.
        head_match_otherwise: what *head match* picks where no head word matches: ``nothing``, which
            is wrong, or the ``nearest`` mention.
    """

    singletons: bool = False
    nested: str = "include"
    evaluated: str = "resolvable"
    head_word: str = "annotated"
    sieves: tuple[str, ...] = tuple(SIEVES)
    head_match_otherwise: str = "nothing"

    def __post_init__(self) -> None:
        _demand("treatment of nested mentions", self.nested, NESTED)
        _demand("choice of evaluated mentions", self.evaluated, EVALUATED)
        _demand("choice of head words", self.head_word, HEAD_WORDS)
        _demand("fallback of the head match", self.head_match_otherwise, OTHERWISE)
        for sieve in self.sieves:
            if sieve not in SIEVES:
                raise UnknownNameError("sieve", sieve, SIEVES)


@dataclass(frozen=True, kw_only=True)
class CoreferenceSettings(TaskSettings):
    """Everything that the result depends on besides model, loss and corpus.

    What concerns the mentions themselves is in `TaskSettings`.

    Attributes:
        measures: of ``weight``, ``norm``, ``effective`` and, with a loss, ``gradient``; and
            ``attribution``, one row for each layer, at the place of its first head.
        attribution: how contributions are computed, if they are among the measures; by default
            they are estimated.
        max_length: tokens of a document or window at most, special ones included.
        overlap: None cuts documents off at `max_length`, as the paper does; a number walks through
            the whole document in windows that share so many words, where each mention is evaluated
            once, in the window that shows most of the text before it.
        candidates: what a head may pick: the head words of other mentions (``mentions``, which puts
            it on a par with the baselines), or all other ``words`` of the window.
        preceding: pick only among what comes before the mention.
        unencodable: a document with a word that the tokenizer drops is an ``error``, or is left out
            and counted (``skip``).
        queries: how the pieces of an attending word become one row: ``mean``, ``first``, ``max``.
        pooling: of norms over the pieces of an attended word: sum of ``norms``, or of ``vectors``.
        kind: which attention: ``encoder`` or ``decoder``; by default the first that the model has.
        layers: which layers; by default all.
        value_bias: whether T of effective attention has the value bias in it.
        max_documents: stop after so many.
        batch_tokens: tokens in a batch, padding included.  The result does not depend on it.
        bootstrap: how often the documents are resampled for the intervals; 0 for no intervals.
        seed: of the resampling.
    """

    measures: tuple[str, ...] = MEASURES
    attribution: AttributionSettings | None = None
    max_length: int = TOKENS
    overlap: int | None = None
    candidates: str = "mentions"
    preceding: bool = True
    unencodable: str = "error"
    queries: str = "mean"
    pooling: str = "norms"
    kind: Kind | None = None
    layers: tuple[int, ...] | None = None
    value_bias: ValueBias = "include"
    max_documents: int | None = None
    batch_tokens: int = BATCH_TOKENS
    bootstrap: int = 200
    seed: int = 0

    def __post_init__(self) -> None:
        TaskSettings.__post_init__(self)
        check_measures(self.measures)
        _demand("set of candidates", self.candidates, CANDIDATES)
        _demand("way of joining the queries of a word", self.queries, QUERIES)
        _demand("pooling of norms", self.pooling, NORM_POOLINGS)
        for name, least in _LEAST.items():
            if (number := getattr(self, name)) is not None and number < least:
                raise UsageError(f"{name} must be at least {least}, not {number}.")
        if self.kind == "cross":
            raise UsageError(
                "cross-attention goes from one text to another, and an antecedent is in the same; "
                "choose encoder or decoder."
            )


_LEAST = {
    "max_length": 1,
    "overlap": 0,
    "max_documents": 1,
    "batch_tokens": 1,
    "bootstrap": 0,
    "seed": 0,
}


def _demand(kind: str, name: str, allowed: tuple[str, ...]) -> None:
    if name not in allowed:
        raise UnknownNameError(kind, name, allowed)
