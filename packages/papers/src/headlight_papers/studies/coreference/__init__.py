"""Heads as resolvers of coreference (Clark et al. 2019, Section 4)."""

from dataclasses import dataclass
from typing import Annotated, Literal, get_args

from headlight.analysis import MeasureSettings, WordSettings
from headlight.catalogue import Study
from headlight.settings import UNLISTED, AtLeast0, AtLeast1, Settings

Candidates = Literal["mentions", "words"]
SieveName = Literal["string", "head", "agreement", "anything"]


@dataclass(frozen=True, kw_only=True)
class TaskSettings(Settings):
    """Settings of which mentions are evaluated and may be picked, as the paper leaves open.

    Attributes:
        singletons: whether mentions that are alone in their chain may be picked; OntoNotes, which
            the paper used, has none.
        nested: whether a mention may be picked for one that it contains or that contains it:
            ``include`` (*his* for *his wife*), or ``exclude``.
        evaluated: mentions with an antecedent in the window (``resolvable``), or also those whose
            antecedents are all outside, which nobody can get right (``all``).
        head_word: the head word that the corpus gives, mostly by its parse (``annotated``), or the
            ``last`` word of the mention.
        sieves: the sieves of the rule-based baseline, in order.
        head_match_otherwise: what the baseline *head match* picks where no head word matches:
            ``nothing``, which is wrong, or the ``nearest`` mention.
    """

    singletons: Annotated[bool, UNLISTED] = False
    nested: Annotated[Literal["include", "exclude"], UNLISTED] = "include"
    evaluated: Annotated[Literal["resolvable", "all"], UNLISTED] = "resolvable"
    head_word: Annotated[Literal["annotated", "last"], UNLISTED] = "annotated"
    sieves: Annotated[tuple[SieveName, ...], UNLISTED] = get_args(SieveName)
    head_match_otherwise: Annotated[Literal["nothing", "nearest"], UNLISTED] = "nothing"


@dataclass(frozen=True, kw_only=True)
class CoreferenceSettings(TaskSettings, MeasureSettings, WordSettings):
    """Everything that the result depends on besides model, loss and corpus.

    What concerns the mentions themselves is in `TaskSettings`.

    Attributes:
        kind: which attention; by default the first that the model has. Cross-attention goes from
            one text to another, and an antecedent is in the same.
        max_examples: stop after this many.
        max_length: tokens of a document or window at most, special ones included; by default what
            the model takes, at most 512 (Clark et al. 2019, footnote 4: 128).
        overlap: by default documents are cut off at the largest length, as in the paper; with a
            number, the whole document is read in windows that share this many words, where each
            mention is evaluated once, in the window that shows most of the text before it.
        candidates: what a head may pick: the head words of other mentions (``mentions``, which puts
            it on a par with the baselines), or all other ``words`` of the window.
        preceding: pick only among what comes before the mention.
        sentences: keep for each kind of mention a stretch of text in which the best head finds
            antecedents, for the report; leave it out where texts are private.
        seed: of what a loss draws at random.
    """

    kind: Literal["encoder", "decoder"] | None = None
    max_examples: AtLeast1 | None = None
    max_length: AtLeast1 | None = None
    overlap: AtLeast0 | None = None
    candidates: Candidates = "mentions"
    preceding: Annotated[bool, UNLISTED] = True
    sentences: bool = True
    seed: AtLeast0 = 0

    def check_source(self, source: str | None) -> None:
        """The first document is read."""
        from headlight_papers.corpora import open_coreference

        next(iter(open_coreference(str(source))))


STUDY = Study(
    name="coreference",
    title="heads as resolvers of coreference",
    question="how well single heads find antecedents of mentions",
    papers="Clark et al. 2019, Section 4.3",
    reads="coreference",
    settings=CoreferenceSettings,
    examples=(
        ("litbank/conll/", ""),
        ("ontonotes/ --model bert-base-uncased --overlap 32", "whole documents, in windows"),
    ),
    order=10,
)
