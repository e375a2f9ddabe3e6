"""Attention that is a softmax of scaled products and nothing else, so that any kernel can make it.

A call is plain where queries, keys, values, a mask and a scale say all: there is no dropout, soft
cap, learnt sink, gate, gradient, or bias beside the mask.  What an attention function does beyond
its arguments cannot be seen from outside; so the results of a kernel are compared with those of the
function (`headlight.capture.kernel_check`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from headlight.capture.attention_masks import LOWEST, MaskByRows, mask_of, mask_rows, seen_in
from headlight.capture.attention_site import AttentionSite
from headlight.capture.record import LayerRecord
from headlight.capture.residual_stream import Stream
from headlight.tensors import Value, Visible, Weight

ROWS_AT_ONCE = 1 << 22
"""Number of cells of a mask that are examined together."""

OTHER_OPTIONS = {
    "attention_mask", "scaling", "dropout", "is_causal", "sliding_window", "position_ids",
    "cache_position", "use_cache", "output_attentions", "deterministic",
}  # fmt: skip
"""Options of attention functions that change nothing beyond what the mask says."""


@dataclass(frozen=True, eq=False)
class SeenRanges:
    """Keys that each query of a batch sees, as ranges of keys.

    Attributes:
        low: First key that a query sees.
        high: Key behind the last that a query sees; `low` of queries that see none, to which a
            softmax gives all keys alike.
        bias: Addend of the scores within these ranges; None where a query sees every key of its
            range, and nothing is added.
        keys: Number of keys.
    """

    low: Int64[Tensor, "batch query"]
    high: Int64[Tensor, "batch query"]
    bias: Float[Tensor, "#batch #head query key"] | None
    keys: int

    def part(self, texts: slice, queries: slice) -> "SeenRanges":
        """Return the ranges of some queries of some texts."""
        bias = self.bias
        if bias is not None:
            bias = (bias if len(bias) == 1 else bias[texts])[:, :, queries]
        return SeenRanges(self.low[texts, queries], self.high[texts, queries], bias, self.keys)

    @cached_property
    def alike(self) -> bool:
        """Return whether all queries of a text see the same keys."""
        return self.bias is None and all(
            torch.equal(bounds, bounds[:, :1].expand_as(bounds)) for bounds in (self.low, self.high)
        )

    @cached_property
    def causal(self) -> bool:
        """Return whether queries see the keys up to themselves, with as many keys as queries."""
        if self.bias is not None or self.low.shape[1] != self.keys:
            return False
        begin, end = self.low[:, -1:], self.high[:, -1:]
        ends = torch.arange(1, self.keys + 1).expand_as(self.high).minimum(end)
        return torch.equal(self.low, begin.expand_as(self.low)) and torch.equal(self.high, ends)

    @property
    def last(self) -> Bool[Tensor, "batch key"]:
        """Return the keys that the last query sees."""
        places = torch.arange(self.keys)
        return (places >= self.low[:, -1:]) & (places < self.high[:, -1:])

    @cached_property
    def visible(self) -> Visible:
        """Return the keys that each query sees; one row where all see the same."""
        places = torch.arange(self.keys)
        rows = slice(0, 1) if self.alike else slice(None)
        seen = (places >= self.low[:, rows, None]) & (places < self.high[:, rows, None])
        if self.bias is not None:
            seen = seen & seen_in(self.bias).all(1)
        return seen

    @cached_property
    def counts(self) -> Int64[Tensor, "batch #query"]:
        """Return the number of keys that each query sees."""
        return self.high - self.low if self.bias is None else self.visible.sum(-1)


def seen_ranges(mask: Tensor | None, batch: int, queries: int, keys: int) -> SeenRanges | None:
    """Return the ranges of keys that queries see; None where a mask cannot be taken so.

    Args:
        mask: Mask that is added to scores, or says which keys are seen; None for all.
        batch: Number of texts.
        queries: Number of queries.
        keys: Number of keys.
    """
    if mask is None:
        low = torch.zeros(batch, queries, dtype=torch.int64)
        return SeenRanges(low, low + keys, None, keys)
    if mask.device.type != "cpu" or mask.ndim != 4 or mask.shape[-2] not in (1, queries):
        return None
    parts, plain = [], True
    step = max(1, ROWS_AT_ONCE // (mask.shape[0] * mask.shape[1] * keys))
    for first in range(0, queries, step):
        rows = mask_rows(mask, first, min(first + step, queries))[..., :keys]
        seen = seen_in(rows)
        plain &= bool((seen == seen[:, :1]).all())
        if rows.dtype != torch.bool:
            plain &= not bool((seen & (rows != 0)).any())
        seen = seen.any(1).expand(batch, -1, -1)
        some, order = seen.any(-1), seen.byte()
        # argmax is the first of equal numbers: here the first key seen, and from behind the last.
        low, high = order.argmax(-1), keys - order.flip(-1).argmax(-1)
        low, high = low.where(some, 0), high.where(some, 0)
        plain &= bool((seen.sum(-1) == high - low).all())  # no key within a range is hidden
        parts.append((low, high))
    low, high = (torch.cat(bounds, 1).expand(batch, queries) for bounds in zip(*parts, strict=True))
    low, high = low.contiguous(), high.contiguous()
    if plain:
        return SeenRanges(low, high, None, keys)
    if isinstance(mask, MaskByRows):
        return None
    bias = mask[..., :keys].expand(-1, -1, queries, -1)
    if bias.dtype == torch.bool:
        bias = torch.zeros(bias.shape).masked_fill(~bias, LOWEST)
    return SeenRanges(low, high, bias.float(), keys)


@dataclass(frozen=True, eq=False)
class PlainCall:
    """Plain call of an attention function, of numbers of float32 on a CPU.

    Attributes:
        query: Queries.
        key: Keys; grouped heads share them.
        value: Values v(x).
        scale: Factor of their products.
        seen: Keys that each query sees.
    """

    query: Float[Tensor, "batch head query size"]
    key: Float[Tensor, "batch kv_head key size"]
    value: Value
    scale: float
    seen: SeenRanges

    @property
    def shape(self) -> torch.Size:
        """Return the numbers of texts, heads, queries and keys."""
        return torch.Size((*self.query.shape[:3], self.key.shape[2]))

    def part(self, texts: slice, queries: slice) -> "PlainCall":
        """Return the call of some queries of some texts."""
        query, (key, value) = self.query[texts, :, queries], (self.key[texts], self.value[texts])
        return PlainCall(query, key, value, self.scale, self.seen.part(texts, queries))

    def weights(self) -> Weight:
        """Compute all weights."""
        key = self.key.repeat_interleave(self.query.shape[1] // self.key.shape[1], 1)
        scores, bias = self.query @ key.mT * self.scale, self.seen.bias
        scores = scores if bias is None else scores + bias
        # For a query that sees nothing all scores are the same, and so are its weights.
        hidden = ~self.seen.visible[:, None]
        return scores.masked_fill(hidden, torch.finfo(scores.dtype).min).softmax(-1)


class PlainRecord(LayerRecord):
    """Record of attention that a kernel makes, whose weights are computed only if requested.

    Args:
        site: Site of the attention.
        call: Call of the attention function.
        input: Vectors that values are made from.
        stream: Vectors that entered the block.

    Attributes:
        made: Results of the kernel beside the output of the attention.
    """

    call: PlainCall
    made: Any

    def __init__(
        self,
        site: AttentionSite,
        call: PlainCall,
        input: Float[Tensor, "batch key d_input"] | None = None,
        stream: Stream | None = None,
    ) -> None:
        fields = {"site": site, "value": call.value, "input": input, "stream": stream, "call": call}
        for name, value in fields.items():
            object.__setattr__(self, name, value)  # as dataclasses that are frozen do it
        object.__setattr__(self, "made", None)

    def keep(self, made: Any) -> None:
        """Keep the results of a kernel beside its context."""
        object.__setattr__(self, "made", made)

    @cached_property
    def weight(self) -> Weight:
        """Return α, computed on first use."""
        return self.call.weights()

    @property
    def visible(self) -> Visible:
        """Return the keys that each query may attend to."""
        return self.call.seen.visible

    @property
    def real(self) -> Bool[Tensor, "batch key"] | None:
        """Return the keys that the text's last query sees, if there are as many queries as keys."""
        seen, shape = self.call.seen, self.call.shape
        return seen.last if shape[2] == shape[3] and not (seen.alike and shape[2] > 1) else None

    def hides(self, queries: Tensor, keys: Tensor) -> bool:
        """Return whether no query that is a token sees a key that is not."""
        seen = self.call.seen
        padding = torch.nn.functional.pad((keys == 0).long().cumsum(1), (1, 0))
        within = padding.gather(1, seen.high) - padding.gather(1, seen.low)
        sees_all = seen.high == seen.low  # it sees no key: a softmax gives all keys alike
        return not bool((((within > 0) | sees_all) & (queries != 0)).any())

    @property
    def visible_counts(self) -> Int64[Tensor, "batch #query"]:
        """Return the number of keys that each query sees."""
        return self.call.seen.counts

    @property
    def shape(self) -> torch.Size:
        """Return the numbers of texts, heads, queries and keys."""
        return self.call.shape

    @property
    def dtype(self) -> torch.dtype:
        """Return the precision of the weights."""
        return self.call.query.dtype

    def on(self, device: torch.device) -> LayerRecord:
        """Return the record with all its numbers on one device."""
        return self if device.type == "cpu" else super().on(device)


class AttentionKernel(Protocol):
    """Function that computes the attention of plain calls, and other results of its own."""

    def __call__(self, record: PlainRecord) -> Tensor | None:
        """Return the context, ``batch query head head_dim``; keep the rest in the record.

        None leaves the call to the model's own function.
        """
        ...


def is_plain(site: AttentionSite, arguments: tuple[Any, ...], options: Mapping[str, Any]) -> bool:
    """Return whether a call of an attention function is plain, as far as its arguments say.

    Args:
        site: Site of the attention.
        arguments: Positional arguments with which the model calls its function.
        options: Keyword arguments with which the model calls its function.
    """
    if site.gate is not None or site.processes is not None or len(arguments) > 4:
        return False
    if any(name not in OTHER_OPTIONS and option is not None for name, option in options.items()):
        return False
    scale = options.get("scaling")
    if options.get("dropout") or not (scale is None or isinstance(scale, float)):
        return False
    mask = mask_of(arguments, dict(options))
    tensors = arguments[:3] if mask is None else (*arguments[:3], mask)
    for tensor in tensors:
        if not isinstance(tensor, Tensor) or tensor.device.type != "cpu" or tensor.requires_grad:
            return False
    query, key, value = arguments[:3]
    return (
        all(tensor.dtype == torch.float32 and tensor.ndim == 4 for tensor in (query, key, value))
        and query.shape[1] % key.shape[1] == 0
        and key.shape[:3] == value.shape[:3]
        and value.shape[1] == site.kv_heads
        and query.shape[1] == site.heads
    )


LARGEST = 1e30
"""Products below this are far from infinity in float32."""


def is_moderate(call: PlainCall) -> bool:
    """Return whether queries, keys and values are finite, and so are their products."""
    query, key, value = map(_largest_size, (call.query, call.key, call.value))
    return query * key * call.query.shape[3] < LARGEST and value < LARGEST


def _largest_size(numbers: Tensor) -> float:
    # One reading of the numbers, where `abs` would write them again; NaN stays NaN.
    lowest, highest = numbers.aminmax()
    return float(torch.maximum(-lowest, highest))


def plain_call(
    arguments: tuple[Any, ...], options: Mapping[str, Any], seen: SeenRanges
) -> PlainCall | None:
    """Return a call that `is_plain`; None where its numbers are not finite, or their products.

    Args:
        arguments: Positional arguments with which the model calls its function.
        options: Keyword arguments with which the model calls its function.
        seen: Keys that each query sees.
    """
    query, key, value = (tensor.contiguous() for tensor in arguments[:3])
    scale = options.get("scaling")
    call = PlainCall(query, key, value, query.shape[3] ** -0.5 if scale is None else scale, seen)
    return call if is_moderate(call) else None
