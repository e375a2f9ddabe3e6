"""Governors predicted from attention or from positions alone, and how often they are right."""

from typing import Final

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from headlight.corpora import ROOT
from headlight.studies.dependency import Offsets
from headlight.studies.dependency.gold import Gold

DIRECTIONS: Final = ("dependent", "head")
"""Who attends: the dependent to its head word, or the head word to its dependent."""
NOTHING = -2
"""No prediction; it is never right."""

OFFSETS: dict[Offsets, tuple[int, ...]] = {
    "notebook": (-3, -2, -1, 0, 1, 2),
    "strict": (-5, -4, -3, -2, -1, 1, 2, 3, 4, 5),
}
"""Places of the baselines relative to the dependent; positive is to its right."""

WordScore = Float[Tensor, "batch head word word"]
"""A measure between words: the attending word first, the attended one second."""
Pairs = Bool[Tensor, "batch word word"]
"""Whether a word (first) may be asked about another (second)."""


def candidates(present: Bool[Tensor, "batch word"]) -> Pairs:
    """All pairs of two different words that are there."""
    itself = torch.eye(present.shape[1], dtype=torch.bool, device=present.device)
    return present[:, :, None] & present[:, None, :] & ~itself


def predict(score: WordScore, allowed: Pairs) -> Int64[Tensor, "batch head direction word"]:
    """The governor that each head predicts for each word (Clark et al. 2019, Section 4.2).

    By ``dependent`` it is the word that word i attends to most, the largest of row i; by ``head``
    the word that attends most to word i, the largest of column i.  Scores are compared as they are,
    with their sign; of equal ones the first counts.

    Args:
        score: What goes from word to word.
        allowed: Where a prediction may be; a word with no such place gets `NOTHING`.
    """
    within = score.masked_fill(~allowed[:, None], -torch.inf)
    found = torch.stack([within.argmax(-1), within.argmax(-2)], dim=2)
    possible = torch.stack([allowed.any(-1), allowed.any(-2)], dim=1)[:, None]
    return found.where(possible, NOTHING)


def predict_by_offset(gold: Gold, offsets: Offsets) -> Int64[Tensor, "batch offset word"]:
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


def predict_right_branching(gold: Gold) -> Int64[Tensor, "batch 1 word"]:
    """Every word is governed by the next, and the last word is the root (Section 5, Table 3).

    What Section 4.2 calls by this name is the offset +1, which differs in the last word.
    """
    words = torch.arange(gold.governor.shape[1], device=gold.governor.device)
    last = (gold.lengths - 1)[:, None]
    return torch.where(words < last, words + 1, ROOT - 1)[:, None]


def is_correct(
    prediction: Int64[Tensor, "batch *any word"], gold: Gold
) -> Bool[Tensor, "batch *any word"]:
    """Whether each predicted governor is the gold one.

    A possessor before *'s* takes the prediction made for the *'s*, unless its own is the last word
    of the sentence: the exception is in the authors' code, though not in their text.
    """
    spread = (slice(None), *(None,) * (prediction.ndim - 2))
    governor = gold.governor[spread]
    direct = prediction == governor
    if not gold.any_possessor:
        return direct
    last = (gold.lengths - 1)[spread][..., None]
    by_clitic = gold.possessor[spread] & (prediction != last)
    return torch.where(by_clitic, prediction.roll(-1, dims=-1) == governor, direct)


def count_by_relation(
    found: Bool[Tensor, "batch *any word"], gold: Gold
) -> Float[Tensor, "batch *any relation"]:
    """Count how often each relation was found, by sentence; words not evaluated count for none."""
    flat = found.flatten(1, -2).to(gold.members.dtype) @ gold.members
    return flat.reshape(*found.shape[:-1], gold.relations)
