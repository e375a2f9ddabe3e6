"""The answer of the study that sets maps beside each other: which one to trust for which question.

The best map is picked by the very numbers that it is judged by, so that others are said to be worse
only where the interval of the difference on the same texts leaves 0 out, and to be as good never.
"""

import numpy as np
import xarray as xr

from headlight.findings.estimates import NO_INTERVAL, estimates
from headlight.findings.rules import FEWEST_DOCUMENTS
from headlight.findings.what_was_read import examples, independent_units
from headlight.findings.wording import interval, listed, number

LOWER_IS_BETTER = ("sufficiency",)
BEST, WORSE, OPEN = "best", "worse", "inconclusive"
RANDOM = "random"
BESIDE = {RANDOM: "control", "leave_one_out": "removes tokens itself"}
"""What is no map of the inside of a model, and stands beside them."""

SAYS = {
    "comprehensiveness": "Most is lost without the tokens that come first by {best}",
    "sufficiency": "Least is lost without the tokens that come last by {best}",
    "leave_one_out": "Closest to what each token does when it alone is left out: {best}",
    "gradient_input": "Closest to gradient × input: {best}",
}


LOST = ("comprehensiveness", "sufficiency")
"""Questions whose scores are losses of probability, of which those beside are spoken of."""


NAMES = {
    "gradient_input": "gradient × input",
    "globenc": "GlobEnc",
    "alti": "ALTI",
    "decompx": "DecompX",
    "rollout_norm": "rollout of norms",
    "rollout_block_norm": "rollout of block norms",
    "rollout_layer_norm": "rollout of layer norms",
    "prediction": "parts of the prediction",
    "value_zeroing": "Value Zeroing",
    "attribution": "hidden token attribution",
}


def called(name: str) -> str:
    """A map in a sentence."""
    return NAMES.get(name, name.replace("_", " "))


def beside_best(result: xr.Dataset, question: str) -> xr.Dataset:
    """The maps by one question, each with how far it is behind the best.

    The best is one of those that look into the model: leaving one out does what it is judged by.

    Returns:
        Over ``map``: ``score`` and ``behind``, at least 0 for all that look into the model, with
        their intervals; ``verdict``: ``best``, ``worse`` or ``inconclusive``, and of others what
        they are. Maps without a score, such as one that would be compared with itself, are left
        out.
    """
    seen = result.sel(question=question)
    seen = seen.isel(map=np.flatnonzero(seen["score"].notnull().values))
    names = [str(name) for name in seen["map"].values]
    sign = -1.0 if question in LOWER_IS_BETTER else 1.0
    scores = dict(zip(names, sign * seen["score"].values, strict=True))
    inside = [name for name in names if name not in BESIDE]
    found = seen[["score", "score_low", "score_high"]].drop_vars("question")
    if not names:
        return found
    best = max(inside or names, key=lambda name: scores[name])
    ahead = result.sel(question=question, map=best, other=names)
    ends = ("_low", "_high") if sign > 0 else ("_high", "_low")
    for name, end in zip(("behind", "behind_low", "behind_high"), ("", *ends), strict=True):
        found[name] = ("map", sign * ahead[f"difference{end}"].values + 0.0)  # no negative zero
    few = _few(result)
    found["verdict"] = ("map", [_verdict(found.sel(map=name), best, few=few) for name in names])
    return found


def _few(result: xr.Dataset) -> bool:
    """Whether texts are so few that no interval says anything."""
    return 0 < examples(result) < FEWEST_DOCUMENTS


def _verdict(of_map: xr.Dataset, best: str, *, few: bool) -> str:
    name = str(of_map["map"].values)
    if name in BESIDE or name == best:
        return BESIDE.get(name, BEST)
    behind = str(estimates(of_map, "behind", ()).against(0.0))
    return WORSE if behind == "above" and not few else OPEN


def map_faithfulness(result: xr.Dataset) -> list[str]:
    """For each question the best map, those that are certainly worse, and those that may not be."""
    questions = map(str, result["question"].values)
    return [said for each in questions if each in SAYS for said in _answer(result, each)]


def _answer(result: xr.Dataset, question: str) -> list[str]:
    found = beside_best(result, question)
    by_verdict: dict[str, list[str]] = {}
    for name, verdict in zip(found["map"].values, found.get("verdict", ()), strict=False):
        by_verdict.setdefault(str(verdict.values), []).append(str(name))
    if BEST not in by_verdict:
        return []
    best = by_verdict[BEST][0]
    score, low, high = (float(found[f"score{end}"].sel(map=best)) for end in ("", "_low", "_high"))
    said = f"{SAYS[question].format(best=called(best))}: "
    said += f"{number(score)}{interval(low, high, number)}"
    names = list(map(str, found["map"].values))
    beside = [
        f"{words} {number(float(found['score'].sel(map=name)))}"
        for name, words in ((RANDOM, "in a random order"), ("leave_one_out", "by leave one out"))
        if name in names and question in LOST
    ]
    rest = []
    if RANDOM in names and question in LOST:
        ahead = estimates(found.sel(map=RANDOM), "behind", ()).chosen(
            sum(name not in BESIDE for name in names), independent_units(result)
        )
        verdict = OPEN if _few(result) else str(ahead.against(0.0))
        if verdict != "above":
            rest.append(
                "a random order does certainly better"
                if verdict == "below"
                else "whether that is better than a random order is inconclusive"
            )
    if WORSE in by_verdict:
        rest.append(f"certainly behind it: {listed(list(map(called, by_verdict[WORSE])))}")
    if OPEN in by_verdict:
        open_ones = listed([called(name) for name in (best, *by_verdict[OPEN])])
        rest.append(f"which of these is first is inconclusive: {open_ones}")
    if not np.isfinite(low + high):
        rest.append(NO_INTERVAL)
    return [f"{'; '.join([', '.join([said, *beside]), *rest])}."]
