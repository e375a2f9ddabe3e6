"""Findings on attention that was trained away, in words."""

import numpy as np
import xarray as xr

from headlight.findings.distances import FURTHEST
from headlight.findings.estimates import Estimate, estimates
from headlight.findings.interval_phrases import NO_INTERVAL, around
from headlight.findings.phrases import number, percent
from headlight_papers.findings.seeds import over_seeds

MOVED = 2.0
"""KL counts as changed above this multiple of its value at λ = 0."""


LARGEST = {"jsd": FURTHEST, "tvd": 1.0}
"""Largest possible distances of attention, and of predictions."""


def adversary(result: xr.Dataset) -> list[str]:
    """Whether attention that was trained away moves predictions more than another seed does."""
    largest = float(np.nanmax(result["weight"].values))
    adversaries, seeds = trained(result, largest), result["kind"].values == "seed"
    sentences = [
        f"Models trained to predict alike attend {_share(result, 'jsd', adversaries)} of the "
        f"largest possible distance away, and {_share(result, 'tvd', adversaries)} of the "
        f"probability moves, at the largest λ ({largest:g}). By divergence attention is "
        f"{_mean(result, 'jsd', adversaries)} nats of JSD away."
    ]
    if seeds.any():
        sentences.append(
            f"Another seed alone moves attention by {_mean(result, 'jsd', seeds)} and predictions "
            f"by {_mean(result, 'tvd', seeds)}; {_more(result, adversaries, seeds)}."
        )
    control = trained(result, 0.0)
    if control.any() and largest > 0:
        before, now = (f"{_mean(result, 'kl', rows)} nats" for rows in (control, adversaries))
        verdict = compared(result, "kl", adversaries, control, MOVED)
        if verdict == "below":
            sentences.append(
                f"KL hardly moves ({now}, {before} at λ = 0): nothing was looked for hard enough; "
                "a larger λ, or more epochs, would tell more."
            )
        elif verdict == "inconclusive":
            sentences.append(
                f"Whether KL moves is inconclusive{_why(result, adversaries, control)}: it is "
                f"{now}, and {before} at λ = 0."
            )
    return sentences


def trained(result: xr.Dataset, weight: float) -> np.ndarray:
    """Return the mask of models that are adversaries of this λ."""
    mask: np.ndarray = (result["kind"].values == "adversary") & (result["weight"].values == weight)
    return mask


def compared(
    result: xr.Dataset, name: str, rows: np.ndarray, others: np.ndarray, times: float = 1.0
) -> str:
    """Compare a number of some models with a multiple of that of others.

    Args:
        result: Result of the study.
        name: Name of a variable with one number for each model.
        rows: Models under comparison.
        others: Models that they are compared with.
        times: Factor of the numbers of `others`.

    Returns:
        ``above``, ``below`` or ``inconclusive``, by intervals over seeds; ``inconclusive`` also
        where either kind has a single model.
    """
    values = result[name].values
    return str(over_seeds(values[rows]).against(over_seeds(values[others]).times(times)))


def _more(result: xr.Dataset, adversaries: np.ndarray, seeds: np.ndarray) -> str:
    verdicts = {name: compared(result, name, adversaries, seeds) for name in ("jsd", "tvd")}
    words = {"jsd": "attention", "tvd": "predictions"}
    comparisons = [
        f"adversaries move {words[name]} {'more' if verdict == 'above' else 'less'}"
        for name, verdict in verdicts.items()
        if verdict != "inconclusive"
    ]
    open_ones = [words[name] for name, verdict in verdicts.items() if verdict == "inconclusive"]
    if open_ones:
        comparisons.append(
            f"which of the two moves {' and '.join(open_ones)} more is inconclusive"
            f"{_why(result, adversaries, seeds)}"
        )
    return "; ".join(comparisons)


def _why(result: xr.Dataset, rows: np.ndarray, others: np.ndarray) -> str:
    alone = rows.sum() < 2 or others.sum() < 2
    return f" ({NO_INTERVAL}, as there is one model of a kind)" if alone else ""


def _mean(result: xr.Dataset, name: str, rows: np.ndarray) -> str:
    """Return the mean of models, with its interval over seeds; of one model, over texts."""
    mean = _mean_of(result, name, rows)
    return f"{number(float(mean.value))}{around(mean, number, share=False)}"


def _share(result: xr.Dataset, name: str, rows: np.ndarray) -> str:
    """Return the mean of models as a share of the largest possible distance."""
    mean = _mean_of(result, name, rows).times(1 / LARGEST[name])
    return f"{percent(float(mean.value))}{around(mean)}"


def _mean_of(result: xr.Dataset, name: str, rows: np.ndarray) -> Estimate:
    if rows.sum() > 1:
        return over_seeds(result[name].values[rows])
    return estimates(result, name, ("run",)).at(rows).mean()
