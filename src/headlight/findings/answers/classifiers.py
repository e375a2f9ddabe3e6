"""Answers of studies of classifiers."""

from itertools import combinations

import numpy as np
import xarray as xr

from headlight.findings.rules import decided, is_near_majority
from headlight.findings.wording import interval, listed, number, percent

CHANGES = {
    "permuted": "permuted weights",
    "uniform": "uniform weights",
    "largest": "all weight on the largest",
    "random": "all weight on a random key",
}
WHERE = {"": "in all layers at once", "layer_": "in one layer, on average",
         "head_": "in one head, on average"}  # fmt: skip
ATTENTION = ("weight", "norm", "effective")


def permutation(result: xr.Dataset) -> list[str]:
    """How far predictions move with other attention, and where most."""
    prefix = _widest(result, "tvd")
    moved = {
        name: float(result[f"{prefix}tvd"].sel(change=name).mean())
        for name in map(str, result["change"].values)
    }
    most, least = max(moved, key=moved.__getitem__), min(moved, key=moved.__getitem__)
    kept = float(result[f"{prefix}agreement"].sel(change=most).mean())
    low, high = (
        float(result[f"{prefix}tvd_{end}"].sel(change=most).mean()) for end in ("low", "high")
    )
    said = [
        f"Predictions move most with {CHANGES[most]} {WHERE[prefix]}: by TVD "
        f"{number(moved[most])}{interval(low, high, number)}, and {percent(kept)} of them stay the "
        "same."
    ]
    if len(moved) > 1:
        said.append(f"They move least with {CHANGES[least]}: by {number(moved[least])}.")
    if "layer_tvd" in result:
        layers = result["layer_tvd"].sel(change=most)
        at = int(layers.argmax("layer"))
        said.append(
            f"Of single layers, layer {int(result['layer'].values[at])} moves them most "
            f"({number(float(layers[at]))})."
        )
    return [*said, *_own(result)]


def faithfulness(result: xr.Dataset) -> list[str]:
    """Which measures name words that the prediction rests on more than on random ones."""
    first = result.isel(removal=0)
    value = first["comprehensiveness"].to_series()
    random = float(value.get("random", np.nan))
    names = [str(name) for name in value.index if name != "random"]
    best = max(names, key=lambda name: value[name])
    low, high = (first[f"comprehensiveness_{end}"].to_series() for end in ("low", "high"))
    said = [
        f"The words that {_called(best)} calls important matter most: without them the probability "
        f"of the prediction falls by {number(value[best])}"
        f"{interval(low[best], high[best], number)}, without random ones by {number(random)}."
    ]
    verdicts = {name: decided(value[name], low[name], high[name], random) for name in names}
    better = [name for name in names if verdicts[name] == "above"]
    others = [name for name in names if name not in better]
    if better and others:
        said.append(
            f"Certainly better than a random order: {listed(list(map(_called, better)))}; not "
            f"decided, or worse: {listed(list(map(_called, others)))}."
        )
    elif better:
        said.append("All measures are certainly better than a random order.")
    else:
        said.append("No measure is certainly better than a random order.")
    return [*said, *_own(result)]


def agreement(result: xr.Dataset) -> list[str]:
    """Which two measures agree most, and attention with what looks at the prediction."""
    names = [str(name) for name in result["measure"].values if name != "random"]
    tau = {pair: _tau(result, *pair) for pair in combinations(names, 2)}
    tau = {pair: found for pair, found in tau.items() if np.isfinite(found[0])}
    if not tau:
        return ["No two measures could be compared: Kendall's τ is not defined in any text."]
    best = max(tau, key=lambda pair: tau[pair][0])
    said = [f"{_pair(*best, first=True)} agree most: Kendall's {_said_tau(tau[best])}."]
    across = {pair: found for pair, found in tau.items() if sum(n in ATTENTION for n in pair) == 1}
    if across:
        most = max(across, key=lambda pair: across[pair][0])
        said.append(
            f"Of attention and what looks at the prediction, {_pair(*most)} agree most: "
            f"{_said_tau(across[most])}."
        )
    return [*said, *_own(result)]


def instance_adversary(result: xr.Dataset) -> list[str]:
    """How different attention can be with nearly, and with exactly, the same prediction."""
    prefix = _widest(result, "jsd")

    def mean(name: str) -> float:
        return float(result[f"{prefix}{name}"].mean())

    said = [
        f"With nearly the same prediction (moved by TVD {number(mean('moved'))}), attention "
        f"{WHERE[prefix]} can be {number(mean('jsd'))} nats away"
        f"{interval(mean('jsd_low'), mean('jsd_high'), number)} of 0.69 at most; in "
        f"{percent(mean('near'))} of texts it is 0.6 or more."
    ]
    exact, rows = mean("exact_jsd"), mean("exact_rows")
    if np.isfinite(exact + rows):
        said.append(
            f"{percent(rows)} of rows have other attention with exactly the same output, which is "
            f"{number(exact)} nats away on average."
        )
    return [*said, *_own(result)]


def adversary(result: xr.Dataset) -> list[str]:
    """Whether attention that was trained away moves predictions more than another seed does."""
    kinds, weights = result["kind"].values, result["weight"].values
    largest = float(np.nanmax(weights))
    adversaries = (kinds == "adversary") & (weights == largest)

    def mean(name: str, rows: np.ndarray) -> float:
        return float(result[name].values[rows].mean())

    said = [
        f"At the largest λ ({largest:g}) attention is {number(mean('jsd', adversaries))} nats "
        f"of JSD away, and predictions move by TVD {number(mean('tvd', adversaries))}."
    ]
    seeds = kinds == "seed"
    if seeds.any():
        said.append(
            f"Another seed alone moves attention by {number(mean('jsd', seeds))} and predictions "
            f"by {number(mean('tvd', seeds))}."
        )
    control = (kinds == "adversary") & (weights == 0)
    if control.any() and largest > 0:
        before, now = mean("kl", control), mean("kl", adversaries)
        if now < 2 * before:
            said.append(
                f"KL hardly moves ({number(now)} nats, {number(before)} at λ = 0): nothing "
                "was looked for hard enough; a larger λ, or more epochs, would tell more."
            )
    return said


def guided(result: xr.Dataset) -> list[str]:
    """Whether attention of the model is worth more to another than uniform weights."""
    accuracy = result["accuracy"].to_series()
    low, high = (result[f"accuracy_{end}"].to_series() for end in ("low", "high"))
    given = [str(name) for name in accuracy.index if name not in ("uniform", "random", "own")]
    if not given or "uniform" not in accuracy:
        best = str(accuracy.idxmax())
        return [f"Most is right with {_called(best)}: {percent(float(accuracy[best]))}."]
    best = max(given, key=lambda name: accuracy[name])
    uniform = float(accuracy["uniform"])
    verdict = {
        "above": "more than",
        "below": "less than",
        "not decided": "not certainly different from",
    }[decided(float(accuracy[best]), float(low[best]), float(high[best]), uniform)]
    said = [
        f"Of what was given, {_called(best)} is worth most: {percent(float(accuracy[best]))} of "
        f"predictions are correct{interval(float(low[best]), float(high[best]))}, {verdict} the "
        f"{percent(uniform)} of uniform weights."
    ]
    own = float(result["own_accuracy"])
    said.append(f"The model that reads whole texts has {percent(own)}.")
    return said


def _own(result: xr.Dataset) -> list[str]:
    """How good the model is, unless a caution has said that it is not."""
    names = ("own_accuracy", "own_accuracy_low", "majority_accuracy")
    own, low, majority = (float(result[name]) if name in result else np.nan for name in names)
    if not np.isfinite(own) or is_near_majority(own, low, majority):
        return []
    return [
        f"{percent(own)} of the model's predictions are correct; always predicting the most "
        f"frequent class gives {percent(majority)}."
    ]


def _widest(result: xr.Dataset, name: str) -> str:
    """Of all layers at once, or of what there is."""
    return next(prefix for prefix in WHERE if f"{prefix}{name}" in result)


def _called(name: str) -> str:
    return {"gradient_input": "gradient × input", "leave_one_out": "leave one out"}.get(name, name)


def _pair(one: str, other: str, *, first: bool = False) -> str:
    said = f"{_called(one)} and {_called(other)}"
    return said[0].upper() + said[1:] if first else said


def _tau(result: xr.Dataset, one: str, other: str) -> tuple[float, float, float]:
    cell = result.sel(measure=one, other=other)
    return float(cell["tau"]), float(cell["tau_low"]), float(cell["tau_high"])


def _said_tau(found: tuple[float, float, float]) -> str:
    return f"τ {number(found[0])}{interval(found[1], found[2], number)}"
