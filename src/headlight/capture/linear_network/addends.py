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
    the output of the heads of a module, where a network is cut behind them.
``linear``
    the output of a linear map, where a network is cut behind it.
``frozen``
    the result of a function of the input without a rule.  A network whose output depends on a
    frozen addend is not linear in the others.
"""


@runtime_checkable
class Bookkeeper(Protocol):
    """Interface of a network to the rules while it runs."""

    tangents: bool
    """Whether the network runs for its tangents: only a tensor with a tangent is an addend."""

    def addend(self, value: Tensor, kind: AddendKind, name: str) -> Tensor:
        """Return a tensor in the place of an addend, by which the output can be differentiated."""

    def embedded(self, ids: Tensor, table: Tensor, value: Tensor) -> Tensor:
        """Return the rows of a table of embeddings, as an addend."""

    def behind(self, value: Tensor) -> Tensor:
        """Return the output of a linear map; or an addend, where the network is cut behind it."""

    def place(self) -> str:
        """Return the name of the module that runs."""

    def name(self, value: Tensor) -> str | None:
        """Return the name of a parameter."""


class Still:
    """Bookkeeper that keeps nothing: addends do not change."""

    tangents = True

    def addend(self, value: Tensor, kind: AddendKind, name: str) -> Tensor:
        """Return the value unchanged."""
        return value

    def embedded(self, ids: Tensor, table: Tensor, value: Tensor) -> Tensor:
        """Return the value unchanged."""
        return value

    def behind(self, value: Tensor) -> Tensor:
        """Return the value unchanged."""
        return value

    def place(self) -> str:
        """Return no name, since nothing is kept that needs it."""
        return ""

    def name(self, value: Tensor) -> str | None:
        """Return no name, since nothing is kept that needs it."""
        return None


@dataclass(frozen=True, eq=False)
class Addend:
    """One addend of the output.

    Attributes:
        name: Name of the parameter, or of the module in which it was added.
        kind: Source of the addend.
        value: Tensor in the graph of the output, by which the output can be differentiated.
        place: Name of the module that was running.
        block: Number of the run of a block in which that was, from 0; -1 outside of blocks.
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
    """Return ∂output/∂addend of each addend, and check that the output is the sum of their parts.

    Args:
        output: Single number in the graph of a linear network.
        addends: Addends of that network.
        suspects: Functions that may have lost a part; for the message.
        name: Name of the model.

    Returns:
        The slopes; None where the output does not depend on an addend.

    Raises:
        UnsupportedModelError: the parts do not add up to the output.
    """
    slopes = gradients(output, [addend.value for addend in addends])
    total, square = 0.0, 0.0
    for addend, slope in zip(addends, slopes, strict=True):
        if slope is None:
            continue
        if addend.kind == "frozen" and bool(slope.any()):
            raise _refusal(name, addend.name)
        part = float(share(slope, addend.value).double().sum())
        total, square = total + part, square + part**2
    value = float(output.detach())
    allowed = TOLERANCE[output.dtype] * max(abs(value), square**0.5)
    if not abs(total - value) <= allowed:
        raise _refusal(name, suspects[0] if suspects else "one of its functions")
    return slopes


NUMBERS_AT_ONCE = 2**26
"""Numbers of slopes that are held at once: 256 MB in float32; at least those of one component."""


def vectors_of(
    output: Tensor,
    addends: Sequence[Addend],
    slopes: Sequence[Tensor | None],
    suspects: Sequence[str],
    name: str,
) -> list[Tensor]:
    """Return what each addend adds to a vector, and check that the vector is the sum of it all.

    Args:
        output: Vector in the graph of a linear network, ``component``.
        addends: Addends of that network.
        slopes: Slopes of a number that the vector is multiplied to, from `slopes_of`.
        suspects: Functions that may have lost a part; for the message.
        name: Name of the model.

    Returns:
        Vectors in float64, ``head component`` for the heads of an attention module, and
        ``1 component`` for any other addend.

    Raises:
        UnsupportedModelError: the vectors do not add up to the output.
    """
    vectors = [
        torch.zeros(_shape(addend)[1], len(output), dtype=torch.float64) for addend in addends
    ]
    # The vector depends on few places of a text, mostly on its own alone.
    places = {
        at: slope.reshape(_shape(addends[at])).flatten(1).any(1)
        for at, slope in enumerate(slopes)
        if slope is not None and bool(slope.any())
    }
    values = [addends[at].value for at in places]
    at_once = max(1, NUMBERS_AT_ONCE // sum(value.numel() for value in values))
    unit = torch.eye(len(output), dtype=output.dtype, device=output.device)
    for first in range(0, len(output), at_once):
        rows = unit[first : first + at_once]
        blocks = torch.autograd.grad(output, values, rows, is_grads_batched=True, retain_graph=True)
        for (at, place), block in zip(places.items(), blocks, strict=True):
            shape = _shape(addends[at])
            steep = block.reshape(len(rows), *shape)[:, place]
            added = share(steep, addends[at].value.reshape(shape)[place]).double().sum((1, 3))
            vectors[at][:, first : first + at_once] = added.T.cpu()
    together, whole = torch.cat(vectors), output.detach().double().cpu()
    allowed = TOLERANCE[output.dtype] * torch.maximum(whole.norm(), together.norm())
    if not (together.sum(0) - whole).norm() <= allowed:
        raise _refusal(name, suspects[0] if suspects else "one of its functions")
    return vectors


def _shape(addend: Addend) -> tuple[int, int, int]:
    """Return the shape ``place head number`` of an addend; one head for what has none."""
    heads = addend.value.shape[2] if addend.kind == "attention" else 1
    return -1, heads, addend.value.shape[-1:].numel()


def share(slope: Tensor, value: Tensor) -> Tensor:
    """Return the contribution of each number of an addend: the number times its slope.

    Masks add -∞, which nothing depends on.
    """
    return torch.where(slope == 0, 0, slope * value.detach())


def gradients(output: Tensor, values: Sequence[Tensor]) -> list[Tensor | None]:
    """Return ∂output/∂value of tensors in its graph; None where it does not depend on a tensor."""
    if not values or not output.requires_grad:
        return [None] * len(values)
    slopes = torch.autograd.grad(output, list(values), allow_unused=True, retain_graph=True)
    return list(slopes)


def _refusal(name: str, function: str) -> UnsupportedModelError:
    return UnsupportedModelError(
        f"the parts of a prediction of {name} do not add up, because {function} makes something of "
        "the text that is added to the rest, for which there is no rule."
    )
