"""Functions of single numbers as straight lines, by a slope that is a constant of the run."""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd import forward_ad

from headlight.settings.attribution import Slope

NEAR = 1e-4
"""Relative distance of two numbers below which the derivative stands for their chord."""


class Line(NamedTuple):
    """Line act(x) = slope · x + offset, at one x."""

    slope: Tensor
    offset: Tensor | None
    """Offset; None for zero."""


def line(
    function: Callable[[Tensor], Tensor], x: Tensor, slope: Slope, origin: Tensor | None
) -> Line:
    """Return the line by which a function of single numbers is replaced.

    Args:
        function: Function of every number by itself.
        x: Numbers at which it is replaced; without a graph.
        slope: Kind of line.
        origin: Origin b of the chord; None for zero.
    """
    value = function(x)
    if slope == "derivative":
        steep = _derivative(function, x)
        return Line(steep, value - steep * x)
    if slope == "zero_origin" or origin is None:
        start = function(torch.zeros((), dtype=x.dtype, device=x.device))
        steep = _chord(function, x, value, torch.zeros_like(x), start)
        return Line(steep, None if not bool(start) else start.expand_as(x))
    from_, start = origin.expand_as(x), function(origin).expand_as(x)
    steep = _chord(function, x, value, from_, start)
    return Line(steep, start - steep * from_)


def _chord(
    function: Callable[[Tensor], Tensor], x: Tensor, value: Tensor, origin: Tensor, start: Tensor
) -> Tensor:
    gap = x - origin
    near = gap.abs() <= NEAR * origin.abs()
    chord = (value - start) / torch.where(gap == 0, 1, gap)
    return torch.where(near, _derivative(function, x), chord) if bool(near.any()) else chord


def _derivative(function: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    # torch.func, since autograd would not see through tangents that run side by side (vmap).
    slopes: Tensor = torch.func.grad(lambda values: function(values).sum())(x.detach())
    return slopes


def tangent(value: Tensor) -> Any:
    """Return the tangent of a number in forward mode, if it has one."""
    return forward_ad.unpack_dual(value)[1]  # type: ignore[no-untyped-call]
