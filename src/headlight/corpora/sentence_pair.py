"""Two sentences that belong together, or a single one, and what was said of them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SentencePair:
    """One example of a task that judges sentences or pairs of sentences.

    Attributes:
        name: Where it is from, for messages: ``"dev.tsv:12"`` or ``"hf:glue:mrpc[3]"``.
        first: The first sentence, or the premise; stripped and not empty.
        second: The second sentence, or the hypothesis; None where there is only one.
        label: As the source writes it; None where it has none, or says that there is none.
    """

    name: str
    first: str
    second: str | None
    label: str | None
