"""Measures between words instead of pieces (Clark et al. 2019, Section 4.1)."""

from typing import Literal, Protocol, get_args, runtime_checkable

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from headlight.errors import UnknownNameError
from headlight.measures.precision import back_to, double
from headlight.measures.scores import Scores
from headlight.shapes import Score

NormPooling = Literal["norms", "vectors"]
NORM_POOLINGS: tuple[str, ...] = get_args(NormPooling)

WordScore = Float[Tensor, "batch head word other_word"]


@runtime_checkable
class Pooling(Protocol):
    """Which tokens are pieces of which word, as `headlight.pool.Words` knows it."""

    @property
    def unit(self) -> Int64[Tensor, "batch token"]:
        """For every token the number of its word; -1 for none."""

    @property
    def members(self) -> Float[Tensor, "batch word token"]:
        """1 where a token is a piece of a word."""

    @property
    def count(self) -> Int64[Tensor, "batch word"]:
        """Pieces of every word."""

    def pool(self, score: Score) -> WordScore:
        """Sum over the pieces of the attended word, mean over those of the attending one."""

    def over_keys(self, score: Score) -> Float[Tensor, "batch head query word"]:
        """Sum over the pieces of each word that is attended to."""

    def over_queries(
        self, rows: Float[Tensor, "batch head query kind"], score: Score
    ) -> Float[Tensor, "batch head word kind"]:
        """What each word gives, of what its pieces give."""


def word_score(scores: Scores, measure: str, words: Pooling, pooling: str = "norms") -> WordScore:
    """A measure between words.

    What word a gives to word b is, for each measure, the mean over the pieces i of a (or what
    else `Words.of` was asked for) of

    * ``weight``: Σ_{j∈b} α_ij, the probability that the head looks at any piece of b; rows still
      sum to 1, special tokens included;
    * ``effective``: Σ_{j∈b} A⊥_ij, signed: the projection is linear, so this is what of the weight
      on b reaches the output;
    * ``gradient``: Σ_{j∈b} |∂L/∂α_ij|, how much the loss changes with the weights on b if each may
      change by itself;
    * ``norm``: Σ_{j∈b} ‖α_ij f(x_j)‖ with the pooling ``norms``, and ‖Σ_{j∈b} α_ij f(x_j)‖ with
      ``vectors``.  The first is what the released code of Kobayashi et al. does when it merges
      subwords; the second is what really moves from b, at most as large, and smaller where the
      vectors of the pieces point in different directions.  For words of one piece they agree.

    Args:
        scores: Of one attention module, of a text to itself.
        measure: As in `Scores.of`.
        words: Of the same batch.
        pooling: How norms are pooled over the pieces of an attended word; nothing to the others.

    Returns:
        In the precision and the unit of the measure; 0 in rows and columns of words that are not
        there.

    Raises:
        UnknownNameError: The measure or the pooling is not known.
        UsageError: The words are not those of the batch.

    Source: Clark et al. (2019), Section 4.1, for weights.
    """
    if pooling not in NORM_POOLINGS:
        raise UnknownNameError("pooling of norms", pooling, NORM_POOLINGS)
    score = scores.of(measure)
    if measure != "norm" or pooling == "norms":
        return words.pool(score)
    rows = words.over_keys(score)
    several = words.count > 1
    if bool(several.any()):
        rows = _lengths_of_sums(scores, words).to(rows).where(several[:, None, None], rows)
    return words.over_queries(rows, score)


def _lengths_of_sums(scores: Scores, words: Pooling) -> Float[Tensor, "batch head query word"]:
    """‖Σ_{j∈b} α_ij f(x_j)‖ of the words of several pieces; 0 for the others.

    The square is Σ_{j,k∈b} α_ij α_ik ⟨f(x_j), f(x_k)⟩, so that vectors of size d_model, one for
    each query and word, are never formed.  Where the pieces cancel one another a square loses
    digits; in float64 what is left of them is 1e-8 of what the pieces could add up to.
    """
    pieces = _pieces_of_several(words)
    weight, rows = scores.weight, scores.transformed
    batch, heads, queries, _ = weight.shape
    number = torch.arange(batch, device=pieces.device)[:, None]
    unit = words.unit[number, pieces]
    same = (unit[:, :, None] == unit[:, None]) & (unit >= 0)[:, None]
    place = pieces[:, None, :, None].expand(-1, heads, -1, rows.shape[-1]).to(rows.device)
    vectors = rows.gather(2, place)
    products = (vectors @ vectors.mT) * same[:, None].to(rows.device)
    alpha = double(weight.gather(3, pieces[:, None, None].expand(-1, heads, queries, -1)))
    squares = (alpha @ products).mul_(alpha)
    members = double(words.members[number, :, pieces])
    summed = (squares.flatten(1, 2) @ members).view(batch, heads, queries, -1)
    return back_to(summed.clamp_min_(0).sqrt_(), weight.device)


def _pieces_of_several(words: Pooling) -> Int64[Tensor, "batch piece"]:
    """The tokens that are pieces of a word with others, and some more where a text has fewer."""
    several = (words.count > 1)[..., None] & (words.members > 0)
    chosen = several.any(1)
    most = int(chosen.sum(-1).max())
    order: Tensor = chosen.long().argsort(dim=-1, descending=True, stable=True)
    return order[:, :most]
