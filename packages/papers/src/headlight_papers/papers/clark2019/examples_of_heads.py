"""Heads that show a pattern best (Clark et al. 2019, Section 3 and Figure 1)."""

from dataclasses import dataclass

import numpy as np
import xarray
from jaxtyping import Float64

from headlight.errors import UsageError
from headlight.findings import observed, share
from headlight.findings.rules import BROAD, MOST

Values = Float64[np.ndarray, "layer head"]


@dataclass(frozen=True, slots=True)
class ExampleHead:
    """The head that shows a pattern most.

    Attributes:
        layer: from zero.
        head: from zero.
        value: the share of its attention, or its entropy in nats.
        note: empty, or why it is no clear example.
    """

    layer: int
    head: int
    value: float
    note: str = ""


def example_heads(result: xarray.Dataset, measure: str | None = None) -> dict[str, ExampleHead]:
    """One head for each pattern of Figure 1, picked by the numbers of a survey.

    ``broad`` has the largest entropy, ``next`` gives most to the next token, ``sep`` to separators,
    ``punctuation`` to periods and commas.  Of equals the first in the model is taken.

    Args:
        result: of a survey.
        measure: by which measure of it; by default its first.

    Returns:
        by pattern, in the order of the figure; a pattern that the survey does not know of (no
        separators, no neighbours in cross-attention) is not there.

    Raises:
        UsageError: the survey has no such measure.
    """
    measures = [str(name) for name in result["measure"].values]
    chosen = measures[0] if measure is None else measure
    if chosen not in measures:
        raise UsageError(f"the survey has no measure {chosen!r}; it has: {', '.join(measures)}.")
    found = {
        "broad": _broadest(result, chosen),
        "next": _most(result, observed(result, "neighbour", measure=chosen, offset=1)),
        "sep": _most(result, share(result, chosen, "sep")),
        "punctuation": _most(result, share(result, chosen, "punctuation")),
    }
    return {pattern: example for pattern, example in found.items() if example is not None}


def _broadest(result: xarray.Dataset, measure: str) -> ExampleHead | None:
    entropy = observed(result, "entropy", measure=measure, query_category="all")
    uniform = float(result["entropy_uniform"])
    note = (
        f"no head is really broad: this one comes nearest to uniform attention, which has "
        f"{uniform:.2f} nats"
    )
    return _largest(result, entropy, BROAD * uniform, note)


def _most(result: xarray.Dataset, shares: Values) -> ExampleHead | None:
    note = "no head gives half of its attention there: this one gives most"
    return _largest(result, shares, MOST, note)


def _largest(
    result: xarray.Dataset, values: Values, enough: float, note: str
) -> ExampleHead | None:
    """The head with the largest value, with the note if it is not enough; None if none has any."""
    if not (values > 0).any():
        return None
    layer, head = np.unravel_index(np.nanargmax(values), values.shape)
    value = float(values[layer, head])
    return ExampleHead(
        int(result["layer"].values[layer]),
        int(result["head"].values[head]),
        value,
        note if value < enough else "",
    )
