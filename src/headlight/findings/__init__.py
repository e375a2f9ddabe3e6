"""Findings of a survey, in plain words.

Every sentence is computed from the numbers of the result alone; no two say the same thing.
"""

from headlight.findings.estimates import (
    average,
    category_label,
    name_of,
    observed,
    occurs,
    out_of_reach,
    share,
    surveyed,
    unit_of_keys,
)
from headlight.findings.head_ranking import head_scores, heads, mean_shares, no_op, weight_and_norm
from headlight.findings.piece_text import (
    PieceText,
    labels_of,
    piece_text,
    pieces_of,
    token_labels,
    token_place,
)
from headlight.findings.sentences import Highlight, highlights
from headlight.findings.statistics import (
    Attended,
    Passage,
    equal_layers,
    equal_to_weight,
    passage_of,
)
from headlight.findings.what_was_read import WhatWasRead, what_was_read

__all__ = [
    "Attended",
    "Highlight",
    "Passage",
    "PieceText",
    "WhatWasRead",
    "average",
    "category_label",
    "equal_layers",
    "equal_to_weight",
    "head_scores",
    "heads",
    "highlights",
    "labels_of",
    "mean_shares",
    "name_of",
    "no_op",
    "observed",
    "occurs",
    "out_of_reach",
    "passage_of",
    "piece_text",
    "pieces_of",
    "share",
    "surveyed",
    "token_labels",
    "token_place",
    "unit_of_keys",
    "weight_and_norm",
    "what_was_read",
]
