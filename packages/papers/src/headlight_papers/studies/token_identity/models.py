"""Linear maps and MLPs, many at a time, and ridge regression.

The maps of a stack stand in a table: one row (``group``) for each set of data, one column
(``rate``) for each learning rate.  Maps of a row see the same batch, so that it is multiplied by
all of their matrices in one wide product.
"""

import math
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from headlight_papers.studies.token_identity import Loss, MapKind

_SMALLEST = 1e-8
"""Lengths below are taken for it, as in ``torch.nn.CosineSimilarity``."""

Rows = Float[Tensor, "*rows dim"]
Targets = Float[Tensor, "*#rows dim"]


def prepared(targets: Float[Tensor, "*rows dim"], loss: Loss) -> Float[Tensor, "*rows dim"]:
    """Prepare targets for the other functions: for cosine distance, of length 1."""
    return unit(targets) if loss == "cosine" else targets


def unit(rows: Float[Tensor, "*rows dim"]) -> Float[Tensor, "*rows dim"]:
    """Divide rows by their length."""
    length: Tensor = torch.linalg.vector_norm(rows, dim=-1, keepdim=True)
    # A vector of length 0 stays 0.
    return rows / length.clamp(min=_SMALLEST)


def gradient_(predicted: Rows, targets: Targets, loss: Loss, count: int) -> Rows:
    """Compute the gradient of the mean loss of `count` tokens by each prediction, in their memory.

    Cosine: d(1 − p·ŷ / ‖p‖)/dp = (p·ŷ / ‖p‖³) p − ŷ / ‖p‖.  L2, the mean square of an entry, as in
    ``torch.nn.MSELoss``: 2 (p − y) / dim.
    """
    if loss == "l2":
        # In place: predictions are the largest tensor of a step.
        return predicted.sub_(targets).mul_(2 / (count * predicted.shape[-1]))
    length = torch.linalg.vector_norm(predicted, dim=-1, keepdim=True).clamp_(min=_SMALLEST)
    # `torch.einsum` would be a product of matrices for each row, and might round it to bfloat16.
    along = torch.linalg.vecdot(predicted, targets).unsqueeze(-1)
    inverse = length.reciprocal_()
    return predicted.mul_(along * inverse**3 / count).addcmul_(targets, inverse, value=-1 / count)


def value(predicted: Rows, targets: Targets, loss: Loss) -> Float[Tensor, " *rows"]:
    """Compute the loss of every token: 1 − cos, or the mean squared difference of entries."""
    if loss == "l2":
        return (predicted - targets).square().mean(-1)
    along: Tensor = torch.linalg.vecdot(predicted, targets)
    length: Tensor = torch.linalg.vector_norm(predicted, dim=-1).clamp(min=_SMALLEST)
    return 1 - along / length


Weights = list[Float[Tensor, "group rate ..."]]
Batch = Float[Tensor, "group token model"]
Goals = Float[Tensor, "group token input"]
Predictions = Float[Tensor, "group rate token input"]


@runtime_checkable
class MapFamily(Protocol):
    """Kind of map."""

    shapes: tuple[tuple[int, ...], ...]

    def predict(self, weights: Weights, batch: Batch) -> Predictions:
        """Return the predictions of every map of the stack for the batch of its group."""

    def gradient(self, weights: Weights, batch: Batch, goals: Goals, loss: Loss) -> Weights:
        """Compute the gradient of the mean loss over the batch, for each map by itself."""


class Linear:
    """Linear map x W without bias; the matrix is [out, in], as in ``torch.nn.Linear``.

    Its gradient is written out, which leaves little but the products of matrices: for seven rates,
    batches of 256 and 256 dimensions, autograd takes 2.9 (L2) and 1.9 (cosine) times as long, and
    ``torch.func.vmap`` of ``torch.func.grad`` 2.5 and 1.9 times.

    Args:
        model: Size of a hidden token.
        input: Size of the token that it is mapped to.
        exact: Whether products are in float32; otherwise they may be rounded, and differences of
            them are avoided.
    """

    def __init__(self, model: int, input: int, *, exact: bool = True) -> None:
        self.shapes: tuple[tuple[int, ...], ...] = ((input, model),)
        self._exact = exact

    def predict(self, weights: Weights, batch: Batch) -> Predictions:
        """See `MapFamily`."""
        return self._wide(weights[0], batch).transpose(1, 2)

    def gradient(self, weights: Weights, batch: Batch, goals: Goals, loss: Loss) -> Weights:
        """See `MapFamily`."""
        (matrix,) = weights
        # Differences of rounded products would lose digits that the other way keeps.
        if loss == "l2" and self._exact and self._squares_are_cheaper(matrix, batch):
            return [self._gradient_from_squares(matrix, batch, goals)]
        predicted = self._wide(matrix, batch)
        towards = gradient_(predicted, goals.unsqueeze(2), loss, batch.shape[1])
        return [torch.bmm(towards.flatten(2).mT, batch).view_as(matrix)]

    @staticmethod
    def _wide(
        matrix: Float[Tensor, "group rate input model"], batch: Batch
    ) -> Float[Tensor, "group token rate input"]:
        product = torch.bmm(batch, matrix.flatten(1, 2).mT)
        return product.view(*product.shape[:2], *matrix.shape[1:3])

    @staticmethod
    def _squares_are_cheaper(matrix: Float[Tensor, "group rate input model"], batch: Batch) -> bool:
        # Multiplications of W XᵀX against those of X W and its product with Xᵀ.
        (rates, out, width), tokens = matrix.shape[1:], batch.shape[1]
        shared = tokens * width * (width + out)
        return rates * out * width * width + shared < 2 * rates * tokens * out * width

    @staticmethod
    def _gradient_from_squares(
        matrix: Float[Tensor, "group rate input model"], batch: Batch, goals: Goals
    ) -> Float[Tensor, "group rate input model"]:
        """Compute 2 (W XᵀX − YᵀX) / (tokens · input); all rates share the products with X."""
        squares = torch.bmm(batch.mT, batch)
        towards = torch.bmm(goals.mT, batch).unsqueeze(1)
        product = torch.bmm(matrix.flatten(1, 2), squares).view_as(matrix)
        return product.sub_(towards).mul_(2 / (batch.shape[1] * goals.shape[2]))


class Mlp:
    """GELU(x W₁ + b₁) W₂ + b₂, with biases as in the feed-forward layers that it follows.

    Its gradient is written out: for one map, batches of 256 and 256 dimensions autograd takes 1.4
    times as long, and gives gradients as transposed memory, which an update would have to copy.
    """

    def __init__(self, model: int, input: int, hidden: int) -> None:
        self.shapes: tuple[tuple[int, ...], ...] = (
            (hidden, model),
            (hidden,),
            (input, hidden),
            (input,),
        )

    def predict(self, weights: Weights, batch: Batch) -> Predictions:
        """See `MapFamily`."""
        return self._outwards(weights, nn.functional.gelu(self._inwards(weights, batch)))

    def gradient(self, weights: Weights, batch: Batch, goals: Goals, loss: Loss) -> Weights:
        """See `MapFamily`."""
        inner = self._inwards(weights, batch)
        active = nn.functional.gelu(inner)
        predicted = self._outwards(weights, active)
        towards = gradient_(predicted, goals.unsqueeze(1), loss, batch.shape[1])
        within = torch.ops.aten.gelu_backward(_times(towards, weights[2]), inner)
        return [
            _times(within.mT, _repeated(batch, within.shape[1])),
            within.sum(-2),
            _times(towards.mT, active),
            towards.sum(-2),
        ]

    @staticmethod
    def _inwards(weights: Weights, batch: Batch) -> Float[Tensor, "group rate token hidden"]:
        repeated = _repeated(batch, weights[0].shape[1])
        return _times(repeated, weights[0].mT).add_(weights[1].unsqueeze(2))

    @staticmethod
    def _outwards(
        weights: Weights, active: Float[Tensor, "group rate token hidden"]
    ) -> Predictions:
        return _times(active, weights[2].mT).add_(weights[3].unsqueeze(2))


def _repeated(batch: Batch, rates: int) -> Float[Tensor, "group rate token model"]:
    return batch.unsqueeze(1).expand(-1, rates, -1, -1)


def _times(
    matrices: Float[Tensor, "group rate row inner"], right: Float[Tensor, "group rate inner column"]
) -> Float[Tensor, "group rate row column"]:
    """Multiply matrices; ``torch.matmul`` would first copy those that are transposed."""
    left_all, right_all = matrices.flatten(0, 1), right.flatten(0, 1)
    if len(left_all) == 1:  # where products may be rounded, bmm copies what is transposed
        product = torch.mm(left_all[0], right_all[0]).unsqueeze(0)
    else:
        product = torch.bmm(left_all, right_all)
    return product.view(*matrices.shape[:2], *product.shape[1:])


def family_of(kind: MapKind, sizes: tuple[int, int], hidden: int, *, exact: bool) -> MapFamily:
    """Return ``linear`` or ``mlp``, from hidden tokens of the first size to the second."""
    return Linear(*sizes, exact=exact) if kind == "linear" else Mlp(*sizes, hidden)


def first_weights(
    shapes: Sequence[tuple[int, ...]], seed: Sequence[int]
) -> list[Float[Tensor, "..."]]:
    """Draw matrices uniformly as in Glorot and Bengio (2010), biases 0; float32."""
    generator = np.random.default_rng([*seed, 2])
    weights = []
    for shape in shapes:
        # Biases begin at 0, and have one axis.
        bound = math.sqrt(6 / sum(shape)) if len(shape) == 2 else 0.0
        weights.append(torch.from_numpy(generator.uniform(-bound, bound, shape)).float())
    return weights


def ridge_maps(
    hidden: Float[Tensor, "token model"],
    goals: Float[Tensor, "token input"],
    loss: Loss,
    ridges: Sequence[float],
) -> Float[Tensor, "ridge input model"]:
    """Fit linear maps in closed form: the least ‖X W − Y‖² + λ ‖W‖² for every λ.

    All of them come from one eigendecomposition of XᵀX.  Cosine distance has no closed form: there
    the targets are divided by their length.  The map is the least-squares fit of unit vectors, its
    λ is the one with the least cosine distance on the validation tokens, and the nearest neighbour
    is looked up by cosine distance.

    Args:
        hidden: Training tokens X.
        goals: Targets Y.
        loss: Loss ``l2``, or ``cosine`` for Y divided by its length.
        ridges: Values of λ, as multiples of the mean eigenvalue of XᵀX, that is of the number of
            tokens times the mean square of a feature.

    Returns:
        The matrices as [out, in], computed in float64, in the type of the hidden tokens.
    """
    x, y = hidden.double(), prepared(goals, loss).double()
    squares, vectors = torch.linalg.eigh(x.mT @ x)
    squares = squares.clamp(min=0)  # rounding makes zeros slightly negative
    # Without any variance, λ would be a multiple of 0.
    scale = squares.mean().clamp(min=torch.finfo(torch.float64).tiny)
    towards = (y.mT @ x) @ vectors
    maps = [(towards / (squares + ridge * scale)) @ vectors.mT for ridge in ridges]
    return torch.stack(maps).to(hidden.dtype)
