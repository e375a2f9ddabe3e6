"""Attention that is given to a model and comes from none: uniform, and every word to itself."""

from typing import Literal

import torch

from headlight.papers.yang2020.tagger import HEADS
from headlight.papers.yang2020.tagging_data import TagBatch
from headlight.training.outputs import Attention

Plain = Literal["uniform", "identity"]
Guide = Literal["base", "adversary", "uniform", "identity"]
"""Where the attention comes from that a model is given."""


def plain_attention(batch: TagBatch, guide: Plain) -> Attention:
    """The same weights in all heads; what is padding gets none."""
    length = batch.words.shape[1]
    if guide == "identity":
        weight = torch.eye(length).expand(len(batch.words), -1, -1)
    else:
        weight = (batch.real / batch.real.sum(-1, keepdim=True))[:, None].expand(-1, length, -1)
    return weight[:, None].expand(-1, HEADS, -1, -1)
