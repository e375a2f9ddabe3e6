"""Positions of a batch that attend, and that are attended to."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Int64
from torch import Tensor

from headlight.capture import Kind
from headlight.encode import Encoded
from headlight.encode.batch import NO_CATEGORY, Batch
from headlight.observations.text_ids import text_id
from headlight.study_settings.classifiers import Rows, RowsOfText


@dataclass(frozen=True, eq=False)
class Positions:
    """The positions on one side of attention."""

    category: Int64[Tensor, "batch position"]
    lengths: Int64[Tensor, " batch"]

    @staticmethod
    def for_kind(batch: Batch, kind: Kind) -> "tuple[Positions, Positions]":
        """Return queries and keys: cross-attention goes from the decoder's text to the encoder's.

        In sound only the positions that it fills attend, to the silence after it as well.
        """
        source = Positions(batch.category, batch.lengths)
        if kind == "encoder" and batch.heard is not None:
            place = torch.arange(batch.category.shape[1], device=batch.category.device)
            silent = place >= batch.heard[:, None]
            return Positions(batch.category.masked_fill(silent, NO_CATEGORY), batch.heard), source
        if batch.target_category is None or batch.target_lengths is None or kind == "encoder":
            return source, source
        target = Positions(batch.target_category, batch.target_lengths)
        return target, (source if kind == "cross" else target)


@dataclass(frozen=True, eq=False)
class Texts:
    """The positions of one batch.

    Attributes:
        queries: Mask of the attending positions that are not padding.
        keys: Category of each attended position; −1 for padding.
        ids: Vocabulary id at each attended position.
        text_ids: Unique number of every text, from which random samples are drawn.
    """

    queries: Bool[Tensor, "batch query"]
    keys: Int64[Tensor, "batch key"]
    ids: Int64[np.ndarray, "batch key"]
    text_ids: tuple[int, ...]

    @staticmethod
    def of(batch: Batch, examples: Sequence[Encoded], kind: Kind) -> "Texts":
        """Return the positions that attention of this kind goes from and to."""
        queries, keys = Positions.for_kind(batch, kind)
        ids = key_ids(batch, kind)
        text_ids = tuple(text_id(example) for example in examples)
        return Texts(queries.category >= 0, keys.category, ids.cpu().numpy(), text_ids)

    def rows(self, which: Rows | RowsOfText) -> Bool[Tensor, "batch query"]:
        """Return the mask of all rows, or of the first or the last token alone."""
        if which in ("all", "mean"):
            return self.queries
        # Counted from 1, so that padding, 0, is neither the first nor the last.
        numbers = self.queries.cumsum(-1) * self.queries
        return numbers == (1 if which == "first" else numbers.amax(-1, keepdim=True))

    @property
    def category(self) -> Int64[np.ndarray, "batch key"]:
        """Return the categories of the attended positions."""
        category: Int64[np.ndarray, "batch key"] = self.keys.cpu().numpy()
        return category


def key_ids(batch: Batch, kind: Kind) -> Int64[Tensor, "batch key"]:
    """Return the vocabulary ids of the attended positions."""
    return batch.input_ids if batch.target_ids is None or kind != "decoder" else batch.target_ids
