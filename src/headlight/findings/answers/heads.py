"""Answers of studies that look at heads and at hidden tokens, over texts."""

import numpy as np
import xarray as xr

from headlight.findings.observed import average, category_label, name_of, observed, occurs
from headlight.findings.rules import APART
from headlight.findings.sentences import highlights
from headlight.findings.special_tokens import mean_shares, weight_and_norm
from headlight.findings.wording import interval, number, percent

SAID = 3
"""Highlights of a survey that stand above its page; all of them stand on it."""

SPECIAL = ("cls", "sep")


def survey(result: xr.Dataset) -> list[str]:
    """What stands out most."""
    found = [each.text for each in highlights(result)[:SAID]]
    return found or ["No head stands out by the rules of this page."]


def norms(result: xr.Dataset) -> list[str]:
    """What special tokens get, and whether weight and length go together, pooled and within."""
    special = [name for name in SPECIAL if np.isfinite(mean_shares(result, name)[0])]
    special.sort(key=lambda name: -mean_shares(result, name)[0])
    said = [weight_and_norm(result, name) for name in special[:1]]
    pooled = observed(result, "weight_norm_spearman", ("key_category",))
    names = [str(name) for name in result["key_category"].values]
    here = [at for at, name in enumerate(names) if np.isfinite(pooled[at]) and occurs(result, name)]
    if here:
        at = max(here, key=lambda place: abs(pooled[place]))
        heads = average(
            observed(result, "weight_norm_spearman_by_head", key_category=names[at])
        ).item()
        label = category_label(result, names[at])
        same = abs(pooled[at] - heads) < APART
        within = "" if np.isnan(heads) else f", and {number(heads)} within a head on average"
        differ = ": the difference is one between heads, whose lengths differ"
        said.append(
            f"Weight and length go together most for {label}: Spearman's ρ of α and ‖f(x)‖ is "
            f"{number(pooled[at])} over the pairs of all heads pooled{within}"
            f"{'' if same or not within else differ}."
        )
    cv = float(average(observed(result, "vector_norm_cv")))
    said.append(f"Within a head, lengths ‖f(x)‖ have a CV of {number(cv)} on average.")
    return [each for each in said if each]


def distances(result: xr.Dataset) -> list[str]:
    """Which two heads are most alike, and whether those of one layer are."""
    measure = str(result["measure"].values[0])
    between = result["distance"].sel(measure=measure).transpose("first", "second").values
    layers = result["layer"].values
    names = [
        name_of(result, int(layer), int(head))
        for layer, head in zip(layers, result["head"].values, strict=True)
    ]
    apart = np.where(np.eye(len(between), dtype=bool), np.nan, between)
    if not np.isfinite(apart).any():
        return ["There is one head, which has nothing to be compared with."]
    first, second = np.unravel_index(int(np.nanargmin(apart)), apart.shape)
    said = [
        f"By {measure}, {names[first]} and {names[second]} attend most alike: "
        f"{number(apart[first, second])} nats apart, where 0.69 is the most there can be."
    ]
    same = layers[:, None] == result["second_layer"].values[None, :]
    within, across = (float(average(np.where(each, apart, np.nan))) for each in (same, ~same))
    if np.isfinite(within + across):
        said.append(
            f"Heads of one layer are {number(within)} nats apart on average, heads of different "
            f"layers {number(across)}."
        )
    return said


def importance(result: xr.Dataset) -> list[str]:
    """To which tokens the loss depends most on attention."""
    means = {
        name: float(average(observed(result, "importance", key_category=name)))
        for name in map(str, result["key_category"].values)
        if name != "all"
    }
    seen = sorted((name for name in means if means[name] > 0), key=lambda name: -means[name])
    if not seen:
        return ["The loss depends on attention to no token: all gradients are 0."]
    most, least = category_label(result, seen[0]), category_label(result, seen[-1])
    said = (
        f"The loss depends most on attention to {most}: the mean |∂L/∂α| is "
        f"{number(means[seen[0]])}"
    )
    if len(seen) > 1:
        said += (
            f", {number(means[seen[0]] / means[seen[-1]])} times that of attention to {least} "
            f"({number(means[seen[-1]])}), where it depends least"
        )
    return [f"{said}."]


def ablation(result: xr.Dataset) -> list[str]:
    """Without which head, or layer, predictions move most, and how many can be spared."""
    said = []
    loss, right = float(result["own_loss"]), float(result["own_accuracy"])
    for scope in ("head", "layer"):
        if f"{scope}_kl" not in result:
            continue
        kl = result[f"{scope}_kl"]
        place = kl.argmax(...)
        at = {str(dim): int(index) for dim, index in place.items()}
        layer = int(result["layer"].values[at["layer"]])
        head = int(result["head"].values[at["head"]]) if "head" in at else None
        low, high = (float(result[f"{scope}_kl_{end}"].isel(at)) for end in ("low", "high"))
        said.append(
            f"Predictions move most without {name_of(result, layer, head)}: KL "
            f"{number(float(kl.isel(at)))} nats{interval(low, high, number)}; the median is "
            f"{number(float(kl.median()))}."
        )
        lows = result[f"{scope}_loss_change_low"].values
        if np.isfinite(lows).any():
            there = int(np.isfinite(lows).sum())
            said.append(
                f"{int((lows <= 0).sum())} of {there} {'heads' if head is not None else 'layers'} "
                f"can be removed, one at a time, without a loss that is certainly higher."
            )
        break
    if np.isfinite(loss):
        said.append(
            f"With all heads the loss is {number(loss)} nats, and {percent(right)} of predictions "
            "are correct."
        )
    return said


def identifiability(result: xr.Dataset) -> list[str]:
    """How much of attention no output shows, and how far effective attention is from the rest."""
    dimension = float(average(np.asarray(result["null_dimension"].values, dtype=np.float64)))
    weights = result["text_count"]
    keys = float(result["keys_mean"].weighted(weights).mean())
    correlation = float(result["effective_correlation"].weighted(weights).mean())
    if not dimension > 0:
        return [
            f"Texts have {number(keys)} tokens on average, fewer than heads have dimensions: the "
            "null space is empty, and effective attention is the weight itself."
        ]
    unseen = (
        f"Of texts of {number(keys)} tokens on average, {number(dimension)} dimensions of a row of "
        f"attention ({percent(dimension / keys)}) cannot be seen in the output of a head."
    )
    if not np.isfinite(correlation):
        even = "Attention is so even that it correlates with nothing, effective attention neither."
        return [unseen, even]
    said = f"Effective attention correlates with the weight by {number(correlation)} on average."
    return [unseen, said]


def attribution(result: xr.Dataset) -> list[str]:
    """How much of a token is its own input, in the first and in the last layer."""
    own = result["own_mean"].sel(group="all").values
    other = result["not_largest"].values
    first, last = (f"layer {int(result['layer'].values[at])}" for at in (0, -1))
    if len(own) == 1:
        return [
            f"In {first}, {percent(float(own[0]))} of a hidden token is due to its own input; for "
            f"{percent(float(other[0]))} of tokens another input counts for more."
        ]
    return [
        f"{percent(float(own[0]))} of a hidden token is due to its own input in {first}, and "
        f"{percent(float(own[-1]))} in {last}.",
        f"For {percent(float(other[-1]))} of tokens another input counts for more in {last} "
        f"({percent(float(other[0]))} in {first}).",
    ]


def token_identity(result: xr.Dataset) -> list[str]:
    """How many tokens are found again in the last layer, by the best map and without one."""
    offset = int(np.abs(result["offset"].values).argmin())
    plain = result.isel(offset=offset, fraction=int(result["fraction"].values.argmax()))
    rates = plain["rate_mean"].isel(layer=-1).transpose("map", "loss")
    if not bool(rates.notnull().any()):
        return ["No map could be compared in the last layer."]
    best = rates.isel({str(dim): int(at) for dim, at in rates.argmax(...).items()})
    chance = result.attrs.get("chance")
    layer = int(plain["layer"].values[-1])
    by_chance = "" if chance is None else f"; by chance it would be {percent(float(chance))}"
    said = [
        f"In layer {layer}, the map {best['map'].item()!s} (distance {best['loss'].item()!s}) "
        f"finds {percent(float(best))} of tokens again{by_chance}."
    ]
    if "naive" in plain["map"].values and str(best["map"].item()) != "naive":
        naive = float(rates.sel(map="naive").max())
        if np.isfinite(naive):
            said.append(f"Without training (naive), {percent(naive)} are found.")
    return said
