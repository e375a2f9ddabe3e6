"""Attention and all sums of its rows in one visit of each row, on a CPU.

A row of attention fits into the cache: while it is there, the softmax is taken, every sum over it
is made, and it is multiplied with the values.  Nothing of the size of all rows is written.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int, Int64
from torch import Tensor

from headlight.capture.plain_attention import PlainCall
from headlight.measures.compiled_loops import run_in_threads
from headlight.measures.layer_vectors import Vectors
from headlight.measures.merged_norms import CANCELLATION
from headlight.measures.row_loops import (
    Call,
    KernelArrays,
    Keys,
    Lengths,
    Listed,
    Projection,
    Room,
    RowArrays,
    compiled_attention,
    compiled_rows,
    compiled_sums,
)
from headlight.reduce.accumulator import Array
from headlight.tensors import Score

HELD = 1 << 18
"""Weights of a block of queries, of all heads where norms are merged: a megabyte."""
LOWEST_BLOCK, HIGHEST_BLOCK = 32, 64
"""Queries of a block at least, and at most."""
LONG, PARTS = 512, 4
"""Texts of more queries than `LONG` are divided into `PARTS` parts, one for each thread."""
FEW = 1 << 16
"""Written cells for which another thread is not worth it."""
LOST = 512
"""Cells of a part whose digits are lost that there is room for."""
BARRED = np.float32(-1e30)
"""Number far below all entries."""


@dataclass(frozen=True, eq=False)
class EffectiveFactors:
    """Factors by which rows of weights become effective attention.

    Attributes:
        basis: Orthonormal columns that span those of T, where all queries see the same keys.
        null: Unit vectors of the left null space, where attention is causal.
        begins: First query that has each of them.
        rank: Rank of T of each query, or one for all.
    """

    basis: Float[Tensor, "batch space key column"] | None
    null: Float[Tensor, "batch space vector key"] | None
    begins: Int[Tensor, "batch space vector"] | None
    rank: Int[Tensor, "batch head #query"]

    def project(
        self,
        weights: Float[Tensor, "*row key"],
        text: Int64[Tensor, "*row"],
        head: Int64[Tensor, "*row"],
        query: Int64[Tensor, "*row"],
    ) -> Float[Tensor, "*row key"]:
        """Return effective attention of some rows.

        Args:
            weights: Rows of weights.
            text: Text of each.
            head: Head of each.
            query: Query of each.
        """
        vectors = self.null if self.basis is None else self.basis.mT
        assert vectors is not None  # noqa: S101 - there is one of both
        space = head // (self.rank.shape[1] // vectors.shape[1])
        along = vectors[text, space].to(weights.dtype)
        inside = along @ weights[..., None]
        if self.begins is None:
            return (along.mT @ inside)[..., 0]
        later = self.begins[text, space] > query[..., None]
        return weights - (along.mT @ inside.masked_fill(later[..., None], 0))[..., 0]


@contextmanager
def _one_thread() -> Iterator[None]:
    # Parts of texts have a thread each: products that took more would take them from one another.
    with _pools().limit(limits=1, user_api="blas"):
        yield


@cache
def _pools() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def none_of(axes: int, dtype: Any = np.float32) -> Array:
    """Return an empty array with this number of axes."""
    return np.zeros((0,) * axes, dtype)


def projection_of(factors: EffectiveFactors | None) -> Projection:
    """Return the factors as compiled loops take them."""
    if factors is None:
        return Projection(none_of(4), none_of(4), none_of(3, np.int64))
    basis, null = (
        none_of(4) if vectors is None else _array(vectors.float())
        for vectors in (factors.basis, factors.null)
    )
    begins = none_of(3, np.int64) if factors.begins is None else _array(factors.begins)
    return Projection(basis, null, begins)


def _array(tensor: Tensor) -> Array:
    return np.asarray(tensor.contiguous().numpy())


def lengths_of(vectors: Vectors | None) -> Lengths:
    """Return lengths of transformed vectors as compiled loops take them.

    Args:
        vectors: Vectors of the layer; None for no norms.
    """
    if vectors is None:
        nothing = none_of(3)
        return Lengths(nothing, nothing, none_of(2), nothing, nothing, CANCELLATION)
    length = vectors.norm.float()
    logarithm = length.clamp_min(torch.finfo(torch.float32).tiny).log()
    together = vectors.together(torch.float32, compiled=True)
    return Lengths(
        length=_array(length),
        logarithm=_array(logarithm),
        unit=_array(together.unit),
        in_units=_array(together.length),
        packed=_array(together.products),
        threshold=CANCELLATION,
    )


def attend(
    call: PlainCall,
    keys: Keys,
    listed: Listed,
    lengths: Lengths,
    projection: Projection,
) -> KernelArrays:
    """Return the context, and the sums of all rows.

    Args:
        call: Call of the attention function.
        keys: What is asked about keys.
        listed: Keys that are listed for each query.
        lengths: Lengths of transformed vectors.
        projection: Projection on the column space of T.
    """
    texts, heads, queries, columns = call.shape
    parts = PARTS if queries > LONG else 1
    measures = 1 + bool(len(lengths.length)) + bool(len(projection.basis) or len(projection.null))
    merged = bool(len(lengths.packed))
    height = HELD // (columns * (heads if merged else 1))
    height = min(max(height, LOWEST_BLOCK), HIGHEST_BLOCK, queries)
    of_rows = (texts, measures * heads, queries)
    # Loops leave out entries of `single`, such as neighbours before the first key.
    written, single = (partial(make, dtype=np.float32) for make in (np.empty, np.zeros))
    linked = keys.barred.shape[0]
    arrays = KernelArrays(
        context=written((texts, queries, heads, call.value.shape[3])),
        rows=RowArrays(
            entropy=written(of_rows),
            size=np.ones(of_rows, np.float32),  # of weights; those of others are written
            square=written(of_rows),
            pairs=single((*of_rows, len(listed.bounds))),
            received=np.zeros((parts, *of_rows[:2], columns)),
            diagonal=np.zeros((parts, *of_rows[:2], queries + columns - 1)),
        ),
        columns=written((*of_rows, keys.columns.shape[2])),
        neighbours=single((*of_rows, len(keys.offsets))),
        linked=single((linked, *of_rows[1:])),
        merged=written((texts, queries, keys.columns.shape[2]) if merged else (0, 0, 0)),
        lost=np.zeros((texts * parts, LOST, 2), np.int64),
        norms=single((texts * parts, LOST)),
        losses=np.zeros(texts * parts, np.int64),
    )
    given = _convert_call(call), keys, listed, lengths, projection, arrays, height
    threads = min(torch.get_num_threads(), texts * parts)

    def work(threads: int, thread: int) -> None:
        room = _room(
            given[0],
            keys,
            projection,
            height,
            held=heads if merged else 1,
            measures=1 + bool(len(lengths.length)),
        )
        compiled_attention()(*given, room, threads, thread)

    with _one_thread():
        run_in_threads(work, threads)
    return arrays


def sum_written(
    measured: Sequence[Score],
    shares: Sequence[bool],
    first: int,
    whole: int,
    keys: Keys,
    listed: Listed,
) -> KernelArrays:
    """Return sums of rows that were written, in float32, the heads of measures one after the other.

    Args:
        measured: Measures of some queries.
        shares: Whether their rows are shares as they are.
        first: First query.
        whole: Number of the set of all keys.
        keys: What is asked about keys.
        listed: Keys that are listed for each query.
    """
    batch, _, queries, _ = measured[0].shape
    heads, of_text = sum(scores.shape[1] for scores in measured), keys.columns.shape[1]
    of_rows = batch, heads, queries
    single = partial(np.zeros, dtype=np.float32)
    arrays = KernelArrays(
        context=none_of(4),
        rows=RowArrays(
            entropy=single(of_rows),
            size=single(of_rows),
            square=single(of_rows),
            pairs=single((*of_rows, len(listed.bounds))),
            received=np.zeros((1, batch, heads, of_text)),
            diagonal=np.zeros((1, batch, heads, 2 * of_text - 1)),
        ),
        columns=single((*of_rows, keys.columns.shape[2])),
        neighbours=single((*of_rows, len(keys.offsets))),
        linked=single((len(keys.barred), heads, queries)),
        merged=none_of(3),
        lost=none_of(3, np.int64),
        norms=none_of(2),
        losses=none_of(1, np.int64),
    )
    begin, loop = 0, compiled_sums()
    with _one_thread():
        for score, is_share in zip(measured, shares, strict=True):
            given = _array(score.detach()), (first, begin), is_share, whole, keys, listed, arrays
            run_in_threads(
                partial(loop, *given), min(torch.get_num_threads(), 1 + score.numel() // FEW)
            )
            begin += score.shape[1]
    return arrays


def _room(
    call: Call, asked: Keys, projection: Projection, height: int, *, held: int, measures: int
) -> Room:
    """Return room for blocks of `height` queries."""
    keys, columns = asked.columns.shape[1:]
    vectors = projection.null.shape[2]
    products = call.value.shape[3] + measures * columns
    within = max(products, projection.basis.shape[3], vectors)
    single = partial(np.empty, dtype=np.float32)
    return Room(
        weights=single((held, height * keys)),
        image=single(height * keys),
        lost=np.empty(height * keys, np.uint8),
        inside=single(height * within),
        null=single(vectors * keys),
        queries=single(height * call.query.shape[3]),
        multiplied=single(keys * products),
        rows=single((3, keys)),
        bounds=np.empty((3, height), np.int64),
        sums=single((2, height)),
        diagonals=np.zeros((2, keys + height), np.float32),
        factors=single(2 * height),
        received=single(keys),
        ones=np.ones(keys, np.float32),
    )


def write_rows(
    call: PlainCall,
    text: Int64[Tensor, "*row"],
    head: Int64[Tensor, "*row"],
    query: Int64[Tensor, "*row"],
) -> Float[Tensor, "*row key"]:
    """Return single rows of weights.

    Args:
        call: Call of the attention function.
        text: Text of each row.
        head: Head of each.
        query: Query of each.
    """
    rows = torch.empty(*text.shape, call.shape[3])
    places = (index.contiguous().view(-1).numpy() for index in (text, head, query))
    compiled_rows()(_convert_call(call), *places, rows.view(-1, call.shape[3]).numpy())
    return rows


def _convert_call(call: PlainCall) -> Call:
    """Return a call as compiled loops take it."""
    seen = call.seen
    return Call(
        query=_array(call.query),
        key=_array(call.key),
        value=_array(call.value),
        low=_array(seen.low),
        high=_array(seen.high),
        bias=none_of(4) if seen.bias is None else _array(seen.bias),
        scale=float(call.scale),
    )
