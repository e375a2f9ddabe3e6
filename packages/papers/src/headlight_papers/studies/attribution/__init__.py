"""Contributions of input tokens to hidden ones (Brunner et al. 2020, Section 5)."""

from dataclasses import dataclass, field
from typing import Literal

from headlight.catalogue import TEXT, Study
from headlight.errors import UsageError, setting
from headlight.settings import AtLeast0, AtLeast1, Common
from headlight.settings.attribution import AttributionSettings
from headlight.study_settings.texts import TextSettings
from headlight.vocabulary import Kind


@dataclass(frozen=True, kw_only=True)
class AttributionStudySettings(TextSettings):
    """Settings of a study of attribution; its result depends on all of them.

    Attributes:
        kind: stack whose hidden tokens are analysed; by default the first that the model has.
        attribution: computation of contributions.
        reach: largest relative position, before and after a token, that is reported separately.
        tags: parts of speech by which pieces of words are grouped: ``upos`` or ``xpos`` of
            treebank sentences; None for texts without tags.
        exact: number of examples that are also computed exactly, in some 20 times the time, to
            measure the error of the estimate; 0 for none.
        exact_tokens: maximal length of the examples computed exactly, in tokens; time grows with
            its square.
    """

    kind: Common[Kind | None] = None
    attribution: AttributionSettings = field(default_factory=AttributionSettings)
    reach: AtLeast1 = 64
    tags: Literal["upos", "xpos"] | None = None
    exact: Common[AtLeast0] = 2
    exact_tokens: AtLeast1 = 40

    def check_command(self) -> None:
        """Refuse parts of speech, since only sentences given in Python have them."""
        if self.tags is not None:
            raise UsageError(
                "parts of speech are known of treebank sentences, and a command reads text; leave "
                f"out {setting('tags')}, or give the sentences to its function in Python."
            )


STUDY = Study(
    name="attribution",
    title="contributions of input tokens to hidden tokens",
    question="attribute each hidden token to its own input token and to the others",
    papers="Brunner et al. 2020, Section 5",
    source=TEXT,
    settings=AttributionStudySettings,
    examples=(
        ("wiki/ --max-examples 50 --max-length 64", ""),
        ("msr_paraphrase_test.txt --format pairs --max-examples 100", "as Brunner did"),
    ),
    smallest={"exact": 2, "attribution": {"directions": 2}, "max_length": 16},
    order=3,
)
