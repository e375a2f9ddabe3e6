"""How far measures agree on which words of a text matter."""

from dataclasses import dataclass
from typing import Annotated

from headlight.analysis.settings import RANDOM, LossOfWord, Removal, WordImportanceSettings
from headlight.catalogue import Study
from headlight.settings import Range


@dataclass(frozen=True, kw_only=True)
class AgreementSettings(WordImportanceSettings):
    """Everything that the result depends on besides model and texts.

    Attributes:
        measures: which measures are compared with each other: of attention ``weight``, ``norm`` and
            ``effective``; ``attribution``, what input tokens contribute to hidden ones, which is
            slow; ``gradient_input``, the gradient of the probability times the embedding; and
            ``leave_one_out``, how the probability changes without the word. Random numbers stand
            beside them.
        removal: how a word is left out: its pieces are left out (``delete``), become the ``mask``
            token, or cannot be attended to (``attention``).
        signed: words that speak against the prediction come last by gradients and leaving one out;
            by default their sizes are compared, as attention has no sign (Jain and Wallace 2019).
        attention_fixed: gradients with the weights of attention held fixed in all layers, as in
            Jain and Wallace: what a token does by changing the weights does not count.
        lost: what leaving a word out is measured by: what the probability of the ``chosen`` class
            loses, or the total variation distance of the predictions (``tvd``), as Jain and Wallace
            have it. Of two classes the sizes are the same.
        top: the most important words, whose overlap is counted, are this share of the words of a
            text, rounded up.
    """

    removal: Removal = "delete"
    signed: bool = False
    attention_fixed: bool = False
    lost: LossOfWord = "chosen"
    top: Annotated[float, Range(above=0, maximum=1)] = 0.1

    @property
    def compared(self) -> tuple[str, ...]:
        """All that are compared, random numbers last."""
        return (*self.measures, RANDOM)


STUDY = Study(
    name="agreement",
    title="which measures agree on the words that matter",
    question="how far measures put the words of a text in the same order",
    papers="Jain and Wallace 2019, Section 4.1",
    reads="labelled",
    settings=AgreementSettings,
    examples=(
        ("reviews.tsv --model ./my-classifier --max-examples 200", ""),
        ("reviews.tsv --model ./my-classifier --attention-fixed --lost tvd", "as in the paper"),
        ("reviews.tsv --model ./my-classifier --measures weight,attribution --rows first", ""),
    ),
    smallest={"bootstrap": 2},
    order=15,
    no_sentence="it compares orders of all words of a text, and not what a head looks at",
)
