"""Circuits in the weights of heads, without a text (Elhage et al. 2021).

A head moves x W_V W_O to where x W_Q W_Kᵀ x'ᵀ is large.  These products, as wide as a model or a
vocabulary, have the rank of a head: all numbers are computed from matrices of that size.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float64
from torch import Tensor

from headlight.capture.head_weights import HeadWeights
from headlight.tensors import double

ROWS = 8192
"""Number of vocabulary entries of which products are summed at a time."""

Gram = Float64[Tensor, "d_model d_model"]
PerHead = Float64[Tensor, " head"]
PerPair = Float64[Tensor, "head later_head"]


class Compositions(NamedTuple):
    """Composition of heads: how much a later head reads of an earlier one's output; NaN if unknown.

    Attributes:
        q: Composition with the queries of the later head.
        k: Composition with the keys of the later head.
        v: Composition with the values of the later head.
    """

    q: PerPair
    k: PerPair
    v: PerPair


def gram(left: Tensor, right: Tensor) -> Gram:
    """Return leftᵀ right of two matrices with a row for each token of the vocabulary, in float64.

    Additional rows of one matrix stand for no token, and are left out.
    """
    rows = min(len(left), len(right))
    total = None
    for first in range(0, rows, ROWS):
        here = slice(first, min(first + ROWS, rows))
        part = double(left[here].detach()).T @ double(right[here].detach())
        total = part if total is None else total + part
    assert total is not None  # noqa: S101 - a vocabulary has tokens
    return total


def copying(weights: HeadWeights, unembedded: Gram) -> PerHead | None:
    """Compute Σλ / Σ|λ| of the eigenvalues λ of W_E W_V W_O W_U; 1 where heads copy.

    Args:
        weights: Weights of the heads.
        unembedded: Product W_U W_E, see `gram`.

    Returns:
        Numbers from −1 to 1; None where W_V is not known.  They are 1 where heads raise the
        probabilities of the tokens that they attend to.

    Source: Elhage et al. (2021), *Detecting copying behavior*.  AB and BA have the same eigenvalues
        but for zeros, so those of W_O (W_U W_E) W_V, as wide as a head, are all that there are.
    """
    if weights.value is None:
        return None
    return _positive_share(weights.output @ unembedded.to(weights.output.device) @ weights.value)


def matching(weights: HeadWeights, embedded: Gram) -> PerHead | None:
    """Compute Σλ / Σ|λ| of W_E W_Q W_Kᵀ W_Eᵀ; 1 where tokens attend to tokens like themselves.

    Args:
        weights: Weights of the heads.
        embedded: Product W_Eᵀ W_E, see `gram`.

    Returns:
        Numbers from −1 to 1; None where W_Q and W_K are not known.
    """
    if weights.query is None or weights.key is None:
        return None
    return _positive_share(weights.key.mT @ embedded.to(weights.key.device) @ weights.query)


def _positive_share(matrices: Float64[Tensor, "head size size"]) -> PerHead:
    values = torch.linalg.eigvals(matrices)
    share: Tensor = values.real.sum(-1) / values.abs().sum(-1)
    return share


class _Factors(NamedTuple):
    """Factors of a layer's products of heads that determine their Frobenius norms; of unit norm.

    ‖Q M‖ is ‖M‖ where the columns of Q are orthonormal, so one factor of each product is replaced
    by the R of its QR decomposition, which is as small as a head.
    """

    writes: Tensor | None
    """Factor of W_V W_O, on the left of a product."""
    reads: tuple[Tensor | None, Tensor | None, Tensor | None]
    """Factors of (W_Q W_Kᵀ)ᵀ, W_Q W_Kᵀ and (W_V W_O)ᵀ, transposed, on its right."""


def compositions(
    layers: Sequence[HeadWeights], precision: torch.dtype = torch.float64
) -> Iterator[tuple[int, int, Compositions]]:
    """Yield ‖A B‖ / (‖A‖ ‖B‖) for all heads of each earlier and each later layer.

    A is W_V W_O of the earlier head; B is W_Q W_Kᵀ of the later one for its queries, W_K W_Qᵀ for
    its keys, W_V W_O for its values.  Two random matrices have about 1/√d_model.

    Args:
        layers: Weights of the heads of each layer, in the order in which they run.
        precision: Precision of the products.

    Yields:
        The numbers of the two layers, and the compositions of their heads.

    Source: Elhage et al. (2021), *Two-layer attention-only transformers*; the same as
        ``all_composition_scores`` of TransformerLens.
    """
    factors = [_factors(weights, precision) for weights in layers]
    for later, reader in enumerate(factors):
        for earlier, writer in enumerate(factors[:later]):
            heads = len(layers[earlier].output), len(layers[later].output)
            scores = [_composition(writer.writes, factor, heads) for factor in reader.reads]
            yield earlier, later, Compositions(*scores)


def _factors(weights: HeadWeights, precision: torch.dtype) -> _Factors:
    query, key, value, output = weights.query, weights.key, weights.value, weights.output
    writes = of_values = by_query = by_key = None
    if value is not None:
        writes = _unit(_triangle(value) @ output)
        of_values = _unit(_triangle(output.mT) @ value.mT)
    if query is not None and key is not None:
        by_query = _unit(_triangle(key) @ query.mT)
        by_key = _unit(_triangle(query) @ key.mT)
    writes, by_query, by_key, of_values = (
        None if factor is None else factor.to(precision)
        for factor in (writes, by_query, by_key, of_values)
    )
    return _Factors(writes, (by_query, by_key, of_values))


def _triangle(matrices: Float64[Tensor, "head long short"]) -> Float64[Tensor, "head some short"]:
    factor: Tensor = torch.linalg.qr(matrices, mode="r")[1]
    return factor


def _unit(matrices: Float64[Tensor, "head row column"]) -> Float64[Tensor, "head row column"]:
    scaled: Tensor = matrices / matrices.norm(dim=(1, 2), keepdim=True)
    return scaled


def _composition(left: Tensor | None, right: Tensor | None, heads: tuple[int, int]) -> PerPair:
    if left is None or right is None:
        return torch.full(heads, torch.nan, dtype=torch.float64)
    product = left.flatten(0, 1) @ right.flatten(0, 1).T.to(left.device)
    parts = product.view(len(left), left.shape[1], len(right), right.shape[1])
    return double(parts.norm(dim=(1, 3)))
