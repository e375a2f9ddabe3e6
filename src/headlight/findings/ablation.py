"""Sentences of the study of ablation."""

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from headlight.findings.estimates import estimates
from headlight.findings.interval_phrases import NO_INTERVAL, between
from headlight.findings.phrases import name_of
from headlight.findings.sentence_rules import HOLDS, Evidence, Rule, sentences


def ablation(result: xr.Dataset) -> list[str]:
    """Say without which head, or layer, predictions move most, and how many can be spared."""
    return sentences(result, _RULES)


def _scope(result: xr.Dataset) -> str | None:
    """Return what was removed one at a time: ``head``, or else ``layer``."""
    for scope in ("head", "layer"):
        if f"{scope}_kl" in result and np.isfinite(result[f"{scope}_kl"]).any():
            return scope
    return None


def _dims(result: xr.Dataset, scope: str) -> tuple[str, ...]:
    return ("layer", "head")[: result[f"{scope}_kl"].ndim]


def _largest_change(result: xr.Dataset) -> Evidence | None:
    scope = _scope(result)
    if scope is None:
        return None
    kl = estimates(result, f"{scope}_kl", _dims(result, scope))
    first = kl.first()
    if first is None:
        return None
    changed = estimates(result, f"{scope}_changed", _dims(result, scope))
    names = [
        name_of(result, int(result["layer"].values[layer]), *head)
        for layer, *head in (first, *kl.rivals())
    ]
    return Evidence(
        values={
            "first": names[0],
            "names": between(names, scope),
            "scope": scope,
            "changed": changed.at(first) if np.isfinite(changed.value[first]) else None,
            "usual": _median(changed.value),
            "kl": kl.at(first),
            "all": kl,
            "median": _median(kl.value),
            "why": None if kl.known else NO_INTERVAL,
        },
        template="ties" if len(names) > 1 else "first",
    )


def _median(values: NDArray[np.float64]) -> float:
    observed = values[np.isfinite(values)]
    return float(np.median(observed)) if observed.size else float("nan")


def _spared(result: xr.Dataset) -> Evidence | None:
    scope = _scope(result)
    if scope is None:
        return None
    low = estimates(result, f"{scope}_loss_change", _dims(result, scope)).low
    if not np.isfinite(low).any():
        return None
    values = {"spared": int((low <= 0).sum()), "all": int(np.isfinite(low).sum()), "scope": scope}
    return Evidence(values=values)


def _own_loss(result: xr.Dataset) -> Evidence | None:
    loss, correct = float(result["own_loss"]), float(result["own_accuracy"])
    return Evidence(values={"loss": loss, "correct": correct}) if np.isfinite(loss) else None


_RULES = (
    Rule(
        topic="largest change",
        evidence=_largest_change,
        templates={
            "first": "Predictions move most without {first}[: {changed:share} of them become "
            "others, without the median {scope} {usual:percent}]. By KL that is {kl:number} nats"
            "{all:ends_of_first}; the median is {median:number}."
            "[ Without which {scope} predictions move most is inconclusive: {why}.]",
            "ties": "Without which {scope} predictions move most is inconclusive between {names}"
            "[: without {first} {changed:share} of them become others, without the median {scope} "
            "{usual:percent}]. By KL {first} moves them by {kl:number} nats{all:ends_of_first}; "
            "the median is {median:number}.",
        },
    ),
    Rule(
        topic="spared",
        evidence=_spared,
        templates={
            HOLDS: "{spared} of {all} {scope}s can be removed, one at a time, without a loss that "
            "is certainly higher.",
        },
    ),
    Rule(
        topic="own loss",
        evidence=_own_loss,
        templates={
            HOLDS: "With all heads the loss is {loss:number} nats, and {correct:percent} of "
            "predictions are correct.",
        },
    ),
)
