"""Addends of the output of a linear network: embeddings, biases, and others."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

import torch
from torch import Tensor

from headlight.errors import UnsupportedModelError

AddendKind = Literal["token", "embedding", "input", "bias", "attention", "linear", "frozen"]
"""Source of an addend.

``token``
    rows of the table of input embeddings.
``embedding``
    rows of another table: of positions, of segments.
``input``
    numbers that the model was given as they are: pixels, sound.
``bias``
    a parameter or a constant that is added: biases, β of norms, learnt positions.
``attention``
    what the heads of a module put out, where a network is cut behind them.
``linear``
    what a linear map puts out, where a network is cut behind it.
``frozen``
    what a function without a rule made of the input.  A network whose output depends on one is not
    linear in the others.
"""


@runtime_checkable
class Bookkeeper(Protocol):
    """Interface of a network to the rules while it runs."""

    tangents: bool
    """Whether it runs for its tangents: nothing but what has one is an addend."""

    def addend(self, value: Tensor, kind: AddendKind, name: str) -> Tensor:
        """A tensor in the place of one that is added, by which can be differentiated."""

    def embedded(self, ids: Tensor, table: Tensor, value: Tensor) -> Tensor:
        """Return the rows of a table of embeddings, as an addend."""

    def behind(self, value: Tensor) -> Tensor:
        """Return the output of a linear map; or an addend, where the network is cut behind it."""

    def place(self) -> str:
        """The module that runs."""

    def name(self, value: Tensor) -> str | None:
        """Return the name of a parameter."""


class Still:
    """Keeps nothing: what is added does not change."""

    tangents = True

    def addend(self, value: Tensor, kind: AddendKind, name: str) -> Tensor:
        """It stays."""
        return value

    def embedded(self, ids: Tensor, table: Tensor, value: Tensor) -> Tensor:
        """It stays."""
        return value

    def behind(self, value: Tensor) -> Tensor:
        """It stays."""
        return value

    def place(self) -> str:
        """Nobody asks."""
        return ""

    def name(self, value: Tensor) -> str | None:
        """Nobody asks."""
        return None


@dataclass(frozen=True, eq=False)
class Addend:
    """One thing that was added.

    Attributes:
        name: of the parameter, or of the module in which it was added.
        kind: where it comes from.
        value: a tensor in the graph of the output, by which that can be differentiated.
        place: the name of the module that was running.
        block: the number of the run of a block in which that was, from 0; -1 outside of blocks.
    """

    name: str
    kind: AddendKind
    value: Tensor
    place: str
    block: int


TOLERANCE = {torch.float64: 1e-6, torch.float32: 1e-4}
"""Allowed difference between an output and the sum of its parts, relative to the lengths of these.

Some models compute norms in float32 though they are in float64.
"""


def slopes_of(
    output: Tensor, addends: Sequence[Addend], suspects: Sequence[str], name: str
) -> list[Tensor | None]:
    """∂output/∂addend of each addend, and the check that the output is the sum of their parts.

    Args:
        output: one number, in the graph of a linear network.
        addends: of that network.
        suspects: functions that may have lost a part; for the message.
        name: of the model.

    Returns:
        None where the output does not depend on an addend.

    Raises:
        UnsupportedModelError: the parts do not add up to the output.
    """
    slopes = gradients(output, [each.value for each in addends])
    total, square = 0.0, 0.0
    for addend, slope in zip(addends, slopes, strict=True):
        if slope is None:
            continue
        if addend.kind == "frozen" and bool(slope.any()):
            raise _refused(name, addend.name)
        part = float(share(slope, addend.value).double().sum())
        total, square = total + part, square + part**2
    value = float(output.detach())
    allowed = TOLERANCE[output.dtype] * max(abs(value), square**0.5)
    if not abs(total - value) <= allowed:
        raise _refused(name, suspects[0] if suspects else "one of its functions")
    return slopes


def share(slope: Tensor, value: Tensor) -> Tensor:
    """Return the contribution of each number of an addend: the number times its slope.

    Masks add -∞, which nothing depends on.
    """
    return torch.where(slope == 0, 0, slope * value.detach())


def gradients(output: Tensor, values: Sequence[Tensor]) -> list[Tensor | None]:
    """∂output/∂value of tensors in its graph; None where it does not depend on one."""
    if not values or not output.requires_grad:
        return [None] * len(values)
    slopes = torch.autograd.grad(output, list(values), allow_unused=True, retain_graph=True)
    return list(slopes)


def _refused(name: str, function: str) -> UnsupportedModelError:
    return UnsupportedModelError(
        f"the parts of a prediction of {name} do not add up, because {function} makes something of "
        "the text that is added to the rest, for which there is no rule."
    )
