"""Findings of a survey, in plain words.

Every sentence is computed from the numbers of the result alone; no two say the same thing.
"""

from headlight.findings.category_shares import occurs, out_of_reach, share
from headlight.findings.equal_measures import equal_layers, equal_to_weight
from headlight.findings.estimates import average
from headlight.findings.head_ranking import head_scores, heads
from headlight.findings.heads_with_sinks import sink_kinds
from headlight.findings.no_op_heads import no_op
from headlight.findings.passages import Attended, Passage, passage_of
from headlight.findings.phrases import category_label, name_of, unit_of_keys
from headlight.findings.piece_text import PieceText, piece_text
from headlight.findings.survey_highlights import Highlight, highlights
from headlight.findings.token_names import labels_of, pieces_of, token_labels, token_place
from headlight.findings.variables import observed, surveyed
from headlight.findings.weight_and_norm_shares import mean_shares, weight_and_norm
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
    "sink_kinds",
    "surveyed",
    "token_labels",
    "token_place",
    "unit_of_keys",
    "weight_and_norm",
    "what_was_read",
]
