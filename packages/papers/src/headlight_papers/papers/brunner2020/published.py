"""The numbers of *On Identifiability in Transformers* (Brunner et al. 2020), as printed.

BERT-base (uncased), heads of 64 dimensions; layers from 1; shares in percent.  The figures are
given without tables, so that little can be compared but what is said.  Sections 4 and 5 are on MRPC
where no set is named, Section 3 on the Wikipedia samples of Clark et al. of at most 128 tokens.
"""

from typing import NamedTuple

SOURCE = "Brunner et al. (2020)"


class PublishedSet(NamedTuple):
    """Development set of sentences or pairs, with its size and its lengths in tokens."""

    examples: int
    shortest: int
    longest: int
    mean: int


PAIR_SETS = {
    "mrpc": PublishedSet(408, 26, 92, 58),
    "cola": PublishedSet(1043, 5, 35, 11),
    "mnli": PublishedSet(4000, 6, 128, 39),
}
"""All 408 of MRPC (21,723 tokens, though 408 of 58 tokens would have 23,664), all of CoLA, and the
first 4,000 of MNLI-matched (155,964 tokens); Section 4 and Appendix D."""

MNLI_IDENTITY_EXAMPLES = 500
"""Examples of MNLI whose tokens are identified (19,839, Figure 39); all others are attributed."""

# Section 3 and Appendix A

HEAD_DIM = 64
"""d_v."""

SHORT_CORRELATION = 1.0
"""Correlation of raw and effective attention in texts of fewer tokens than d_v (Section 3.5)."""

EXAMPLE_LAYER = 4
"""Layer of the head in Figure 6, from 1."""

# Section 4, Appendices B and D.1

LAYERS = 12

LINEAR_COSINE_LAST = 93.0
"""Identifiability rate of the last layer with a linear map and cosine distance (Section 4.1)."""

TRAINED_LAST = 94.0
"""Rate of the same map, trained and tested on the last layer (Section 4.1, Figure 2b)."""

TRAINED_FIRST_BELOW = 70.0
"""Upper bound of the rate of layer 1's linear map (cosine distance) in layers 11 and 12."""

FRACTIONS = {0.5: 74.0, 0.8: 80.0, 0.9: 81.0, 1.0: 82.0}
"""Rates of an MLP with the L2 loss on layer 11, by share of training data (Appendix B.2)."""

FRACTIONS_LAYER = 11

CHANCE = {"mrpc": 1.7, "cola": 9.0, "mnli": 2.6}
"""Random guessing: one over the average length (Appendix D.1)."""

# Section 5 and Appendix C

OWN_MEDIANS = {1: 30.6, 6: 14.4, 12: 10.7}
"""Median contribution of a token to the hidden token in its own place (Figure 3a)."""

NOT_LARGEST = {1: 0.0, 2: 0.0, 3: 0.0, 6: 18.0, 11: 30.0, 12: 30.0}
"""Share of tokens that are not the largest contributor to their own hidden token (Figure 3b)."""

NEAREST = (-1, 1)
"""Relative positions that contribute most, in every layer (Figure 4b), and to [CLS] around the
first [SEP] (Figure 18b)."""

FIRST_LAYER_REST, FIRST_LAYER_CLASS = 35.0, 40.0
"""In the first layer the median own contribution is below the first of these for all parts of
speech, and above the second for [CLS] (Figure 26)."""

TRACKED_PAIR = "he said the foodservice pie business doesn't fit"
"""Beginning of the sentence whose tokens are tracked in Figures 19 to 25."""

TRACKED_WORDS = ("he", "said", "fit", "long", "strategy")
"""Tracked words, between [CLS] and the first [SEP]."""
