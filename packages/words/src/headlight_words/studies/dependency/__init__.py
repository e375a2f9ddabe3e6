"""Heads as parsers (Clark et al. 2019, Section 4)."""

from dataclasses import dataclass
from typing import Literal

from headlight.catalogue import Study
from headlight.settings import AtLeast0, AtLeast1, Common
from headlight.study_settings.measures import MeasureSettings
from headlight_words.settings import SentenceSettings
from headlight_words.sources import TREEBANK

Relations = Literal["full", "base"]
Possessive = Literal["clark", "strict"]
Offsets = Literal["notebook", "strict"]


@dataclass(frozen=True, kw_only=True)
class DependencySettings(MeasureSettings, SentenceSettings):
    """Everything that the result depends on besides model, loss and treebank.

    Attributes:
        kind: kind of attention; by default the first that the model has. Not cross-attention, since
            a dependency is within one text.
        max_examples: maximal number of examples.
        relations: names of relations: ``full`` names, or the ``base`` before the colon of Universal
            Dependencies.
        possessive: prediction for a possessor before *'s*: that of the *'s* (``clark``), or the
            possessor's own, as for all other words (``strict``).
        offsets: offsets of the baselines: −3 … 2, clipped to the sentence, as in the authors'
            ``notebook``, or −5 … 5 without 0, with no prediction outside the sentence (``strict``).
        seed: random seed of masked words, for the ``gradient`` of a masked language model.
        sentences: keep an example sentence for each relation, for the report; switch it off for
            private texts.
    """

    kind: Common[Literal["encoder", "decoder"] | None] = None
    max_examples: Common[AtLeast1 | None] = None
    relations: Common[Relations] = "full"
    possessive: Possessive = "clark"
    offsets: Offsets = "notebook"
    seed: AtLeast0 = 0
    sentences: bool = True


STUDY = Study(
    name="dependency",
    title="heads as parsers",
    question="evaluate single heads at finding the governors of words",
    papers="Clark et al. 2019, Section 4.2",
    source=TREEBANK,
    settings=DependencySettings,
    examples=(
        ("en_ewt-ud-dev.conllu", ""),
        ("ptb.conllx --model bert-base-uncased --measures weight,norm", ""),
    ),
    order=9,
)
