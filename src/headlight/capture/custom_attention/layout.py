"""Axes of a product of weights and values: which is a text, a head, a query, a key.

Models order and fuse these axes as they like: heads beside texts or fused with them, the sequence
first, the letters of an einsum.  Nothing about that is listed.  The numbers of the elements of a
product are pushed through whatever the model does with its shape, up to where it is projected;
what arrives says which of its axes became positions of tokens there, and which features.
"""

import math
import string
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from headlight.errors import UnsupportedModelError
from headlight.tensors import Value, Weight

Context = Tensor
"""``batch query head head_dim``"""

CASTS = {"to", "type", "type_as", "float", "half", "bfloat16", "double", "dropout", "dropout_"}
"""Functions that leave elements where they are, and cannot be given whole numbers."""


class NoLayoutError(UnsupportedModelError):
    """Refusal of axes that cannot be told apart; the message is the end of a sentence."""


class Notation(NamedTuple):
    """Letters of a product's operands and of its result, as of an einsum."""

    weight: str
    value: str
    result: str

    @classmethod
    def from_matmul(cls, weight: Tensor, value: Tensor, *, swapped: bool = False) -> "Notation":
        """Return the notation of a product of matrices, with leading axes that broadcast.

        Args:
            weight: Operand of weights.
            value: Operand of values.
            swapped: Whether the values come first.
        """
        lead = string.ascii_lowercase[: max(weight.ndim, value.ndim) - 2]

        def letters(operand: Tensor, last: str) -> str:
            return lead[len(lead) - (operand.ndim - 2) :] + last

        if swapped:
            return cls(letters(weight, "KQ"), letters(value, "DK"), f"{lead}DQ")
        return cls(letters(weight, "QK"), letters(value, "KD"), f"{lead}QD")

    @classmethod
    def from_einsum(
        cls, equation: str, weight: Tensor, value: Tensor, *, swapped: bool = False
    ) -> "Notation | None":
        """Return the notation of an equation with two operands and a result; None for another."""
        terms, arrow, result = equation.replace(" ", "").partition("->")
        operands = terms.split(",")
        if not arrow or len(operands) != 2:
            return None
        letters_of = operands[::-1] if swapped else operands
        if "..." in equation:
            sizes = [
                t.ndim - len(o.replace("...", ""))
                for t, o in zip((weight, value), letters_of, strict=True)
            ]
            free = [letter for letter in string.ascii_uppercase if letter not in equation][
                : max(sizes)
            ]
            names = ["".join(free[len(free) - size :]) for size in sizes]
            letters_of = [o.replace("...", n) for o, n in zip(letters_of, names, strict=True)]
            result = result.replace("...", "".join(free))
        return cls(letters_of[0], letters_of[1], result)


class Step(NamedTuple):
    """Function that a context went through, with its arguments."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    options: dict[str, Any]
    place: int
    """Position of the context among the arguments."""

    @property
    def name(self) -> str:
        """Return the name of the function."""
        return getattr(self.function, "__name__", str(self.function))

    @property
    def plain(self) -> list[Any]:
        """Return the other arguments of the function, with tensors as their shapes."""
        others = (*self.arguments[: self.place], *self.arguments[self.place + 1 :])
        settings = (*others, *self.options.items())
        return [
            argument.shape if isinstance(argument, Tensor) else argument for argument in settings
        ]

    def again(self, tensor: Tensor) -> Any:
        """Apply the function to another tensor."""
        arguments = (*self.arguments[: self.place], tensor, *self.arguments[self.place + 1 :])
        return self.function(*arguments, **self.options)


class _Part(NamedTuple):
    """Axis, or part of an axis into which a model has fused two."""

    letter: str
    size: int
    role: Literal["batch", "head", "query", "feature"]
    step: int
    """Distance between its neighbours, among the positions or features of what is projected."""


@dataclass(frozen=True)
class Layout:
    """Mapping between the order in which a model multiplies and that of a record.

    Attributes:
        notation: Notation of the product.
        parts: Axes of which each letter of the result consists, outermost first.
        keys: Letter of the keys.
        query_first: Whether positions are numbered query by query, not text by text.
    """

    notation: Notation
    parts: dict[str, tuple[_Part, ...]]
    keys: str
    query_first: bool

    def _order_parts(self, *roles: str) -> list[_Part]:
        all_parts = [part for parts in self.parts.values() for part in parts]
        chosen = [[part for part in all_parts if part.role == role] for role in roles]
        return [part for group in chosen for part in sorted(group, key=lambda part: -part.step)]

    def _size(self, role: str) -> int:
        return math.prod(part.size for part in self._order_parts(role))

    def _taken(self, tensor: Tensor, letters: str, order: Sequence[_Part | str]) -> Tensor:
        """Return an operand with these axes, of size 1 where it lacks one."""
        shape: list[int] = []
        names: list[_Part | str] = []
        for letter, size in zip(letters, tensor.shape, strict=True):
            parts = self.parts.get(letter)
            if parts is None:
                names.append(letter)
                shape.append(size)
                continue
            whole = math.prod(part.size for part in parts)
            names += parts
            shape += [part.size if size == whole else 1 for part in parts]
        split = tensor.reshape(shape)
        present = [names.index(axis) for axis in order if axis in names]
        split = split.permute(present)
        for place, axis in enumerate(order):
            if axis not in names:
                split = split.unsqueeze(place)
        return split

    @property
    def heads(self) -> tuple[int, int]:
        """Return the number of heads, and their size."""
        return self._size("head"), self._size("feature")

    def weight(self, operand: Tensor, letters: str = "") -> Tensor:
        """Return the weights of a record, or a mask of them whose axes have other letters."""
        groups = [self._order_parts(role) for role in ("batch", "head", "query")]
        order: list[_Part | str] = [*groups[0], *groups[1], *groups[2], self.keys]
        split = self._taken(operand, letters or self.notation.weight, order)
        sizes = [part.size for group in groups for part in group]
        whole = split.expand(*sizes, split.shape[-1])
        return whole.reshape(*(math.prod(p.size for p in group) for group in groups), -1)

    def weight_operand(self, weight: Weight, like: Tensor) -> Tensor | None:
        """Return the model's operand for the weights of a record; None if it has fewer weights."""
        if weight.numel() != like.numel():
            return None
        order: list[_Part | str] = [*self._order_parts("batch", "head", "query"), self.keys]
        sizes = [part.size for part in order[:-1] if isinstance(part, _Part)]
        split = weight.reshape(*sizes, weight.shape[-1])
        names: list[_Part | str] = []
        for letter in self.notation.weight:
            names += self.parts.get(letter, (letter,))
        missing = [axis for axis in order if axis not in names]
        split = split.permute([order.index(axis) for axis in (*missing, *names)])
        return split.reshape(like.shape)

    def value(self, operand: Tensor, letters: str = "") -> Value:
        """Return the values of a record, each once where heads share them.

        Args:
            operand: Values, or keys.
            letters: Letters of its axes, if the operand is not the values.
        """
        batch, head = self._order_parts("batch"), self._order_parts("head")
        letters = letters or self.notation.value
        last: list[Any] = list(self._order_parts("feature"))
        if letters != self.notation.value:
            last = [
                letter for letter in letters if letter not in self.parts and letter != self.keys
            ]
        split = self._taken(operand, letters, [*batch, *head, self.keys, *last])
        sizes = split.shape[len(batch) : len(batch) + len(head)]
        shared = [size != part.size for size, part in zip(sizes, head, strict=True)]
        # Heads that share values follow one another in a record.
        head_sizes = sizes if shared == sorted(shared) else [part.size for part in head]
        split = split.expand(
            *(part.size for part in batch), *head_sizes, *split.shape[len(batch) + len(head) :]
        )
        keys = operand.shape[letters.index(self.keys)]
        return split.reshape(self._size("batch"), math.prod(head_sizes), keys, -1)

    def query(self, operand: Tensor, letters: str) -> Tensor:
        """Return an operand of the scores as ``batch head query key_dim``."""
        batch, head, query = (self._order_parts(role) for role in ("batch", "head", "query"))
        rest = [letter for letter in letters if letter not in self.parts]
        split = self._taken(operand, letters, [*batch, *head, *query, *rest])
        sizes = [part.size for part in (*batch, *head, *query)]
        split = split.expand(*sizes, *split.shape[len(sizes) :])
        groups = (math.prod(p.size for p in group) for group in (batch, head, query))
        return split.reshape(*groups, -1)

    def context(self, result: Tensor) -> Context:
        """Return the contexts of a record, from the result of the product."""
        order = self._order_parts("batch", "query", "head", "feature")
        split = self._taken(result, self.notation.result, order)
        return split.reshape(
            self._size("batch"), self._size("query"), self._size("head"), self._size("feature")
        )

    def rows(self, tensor: Tensor, axes: int = 1) -> Tensor:
        """Return the input or output of the projection as ``batch query feature``.

        Args:
            tensor: Positions of tokens, and features along the last axes.
            axes: Number of axes of features.
        """
        flat = tensor.reshape(-1, math.prod(tensor.shape[tensor.ndim - axes :]))
        if self.query_first:
            return flat.reshape(self._size("query"), -1, flat.shape[1]).transpose(0, 1)
        return flat.reshape(-1, self._size("query"), flat.shape[1])

    def given(self, rows: Tensor, shape: Sequence[int]) -> Tensor:
        """Return `rows` in the shape of the projection's input."""
        ordered = rows.transpose(0, 1) if self.query_first else rows
        return ordered.reshape(shape)


def derive(notation: Notation, result: Tensor, steps: Sequence[Step], axes: int) -> Layout:
    """Find the layout of a product.

    Args:
        notation: Notation of the product.
        result: Result of the product.
        steps: Functions that the result went through before it was projected.
        axes: Number of last axes that are features then.

    Raises:
        NoLayoutError: the axes cannot be told apart.
    """
    numbers = _push_numbers(result, steps)
    numbers = numbers.reshape(-1, math.prod(numbers.shape[numbers.ndim - axes :]))
    keys = [
        letter
        for letter in notation.weight
        if letter in notation.value and letter not in notation.result
    ]
    if len(keys) != 1:
        raise NoLayoutError("the weights have no single axis of keys")
    stride = dict(zip(notation.result, _strides(result.shape), strict=True))
    parts: dict[str, tuple[_Part, ...]] = {}
    for letter, size in zip(notation.result, result.shape, strict=True):
        along = numbers[0] // stride[letter] % size, numbers[:, 0] // stride[letter] % size
        weighted, valued = letter in notation.weight, letter in notation.value
        inner: Any = "feature" if not weighted else "head"
        outer: Any = "query" if not valued else "batch"
        parts[letter] = _parts(letter, size, along, (inner, outer))
    all_parts = [part for letter_parts in parts.values() for part in letter_parts]
    rows = [part for part in all_parts if part.role in ("batch", "query") and part.size > 1]
    rows.sort(key=lambda part: -part.step)
    roles = [part.role for part in rows]
    if roles != sorted(roles) and roles != sorted(roles, reverse=True):
        raise NoLayoutError("texts and queries are mixed in what is projected")
    query_first = bool(roles) and roles != sorted(roles)
    layout = Layout(notation, parts, keys[0], query_first)
    inner_parts = layout._order_parts("head", "feature")
    order = [
        *(
            layout._order_parts("query", "batch")
            if query_first
            else layout._order_parts("batch", "query")
        ),
        *inner_parts,
    ]
    wanted = layout._taken(torch.arange(result.numel()).view(result.shape), notation.result, order)
    if not torch.equal(wanted.reshape(numbers.shape), numbers):
        raise NoLayoutError("heads cannot be told apart in what is projected")
    return layout


def _parts(
    letter: str, size: int, along: tuple[Tensor, Tensor], roles: tuple[Any, Any]
) -> tuple[_Part, ...]:
    """Return the parts of an axis that vary along features and along positions, outermost first."""
    parts = []
    for coordinates, role in zip(along, roles, strict=True):
        count = len(set(coordinates.tolist()))
        if count > 1:
            first = int((coordinates != coordinates[0]).nonzero()[0])
            stride = int(coordinates[first] - coordinates[0])
            parts.append((stride, _Part(letter, count, role, first)))
    if not parts:
        return (_Part(letter, size, roles[1], 0),)
    if math.prod(part.size for _, part in parts) != size:
        raise NoLayoutError("a part of what the heads compute is projected alone")
    return tuple(part for _, part in sorted(parts, key=lambda entry: -entry[0]))


def _push_numbers(result: Tensor, steps: Sequence[Step]) -> Tensor:
    """Return the numbers of the elements of a result where it is projected."""
    numbers = torch.arange(result.numel()).view(result.shape)
    for step in steps:
        if step.name in CASTS:
            continue
        try:
            moved = step.again(numbers.clone())  # a step may write into its argument
        except (RuntimeError, TypeError, ValueError) as problem:
            raise NoLayoutError(f"what the heads compute goes through {step.name}") from problem
        same = isinstance(moved, Tensor) and moved.dtype == torch.int64
        if not same or not torch.equal(moved.flatten().sort()[0], torch.arange(result.numel())):
            raise NoLayoutError(f"what the heads compute is changed by {step.name}")
        numbers = moved
    return numbers


def _strides(shape: Sequence[int]) -> list[int]:
    return [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
