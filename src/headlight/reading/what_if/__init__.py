"""Predictions of a model for one text that is read with other attention.

`what_if` compares the predictions of a model with and without edits of its attention, and says
which later heads attend otherwise.  `each_head_removed` removes every head in turn.
"""

from headlight.reading.what_if.compare import WhatIf, what_if
from headlight.reading.what_if.edits import CHANGES, Change, Edit, edits_of
from headlight.reading.what_if.heads import HeadEffect, each_head_removed

__all__ = [
    "CHANGES",
    "Change",
    "Edit",
    "HeadEffect",
    "WhatIf",
    "each_head_removed",
    "edits_of",
    "what_if",
]
