"""Heads as resolvers of coreference (Clark et al. 2019, Section 4)."""

from dataclasses import dataclass
from typing import Literal, get_args

from headlight.catalogue import Study
from headlight.settings import AtLeast0, AtLeast1, Common, Settings
from headlight.study_settings.measures import MeasureSettings
from headlight_words.settings import WordSettings
from headlight_words.sources import COREFERENCE

Candidates = Literal["mentions", "words"]
SieveName = Literal["string", "head", "agreement", "anything"]


@dataclass(frozen=True, kw_only=True)
class TaskSettings(Settings):
    """Settings of evaluated mentions and of candidates, which the paper leaves open.

    Attributes:
        singletons: allow mentions that are alone in their chain as candidates; OntoNotes, which the
            paper used, has none.
        nested: nested mentions as candidates: ``include`` (*his* for *his wife*), or ``exclude``.
        evaluated: evaluated mentions: those with an antecedent in the window (``resolvable``), or
            also those whose antecedents are all outside, which cannot be resolved (``all``).
        head_word: head word of a mention: the one ``annotated`` in the corpus, or the ``last``
            word.
        sieves: sieves of the rule-based baseline, in their order.
        head_match_otherwise: prediction of the baseline *head match* if no head word matches:
            ``nothing``, which counts as an error, or the ``nearest`` mention.
    """

    singletons: bool = False
    nested: Literal["include", "exclude"] = "include"
    evaluated: Literal["resolvable", "all"] = "resolvable"
    head_word: Literal["annotated", "last"] = "annotated"
    sieves: tuple[SieveName, ...] = get_args(SieveName)
    head_match_otherwise: Literal["nothing", "nearest"] = "nothing"


@dataclass(frozen=True, kw_only=True)
class CoreferenceSettings(TaskSettings, MeasureSettings, WordSettings):
    """Everything that the result depends on besides model, loss and corpus.

    Settings of the mentions themselves are in `TaskSettings`.

    Attributes:
        kind: kind of attention; by default the first that the model has. Not cross-attention, since
            an antecedent is in the same text.
        max_examples: maximal number of examples.
        max_length: maximal number of tokens of a document or window, special ones included; by
            default that of the model, at most 512 (Clark et al. 2019, footnote 4: 128).
        overlap: words that consecutive windows of a document share; each mention is evaluated once,
            in the window with most text before it. By default documents are truncated at the
            maximal length, as in the paper.
        candidates: candidates of a head: the head words of other ``mentions``, as for the
            baselines, or all other ``words`` of the window.
        preceding: allow only candidates before the mention.
        sentences: keep an example passage for each kind of mention, for the report; switch it off
            for private texts.
        seed: random seed of the loss.
    """

    kind: Common[Literal["encoder", "decoder"] | None] = None
    max_examples: Common[AtLeast1 | None] = None
    max_length: Common[AtLeast1 | None] = None
    overlap: Common[AtLeast0 | None] = None
    candidates: Common[Candidates] = "mentions"
    preceding: bool = True
    sentences: bool = True
    seed: AtLeast0 = 0

    def check_source(self, source: str | None) -> None:
        """Read the first document, so that a faulty one is refused at once."""
        from headlight_words.corpora import open_coreference

        next(iter(open_coreference(str(source), format=self.format)))


STUDY = Study(
    name="coreference",
    title="heads as resolvers of coreference",
    question="evaluate single heads at finding antecedents of mentions",
    papers="Clark et al. 2019, Section 4.3",
    source=COREFERENCE,
    settings=CoreferenceSettings,
    examples=(
        ("litbank/conll/", ""),
        ("ontonotes/ --model bert-base-uncased --overlap 32", "whole documents, in windows"),
    ),
    order=10,
)
