"""Section on what heads do by their sinks."""

import numpy as np
import pandas as pd
import xarray as xr

from headlight.findings.heads_with_sinks import SINK_KINDS, sink_kinds, sinks
from headlight.findings.thresholds import FAR_BELOW
from headlight.views.parts import Drawing, Figure, Section, Table
from headlight.views.pictures import Line, LinePanel, lines
from headlight.vocabulary import head_name

LABELS = {
    "weight_share": "weight %",
    "norm_share": "norm %",
    "length_ratio": "‖f(sink)‖, times the median",
    "output_rank": "rank of the output",
    "loss_change": "loss without it, nats",
}
DEFINITION = (
    "A head with a sink gives the first token more than 30% of its weight; by a no-op it takes "
    "little from there, by a broadcast much, without which the loss rises. No-op: the sink's "
    "vector is at most half as long as the median token's, it has at most half as much of the norm "
    "as of the weight, and the loss is not seen to rise without its value. Broadcast: it has more "
    "of the norm than that, and the loss rises without its value. Each condition is one of the "
    "whole 95% interval, for the loss one that holds for all heads together; what fulfils neither "
    "is inconclusive."
)
SHOWN = 20
"""Heads of the table that a page shows."""


def sinks_section(result: xr.Dataset) -> Section:
    """Return the shares of the first token of all heads with a sink, and the kinds of these."""
    heads = sink_kinds(result)
    heads[["weight_share", "norm_share"]] *= 100
    means = heads.groupby("sink_kind")[list(LABELS)].mean().reindex(SINK_KINDS)
    by_kind = pd.DataFrame(
        {
            "kind": SINK_KINDS,
            "heads": [int((heads["sink_kind"] == kind).sum()) for kind in SINK_KINDS],
            **{label: means[name].to_numpy() for name, label in LABELS.items()},
        }
    )
    by_head = heads.rename(columns={**LABELS, "sink_kind": "kind"})
    formats = dict(zip(LABELS.values(), (".1f", ".1f", ".2f", ".1f", "+.4f"), strict=True))
    words = (
        "Each dot is a head with a sink: how much of its weight and of its norm goes to the first "
        "token. On the dashed line the norm is half of the weight."
    )
    return Section(
        "sinks",
        "Does the first token matter to the heads that look at it?",
        " ".join([*sinks(result), DEFINITION]),
        "Gu et al. (2024); Kobayashi et al. (2020), Section 4.2",
        [Drawing("sinks", words, words, lambda: _draw(heads))] if len(heads) else [],
        [
            Table("sink_kinds", "Kinds of heads with a sink, means over heads", by_kind, formats),
            Table("sink_heads", "Heads with a sink", by_head, formats, most=SHOWN),
        ],
    )


def _draw(heads: pd.DataFrame) -> Figure:
    series = []
    for kind in SINK_KINDS:
        of_kind = heads[heads["sink_kind"] == kind]
        names = [
            head_name(layer, head)
            for layer, head in zip(of_kind["layer"], of_kind["head"], strict=True)
        ]
        weight, norm = (of_kind[name].to_numpy() for name in ("weight_share", "norm_share"))
        series.append(Line(kind, weight, norm, joined=False, marked=True, heads=names))
    ends = np.array([0.0, 100.0])
    half = Line("half of the weight", ends, FAR_BELOW * ends, colour="#8a929c", dashed=True)
    return lines(
        [LinePanel("", [*series, half], "to the first token, % of the weight", "% of the norm")]
    )
