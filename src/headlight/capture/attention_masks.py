"""Masks of attention: made by rows where they are large, and which keys they let a query see."""

from typing import Any

import torch
from torch import Tensor
from transformers.masking_utils import eager_mask, sdpa_mask

from headlight.errors import UnsupportedModelError
from headlight.tensors import Value, Visible

LARGE = 1 << 22
"""Masks of this many cells are not made whole."""

LOWEST = torch.finfo(torch.float32).min
"""Lowest number that a mask adds to scores of float64."""


class MaskByRows(Tensor):
    """Mask to be added to logits, whose rows are made when they are requested.

    Models hand it on as it is; whatever else is done with it is done with the whole mask.
    """

    _recipe: dict[str, Any]

    @staticmethod
    def __new__(cls, recipe: dict[str, Any], row: Tensor) -> "MaskByRows":
        """Create the mask that `eager_mask` makes of these arguments, of which `row` is one row."""
        # A tensor with a size and without numbers, so that models may ask for its shape.
        size = (*row.shape[:2], recipe["q_length"], row.shape[3])
        mask: MaskByRows = Tensor._make_wrapper_subclass(
            cls, size, dtype=row.dtype, device=row.device
        )
        mask._recipe = recipe
        return mask

    def __init__(self, recipe: dict[str, Any], row: Tensor) -> None:
        super().__init__()

    def __repr__(self, **_: Any) -> str:  # type: ignore[override]
        return f"<{type(self).__name__} {tuple(self.shape)}>"

    def rows(self, first: int, end: int) -> Tensor:
        """Return the mask of the queries from `first` to before `end`."""
        offset = self._recipe["q_offset"] + first
        mask = _eager_mask({**self._recipe, "q_offset": offset, "q_length": end - first})
        assert mask is not None  # noqa: S101 - there was a row
        return mask

    def for_sdpa(self) -> Tensor | None:
        """Return the mask for the fast kernel, which needs none where it is merely causal."""
        options = {name: value for name, value in self._recipe.items() if name != "dtype"}
        mask: Tensor | None = sdpa_mask(**{**options, "allow_is_causal_skip": True})
        return mask

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Run any operation on the mask with the whole mask."""
        whole = torch.utils._pytree.tree_map_only(
            cls, lambda mask: mask.rows(0, mask.shape[2]), (args, kwargs or {})
        )
        return func(*whole[0], **whole[1])


def added_mask(
    batch_size: int, q_length: int, kv_length: int, q_offset: Any = 0, **options: Any
) -> Tensor | None:
    """Return the mask that eager functions add to their logits; a large one by rows."""
    recipe = {
        "batch_size": batch_size,
        "q_length": q_length,
        "kv_length": kv_length,
        "q_offset": q_offset,
        **options,
    }
    if batch_size * q_length * kv_length < LARGE or options.get("use_vmap"):
        return _eager_mask(recipe)
    row = _eager_mask({**recipe, "q_length": 1})
    return None if row is None else MaskByRows(recipe, row)


def _eager_mask(recipe: dict[str, Any]) -> Tensor | None:
    # Many models in float64 take the softmax in float32, where the lowest number of float64 is
    # -inf, and a row of padding that sees nothing would be NaN.
    mask: Tensor | None = eager_mask(**recipe)
    return mask.clamp_min(LOWEST) if mask is not None and mask.dtype == torch.float64 else mask


def with_sdpa_mask(
    arguments: tuple[Any, ...], options: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of the fast kernel, in the place of a mask by rows."""
    mask = mask_of(arguments, options)
    if not isinstance(mask, MaskByRows):
        return arguments, options
    return with_mask(arguments, options, mask.for_sdpa())


def mask_of(arguments: tuple[Any, ...], options: dict[str, Any]) -> Tensor | None:
    """Return the mask among the arguments of an attention function."""
    mask: Tensor | None = arguments[3] if len(arguments) > 3 else options.get("attention_mask")
    return mask


def mask_rows(mask: Tensor, first: int, end: int) -> Tensor:
    """Return the rows of some queries; the only row where all queries share it."""
    if isinstance(mask, MaskByRows):
        return mask.rows(first, end)
    return mask if mask.shape[-2] == 1 else mask[..., first:end, :]


def seen_in(mask: Tensor) -> Tensor:
    """Return the mask of keys that each query sees."""
    # Half of the lowest number: biases of positions, added to the same mask, are far above it.
    return mask if mask.dtype == torch.bool else mask > max(torch.finfo(mask.dtype).min, LOWEST) / 2


def visible_keys(
    arguments: tuple[Any, ...], options: dict[str, Any], weight: Tensor, *, collapse: bool = True
) -> Visible | None:
    """Return the keys that a query may attend to, from the mask that the model adds to its logits.

    One row is enough where all queries see the same keys, as in an encoder.

    Args:
        arguments: Positional arguments of the attention function.
        options: Keyword arguments of the attention function.
        weight: Attention weights that it returned.
        collapse: Whether to return one row where all queries see the same keys; to be turned off
            for a part of the queries, which may see the same keys where others do not.

    Raises:
        UnsupportedModelError: the heads of one module see different keys.
    """
    mask = mask_of(arguments, options)
    if mask is None:
        return None
    visible = seen_in(mask[..., : weight.shape[3]])
    if visible.shape[1] > 1 and not bool((visible == visible[:, :1]).all()):
        raise UnsupportedModelError(
            "the heads of this attention see different keys, where Headlight has one mask for all "
            "heads of a layer, on which effective attention, gradients and ranks rest; take a "
            "setting of the model by which they see the same, or shorter texts."
        )
    visible = visible.expand(weight.shape[0], -1, -1, -1)[:, 0]
    if collapse and visible.shape[1] > 1 and bool((visible == visible[:, :1]).all()):
        visible = visible[:, :1]
    return visible


def real_keys(mask: Tensor | None, queries: int, value: Value) -> tuple[Tensor | None, bool]:
    """Return the keys that the last query sees, if not all, and whether the first sees the same."""
    if mask is None:
        return None, True
    batch, _, keys, _ = value.shape
    first, last = (
        seen_in(mask_rows(mask, place, place + 1))[..., :keys].expand(batch, -1, -1, -1)[:, 0, 0]
        for place in (0, queries - 1)
    )
    return last, torch.equal(first, last)


def with_mask(
    arguments: tuple[Any, ...], options: dict[str, Any], mask: Tensor | None
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of an attention function with another mask among them."""
    if len(arguments) > 3:
        return (*arguments[:3], mask, *arguments[4:]), options
    return arguments, {**options, "attention_mask": mask}
