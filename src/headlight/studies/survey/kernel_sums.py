"""Sums of the rows of weights, norms and effective attention, computed along with the attention.

On a CPU the kernel computes the attention of a layer, and all sums of its rows while they are in
the cache (`headlight.measures.attention_kernel`).  Calls for which it cannot compute all requested
sums, such as the effective attention of long texts under a causal mask, are left to the model.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor

from headlight.capture import LayerRecord
from headlight.capture.plain_attention import PlainCall, PlainRecord
from headlight.measures import Scores
from headlight.measures.attention_kernel import (
    EffectiveFactors,
    attend,
    lengths_of,
    projection_of,
    write_rows,
)
from headlight.measures.effective_causal import LONGEST
from headlight.measures.layer_vectors import Vectors
from headlight.measures.merged_norms import formed
from headlight.measures.row_loops import KernelArrays
from headlight.studies.survey.compiled_sums import CompiledSums
from headlight.studies.survey.row_sums import Asked, RowSums
from headlight.vocabulary import ValueBias

MADE = ("weight", "norm", "effective")
"""Measures that the kernel computes, in the order of their heads."""


@dataclass(frozen=True, eq=False)
class MadeByKernel:
    """Results of the kernel for a layer, besides its output.

    Attributes:
        call: Call of the attention function.
        sums: Sums of the rows of the measures that the kernel computed.
        vectors: Vectors of the layer.
        merged: Norms of sums over heads, summed over the keys of each column of `Asked`; None
            where no norms are requested.
        factors: Factors of effective attention; None where it is not requested.
        context: Output of the heads before W^O.
    """

    call: PlainCall
    sums: RowSums
    vectors: Vectors
    merged: Float[Tensor, "batch query column"] | None
    factors: EffectiveFactors | None
    context: Float[Tensor, "batch query head head_dim"]

    def rows(
        self,
        name: str,
        text: Int64[Tensor, "*#row"],
        head: Int64[Tensor, "*#row"],
        query: Int64[Tensor, "*#row"],
    ) -> Float[Tensor, "... key"]:
        """Return single rows of a measure that the kernel computed.

        Args:
            name: Name of the measure.
            text: Text of each row.
            head: Head of each row.
            query: Query of each row.
        """
        text, head, query = alike(text, head, query)
        weights = write_rows(self.call, text, head, query)
        if name == "norm":
            return weights * self.vectors.norm[text, head].to(weights.dtype)
        if name == "effective":
            assert self.factors is not None  # noqa: S101 - the kernel computed it
            return self.factors.project(weights, text, head, query)
        return weights


def made_by_kernel(record: LayerRecord) -> MadeByKernel | None:
    """Return the kernel's results for a layer; None where the model's own function ran."""
    made = record.made if isinstance(record, PlainRecord) else None
    return made if isinstance(made, MadeByKernel) else None


def alike(*places: Int64[Tensor, "..."]) -> list[Int64[Tensor, "*row"]]:
    """Return the tensors, broadcast to one shape."""
    shape = np.broadcast_shapes(*(place.shape for place in places))
    return [place.expand(shape) for place in places]


class KernelSums:
    """Kernel of the attention of plain calls, which keeps the sums of their rows.

    Args:
        asked: Sums requested of the rows of the batch.
        measures: Measures observed, the weights among them.
        value_bias: Whether T includes the value bias.
    """

    def __init__(self, asked: Asked, measures: Sequence[str], value_bias: ValueBias) -> None:
        self._asked, self._compiled = asked, CompiledSums(asked)
        self._measures = [name for name in MADE if name in measures]
        self._value_bias = value_bias

    def __call__(self, record: PlainRecord) -> Tensor | None:
        """Return the context of a call, and keep its other results in the record.

        None where the effective attention has to be computed otherwise.
        """
        call, vectors = record.call, Vectors(record, self._value_bias)
        has_norms, factors = "norm" in self._measures, None
        if "effective" in self._measures:
            factors = self._factors(record, vectors)
            if factors is None:
                return None
        lengths = lengths_of(vectors if has_norms else None)
        _, heads, queries, keys = call.shape
        listed = self._compiled.listed(slice(0, queries), keys)
        arrays = attend(call, self._compiled.keys, listed, lengths, projection_of(factors))
        merged = None
        if has_norms:
            merged = torch.from_numpy(arrays.merged)
            self._mend(record, arrays, merged)
        places = {
            name: slice(at * heads, (at + 1) * heads) for at, name in enumerate(self._measures)
        }
        sums = self._compiled.row_sums(arrays, places, 0, keys)
        context = torch.from_numpy(arrays.context)
        record.keep(MadeByKernel(call, sums, vectors, merged, factors, context))
        return context

    def _factors(self, record: PlainRecord, vectors: Vectors) -> EffectiveFactors | None:
        """Return the factors of effective attention; None where it has to be computed otherwise."""
        seen = record.call.seen
        if seen.bias is not None:
            return None
        if seen.alike:
            basis, rank = vectors.spaces.shared_basis(seen.visible, torch.float32)
            return EffectiveFactors(basis, None, None, rank)
        # Longer texts have so many null vectors that other ways are faster.
        if not seen.causal or int(seen.counts.amax()) > LONGEST * record.site.head_dim:
            return None
        made = vectors.spaces.causal_null_vectors(torch.float32)
        return None if made is None else EffectiveFactors(None, *made)

    def _mend(self, record: PlainRecord, arrays: KernelArrays, merged: Tensor) -> None:
        """Correct the norms of sums over heads that lost their digits because heads cancel."""
        losses, columns = torch.from_numpy(arrays.losses), self._asked.columns
        # Too many lost cells for the list of the loops: all norms of the batch are computed again.
        if bool((losses > arrays.lost.shape[1]).any()):
            whole = Scores(record, precision=torch.float32, vectors=None).merged_norm
            merged.copy_(whole @ columns)
            return
        task = torch.repeat_interleave(losses)
        if not len(task):
            return
        number = torch.arange(len(task)) - (losses.cumsum(0) - losses)[task]
        text = task // (len(losses) // len(merged))
        # Only the listed cells are formed exactly; every sum that holds one is moved by the
        # difference.
        query, key = torch.from_numpy(arrays.lost)[task, number].unbind(1)
        heads = torch.arange(record.shape[1])
        places = alike(text[:, None], heads, query[:, None])
        rows = write_rows(record.call, *places)
        weights = rows.gather(2, key[:, None, None].expand(-1, len(heads), 1))[..., 0]
        exact = formed(weights, record.value, record.site.projection.weight, (text, key))
        wrong = torch.from_numpy(arrays.norms)[task, number]
        change = (exact.to(wrong) - wrong)[:, None] * columns[text, key]
        merged.index_put_((text, query), change.to(merged), accumulate=True)
