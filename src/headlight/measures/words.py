"""Measures between words instead of pieces (Clark et al. 2019, Section 4.1)."""

from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from headlight.capture import LayerRecord
from headlight.measures.scores import Scores
from headlight.measures.vectors import per_head
from headlight.settings import require_choice
from headlight.tensors import Score, back_to, double
from headlight.vocabulary import NormPooling

_LENGTHS = ("norm", "merged_norm")
"""Measures that are lengths of vectors, which can be summed before their length is taken."""

WordScore = Float[Tensor, "batch head word other_word"]


@runtime_checkable
class Pooling(Protocol):
    """Pooling of pieces into words: `headlight.pool.Words`, `headlight.pool.WordPair`."""

    @property
    def members(self) -> Float[Tensor, "batch word token"]:
        """Return 1 where a key is a piece of an attended word, otherwise 0."""

    @property
    def count(self) -> Int64[Tensor, "batch word"]:
        """Return the number of pieces of every attended word."""

    def pool(self, score: Score) -> WordScore:
        """Sum over pieces of the attended word, and average over those of the attending one."""

    def over_keys(self, score: Score) -> Float[Tensor, "batch head query word"]:
        """Sum over the pieces of each attended word."""

    def over_queries(
        self, rows: Float[Tensor, "batch head query kind"], score: Score
    ) -> Float[Tensor, "batch head word kind"]:
        """Pool the rows of pieces into rows of words."""


def word_score(scores: Scores, measure: str, words: Pooling, pooling: str = "norms") -> WordScore:
    """Compute a measure between words.

    The score of word b in the row of word a is the mean over the pieces i of a (or the choice of
    `Words.of`) of

    * ``weight``: Σ_{j∈b} α_ij, the probability that the head attends to any piece of b; rows still
      sum to 1, special tokens included;
    * ``effective``: Σ_{j∈b} A⊥_ij, signed: the projection is linear, so this is the part of the
      weight on b that reaches the output;
    * ``gradient``: Σ_{j∈b} |∂L/∂α_ij|, the change of the loss with the weights on b if each may
      change by itself;
    * ``attribution``: Σ_{j∈b} c_ij, the contribution of the pieces of b to the hidden token of i;
      rows still sum to 1, special tokens included;
    * ``norm``: Σ_{j∈b} ‖α_ij f(x_j)‖ with the pooling ``norms``, and ‖Σ_{j∈b} α_ij f(x_j)‖ with
      ``vectors``.  The released code of Kobayashi et al. uses the first when it merges subwords;
      the second is the length of the vector that moves from b, at most as large, and smaller where
      the vectors of the pieces point in different directions.  For words of one piece they agree;
    * ``merged_norm``: the same for all heads together, Σ_{j∈b} ‖Σ_h α_ij f_h(x_j)‖, or with
      ``vectors`` ‖Σ_{j∈b} Σ_h α_ij f_h(x_j)‖.

    Args:
        scores: Scores of one attention module.
        measure: Name of the measure, as in `Scores.of`.
        words: Words of the same batch: `headlight.pool.Words` for a text that attends to itself,
            `headlight.pool.WordPair` for two texts, one of which attends to the other.
        pooling: Pooling of norms over the pieces of an attended word; other measures ignore it.

    Returns:
        Scores in the precision and the unit of the measure; 0 in rows and columns without a word.

    Raises:
        UnknownNameError: The measure or the pooling is unknown.
        UsageError: The words are not those of the batch.

    Source: Clark et al. (2019), Section 4.1, for weights.
    """
    require_choice("pooling of norms", pooling, NormPooling)
    score = scores.of(measure)
    if measure not in _LENGTHS or pooling == "norms":
        return words.pool(score)
    rows = _replace_by_lengths(words.over_keys(score), scores, words, measure)
    return words.over_queries(rows, score)


def _replace_by_lengths(
    rows: Float[Tensor, "batch head query word"], scores: Scores, words: Pooling, measure: str
) -> Float[Tensor, "batch head query word"]:
    """Return the rows with ‖Σ_{j∈b} α_ij f(x_j)‖ for each word b of several pieces.

    Merged over heads, the vectors of all heads at a piece are summed as if they were pieces.

    The square is Σ_{j,k∈b} α_ij α_ik ⟨f(x_j), f(x_k)⟩, so that vectors of size d_model, one for
    each query and word, are never formed.  Where the pieces cancel one another a square loses
    digits; in float64 the remaining error is 1e-8 of the sum of the lengths of the pieces.
    """
    several = words.count > 1
    if not bool(several.any()):
        return rows
    # Most words have one piece: only the others, and only their pieces, are computed.
    members = words.members * several[..., None]
    word, piece = _choose_places(several), _choose_places(members.any(1))
    text = torch.arange(len(word), device=word.device)[:, None]
    members = members[text[..., None], word[:, :, None], piece[:, None]]
    heads, queries = scores.weight.shape[1:3]
    alpha = scores.weight.gather(3, piece[:, None, None].expand(-1, heads, queries, -1))
    if scores.gate_of_components is not None:
        sizes = _gated_lengths(alpha, scores, members, piece, merged=measure != "norm")
    elif measure == "norm":
        sizes = _squares(alpha, _pick(scores.transformed, piece), members).clamp_min_(0).sqrt_()
    else:
        vectors = _transform(scores.record, piece).flatten(1, 2)[:, None]
        alpha = alpha.transpose(1, 2).flatten(2)[:, None]
        members = members.repeat(1, 1, heads)
        sizes = _squares(alpha, vectors, members).clamp_min_(0).sqrt_()
    lengths = back_to(sizes, rows.device).to(rows.dtype)
    bins = word.where(several[text, word], rows.shape[-1])  # the last is thrown away
    place = bins[:, None, None].expand(-1, rows.shape[1], queries, -1)
    padded = torch.nn.functional.pad(rows, (0, 1))
    return padded.scatter_(3, place, lengths)[..., :-1]


def _squares(
    alpha: Float[Tensor, "batch head query piece"],
    vectors: Float[Tensor, "batch head piece head_dim"],
    members: Float[Tensor, "batch some_word piece"],
) -> Float[Tensor, "batch head query some_word"]:
    """Return ‖Σ_j α_ij f(x_j)‖² over the pieces of each word, float64."""
    members, alpha = double(members), double(alpha)
    same = members.mT @ members
    products = (vectors @ vectors.mT) * same[:, None]
    shares = (alpha @ products).mul_(alpha)
    summed: Tensor = shares.flatten(1, 2) @ members.mT
    return summed.view(*alpha.shape[:3], -1)


def _gated_lengths(
    alpha: Float[Tensor, "batch head query piece"],
    scores: Scores,
    members: Float[Tensor, "batch some_word piece"],
    piece: Int64[Tensor, "batch piece"],
    *,
    merged: bool,
) -> Float[Tensor, "batch head_or_one query some_word"]:
    """Return ‖Σ_j α_ij f(x_j; i)‖ over the pieces of each word for gated f, float64."""
    record, alpha, members = scores.record, double(alpha), double(members)
    assert record.gate is not None  # noqa: S101 - the caller has asked
    gate = double(record.gate)[:, :, :, None]
    value = _pick(double(per_head(record.value, alpha.shape[1])), piece)
    blocks = double(record.site.projection.weight)
    vectors, lengths = torch.zeros((), dtype=torch.float64, device=alpha.device), []
    for head in range(alpha.shape[1]):
        summed = torch.einsum("bqp,bwp,bpd->bqwd", alpha[:, head], members, value[:, head])
        vector = (summed * gate[:, head]) @ blocks[head]
        if merged:
            vectors = vectors + vector
        else:
            lengths.append(vector.norm(dim=-1))
    return vectors.norm(dim=-1)[:, None] if merged else torch.stack(lengths, dim=1)


def _pick(
    rows: Float[Tensor, "batch head key head_dim"], piece: Int64[Tensor, "batch piece"]
) -> Float[Tensor, "batch head piece head_dim"]:
    piece = piece.to(rows.device)
    text = torch.arange(len(piece), device=rows.device)[:, None]
    return rows.movedim(2, 1)[text, piece].movedim(1, 2)


def _transform(
    record: LayerRecord, piece: Int64[Tensor, "batch piece"]
) -> Float[Tensor, "batch head piece d_model"]:
    # In the coordinates of hidden states, which heads share, as they do not share compressed ones.
    value = _pick(per_head(record.value, record.weight.shape[1]), piece)
    vectors: Tensor = double(value) @ double(record.site.projection.weight)
    return vectors


def _choose_places(wanted: Bool[Tensor, "batch place"]) -> Int64[Tensor, "batch some"]:
    # Filled up with other places where a text has fewer, so that all texts have as many.
    most = int(wanted.sum(-1).max())
    order: Tensor = wanted.long().argsort(dim=-1, descending=True, stable=True)
    return order[:, :most]
