"""Contributions of input tokens to hidden ones (Brunner et al. 2020, Section 5)."""

from dataclasses import dataclass, field
from typing import Annotated, Literal

from headlight.analysis import TextSettings
from headlight.catalogue import Study
from headlight.errors import UsageError
from headlight.settings import UNLISTED, AtLeast0, AtLeast1
from headlight.settings.flow import AttributionSettings
from headlight.vocabulary import Kind


@dataclass(frozen=True, kw_only=True)
class AttributionStudySettings(TextSettings):
    """Settings of a study of attribution; its result depends on all of them.

    Attributes:
        kind: the hidden tokens of which stack; by default the first that the model has.
        attribution: how contributions are computed.
        reach: relative positions are told apart from this many before a token to this many after
            it.
        tags: tell tokens apart by part of speech: ``upos`` or ``xpos`` of treebank sentences; None
            for texts without.
        units: what has a part of speech: the ``pieces`` of a word each on its own, or whole
            ``words``, of which contributions are the mean over the pieces of the hidden word and
            the sum over those of the input word.
        exact: this many examples are also computed exactly, to say how good the estimate is;
            nothing where all are exact, and 0 leaves it out.
        exact_tokens: those are the first of at most this many tokens: what is exact takes a time
            that grows with the square of the length.
    """

    kind: Kind | None = None
    attribution: AttributionSettings = field(default_factory=AttributionSettings)
    reach: Annotated[AtLeast1, UNLISTED] = 64
    tags: Annotated[Literal["upos", "xpos"] | None, UNLISTED] = None
    units: Annotated[Literal["pieces", "words"], UNLISTED] = "pieces"
    exact: AtLeast0 = 20
    exact_tokens: Annotated[AtLeast1, UNLISTED] = 40

    def check_command(self) -> None:
        """Parts of speech are those of sentences that only Python can give."""
        if self.tags is not None:
            raise UsageError(
                "parts of speech are known of treebank sentences, and a command reads text; leave "
                "out --tags, or give the sentences to headlight.attribution."
            )


STUDY = Study(
    name="attribution",
    title="what input tokens contribute to hidden ones",
    question="how much of a hidden token is its own input token, and how much comes from others",
    papers="Brunner et al. 2020, Section 5",
    reads="text",
    settings=AttributionStudySettings,
    examples=(
        ("wiki/ --max-examples 50 --max-length 64", ""),
        ("msr_paraphrase_test.txt --format pairs --max-examples 100", "as Brunner did"),
    ),
    smallest={"exact": 2, "attribution": {"directions": 2}, "max_length": 16},
    order=3,
    no_sentence="it speaks of hidden tokens, into which all heads of a layer have gone together",
)
