"""Heads as parsers (Clark et al. 2019, Section 4)."""

from dataclasses import dataclass
from typing import Annotated, Literal

from headlight.analysis import MeasureSettings, SentenceSettings
from headlight.catalogue import Study
from headlight.settings import UNLISTED, AtLeast0, AtLeast1

Relations = Literal["full", "base"]
Possessive = Literal["clark", "strict"]
Offsets = Literal["notebook", "strict"]


@dataclass(frozen=True, kw_only=True)
class DependencySettings(MeasureSettings, SentenceSettings):
    """Everything that the result depends on besides model, loss and treebank.

    Attributes:
        kind: which attention; by default the first that the model has. Cross-attention goes from
            one text to another, and a dependency is within one.
        max_examples: stop after this many.
        relations: ``full`` names, or the ``base`` before the colon of Universal Dependencies.
        possessive: for a possessor before *'s*, the prediction made for the *'s* counts
            (``clark``), or the possessor's own, as for all other words (``strict``).
        offsets: the distances of the baselines: −3 … 2, clipped to the sentence, as in the authors'
            ``notebook``, or −5 … 5 without 0, where a place outside the sentence is no prediction
            (``strict``).
        seed: which words are hidden where the ``gradient`` is that of a masked language model.
        sentences: keep for each relation a sentence in which its best head finds it, for the
            report; leave it out where texts are private.
    """

    kind: Literal["encoder", "decoder"] | None = None
    max_examples: AtLeast1 | None = None
    relations: Annotated[Relations, UNLISTED] = "full"
    possessive: Annotated[Possessive, UNLISTED] = "clark"
    offsets: Offsets = "notebook"
    seed: AtLeast0 = 0
    sentences: bool = True


STUDY = Study(
    name="dependency",
    title="heads as parsers",
    question="how well single heads find the governors of words",
    papers="Clark et al. 2019, Section 4.2",
    reads="treebank",
    settings=DependencySettings,
    examples=(
        ("en_ewt-ud-dev.conllu", ""),
        ("ptb.conllx --model bert-base-uncased --measures weight,norm", ""),
    ),
    order=9,
)
