"""Kinds of heads with a sink: those that do nothing by it, and those that write it to all."""

from collections.abc import Mapping
from typing import Literal, get_args

import numpy as np
import pandas
import xarray as xr

from headlight.findings.estimates import Estimate, estimates
from headlight.findings.interval_phrases import many
from headlight.findings.phrases import listed, plural
from headlight.findings.sentence_rules import Evidence, Rule, sentences
from headlight.findings.thresholds import FAR_BELOW
from headlight.vocabulary import SINK

SinkKind = Literal["no-op", "broadcast", "inconclusive"]
"""Kind of a head with a sink."""
SINK_KINDS: tuple[SinkKind, ...] = get_args(SinkKind)


def sink_kinds(result: xr.Dataset) -> pandas.DataFrame:
    """Return the heads with a sink at the first token, and what they do by it.

    A head has a sink if the first token gets more than 0.3 of its weight.  Each condition is one of
    the whole 95% interval over the texts; a condition without an interval is not fulfilled.

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
        A row for each head, in their order: ``layer`` and ``head``, zero-based; ``weight_share`` and
        ``norm_share`` of the first token, between 0 and 1; its ``length_ratio``, ‖f(x)‖ over that
        of the median token; ``output_rank``; ``loss_change`` in nats; and its ``sink_kind``.
        Numbers that the survey does not have are NaN.

    Source: ours; Gu et al. (2024) for the share, Kobayashi et al. (2020), Section 4.2, for no-ops.
    """
    numbers = _numbers(result)
    kinds = _kinds(numbers)
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
        f"{measure}_share": estimates(
            result, "behaviour_share", measure=measure, behaviour="first"
        )
        for measure in ("weight", "norm")
    }
    return {
        **shares,
        "length_ratio": estimates(result, "value_drain"),
        "output_rank": estimates(result, "output_rank"),
        "loss_change": estimates(result, "sink_loss"),
    }


def _kinds(numbers: Mapping[str, Estimate]) -> np.ndarray:
    """Return the kind of each head, [layer, head]; empty for heads without a sink."""
    weight, norm = numbers["weight_share"], numbers["norm_share"]
    beside = norm.minus(weight.times(FAR_BELOW)).against(0.0)
    is_short = numbers["length_ratio"].against(FAR_BELOW) == "below"
    rises = numbers["loss_change"].against(0.0) == "above"
    kinds = np.full(weight.value.shape, "inconclusive", dtype=object)
    kinds[(beside == "below") & is_short & ~rises] = "no-op"
    kinds[(beside == "above") & rises] = "broadcast"
    kinds[weight.compared(SINK) != "above"] = ""
    return kinds
