"""Sentences about the passages that an answer rests on: those without which it is less likely."""

from collections.abc import Sequence
from math import exp, log

import numpy as np
import xarray as xr

from headlight.findings.interval_phrases import around
from headlight.findings.phrases import listed, percent, plural
from headlight.findings.thresholds import USED
from headlight.result.estimate import Estimate, estimate_of

NAMED = 3
"""Passages that a sentence names, at most."""

HARDLY = 1.05
"""Factors below this are written as 1.0, and say that nothing changes."""

LARGEST = 700.0
"""Falls above this have no factor that a number could hold."""

MANY = 1e6
"""Factors from this on are not written in full."""

ATTENTION = {"weight": "Attention of {heads}", "norm": "The norm of what {heads} take"}
"""What heads give to passages, by measure."""


def passages_rested_on(falls: Sequence[float] | np.ndarray) -> list[int]:
    """Return the places of passages that an answer rests on, the one that is missed most first.

    Without such a passage the answer is at least `USED` times less likely, and a passage without
    which it is `USED` times less likely than without another one leaves that other one out.

    Args:
        falls: Fall of the log-probability of the answer without each passage; NaN for none.
    """
    falls = np.asarray(falls, dtype=np.float64)
    order = [at for at in np.argsort(-falls, kind="stable").tolist() if np.isfinite(falls[at])]
    return [
        at for at in order if falls[at] >= log(USED) and falls[at] > falls[order[0]] - log(USED)
    ]


def factor(fall: float) -> str:
    """Write how many times less likely an answer is: ``1.4``, ``106``, ``>10⁶``."""
    value = exp(min(fall, LARGEST))
    if value < 9.95:
        return f"{value:.1f}"
    if value < MANY:
        return f"{value:,.0f}"
    return ">10⁶"


def is_more_likely(fall: float) -> bool:
    """Return whether an answer is more likely without a passage, by more than is shown as 1.0."""
    return fall < -log(HARDLY)


def of_answer(falls: np.ndarray) -> str:
    """Return which passages an answer rests on, and how much less likely it is without them.

    Args:
        falls: Fall of the log-probability of the answer without each passage.
    """
    used, order = passages_rested_on(falls), np.argsort(-falls, kind="stable").tolist()
    single = len(falls) == 1
    if not used:
        first = falls[order[0]]
        rests = "does not rest on the passage" if single else "rests on no single passage"
        without = "without it" if single else "without any one of them"
        if first <= log(HARDLY):
            return f"The answer {rests}: {without} it is no less likely."
        most = "" if single else "at most "
        return f"The answer {rests}: {without} it is {most}{_times(first)} less likely."
    if len(used) == 1:
        came = "the passage" if single else f"passage {used[0] + 1}"
        more = ""
        if not single and falls[order[1]] >= log(USED):
            more = f", and {_times(falls[order[1]])} without passage {order[1] + 1}"
        return (
            f"The answer came from {came}: it is {_times(falls[used[0]])} less likely without it"
            f"{more}."
        )
    named, rest = used[:NAMED], len(used) - NAMED
    names = [str(at + 1) for at in named] + ([plural(rest, "other")] if rest > 0 else [])
    most, least = (_times(falls[at]) for at in (named[0], named[-1]))
    alike = most if most == least else f"{least.removesuffix(' times')} to {most}"
    return (
        f"The answer rests on passages {listed(names)}: without one of them it is {alike} less "
        "likely."
    )


def _times(fall: float) -> str:
    value = exp(min(fall, LARGEST))
    return "more than a million times" if value >= MANY else f"{factor(fall)} times"


def heads_of(result: xr.Dataset) -> str:
    """Return the signal of attention that is spoken of: that of chosen heads, or of all."""
    measure = str(result["measure"].values[0])
    which = "chosen" if bool(result["chosen"].any()) else "all"
    return f"{which} heads by {measure}"


def called(result: xr.Dataset, signal: str) -> str:
    """Return a signal of heads in plain words: ``Attention of the heads that copy``."""
    which, by, measure = signal.partition(" heads by ")
    if not by:
        return "What heads write for the answer" if signal == "predict" else "Sets of passages"
    copying = "the named heads" if result.attrs["named"] else "the heads that copy"
    return ATTENTION[measure].format(heads=copying if which == "chosen" else "all heads")


def attention_beside(result: xr.Dataset) -> str:
    """Return what the attention of heads alone would have said of one answer; empty if nothing."""
    signal = heads_of(result)
    values, falls = (result["value"].sel(signal=name).values[0] for name in (signal, "removal"))
    if len(values) < 2 or not np.isfinite(values).all() or not values.sum() > 0:
        return ""
    shares, used = values / values.sum(), passages_rested_on(falls)
    first, name = int(shares.argmax()), called(result, signal)
    largest = f"{name} is largest on passage {first + 1} ({percent(shares[first])} of that on all"
    if not used:
        return f"{largest} passages)."
    if first in used:
        return f"{largest} passages): it names the same passage."
    return (
        f"{largest} passages, against {percent(shares[used[0]])} on passage {used[0] + 1}): it "
        "names another passage."
    )


def of_answers(result: xr.Dataset) -> str:
    """Return how often the attention of heads names the passage that an answer rests on."""
    signal, count = heads_of(result), result.sizes["answer"]
    rights = result["right"].sel(signal=signal).values
    known = int(np.isfinite(rights).sum())
    if not known:
        return f"None of the {plural(count, 'answer')} rests on a single one of several passages."
    estimate, by_chance = right_share(result).at(signals(result).index(signal)), chance(result)
    verdict = {
        "above": f", more than by chance ({percent(by_chance)})",
        "below": f", less than by chance ({percent(by_chance)})",
    }.get(
        str(estimate.against(by_chance)),
        f"; whether that is more than by chance ({percent(by_chance)}) is inconclusive",
    )
    brackets = around(estimate)
    share = percent(float(estimate.value))
    inside = f" ({share}, {brackets[2:]}" if brackets else f" ({share})"
    return (
        f"{called(result, signal)} names the passage that the answer rests on in "
        f"{np.nansum(rights):.0f} of {plural(known, 'answer')}{inside}{verdict}."
    )


def signals(result: xr.Dataset) -> list[str]:
    """Return the names of the signals."""
    names: list[str] = result["signal"].values.astype(str).tolist()
    return names


def right_share(result: xr.Dataset) -> Estimate:
    """Return the share of answers of which a signal names the passage, for each signal."""
    estimate = estimate_of(result, "right_share")
    return Estimate.with_ends(result["right_share"].values) if estimate is None else estimate


def chance(result: xr.Dataset) -> float:
    """Return the share of answers whose passage a draw would name, of those that rest on one."""
    counts = (result["passage_text"].values.astype(str) != "").sum(1)
    known = np.isfinite(result["right"].sel(signal="removal").values)
    return float((1 / counts[known]).mean()) if known.any() else np.nan
