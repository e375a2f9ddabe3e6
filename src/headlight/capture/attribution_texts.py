"""Each text of a batch by itself, without padding, and back again."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headlight.capture.record import Kind
from headlight.encode.batch import Batch


def single_texts(batch: Batch) -> Iterator[Batch]:
    """Every text as a batch of its own, its padding cut off."""
    present, present_target = batch.attention_mask.bool(), _target_mask(batch)
    for row in range(len(batch.lengths)):
        cut: dict[str, Tensor] = {}
        for field in fields(batch):
            values = getattr(batch, field.name)
            if values is None:
                continue
            values = values[row : row + 1]
            if values.ndim == 2:
                kept = present_target if field.name.startswith("target") else present
                values = values[:, kept[row]]
            cut[field.name] = values
        yield replace(batch, **cut)


def without_target(batch: Batch) -> Batch:
    """What an encoder reads of a batch."""
    targets: dict[str, Any] = {
        field.name: None for field in fields(batch) if field.name.startswith("target")
    }
    return replace(batch, **targets)


@dataclass(frozen=True)
class Places:
    """Which positions of a batch are real, for hidden tokens and for input tokens."""

    query: Bool[Tensor, "batch query"]
    key: Bool[Tensor, "batch key"]

    @classmethod
    def of(cls, batch: Batch, kind: Kind) -> "Places":
        """Those of one kind: of the text, of the target, or of both."""
        source, target = batch.attention_mask.bool(), _target_mask(batch)
        has_target = batch.target_mask is not None
        query = target if has_target and kind != "encoder" else source
        key = target if has_target and kind == "decoder" else source
        return cls(query, key)

    def spread(
        self, values: Sequence[Float[Tensor, "layer ..."]]
    ) -> Float[Tensor, "layer batch query key"]:
        """What was found for each text, at its positions in the batch; 0 elsewhere."""
        batch, queries = self.query.shape
        whole = values[0].new_zeros(values[0].shape[0], batch, queries, self.key.shape[1])
        for row, found in enumerate(values):
            real = self.query[row][:, None] & self.key[row][None, :]
            whole[:, row, real] = found.flatten(1)
        return whole


def _target_mask(batch: Batch) -> Tensor:
    mask = batch.attention_mask if batch.target_mask is None else batch.target_mask
    return mask.to(torch.bool)
