"""What *On Identifiability in Transformers* (Brunner et al. 2020) says of its data, as printed."""

from typing import NamedTuple


class PairSet(NamedTuple):
    """A development set of sentences or pairs (Section 4 and Appendix D).

    Attributes:
        title: Its name.
        examples: How many there are.
        shortest: Tokens of the shortest example.
        longest: Tokens of the longest.
        mean: Tokens of an example on average.
    """

    title: str
    examples: int
    shortest: int
    longest: int
    mean: int


PAIR_SETS = {
    "mrpc": PairSet("MRPC", 408, 26, 92, 58),
    "cola": PairSet("CoLA", 1043, 5, 35, 11),
    "mnli": PairSet("MNLI-matched", 4000, 6, 128, 39),
}
"""All 408 of MRPC (21,723 tokens), all of CoLA, and the first 4,000 of MNLI (155,964 tokens)."""

MNLI_IDENTITY_EXAMPLES = 500
"""Of MNLI, whose tokens are identified (19,839 tokens, Figure 39); all others are attributed."""

MRPC_ERRATUM = (
    "The paper gives MRPC 58 tokens on average and 21,723 in all; 408 examples of 58 tokens would "
    "have 23,664."
)
