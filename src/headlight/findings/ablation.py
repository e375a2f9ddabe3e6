"""Sentences of the study of ablation."""

import numpy as np
import xarray as xr

from headlight.findings.estimates import estimates
from headlight.findings.interval_phrases import NO_INTERVAL, around_first, between
from headlight.findings.phrases import name_of, number, percent


def ablation(result: xr.Dataset) -> list[str]:
    """Say without which head, or layer, predictions move most, and how many can be spared."""
    sentences = []
    loss, right = float(result["own_loss"]), float(result["own_accuracy"])
    for scope in ("head", "layer"):
        if f"{scope}_kl" not in result:
            continue
        dims = ("layer", "head")[: result[f"{scope}_kl"].ndim]
        kl = estimates(result, f"{scope}_kl", dims)
        first = kl.first()
        if first is None:
            continue
        names = [
            name_of(result, int(result["layer"].values[at[0]]), *at[1:])
            for at in (first, *kl.rivals())
        ]
        change = f"KL {number(float(kl.value[first]))} nats{around_first(kl, number, share=False)}"
        median = number(float(np.nanmedian(kl.value)))
        sentences.append(
            f"Predictions move most without {names[0]}: {change}; the median is {median}."
            + (
                ""
                if kl.known
                else f" Without which {scope} predictions move most is inconclusive: {NO_INTERVAL}."
            )
            if len(names) == 1
            else f"Without which {scope} predictions move most is inconclusive between "
            f"{between(names, scope)}: without {names[0]} {change}; the median is {median}."
        )
        lows = estimates(result, f"{scope}_loss_change", dims).low
        if np.isfinite(lows).any():
            count = int(np.isfinite(lows).sum())
            sentences.append(
                f"{int((lows <= 0).sum())} of {count} {scope}s "
                f"can be removed, one at a time, without a loss that is certainly higher."
            )
        break
    if np.isfinite(loss):
        sentences.append(
            f"With all heads the loss is {number(loss)} nats, and {percent(right)} of predictions "
            "are correct."
        )
    return sentences
