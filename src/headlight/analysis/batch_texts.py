"""The texts of one batch: their positions, types of tokens, and a stable id of each."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int64
from torch import Tensor

from headlight.analysis.positions import Positions
from headlight.analysis.settings import Rows, RowsOfText
from headlight.capture import Kind
from headlight.encode import Encoded
from headlight.encode.batch import Batch


@dataclass(frozen=True, eq=False)
class Texts:
    """The positions of one batch.

    Attributes:
        queries: whether there is something at each attending position.
        keys: the category of each attended position; −1 for padding.
        ids: the type at each attended position.
        text_ids: a number of its own for every text, from which random samples are drawn.
    """

    queries: Bool[Tensor, "batch query"]
    keys: Int64[Tensor, "batch key"]
    ids: Int64[np.ndarray, "batch key"]
    text_ids: tuple[int, ...]

    @staticmethod
    def of(batch: Batch, examples: Sequence[Encoded], kind: Kind) -> "Texts":
        """The positions that attention of this kind goes from and to."""
        queries, keys = Positions.for_kind(batch, kind)
        ids = key_ids(batch, kind)
        text_ids = tuple(text_id(example) for example in examples)
        return Texts(queries.category >= 0, keys.category, ids.cpu().numpy(), text_ids)

    def rows(self, which: Rows | RowsOfText) -> Bool[Tensor, "batch query"]:
        """Return the rows of all tokens, or of the first or the last one alone."""
        if which in ("all", "mean"):
            return self.queries
        numbers = self.queries.cumsum(-1) * self.queries
        return numbers == (1 if which == "first" else numbers.amax(-1, keepdim=True))

    @property
    def category(self) -> Int64[np.ndarray, "batch key"]:
        """Return the categories of the attended positions."""
        found: Int64[np.ndarray, "batch key"] = self.keys.cpu().numpy()
        return found


def key_ids(batch: Batch, kind: Kind) -> Int64[Tensor, "batch key"]:
    """Vocabulary ids of the attended positions."""
    return batch.input_ids if batch.target_ids is None or kind != "decoder" else batch.target_ids


def text_id(example: Encoded) -> int:
    """Return a number that depends on which text of the corpus it is alone.

    Neither on the name of a file, nor on what the text says, nor on its place in a batch: the same
    texts give the same samples, orders and resamples wherever they come from.
    """
    return _number([*(example.origin or (0, 0))])


def units_of(examples: Sequence[Encoded]) -> Int64[np.ndarray, " text"]:
    """Return the number in the corpus of the unit that each text is of: a document, or the text."""
    return np.array([each.unit for each in examples], dtype=np.int64)


def _number(content: list[object]) -> int:
    """Return a number that depends on the content alone, on any machine."""
    digest = hashlib.sha256(json.dumps(content).encode()).digest()
    return int.from_bytes(digest[:8], "little") >> 1
