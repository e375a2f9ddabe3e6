"""Baselines that know nothing but positions."""

import torch
from jaxtyping import Int64
from torch import Tensor

from headlight.corpora import ROOT
from headlight.studies.dependency.gold import Gold
from headlight.studies.dependency.predictions import NOTHING
from headlight.studies.dependency.settings import Offsets

OFFSETS: dict[Offsets, tuple[int, ...]] = {
    "notebook": (-3, -2, -1, 0, 1, 2),
    "strict": (-5, -4, -3, -2, -1, 1, 2, 3, 4, 5),
}
"""Places relative to the dependent; positive is to its right."""


def by_offset(gold: Gold, offsets: Offsets) -> Int64[Tensor, "batch offset word"]:
    """The word at a fixed distance from each word (Clark et al. 2019, Section 4.2 and Table 1).

    As in the authors' ``notebook``, a place before the first word stands for the root, and one
    behind the last for the last word.  ``strict``, such a place is no prediction.
    """
    words = torch.arange(gold.governor.shape[1], device=gold.governor.device)
    shift = torch.tensor(OFFSETS[offsets], device=words.device)
    place = (words + shift[:, None]).expand(len(gold.lengths), -1, -1)
    last = (gold.lengths - 1)[:, None, None]
    if offsets == "notebook":
        return place.clamp(min=ROOT - 1).minimum(last)
    return place.where((place >= 0) & (place <= last), NOTHING)


def right_branching(gold: Gold) -> Int64[Tensor, "batch 1 word"]:
    """Every word is governed by the next, and the last word is the root (Section 5, Table 3).

    What Section 4.2 calls by this name is the offset +1, which differs in the last word.
    """
    words = torch.arange(gold.governor.shape[1], device=gold.governor.device)
    last = (gold.lengths - 1)[:, None]
    return torch.where(words < last, words + 1, ROOT - 1)[:, None]
