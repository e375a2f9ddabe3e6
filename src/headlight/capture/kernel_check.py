"""Check that a kernel and the attention function of the model agree on plain calls.

The function may do more than its arguments say, such as adding a sink that it keeps in its module.
So the first call of every module is made in both ways, for some texts and queries.
"""

from typing import Any

from torch import Tensor

from headlight.capture.attention_masks import mask_of, mask_rows, with_mask
from headlight.capture.plain_attention import PlainRecord
from headlight.capture.query_blocks import AttentionFunction

COMPARED = 2
"""Number of texts of a batch that are compared."""
CELLS = 1 << 20
"""Number of cells of weights that are compared; in longer texts, those of the last queries."""
FEWEST = 16
"""Number of queries that are compared at least."""
TINY = 1e-30


def difference_of(
    record: PlainRecord,
    context: Tensor,
    function: AttentionFunction,
    arguments: tuple[Any, ...],
    options: dict[str, Any],
) -> float:
    """Return the norm of the difference of contexts and of weights, relative to theirs.

    Args:
        record: Record of the call.
        context: Context that the kernel made.
        function: Attention function of the model.
        arguments: Positional arguments with which the model calls it.
        options: Keyword arguments with which the model calls it.
    """
    batch, heads, queries, keys = record.shape
    texts = min(batch, COMPARED)
    count = min(queries, max(FEWEST, CELLS // (texts * heads * keys)))
    rows = slice(queries - count, queries)
    query, key, value = (tensor[:texts] for tensor in arguments[:3])
    mask = mask_of(arguments, options)
    if mask is not None:
        mask = mask_rows(mask, rows.start, rows.stop)[:texts]
    arguments, options = with_mask((query[:, :, rows], key, value, *arguments[3:]), options, mask)
    wanted, weight = function(record.site.module, *arguments, **options)
    assert weight is not None  # noqa: S101 - tracing has seen it
    seen = record.call.seen
    sees_some = (seen.high > seen.low)[:texts, rows]
    written = record.call.part(slice(texts), rows).weights()
    return max(
        _difference(context[:texts, rows], wanted, sees_some),
        _difference(written.transpose(1, 2), weight.transpose(1, 2), sees_some),
    )


def _difference(actual: Tensor, wanted: Tensor, counted: Tensor) -> float:
    actual, wanted = actual[counted], wanted[counted]
    return float((actual - wanted).norm() / wanted.norm().clamp_min(TINY))
