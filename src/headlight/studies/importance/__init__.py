"""How much the loss depends on attention (Clark et al. 2019, Section 3.2)."""

from dataclasses import dataclass

from headlight.analysis.settings import TextSettings
from headlight.catalogue import Study


@dataclass(frozen=True, kw_only=True)
class ImportanceSettings(TextSettings):
    """What the importance of attention depends on, besides model, corpus and objective."""

    @property
    def required_head(self) -> str:
        """That of a language model, for a loss."""
        return "language_model"


STUDY = Study(
    name="importance",
    title="what attention the loss depends on",
    question="how much the loss depends on attention",
    papers="Clark et al. 2019, Section 3.2",
    reads="text",
    settings=ImportanceSettings,
    examples=(
        ("wiki/ --pairs --max-examples 992", "as Clark did"),
        ("wiki/ --model gpt2 --max-length 128", ""),
    ),
    order=5,
    no_sentence="it sums gradients by kind of token over a whole corpus, and keeps none of a text",
)
