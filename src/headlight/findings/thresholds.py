"""Thresholds by which something is said of a model: one table for surveys and reproductions.

The papers give no such rules; these are ours.  What a sentence or a verdict claims is true of the
numbers beside it by one of them, so that two places cannot judge the same numbers differently.
"""

from headlight.findings.candidates import MOST as MOST

RETRIEVES = 0.1
"""A head that copies more than this share of a needle's tokens retrieves (Wu et al. 2024)."""

USED = 2.0
"""An answer rests on a passage without which it is at least so many times less likely; and on that
alone where it is so many times less likely than without any other."""

FAR_BELOW = 0.5
"""Largest ratio to the share of the weight at which another share is far below it."""

OPEN = 0.5
"""An interval wider than this part of the largest possible range says nothing."""

NEARLY_ALL = 0.9
"""Share of the first token above which what a head gives to others is not spoken of."""

BROAD, VERY_BROAD, NARROW = 0.75, 0.9, 0.5
"""Shares of the entropy of uniform attention: a head above the first is broad, above the second
nearly uniform, and below the third narrow."""

NATS_APART = 0.3
"""Two entropies differ if they are so far apart."""

PARTICULAR = 0.3
"""A head is one for particular tokens if what they get is this many nats from their frequency."""

UNREACHED = 0.01
"""Weight that cannot reach the output is spoken of if it is at least so much, on average."""

CORRELATION_APART, FEWEST_TEXTS = 0.05, 3
"""Correlations of short and long texts differ if they are so far apart, each of this many texts."""

VARIES = 0.1
"""Lengths vary if their coefficient of variation is at least so much, on average over heads."""

RELATED = 0.1
"""Ranks are related if |ρ| is at least so much."""

UNCHANGED = 10.0
"""Outputs are the same if they change by at most this many times what rounding changes."""

IDENTIFIED = 0.8
"""Tokens mostly keep their identity if at least this share of them is found."""

FEW_EXAMPLES = 20
"""Fewer examples say little of a corpus, which is said above all findings."""

FEW_MENTIONS, FEWEST_DOCUMENTS = 100, 5
"""Mentions below which the best head is picked by chance as well; documents below which there is no
interval."""

OF_THE_REST = 0.25
"""A classifier is near the most frequent class if it finds less than this share of what that class
alone leaves wrong."""


def is_near_majority(accuracy: float, low: float, majority: float) -> bool:
    """Return whether a classifier is hardly better than always predicting the most frequent class.

    Args:
        accuracy: Share of correct predictions.
        low: Lower end of the interval of the accuracy; NaN where there is none.
        majority: Share of the most frequent class.
    """
    hardly_more = accuracy - majority < OF_THE_REST * (1 - majority)
    return hardly_more or low <= majority or majority == 1
