"""Examples to tensors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

import torch
from jaxtyping import Float, Int64
from torch import Tensor
from torch.utils._pytree import tree_flatten, tree_unflatten

from headlight.encode.examples import Encoded
from headlight.errors import UsageError

NO_CATEGORY = -1
NO_WORD, PADDED_WORD = -1, -2
"""In the place of the number of a word, for special tokens and for padding."""
SIDES = ("right", "left")
Columns = tuple[int, int | None]

B = TypeVar("B", bound="Batch")
Tree = TypeVar("Tree")


def fetched(tree: Tree) -> Tree:
    """Return a tree of tensors with all of them on the host, which waits for a device only once.

    Args:
        tree: Dictionaries, lists and tuples; other values in it stay as they are.
    """
    leaves, form = tree_flatten(tree)
    away: dict[torch.device, dict[int, Tensor]] = {}
    for place, leaf in enumerate(leaves):
        if isinstance(leaf, Tensor) and leaf.device.type != "cpu" and leaf.numel():
            away.setdefault(leaf.device, {})[place] = leaf.detach()
    for tensors in away.values():
        rows = [tensor.contiguous().view(-1).view(torch.uint8) for tensor in tensors.values()]
        parts = torch.split(torch.cat(rows).cpu(), [len(row) for row in rows])
        for (place, tensor), part in zip(tensors.items(), parts, strict=True):
            leaves[place] = part.clone().view(tensor.dtype).view(tensor.shape)  # clone: aligned
    whole: Tree = tree_unflatten(leaves, form)
    return whole


@dataclass(frozen=True, slots=True)
class Batch:
    """Examples of different lengths, padded to the longest.

    Attributes:
        input_ids: Vocabulary ids.
        attention_mask: 1 for tokens, 0 for padding.
        token_type_ids: Segment of every token; 0 for padding.
        category: Index into `headlight.vocabulary.CATEGORIES`; -1 for padding.
        word: Number of the word within the example; -1 for special tokens, -2 for padding.
        lengths: Number of tokens in each example.
        target_ids: Input of the decoder (``decoder_input_ids``); None without a decoder text.
        target_mask: Mask of the target, like `attention_mask`.
        target_category: Categories of the target, like `category`.
        target_word: Words of the target, like `word`.
        target_lengths: Lengths of the targets, like `lengths`.
        names: Names of the examples, for messages; empty where they have none.
        features: Input of an encoder of sound or pictures in place of ids; None for texts.
        heard: Number of positions that sound fills; the silence after them is attended to, but left
            out as attending positions.
        arguments: Arguments of the language model for a prompt beside a picture; else None.
        position_ids: Position ids, for examples that have `Encoded.positions`; else None.
        padded: First column in which some example has padding, and the column after the last; by
            default all columns.
        target_padded: Padded columns of the target.
    """

    input_ids: Int64[Tensor, "batch token"]
    attention_mask: Int64[Tensor, "batch token"]
    token_type_ids: Int64[Tensor, "batch token"]
    category: Int64[Tensor, "batch token"]
    word: Int64[Tensor, "batch token"]
    lengths: Int64[Tensor, " batch"]
    target_ids: Int64[Tensor, "batch target"] | None = None
    target_mask: Int64[Tensor, "batch target"] | None = None
    target_category: Int64[Tensor, "batch target"] | None = None
    target_word: Int64[Tensor, "batch target"] | None = None
    target_lengths: Int64[Tensor, " batch"] | None = None
    names: tuple[str, ...] = ()
    features: Float[Tensor, "batch *feature"] | None = None
    heard: Int64[Tensor, " batch"] | None = None
    arguments: Mapping[str, Any] | None = None
    position_ids: Int64[Tensor, "batch token"] | None = None
    padded: Columns = (0, None)
    target_padded: Columns = (0, None)

    def repeated(self: B, number: int) -> B:
        """Return this many copies of the batch, one after the other."""
        return self.rows(list(range(len(self.lengths))) * number)

    def rows(self: B, places: Sequence[int]) -> B:
        """Return the examples at these places, as often as they are named, padded as they are."""
        index = torch.tensor(places)
        tensors: dict[str, Any] = {
            field.name: tensor.index_select(0, index.to(tensor.device))
            for field in fields(self)
            if isinstance(tensor := getattr(self, field.name), Tensor)
        }
        names = tuple(self.names[place] for place in places) if self.names else ()
        return replace(self, **tensors, names=names)

    def on_host(self: B) -> B:
        """Return the batch with its tensors on the host, where nothing waits for a device."""
        return replace(
            self, **fetched({field.name: getattr(self, field.name) for field in fields(self)})
        )

    def source_alone(self) -> "Batch":
        """Return the batch without the target."""
        return replace(
            self,
            target_ids=None,
            target_mask=None,
            target_category=None,
            target_word=None,
            target_lengths=None,
            target_padded=(0, None),
        )

    def target_alone(self) -> "Batch":
        """Return the targets as texts of their own, padded on the right, all of one segment.

        Raises:
            UsageError: There are none.
        """
        if self.target_ids is None:
            raise UsageError("this batch has no targets; make its examples of two texts.")
        return Batch(
            input_ids=self.target_ids,
            attention_mask=self.target_mask,  # type: ignore[arg-type]  # all of them, or none
            token_type_ids=torch.zeros_like(self.target_ids),
            category=self.target_category,  # type: ignore[arg-type]
            word=self.target_word,  # type: ignore[arg-type]
            lengths=self.target_lengths,  # type: ignore[arg-type]
            names=self.names,
            padded=self.target_padded,
        )


def collate(
    examples: Sequence[Encoded],
    pad_id: int,
    side: str = "right",
    device: torch.device | str = "cpu",
) -> Batch:
    """Return examples as one batch, in their order.

    Args:
        examples: Examples, at least one; all with a target, or none.
        pad_id: Vocabulary id that fills the gaps; any id will do, since it is masked.
        side: Side of the padding, ``right`` or ``left``.  Targets are always padded on the right,
            because decoders count their positions from the left.
        device: Device of the tensors.

    Raises:
        UsageError: There are no examples, only some have a target, or the side is neither.
    """
    if side not in SIDES:
        raise UsageError(f"the padding side must be 'right' or 'left', not {side!r}.")
    with_target = sum(bool(example.target) for example in examples)
    if not examples or with_target not in (0, len(examples)):
        raise UsageError("a batch needs examples, and all of them with a target or none.")

    def pad(
        rows: Sequence[Sequence[int]], fill: int, side: str = side
    ) -> Int64[Tensor, "batch token"]:
        return torch.tensor(_pad(rows, fill, side), dtype=torch.int64, device=device)

    def count(rows: Sequence[Sequence[int]]) -> Int64[Tensor, " batch"]:
        return torch.tensor([len(row) for row in rows], dtype=torch.int64, device=device)

    ids = [example.ids for example in examples]
    batch = Batch(
        input_ids=pad(ids, pad_id),
        attention_mask=pad([[1] * len(row) for row in ids], 0),
        token_type_ids=pad([example.segments for example in examples], 0),
        category=pad([example.categories for example in examples], NO_CATEGORY),
        word=pad([example.words for example in examples], PADDED_WORD),
        lengths=count(ids),
        position_ids=pad([e.positions for e in examples], 0) if examples[0].positions else None,
        names=tuple(example.name for example in examples),
        padded=_padded_columns(ids, side),
    )
    if not with_target:
        return batch
    targets = [example.target for example in examples]
    return replace(
        batch,
        target_ids=pad(targets, pad_id, "right"),
        target_mask=pad([[1] * len(row) for row in targets], 0, "right"),
        target_category=pad([e.target_categories for e in examples], NO_CATEGORY, "right"),
        target_word=pad([e.target_words for e in examples], PADDED_WORD, "right"),
        target_lengths=count(targets),
        target_padded=_padded_columns(targets, "right"),
    )


def _padded_columns(rows: Sequence[Sequence[int]], side: str) -> Columns:
    lengths = [len(row) for row in rows]
    shortest, width = min(lengths), max(lengths)
    return (0, width - shortest) if side == "left" else (shortest, width)


def _pad(rows: Sequence[Sequence[int]], fill: int, side: str) -> list[list[int]]:
    width = max(map(len, rows))
    gaps = [[fill] * (width - len(row)) for row in rows]
    if side == "left":
        return [gap + list(row) for gap, row in zip(gaps, rows, strict=True)]
    return [list(row) + gap for gap, row in zip(gaps, rows, strict=True)]
