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
        tree: dictionaries, lists and tuples; what else is in it stays as it is.
    """
    leaves, form = tree_flatten(tree)
    away: dict[torch.device, dict[int, Tensor]] = {}
    for place, leaf in enumerate(leaves):
        if isinstance(leaf, Tensor) and leaf.device.type != "cpu" and leaf.numel():
            away.setdefault(leaf.device, {})[place] = leaf.detach()
    for tensors in away.values():
        rows = [each.contiguous().view(-1).view(torch.uint8) for each in tensors.values()]
        parts = torch.split(torch.cat(rows).cpu(), [len(row) for row in rows])
        for (place, each), part in zip(tensors.items(), parts, strict=True):
            leaves[place] = part.clone().view(each.dtype).view(each.shape)  # clone: aligned
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
        lengths: Tokens in each example.
        target_ids: What the decoder is given (``decoder_input_ids``); None without a decoder text.
        target_mask: As `attention_mask`, for the target.
        target_category: As `category`, for the target.
        target_word: As `word`, for the target.
        target_lengths: As `lengths`, for the target.
        names: What the examples are called, for messages; empty where nobody has said.
        features: What an encoder of sound is given in place of ids; None for texts.
        heard: Of sound the positions that it fills; the silence after them is attended to, and as
            attending positions it is left out.
        arguments: Of a prompt beside a picture all that the language model is given; else None.
        padded: From which column to before which some example has padding; by default of all.
        target_padded: The same of the target.
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
    padded: Columns = (0, None)
    target_padded: Columns = (0, None)

    def repeated(self: B, number: int) -> B:
        """This many copies of the batch, one after the other."""
        tensors_by_name = {field.name: getattr(self, field.name) for field in fields(self)}
        tensors: dict[str, Any] = {
            name: each.repeat(number, *[1] * (each.ndim - 1))
            for name, each in tensors_by_name.items()
            if isinstance(each, Tensor)
        }
        return replace(self, **tensors, names=self.names * number)

    def on_host(self: B) -> B:
        """Return the batch where no device has to be waited for."""
        return replace(
            self, **fetched({each.name: getattr(self, each.name) for each in fields(self)})
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
        """The targets as texts of their own, padded on the right, all of one segment.

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
    """Examples as one batch, in their order.

    Args:
        examples: At least one; all with a target, or none.
        pad_id: Vocabulary id that fills the gaps; which one does not matter, it is masked.
        side: Where padding goes, ``right`` or ``left``.  Targets are always padded on the right,
            because decoders count their positions from the left.
        device: Where the tensors go.

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
        names=tuple(example.name for example in examples),
        padded=_padded(ids, side),
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
        target_padded=_padded(targets, "right"),
    )


def _padded(rows: Sequence[Sequence[int]], side: str) -> Columns:
    """Return the columns in which some row is filled up."""
    lengths = [len(row) for row in rows]
    shortest, width = min(lengths), max(lengths)
    return (0, width - shortest) if side == "left" else (shortest, width)


def _pad(rows: Sequence[Sequence[int]], fill: int, side: str) -> list[list[int]]:
    width = max(map(len, rows))
    gaps = [[fill] * (width - len(row)) for row in rows]
    if side == "left":
        return [gap + list(row) for gap, row in zip(gaps, rows, strict=True)]
    return [list(row) + gap for gap, row in zip(gaps, rows, strict=True)]
