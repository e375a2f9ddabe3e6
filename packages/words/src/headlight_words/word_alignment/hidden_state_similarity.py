"""Links of words whose hidden states are similar, as SimAlign and awesome-align make them.

All matrices are between units, words or pieces, of a target (rows) and of its source (columns).

Sources: Jalili Sabet et al. (2020), and their SimAlign 0.4; Dou and Neubig (2021), and their
awesome-align 0.1.7.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int64
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from headlight.capture.hidden_states import States
from headlight.encode.batch import Batch
from headlight.pool import Words
from headlight.tensors import double, single
from headlight_words.word_alignment import Extraction, SimilaritySettings

Similarity = Float[Tensor, "batch target source"]
UnitLinks = Bool[Tensor, "batch target source"]

DAMPING = 0.9
"""Factor of similarities with a unit that has a link already (α of Jalili Sabet et al.)."""
SHORT = 2
"""Units of the shorter side up to which ``itermax`` has its first links alone, as in SimAlign."""


@dataclass(frozen=True, eq=False)
class Units:
    """Units on one side of a batch, words or pieces, that are linked.

    Attributes:
        states: Hidden state of every unit; that of a word is the mean of its pieces.
        real: Mask of real units: special tokens and padding are none.
        members: Matrix of 1 where a unit is a word, or a piece of it.
    """

    states: Float[Tensor, "batch unit size"]
    real: Bool[Tensor, "batch unit"]
    members: Float[Tensor, "batch word unit"]

    @classmethod
    def from_batch(cls, states: States, batch: Batch, unit: str | None) -> "Units":
        """Return the units of a batch.

        Args:
            states: Hidden states of its tokens.
            batch: Batch of texts.
            unit: Unit of linking: ``word``, or ``piece`` (also by default).
        """
        words, unit_mask = Words.of(batch.word), batch.word >= 0
        # States of padding may be anything, and 0 times NaN would be NaN.
        real = single(states).masked_fill(~unit_mask[..., None], 0)
        if unit != "word":
            return cls(real, unit_mask, words.members)
        shares = words.members / words.count[..., None].clamp_min(1)
        itself = torch.eye(words.width, device=real.device).expand(len(real), -1, -1)
        return cls(shares.to(real.dtype) @ real, words.present, itself)


@dataclass(frozen=True, eq=False)
class SentencePairs:
    """The units of both sides of a batch of translations."""

    source: Units
    target: Units

    @property
    def real(self) -> UnitLinks:
        """Return the mask of pairs where both units are real."""
        return self.target.real[:, :, None] & self.source.real[:, None]

    def links_of_words(self, links: UnitLinks) -> Bool[Tensor, "batch target_word source_word"]:
        """Return the words of which some pieces are linked."""
        joined = self.target.members @ links.float() @ self.source.members.mT
        return joined > 0

    def largest_of_words(self, score: Similarity) -> Float[Tensor, "batch target_word source_word"]:
        """Return the largest score between the pieces of two words; 0 where there are none."""
        rows = _largest(score.masked_fill(~self.real, 0), self.target.members)
        return _largest(rows.mT, self.source.members).mT


def _largest(
    score: Float[Tensor, "batch unit other"], members: Float[Tensor, "batch word unit"]
) -> Float[Tensor, "batch word other"]:
    """Return the largest entry over the units of each word; scores are at least 0."""
    # The row behind the last word collects units of no word, and is cut off.
    word = members.argmax(1).where(members.any(1), members.shape[1])
    maxima = score.new_zeros(len(score), members.shape[1] + 1, score.shape[2])
    place = word[..., None].expand_as(score)
    return maxima.scatter_reduce_(1, place, score, "amax")[:, :-1]


# ---------------------------------------------------------------- similarities


def cosines(pairs: SentencePairs, distortion: float = 0.0) -> Similarity:
    """Return (1 + cosine) / 2, from 0 to 1.

    Args:
        pairs: Units of both sides.
        distortion: Penalty κ of Jalili Sabet et al. (2020): a similarity is multiplied by
            1 − κ (difference of the relative places of the two units in their sentences)².
    """
    source, target = (
        torch.nn.functional.normalize(side.states, dim=-1) for side in (pairs.source, pairs.target)
    )
    cosine = (target @ source.mT + 1) / 2
    if not distortion:
        return cosine
    apart = _places(pairs.target)[:, :, None] - _places(pairs.source)[:, None]
    # A sentence of one unit has no places to be far apart.
    several = (pairs.target.real.sum(-1) > 1) & (pairs.source.real.sum(-1) > 1)
    return cosine * (1 - distortion * several[:, None, None] * apart.square())


def _places(units: Units) -> Float[Tensor, "batch unit"]:
    number = units.real.cumsum(-1) - 1
    last = (units.real.sum(-1, keepdim=True) - 1).clamp_min(1)
    return number / last


def products(pairs: SentencePairs) -> Similarity:
    """Return the inner products of hidden states."""
    return pairs.target.states @ pairs.source.states.mT


# ---------------------------------------------------------------- links


def forward(similarity: Similarity, mask: UnitLinks) -> UnitLinks:
    """Link every target unit to its most similar source unit; of equal units the first."""
    return _most_similar(similarity, mask, -1)


def reverse(similarity: Similarity, mask: UnitLinks) -> UnitLinks:
    """Link every source unit to its most similar target unit; of equal units the first."""
    return _most_similar(similarity, mask, -2)


def _most_similar(similarity: Similarity, mask: UnitLinks, axis: int) -> UnitLinks:
    best: Int64[Tensor, "batch _ _"] = similarity.masked_fill(~mask, -torch.inf).argmax(
        axis, keepdim=True
    )
    # A row of padding alone has its largest entry somewhere; the mask takes it out again.
    return torch.zeros_like(mask).scatter_(axis, best, value=True) & mask


def argmax(similarity: Similarity, mask: UnitLinks) -> UnitLinks:
    """Link units that are most similar to each other, in both directions."""
    return forward(similarity, mask) & reverse(similarity, mask)


def itermax(similarity: Similarity, mask: UnitLinks, iterations: int = 2) -> UnitLinks:
    """Repeat `argmax` among pairs of units of which at least one has no link yet.

    Similarities to units that have a link count `DAMPING` times as much, those between two such
    units nothing.  Short sentences have the links of the first iteration alone, and iteration ends
    when all units of a side have links.

    Source: Jalili Sabet et al. (2020), and their code.
    """
    links = argmax(similarity, mask)
    shorter = mask.any(-1).sum(-1).minimum(mask.any(-2).sum(-1))
    long = (shorter > SHORT)[:, None, None]
    for _ in range(iterations - 1):
        target = ~links.any(-1, keepdim=True) & mask.any(-1, keepdim=True)
        source = ~links.any(-2, keepdim=True) & mask.any(-2, keepdim=True)
        going = long & target.any(-2, keepdim=True) & source.any(-1, keepdim=True)
        # Damped to 2 · DAMPING at most 1 where both units are free, DAMPING where one is, 0 where
        # none.
        damped = similarity * (DAMPING * target + DAMPING * source).clamp_max(1)
        new = argmax(damped, mask) & (target | source) & going
        if not bool(new.any()):
            break
        links = links | new
    return links


def match(similarity: Similarity, mask: UnitLinks) -> UnitLinks:
    """Return the links of largest sum, one for each unit of the shorter side and no unit in two."""
    links = torch.zeros_like(mask)
    rows, columns = mask.any(-1).cpu(), mask.any(-2).cpu()
    # SciPy solves on the host, a sentence at a time.
    for number, matrix in enumerate(double(similarity).cpu()):
        targets = rows[number].nonzero()[:, 0]
        sources = columns[number].nonzero()[:, 0]
        assignment = linear_sum_assignment(matrix[targets][:, sources].numpy(), maximize=True)
        links[number, targets[assignment[0]], sources[assignment[1]]] = True
    return links


def softmax(similarity: Similarity, mask: UnitLinks, threshold: float = 0.001) -> UnitLinks:
    """Link units each of which is likely, among all of its side, given the other.

    Source: Dou and Neubig (2021); inner products are not scaled.
    """
    closed = similarity.masked_fill(~mask, -torch.inf)
    return (closed.softmax(-1) > threshold) & (closed.softmax(-2) > threshold)


def chances(similarity: Similarity, mask: UnitLinks) -> Similarity:
    """Return the probability of links: the harmonic mean of the two of `softmax`.

    Each is computed of inner products divided by √(units of the side), as in awesome-align.
    """
    closed = similarity.masked_fill(~mask, -torch.inf)
    both = [
        (closed / _sizes(mask, axis).to(closed.dtype).sqrt()).softmax(axis) for axis in (-1, -2)
    ]
    by_target, by_source = (chance.masked_fill(~mask, 0) for chance in both)
    return (
        2
        * by_target
        * by_source
        / (by_target + by_source).clamp_min(torch.finfo(by_target.dtype).tiny)
    )


def _sizes(mask: UnitLinks, axis: int) -> Int64[Tensor, "batch 1 1"]:
    return mask.sum(axis).amax(-1).clamp_min(1)[:, None, None]


_OF_COSINES: Mapping[Extraction, Callable[[Similarity, UnitLinks], UnitLinks]] = {
    "argmax": argmax,
    "match": match,
    "forward": forward,
    "reverse": reverse,
}


def extracted(
    pairs: SentencePairs, extraction: Extraction, settings: SimilaritySettings
) -> tuple[UnitLinks, Similarity]:
    """Return links between units, and the quality of each possible link, from 0 to 1.

    Args:
        pairs: Units of both sides.
        extraction: Extraction of links from similarities.
        settings: Settings of similarities, see `SimilaritySettings`.
    """
    mask = pairs.real
    if extraction == "softmax":
        similarity = products(pairs)
        return softmax(similarity, mask, settings.threshold), chances(similarity, mask)
    similarity = cosines(pairs, settings.distortion)
    if extraction == "itermax":
        return itermax(similarity, mask, settings.iterations), similarity
    return _OF_COSINES[extraction](similarity, mask), similarity
