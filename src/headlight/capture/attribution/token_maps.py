"""Feed-forward layers as one matrix for each token, which all changes of a text share.

A text stays what it is however its tokens are changed, and so the derivative of
W₂ f(W₁ x_j + b₁) + b₂ by x_j is one matrix W₂ diag(f′) W₁ for each token j.  It is computed once,
and serves some thousand changes, each of which takes d² products with it in place of the 2 d · 4 d
of the two linear maps; nothing as wide as the inner layer is moved any more.  Gates too: the
derivative of f(W₁ x) ∘ W₃ x is diag(f′ ∘ W₃ x) W₁ + diag(f) W₃.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

Maps = Float[Tensor, "token d_in d_out"]


@dataclass(frozen=True)
class WideMove:
    """Tangent of an inner layer by its input: Σ_k diag(slope_k) weight_k, not multiplied yet.

    Attributes:
        given: The input, with its tangent.
        terms: Weights ``[wide, d_in]``, and slopes ``[*tokens, wide]``.
        bent: Whether there is a function between the linear maps; else others may read them too.
    """

    given: Tensor
    terms: tuple[tuple[Tensor, Tensor], ...]
    bent: bool = False

    def scaled(self, by: Tensor) -> "WideMove":
        """Return the tangent behind an elementwise function with these slopes."""
        terms = tuple((weight, slope.reshape(by.shape) * by) for weight, slope in self.terms)
        return replace(self, terms=terms, bent=True)

    def __add__(self, other: "WideMove") -> "WideMove":
        """Return the tangent of a sum of values with the same input; a weight stands in it once."""
        found = {id(weight): (weight, slope) for weight, slope in self.terms}
        for weight, slope in other.terms:
            known = found.get(id(weight))
            found[id(weight)] = weight, slope if known is None else known[1] + slope
        return replace(self, terms=tuple(found.values()))

    def tangent(self, of_given: Tensor, shape: torch.Size) -> Tensor:
        """The move of the inner layer itself, where it is asked for after all; in this shape."""
        moves = (
            functional.linear(of_given, weight).reshape(shape) * slope.reshape(shape)
            for weight, slope in self.terms
        )
        return reduce(torch.add, moves)

    def maps(self, weight: Float[Tensor, "d_out wide"]) -> Maps:
        """The matrices of all tokens, from the input to this weight times the inner layer."""
        # Some libraries copy what is transposed in each product; so it is done once for all.
        outwards = weight.mT.contiguous()
        inwards = [inner.mT.contiguous() for inner, _ in self.terms]
        slopes = [slope.flatten(0, -2) for _, slope in self.terms]
        found = weight.new_empty(len(slopes[0]), inwards[0].shape[0], outwards.shape[1])
        for token, each in enumerate(found):  # what is as wide as the inner layer, one at a time
            parts = (w * s[token] for w, s in zip(inwards, slopes, strict=True))
            torch.mm(reduce(torch.add, parts), outwards, out=each)
        return found


@dataclass
class TokenMaps:
    """The matrices of a text, in the order in which the model comes to them, kept between passes.

    Attributes:
        changes: How many changes of the text there will be.
    """

    changes: int
    _kept: list[Maps] = field(default_factory=list)
    _place: int = 0

    def begin(self) -> None:
        """The model runs once more."""
        self._place = 0

    def pay(self, weight: Float[Tensor, "wide d_in"]) -> bool:
        """Whether the matrices take fewer products than the changes, one by one."""
        wide, size = weight.shape
        return wide > size and self.changes * (2 * wide - size) > wide * size

    def of(self, make: Callable[[], Maps]) -> Maps:
        """The next ones, which are made in the first pass."""
        if self._place == len(self._kept):
            self._kept.append(make())
        self._place += 1
        return self._kept[self._place - 1]


def move_tokens(moves: Float[Tensor, "*tokens d_in"], maps: Maps) -> Float[Tensor, "*tokens d_out"]:
    """Each token by its own matrix; under `torch.vmap` too, without a copy of the matrices."""
    flat = moves.reshape(len(maps), maps.shape[1])
    found: Tensor = _move_tokens(flat, maps)
    return found.reshape(*moves.shape[:-1], maps.shape[2])


def _product(moves: Tensor, maps: Tensor) -> Tensor:
    return torch.bmm(moves.unsqueeze(1), maps).squeeze(1)


def _many_products(
    _: Any, where: tuple[int | None, ...], moves: Tensor, maps: Tensor
) -> tuple[Tensor, int]:
    """Multiply many moves at once: one product of matrices for each token."""
    assert where[0] is not None and where[1] is None  # noqa: S101, PT018 - moves alone are many
    found = torch.bmm(moves.movedim(where[0], 1), maps)
    return found.transpose(0, 1).contiguous(), 0  # as everything around it lies in memory


_move_tokens = torch.library.custom_op(
    "headlight::move_tokens",
    _product,
    mutates_args=(),
    schema="(Tensor moves, Tensor maps) -> Tensor",
)
_move_tokens.register_vmap(_many_products)
