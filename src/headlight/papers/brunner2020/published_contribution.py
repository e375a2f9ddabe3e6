"""What Section 5 and Appendix C of Brunner et al. (2020) report, on MRPC and BERT-base.

Layers from 1; shares in percent.
"""

LAYERS = 12

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
"""How the sentence begins whose tokens are tracked in Figures 19 to 25."""

TRACKED_WORDS = ("he", "said", "fit", "long", "strategy")
"""The words that are tracked, between [CLS] and the first [SEP]."""
