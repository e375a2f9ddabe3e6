"""Kinds of heads with a sink: those that do nothing by it, and those that write it to all."""

from collections.abc import Mapping
from typing import Any, Literal, get_args

import numpy as np
import pandas
import xarray as xr
from numpy.typing import NDArray

from headlight.errors import UsageError
from headlight.findings.estimates import Estimate, estimates
from headlight.findings.sentence_rules import HOLDS, Evidence, Rule, sentences
from headlight.findings.thresholds import FAR_BELOW
from headlight.findings.what_was_read import independent_units
from headlight.vocabulary import SINK

SinkKind = Literal["no-op", "broadcast", "inconclusive"]
"""Kind of a head with a sink."""
SINK_KINDS: tuple[SinkKind, ...] = get_args(SinkKind)


def sink_kinds(result: xr.Dataset) -> pandas.DataFrame:
    """Return the heads with a sink at the first token, and what they do by it.

    A head has a sink if the first token gets more than 0.3 of its weight.  Each condition is one of
    the whole 95% interval over texts; a condition without an interval is not fulfilled.  Intervals
    of the loss hold for all heads together, since of hundreds of heads some rise by chance.

    * **no-op**: the vector of the sink is short (at most half as long as that of the median token),
      its share of the norm is at most half of that of the weight, and the loss is not known to rise
      where its value is zeroed.  That it is short is not enough: of a head that looks nowhere else
      it is all that the head writes.
    * **broadcast**: its share of the norm is more than half of that of the weight, and the loss
      rises where its value is zeroed.  The sink writes one vector, times a weight, to all tokens of
      a text, whatever it is; whether that counts is for the loss to say.
    * **inconclusive**: all other heads.  Without a loss (a model without the head of a language
      model, or a survey without ``sinks``) no head is known to broadcast.

    The effective rank of outputs has no interval, and decides nothing.

    Args:
        result: Survey of one kind of attention, with weights and norms.

    Returns:
        A row for each head with a sink, in their order: ``layer`` and ``head``, zero-based;
        ``weight_share`` and ``norm_share`` of the first token, between 0 and 1; its
        ``length_ratio``, ‖f(x)‖ over that of the median token; ``output_rank``; ``loss_change`` in
        nats; and its ``sink_kind``.
        Numbers that the survey does not have are NaN.

    Raises:
        UsageError: The result holds several kinds of attention.

    Source: ours; Gu et al. (2024) for the share, Kobayashi et al. (2020), Section 4.2, for no-ops.
    """
    if "kind" in result.dims:
        raise UsageError("this result holds several kinds of attention; select one of them.")
    numbers = _numbers(result)
    kinds = _kinds(numbers, independent_units(result))
    at, head = np.nonzero(kinds != "")
    columns = {name: estimate.value[at, head] for name, estimate in numbers.items()}
    return pandas.DataFrame(
        {
            "layer": result["layer"].values[at],
            "head": head,
            **columns,
            "sink_kind": kinds[at, head],
        }
    )


def _numbers(result: xr.Dataset) -> dict[str, Estimate]:
    shares = {
        f"{measure}_share": estimates(result, "behaviour_share", measure=measure, behaviour="first")
        for measure in ("weight", "norm")
    }
    return {
        **shares,
        "length_ratio": estimates(result, "value_drain"),
        "output_rank": estimates(result, "output_rank"),
        "loss_change": estimates(result, "sink_loss"),
    }


def _beside_half(numbers: Mapping[str, Estimate]) -> NDArray[Any]:
    """Return the verdicts on the share of the norm beside half of that of the weight."""
    half = numbers["weight_share"].times(FAR_BELOW)
    return numbers["norm_share"].minus(half).against(0.0)


def _kinds(numbers: Mapping[str, Estimate], units: int) -> NDArray[Any]:
    """Return the kind of each head, [layer, head]; empty for heads without a sink."""
    beside = _beside_half(numbers)
    is_short = numbers["length_ratio"].against(FAR_BELOW) == "below"
    rises = numbers["loss_change"].simultaneous(units).against(0.0) == "above"
    kinds = np.full(beside.shape, "inconclusive", dtype=object)
    kinds[(beside == "below") & is_short & ~rises] = "no-op"
    kinds[(beside == "above") & rises] = "broadcast"
    kinds[~_has_sink(numbers)] = ""
    return kinds


def _has_sink(numbers: Mapping[str, Estimate]) -> NDArray[np.bool_]:
    return np.asarray(numbers["weight_share"].against(SINK) == "above")


def sinks(result: xr.Dataset) -> list[str]:
    """Say how many heads do nothing by their sink, how many write it to all, and what it costs."""
    return sentences(result, _RULES) if "output_rank" in result else []


def _counts(result: xr.Dataset) -> Evidence:
    weight = estimates(result, "behaviour_share", measure="weight", behaviour="first")
    kinds = sink_kinds(result)["sink_kind"]
    counts = {name.replace("-", "_"): int((kinds == name).sum()) for name in SINK_KINDS}
    values = {"heads": int(np.isfinite(weight.value).sum()), "sinks": len(kinds), **counts}
    if not len(kinds):
        unknown = np.isfinite(weight.value) & (weight.against(SINK) != "below")
        return Evidence(values=values, template="inconclusive" if unknown.any() else "none")
    return Evidence(values=values, template=HOLDS if "sink_loss" in result else "without loss")


def _loss(result: xr.Dataset) -> Evidence | None:
    """Return the mean change of the loss of heads by their norms, which do not depend on it."""
    numbers = _numbers(result)
    change, has_sink = numbers["loss_change"], _has_sink(numbers)
    means = {}
    for name, verdict in (("counts", "above"), ("cancelled", "below")):
        chosen = has_sink & (_beside_half(numbers) == verdict) & np.isfinite(change.value)
        means[name] = change.at(chosen).mean() if chosen.any() else None
    if means["counts"] is None:
        return None
    return Evidence(values=means)


_KINDS = (
    "Of {heads:,} heads, {sinks:,} have a sink at the first token: {no_op:,} no-op, "
    "{broadcast:,} broadcast and {inconclusive:,} inconclusive"
)
_RULES = (
    Rule(
        topic="sinks",
        evidence=_counts,
        templates={
            "none": "None of {heads:,} heads has a sink: none gives the first token more than 30% "
            "of its weight.",
            "inconclusive": "Which of {heads:,} heads have a sink is inconclusive: none certainly "
            "gives the first token more than 30% of its weight.",
            HOLDS: f"{_KINDS}.",
            "without loss": f"{_KINDS}; this model has no loss, without which no head is known to "
            "broadcast.",
        },
    ),
    Rule(
        topic="sink loss",
        evidence=_loss,
        templates={
            HOLDS: "Without the sink's value in one head the loss changes by {counts:estimate} "
            "nats, mean over heads where the sink has more than half as much of the norm as of the "
            "weight[, and by {cancelled:estimate} where it has less].",
        },
    ),
)
