"""Linear maps and MLPs, many at a time, with gradients written out.

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

from headlight.studies.token_identity.losses import gradient_

Weights = list[Float[Tensor, "group rate ..."]]
Batch = Float[Tensor, "group token model"]
Goals = Float[Tensor, "group token input"]
Predictions = Float[Tensor, "group rate token input"]


@runtime_checkable
class Model(Protocol):
    """A kind of map."""

    shapes: tuple[tuple[int, ...], ...]

    def predict(self, weights: Weights, batch: Batch) -> Predictions:
        """What every map of the stack makes of the batch of its group."""

    def gradient(self, weights: Weights, batch: Batch, goals: Goals, loss: str) -> Weights:
        """The gradient of the mean loss over the batch, for each map by itself."""


class Linear:
    """x W, without bias; the matrix is [out, in], as in ``torch.nn.Linear``.

    Args:
        model: size of a hidden token.
        input: size of what it is mapped to.
        exact: multiply in float32; otherwise products may be rounded, and differences of them are
            avoided.
    """

    def __init__(self, model: int, input: int, *, exact: bool = True) -> None:
        self.shapes: tuple[tuple[int, ...], ...] = ((input, model),)
        self._exact = exact

    def predict(self, weights: Weights, batch: Batch) -> Predictions:
        """See `Model`."""
        return self._wide(weights[0], batch).transpose(1, 2)

    def gradient(self, weights: Weights, batch: Batch, goals: Goals, loss: str) -> Weights:
        """See `Model`."""
        (matrix,) = weights
        if loss == "l2" and self._exact and self._squares_are_cheaper(matrix, batch):
            return [self._from_squares(matrix, batch, goals)]
        predicted = self._wide(matrix, batch)
        towards = gradient_(predicted, goals.unsqueeze(2), loss, batch.shape[1])
        return [torch.bmm(towards.flatten(2).mT, batch).view_as(matrix)]

    @staticmethod
    def _wide(
        matrix: Float[Tensor, "group rate input model"], batch: Batch
    ) -> Float[Tensor, "group token rate input"]:
        """The batch of each group times the matrices of all its rates at once."""
        product = torch.bmm(batch, matrix.flatten(1, 2).mT)
        return product.view(*product.shape[:2], *matrix.shape[1:3])

    @staticmethod
    def _squares_are_cheaper(matrix: Float[Tensor, "group rate input model"], batch: Batch) -> bool:
        """Whether W XᵀX takes fewer multiplications than X W and then its product with Xᵀ."""
        (rates, out, width), tokens = matrix.shape[1:], batch.shape[1]
        shared = tokens * width * (width + out)
        return rates * out * width * width + shared < 2 * rates * tokens * out * width

    @staticmethod
    def _from_squares(
        matrix: Float[Tensor, "group rate input model"], batch: Batch, goals: Goals
    ) -> Float[Tensor, "group rate input model"]:
        """2 (W XᵀX − YᵀX) / (tokens · input): the products with X serve all rates of a group."""
        squares = torch.bmm(batch.mT, batch)
        towards = torch.bmm(goals.mT, batch).unsqueeze(1)
        product = torch.bmm(matrix.flatten(1, 2), squares).view_as(matrix)
        return product.sub_(towards).mul_(2 / (batch.shape[1] * goals.shape[2]))


class Mlp:
    """GELU(x W₁ + b₁) W₂ + b₂, with biases as in the feed-forward layers that it follows."""

    def __init__(self, model: int, input: int, hidden: int) -> None:
        self.shapes: tuple[tuple[int, ...], ...] = (
            (hidden, model),
            (hidden,),
            (input, hidden),
            (input,),
        )

    def predict(self, weights: Weights, batch: Batch) -> Predictions:
        """See `Model`."""
        return self._out(weights, nn.functional.gelu(self._in(weights, batch)))

    def gradient(self, weights: Weights, batch: Batch, goals: Goals, loss: str) -> Weights:
        """See `Model`."""
        before = self._in(weights, batch)
        after = nn.functional.gelu(before)
        towards = gradient_(self._out(weights, after), goals.unsqueeze(1), loss, batch.shape[1])
        back = torch.ops.aten.gelu_backward(_times(towards, weights[2]), before)
        return [
            _times(back.mT, _for_all(batch, weights)),
            back.sum(2),
            _times(towards.mT, after),
            towards.sum(2),
        ]

    @staticmethod
    def _in(weights: Weights, batch: Batch) -> Float[Tensor, "group rate token hidden"]:
        product = _times(_for_all(batch, weights), weights[0].mT)
        return product.add_(weights[1].unsqueeze(2))

    @staticmethod
    def _out(weights: Weights, after: Float[Tensor, "group rate token hidden"]) -> Predictions:
        return _times(after, weights[2].mT).add_(weights[3].unsqueeze(2))


def _for_all(batch: Batch, weights: Weights) -> Float[Tensor, "group rate token model"]:
    """The batch of each group, for every rate."""
    return batch.unsqueeze(1).expand(-1, weights[0].shape[1], -1, -1)


def _times(
    left: Float[Tensor, "group rate row inner"], right: Float[Tensor, "group rate inner column"]
) -> Float[Tensor, "group rate row column"]:
    """The product of matrices; ``torch.matmul`` would first copy those that are transposed."""
    left_all, right_all = left.flatten(0, 1), right.flatten(0, 1)
    if len(left_all) == 1:  # where products may be rounded, bmm copies what is transposed
        product = torch.mm(left_all[0], right_all[0]).unsqueeze(0)
    else:
        product = torch.bmm(left_all, right_all)
    return product.view(*left.shape[:2], *product.shape[1:])


def model_of(kind: str, sizes: tuple[int, int], hidden: int, *, exact: bool) -> Model:
    """``linear`` or ``mlp``, from hidden tokens of the first size to vectors of the second."""
    return Linear(*sizes, exact=exact) if kind == "linear" else Mlp(*sizes, hidden)


def first_weights(
    shapes: Sequence[tuple[int, ...]], seed: Sequence[int]
) -> list[Float[Tensor, "..."]]:
    """Matrices drawn uniformly as Glorot and Bengio (2010) say, biases 0; float32."""
    generator = np.random.default_rng([*seed, 2])
    made = []
    for shape in shapes:
        bound = math.sqrt(6 / sum(shape)) if len(shape) == 2 else 0.0
        made.append(torch.from_numpy(generator.uniform(-bound, bound, shape)).float())
    return made
