"""Rules of the sentences about a survey.

Each function looks up the numbers of a rule and tests them; the table at the end has the sentences.
"""

from collections.abc import Iterator
from functools import partial
from math import isfinite
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from headlight.catalogue import Statistic, statistic, statistic_table
from headlight.findings import thresholds
from headlight.findings.candidates import (
    APART,
    SAME,
    WORTH_SAYING,
    above_others,
    candidates,
    coincides,
    differ,
    is_ranked,
    uniform_share,
    unknown,
)
from headlight.findings.category_shares import TOTALS
from headlight.findings.estimates import Estimate, by_length, estimates, unreached
from headlight.findings.phrases import category_label, listed, percent, plural, unit_of_keys
from headlight.findings.sentence_rules import AFTER, HOLDS, Evidence, Place, Rule
from headlight.findings.statistics import applies, masked, numbers_of, row_target, say_rows
from headlight.findings.token_names import pieces_of
from headlight.findings.variables import observed
from headlight.findings.weight_and_norm_shares import mean_shares, shares_of, weight_and_norm
from headlight.findings.what_was_read import independent_units
from headlight.vocabulary import MASSIVE, MASSIVE_RATIO, SINK

_SPECIAL = ("cls", "sep")
_IN_BERT = (
    "Kobayashi et al. (2020) found much weight and little norm at the special tokens of BERT."
)


def _is_wide(estimate: Estimate, scale: float = 1.0) -> bool:
    """Return whether an interval is so wide that it says nothing."""
    return bool(estimate.high - estimate.low > thresholds.OPEN * scale)


def _ties(numbers: Estimate, place: Place) -> list[Place] | None:
    """Return the places that may have the largest number, where these are several."""
    rivals = numbers.rivals()
    return [place, *rivals] if rivals else None


def _verdicts_of_several(verdicts: NDArray[Any]) -> NDArray[Any] | None:
    """Return verdicts where more than one number is, or may be, above a bound."""
    several = int(np.isin(verdicts, ("above", "inconclusive")).sum()) > 1
    return verdicts if several else None


def _layers_with(result: xr.Dataset, chosen: NDArray[np.bool_]) -> list[int]:
    layers: list[int] = result["layer"].values[chosen].tolist()
    return layers


# ---------------------------------------------------------------- means over heads


def _first_token(result: xr.Dataset) -> Evidence | None:
    """Return what a decoder's first token gets, and how many heads are sinks."""
    if result.attrs.get("kind") != "decoder":
        return None
    shares = {measure: numbers_of(result, statistic("first"), measure) for measure in TOTALS}
    shares = {
        measure: numbers for measure, numbers in shares.items() if np.isfinite(numbers.value).any()
    }
    if not shares:
        return None
    means = {measure: numbers.mean() for measure, numbers in shares.items()}
    if not differ(max(float(mean.value) for mean in means.values()), uniform_share(result)):
        return None
    both = len(shares) > 1
    less = both and str(shares["weight"].minus(shares["norm"]).mean().compared(APART)) == "above"
    sinks = {measure: numbers.compared(SINK) for measure, numbers in shares.items()}
    return Evidence(
        values={
            **{measure: means.get(measure) for measure in TOTALS},
            **{f"{measure}_sinks": sinks.get(measure) for measure in TOTALS},
            "joint": ", but only " if less else " and ",
            "also": " and " if both else None,
            "bound": SINK,
            "heads": int(np.isfinite(next(iter(shares.values())).value).sum()),
        },
        importance=1.0,
        template="both" if both else next(iter(shares)),
        row="first",
    )


def _special_tokens(result: xr.Dataset) -> Evidence | None:
    """Return what special tokens get (Kobayashi et al. 2020, Section 4.2)."""
    means = {name: mean_shares(result, name) for name in _SPECIAL}
    order = sorted(_SPECIAL, key=lambda name: -np.nan_to_num(means[name][0], nan=-1.0))
    sentences = [
        sentence for name in order if (sentence := weight_and_norm(result, name)) is not None
    ]
    if not sentences:
        return None
    gap = np.subtract(*means[order[0]])
    weight, norm = (_special_share(result, measure).mean(axis=1) for measure in TOTALS)
    verdicts = weight.minus(norm).compared(APART)
    apart, inconclusive = (
        _layers_with(result, verdicts == verdict) for verdict in ("above", "inconclusive")
    )
    return Evidence(
        values={
            "first": sentences[0],
            "second": sentences[1] if len(sentences) > 1 else None,
            "layers": [int(layer) for layer in result["layer"].values],
            "apart": apart,
            "maybe": inconclusive if apart else None,
            "unclear": None if apart else inconclusive,
            "in_bert": _IN_BERT if unit_of_keys(result) == "token" else None,
        },
        importance=1.0 if gap >= APART else 0.6,
        row=order[0],
    )


def _special_share(result: xr.Dataset, measure: str) -> Estimate:
    """Return the share of all special tokens together, [layer, head]."""
    parts = [shares_of(result, measure, category) for category in _SPECIAL]
    observed_parts = [part for part in parts if np.isfinite(part.value).any()]
    sums = (
        np.sum([np.nan_to_num(getattr(part, end)) for part in observed_parts], axis=0)
        for end in ("value", "low", "high")
    )
    any_observed = np.any([np.isfinite(part.value) for part in observed_parts], axis=0)
    have_ends = bool(observed_parts) and all(part.known for part in observed_parts)
    value, low, high = (np.where(any_observed, total, np.nan) for total in sums)
    if not have_ends:
        return Estimate.with_ends(value, np.full_like(value, np.nan), np.full_like(value, np.nan))
    return Estimate.with_ends(value, low, high)


def _massive(result: xr.Dataset) -> Evidence | None:
    """Return the layers with massive activations (Sun et al. 2024, Section 2)."""
    share = estimates(result, "residual_massive", ("layer",))
    most = share.value > thresholds.MOST
    layers = _layers_with(result, most)
    highest = observed(result, "residual_highest", ("layer",))
    if not layers or not np.isfinite(highest).any():
        return None
    at = int(np.nanargmax(highest))
    numbers = {
        name: float(observed(result, f"residual_{name}", ("layer",))[at])
        for name in ("dimension", "place", "ratio", "length")
    }
    place = numbers.pop("place")
    return Evidence(
        values={
            **numbers,
            "layers": layers,
            "maybe": _layers_with(
                result, most & (share.compared(thresholds.MOST) == "inconclusive")
            ),
            "least": MASSIVE,
            "least_ratio": MASSIVE_RATIO,
            "highest": highest[at],
            "token": "the first token" if place == 0 else f"token {place:.0f}",
            "layer": (at,),
        },
        importance=0.6,
    )


def _breadth_from_cls(result: xr.Dataset) -> Evidence | None:
    """Return the breadth of attention from [CLS], last layer (Clark et al. 2019, Section 3.3).

    Under a causal mask the first token sees itself alone, which says nothing about the model.
    """
    if result.attrs.get("kind") == "decoder":
        return None
    cls, average = (
        estimates(result, "entropy", measure="weight", query_category=query).mean(axis=1).at(-1)
        for query in ("cls", "all")
    )
    gap = cls.minus(average)
    if not abs(gap.value) >= thresholds.NATS_APART:
        return None
    more = {"above": "broader", "below": "narrower"}.get(str(gap.compared(0.0)), "")
    last = (result.sizes["layer"] - 1,)
    return Evidence(
        values={
            "layer": last,
            "token": category_label(result, "cls", attending=True),
            "cls": cls,
            "more": more,
            "average": average,
        },
        importance=min(0.35, 0.2 * abs(float(gap.value))),
        place=last,
        inconclusive=not more,
    )


def _length(result: xr.Dataset) -> Evidence | None:
    """Return effective attention by the length of texts (Brunner et al. 2020, Figure 1a)."""
    correlation = by_length(result)
    count = observed(result, "effective_correlation_count", ("length",))
    # A bin of one or two documents says nothing about its length.
    bins = np.flatnonzero(np.isfinite(correlation.value) & ~(count < thresholds.FEWEST_TEXTS))
    if len(bins) < 2:
        return None
    first, last = (correlation.at(bins[at]) for at in (0, -1))
    longer = last.minus(first)
    if abs(longer.value) < thresholds.CORRELATION_APART:
        return None
    edges = result["length"].values
    more = {"above": "more", "below": "less"}.get(str(longer.compared(0.0)), "")
    return Evidence(
        values={
            "more": more,
            "first": first,
            "last": last,
            "short": edges[bins[0] + 1],
            "long": edges[bins[-1]],
        },
        importance=min(0.4 + abs(float(longer.value)) / 2, 0.7),
        inconclusive=not more,
    )


# ---------------------------------------------------------------- the head with most of a share


def _share(result: xr.Dataset, row: Statistic) -> Evidence | None:
    """Return the head with most of a share of the table of statistics."""
    if not applies(result, row):
        return None
    if row.category or (row.name == "first" and result.attrs.get("kind") == "decoder"):
        return _category(result, row)
    return _neighbour(result, row) if "offset" in row.labels else _behaviour(result, row)


def _behaviour(result: xr.Dataset, row: Statistic) -> Evidence | None:
    """Return the head with most of a behaviour.

    It is judged by norm, which the first token does not dominate.
    """
    weights, norms = (numbers_of(result, row, measure) for measure in TOTALS)
    measure = "norm" if np.isfinite(norms.value).any() else "weight"
    shares = candidates(result, row, measure)
    place = shares.first()
    if place is None or shares.value[place] < WORTH_SAYING:
        return None
    most, weight = shares.at(place), weights.at(place)
    beside = measure == "norm" and isfinite(float(weight.value))
    return Evidence(
        values={
            "head": place,
            "most": most,
            "measure": measure,
            "weight": weight if beside else None,
            "target": row_target(result, row),
            "rows": say_rows(result, row),
            "ties": _ties(shares, place),
        },
        importance=0.9 * float(most.value),
        template="behaviour",
        place=place,
        measure=measure,
        inconclusive=_is_wide(most),
    )


def _neighbour(result: xr.Dataset, row: Statistic) -> Evidence | None:
    """Return the head with most attention to a neighbour (Clark et al. 2019, Section 3.1)."""
    weights, norms = candidates(result, row, "weight"), numbers_of(result, row, "norm")
    place = weights.first()
    if place is None or weights.value[place] < WORTH_SAYING:
        return None
    weight, norm = weights.at(place), norms.at(place)
    verdicts = numbers_of(result, row, "weight").compared(thresholds.MOST)
    return Evidence(
        values={
            "head": place,
            "weight": weight,
            "norm": norm if np.isfinite(norm.value) else None,
            "target": row_target(result, row),
            "verdicts": _verdicts_of_several(verdicts),
            "give": "gives" if int((verdicts == "above").sum()) == 1 else "give",
            "ties": _ties(weights, place),
        },
        importance=0.9 * float(weight.value),
        template="neighbour",
        place=place,
        measure="weight",
        inconclusive=_is_wide(weight),
    )


def _category(result: xr.Dataset, row: Statistic) -> Evidence | None:
    """Return the head whose weight and norm differ most for a category.

    If none differ, it is the head that gives the category most.
    """
    if not is_ranked(result, row):
        return None
    weights, norms = (numbers_of(result, row, measure) for measure in TOTALS)
    gap = weights.minus(norms)
    gap = gap.times(np.where(gap.value < 0, -1.0, 1.0))
    gap = masked(gap, above_others(gap))
    differs = bool((gap.value >= APART).any())
    ranked = gap if differs else candidates(result, row, "weight")
    place = ranked.first()
    if place is None or (not differs and weights.value[place] <= thresholds.MOST):
        return None
    weight, norm = weights.at(place), norms.at(place)
    chosen = gap.simultaneous(independent_units(result)).at(place)
    verdict = str(chosen.compared(0.0)) if differs else ""
    contrast = "but only" if norm.value < weight.value else "but"
    most = 2 * float(gap.value[place]) if differs else float(weight.value) / 2
    return Evidence(
        values={
            "head": place,
            "weight": weight,
            "target": row_target(result, row),
            "but": contrast if verdict == "above" else "and",
            "norm": norm if np.isfinite(norm.value) else None,
            "most": "differs most in this" if differs else "gives most",
            "ties": _ties(ranked, place),
        },
        importance=0.95 * min(most, 1.0),
        template="category",
        place=place,
        measure="weight",
        inconclusive=verdict == "inconclusive" or _is_wide(weight),
    )


def _particular_tokens(result: xr.Dataset) -> Evidence | None:
    """Return the head whose keys are least like the tokens of the corpus."""
    if "token_divergence" not in result or not is_ranked(result, statistic("particular_tokens")):
        return None
    divergences = {
        measure: estimates(result, "token_divergence", side="key", measure=measure)
        for measure in TOTALS
    }
    measure = "norm" if np.isfinite(divergences["norm"].value).any() else "weight"
    first = numbers_of(result, statistic("first"), measure).value
    # What a head gives to others than the first token must be worth speaking of.
    divergence = masked(divergences[measure], ~(first > thresholds.NEARLY_ALL))
    place = divergence.first()
    if place is None or divergence.value[place] < thresholds.PARTICULAR:
        return None
    layer, head = int(result["layer"].values[place[0]]), place[1]
    here = result.sel(side="key", measure=measure, layer=layer, head=head)
    tokens = _largest_tokens(here)
    if not tokens:
        return None
    return Evidence(
        values={"head": place, "measure": measure, "tokens": listed(tokens[:3])},
        importance=0.5 * min(float(divergence.value[place]), 1.0),
        place=place,
        measure=measure,
    )


def _largest_tokens(head: xr.Dataset) -> list[str]:
    """Return the tokens to which a head gives most, with share and lift, the largest first."""
    shares = observed(head, "top_token_share", ("top",))
    lifts = observed(head, "top_token_lift", ("top",))
    not_named = unknown(head, "top_token")
    tokens: dict[str, str] = {}
    for at, piece in enumerate(pieces_of(head, "top_token")):
        # Two tokens may have one label; the one with the larger share comes first and is kept.
        if isfinite(shares[at]) and at not in not_named and piece.label not in tokens:
            tokens[piece.label] = (
                f"{percent(float(shares[at]))} to “{piece.label}” ({lifts[at]:.1f} times its "
                "frequency)"
            )
    return list(tokens.values())


# ---------------------------------------------------------------- other numbers of heads


def _broadest(result: xr.Dataset) -> Evidence | None:
    """Return the head with the highest entropy."""
    entropy = estimates(result, "entropy", measure="weight", query_category="all")
    uniform = float(observed(result, "entropy_uniform", ()))
    entropy = masked(entropy, above_others(entropy, uniform))
    place = entropy.first()
    if place is None or not uniform > 0 or entropy.value[place] < thresholds.BROAD * uniform:
        return None
    highest, ties = entropy.at(place), _ties(entropy, place)
    part = float(highest.value) / uniform
    verdicts = entropy.compared(thresholds.VERY_BROAD * uniform)
    return Evidence(
        values={
            "head": place,
            "entropy": highest,
            "part": part,
            "uniform": uniform,
            "verdicts": _verdicts_of_several(verdicts),
            "are": "is" if int((verdicts == "above").sum()) == 1 else "are",
            "bound": thresholds.VERY_BROAD,
            "ties": ties,
        },
        importance=0.55 * min(part, 1.0),
        template="ties" if ties else "first",
        place=place,
        measure="weight",
        inconclusive=_is_wide(highest, uniform),
    )


def _narrowest(result: xr.Dataset) -> Evidence | None:
    """Return the head with the lowest entropy."""
    entropy = estimates(result, "entropy", measure="weight", query_category="all")
    uniform = float(observed(result, "entropy_uniform", ()))
    low = entropy.times(-1.0)
    low = masked(low, above_others(low, uniform))
    place = low.first()
    if place is None or not uniform > 0 or entropy.value[place] > thresholds.NARROW * uniform:
        return None
    lowest, ties = entropy.at(place), _ties(low, place)
    nats = float(lowest.value)
    return Evidence(
        values={
            "head": place,
            "entropy": lowest,
            "keys": np.exp(nats),
            "unit": unit_of_keys(result),
            "ties": ties,
        },
        importance=0.5 * (1 - nats / uniform),
        template="ties" if ties else "first",
        place=place,
        measure="weight",
        inconclusive=_is_wide(lowest, uniform),
    )


def _unreached(result: xr.Dataset) -> Evidence | None:
    """Return the weight that changes no output (Brunner et al. 2020, Section 3)."""
    missing = unreached(result)
    if coincides(result, "effective"):
        return None
    place, mean = missing.first(), missing.mean()
    part = float(mean.value)
    if place is None or part < thresholds.UNREACHED:
        return None
    rivals = missing.rivals()
    return Evidence(
        values={
            "mean": mean,
            "rest": 1 - part,
            "head": place,
            "most": missing.at(place),
            "rivals": plural(len(rivals), "head"),
        },
        importance=min(0.5 + part, 0.9),
        template="ties" if rivals else "first",
        place=place,
        inconclusive=_is_wide(mean),
    )


def _effective(result: xr.Dataset) -> Evidence | None:
    """Return the head whose effective attention is least like the weight (Brunner et al. 2020)."""
    if coincides(result, "effective"):
        return None
    correlation = estimates(result, "effective_correlation_by_head")
    negative = correlation.times(-1.0)
    place = negative.first()
    if place is None:
        return None
    lowest, mean = correlation.at(place), correlation.mean()
    if lowest.value > SAME:
        inconclusive = int((correlation.compared(SAME) == "inconclusive").sum())
        heads = plural(inconclusive, "head") if inconclusive else None
        values = {"lowest": lowest, "bound": SAME, "maybe": heads}
        return Evidence(values=values, importance=0.3, template="same")
    negative = masked(negative, above_others(negative))
    place = negative.first()
    if place is None:
        return Evidence(values={"mean": mean}, importance=0.3, template="alike")
    ties = _ties(negative, place)
    several = np.isfinite(correlation.value).sum() > 1
    return Evidence(
        values={"head": place, "lowest": lowest, "ties": ties, "mean": mean if several else None},
        importance=min(0.8 * (1 - float(lowest.value)), 0.8),
        template="ties" if ties else "first",
        place=place,
    )


def _dispersion(result: xr.Dataset) -> Evidence | None:
    """Return the heads with the highest and lowest CV of ‖f(x)‖ (Kobayashi et al., Table 1)."""
    cv = estimates(result, "vector_norm_cv")
    most, least = cv.first(), cv.times(-1.0).first()
    if most is None or least is None or most == least:
        return None
    high, low = cv.at(most), cv.at(least)
    if not differ(float(high.value), float(low.value)):
        return None
    high_ties, low_ties = _ties(cv, most), _ties(cv.times(-1.0), least)
    return Evidence(
        values={
            "most": most,
            "high": high,
            "least": least,
            "low": low,
            "high_ties": high_ties,
            "low_ties": low_ties,
            "high_alone": None if low_ties else high_ties,
            "low_alone": None if high_ties else low_ties,
        },
        importance=min(0.4, float(high.value)),
        place=most,
        inconclusive=str(high.minus(low).compared(0.0)) == "inconclusive",
    )


def _gates(result: xr.Dataset) -> Evidence | None:
    """Return how far gates are open, and the number of queries whose norms were taken."""
    gate, closed = (estimates(result, name) for name in ("gate", "gate_closed"))
    place = gate.times(-1.0).first()
    if place is None:
        return None
    return Evidence(
        values={
            "mean": gate.mean(),
            "head": place,
            "least": gate.at(place),
            "closed": closed.at(place),
            "ties": _ties(gate.times(-1.0), place),
            "queries": result.attrs.get("gated_queries") or None,
        },
        importance=0.6,
        place=place,
    )


# ---------------------------------------------------------------- the sentences

_SHARE_TEMPLATES = {
    "category": "{weight:percent} of {head:name}'s weight{weight:interval} goes to {target}"
    "[, {but} {norm:percent} of its norm{norm:interval}]."
    "[ Which head {most} is inconclusive between {ties:names}.]",
    "neighbour": "Head {head:name} gives {weight:percent} of its weight{weight:interval}"
    "[ and {norm:percent} of its norm{norm:interval}] to {target}"
    "[; {verdicts:heads} {give} it more than half of their weight]."
    "[ Which head gives it most is inconclusive between {ties:names}.]",
    "behaviour": "Head {head:name} gives {most:percent} of its {measure:noun}{most:interval}"
    "[ and {weight:percent} of its weight{weight:interval}] to {target}"
    "[, in the {rows} of attention that can]."
    "[ Which head gives most is inconclusive between {ties:names}.]",
}

_MEANS = (
    Rule(
        topic="first token",
        evidence=_first_token,
        templates={
            "both": "The first token of a text gets {weight:percent} of the weight{weight:interval}"
            "{joint}{norm:percent} of the norm{norm:interval}, means over all heads.",
            "weight": "The first token of a text gets {weight:percent} of the "
            "weight{weight:interval}, means over all heads.",
            "norm": "The first token of a text gets {norm:percent} of the norm{norm:interval}, "
            "means over all heads.",
            AFTER: "It gets more than {bound:percent} in [{weight_sinks:count} by weight][{also}]"
            "[{norm_sinks:count} by norm] of {heads} heads.",
        },
    ),
    Rule(
        topic="massive activations",
        evidence=_massive,
        templates={
            HOLDS: "The input of {layers:layers} holds massive activations in most texts"
            "[ (inconclusive for {maybe:layers})] (above {least}, and {least_ratio:,} times the "
            "median; Sun et al. 2024): up to {highest:,.0f} in dimension {dimension:.0f} at "
            "{token} of a text, before {layer:name}, where the largest of a text is {ratio:,.0f} "
            "times the median on average, and the first token's vector {length:,.0f} times as "
            "long as the median one.",
        },
    ),
    Rule(
        topic="special tokens",
        evidence=_special_tokens,
        templates={
            HOLDS: "Over all heads, {first}",
            AFTER: "[{second} ]Means over all heads of {layers:layers}"
            "[; the gap is ten points and more in {apart:layers}][ (inconclusive for "
            "{maybe:layers})][; whether the gap is ten points in {unclear:layers} is inconclusive]."
            "[ {in_bert}]",
        },
    ),
)

_OTHERS = (
    Rule(
        topic="particular tokens",
        evidence=_particular_tokens,
        question="particular_tokens",
        templates={
            HOLDS: "In these texts head {head:name} has the most token-specific attention: of its "
            "{measure:noun} that does not go to first tokens it gives {tokens}.",
        },
    ),
    Rule(
        topic="broad",
        evidence=_broadest,
        question="entropy",
        templates={
            "first": "Head {head:name} is the broadest: its entropy, {entropy:nats}, is "
            "{part:percent} of that of uniform attention ({uniform:.2f})"
            "[; {verdicts:heads} {are} above {bound:percent}].",
            "ties": "The broadest heads are {ties:names} (order inconclusive): the entropy of "
            "{head:name}, {entropy:nats}, is {part:percent} of that of uniform attention "
            "({uniform:.2f})[; {verdicts:heads} {are} above {bound:percent}].",
        },
    ),
    Rule(
        topic="breadth from cls",
        evidence=_breadth_from_cls,
        templates={
            HOLDS: "In {layer:name}, the last that was looked at, attention from {token}, "
            "{cls:nats}, is {more} than that from tokens on average, {average:nats}.",
        },
    ),
    Rule(
        topic="out of reach",
        evidence=_unreached,
        question="unreached",
        templates={
            "first": "{mean:percent} of the weight{mean:interval} cannot reach the output of its "
            "head: effective attention, which leaves it out, adds up to {rest:percent}. Most of it "
            "is in head {head:name}: {most:share}.",
            "ties": "{mean:percent} of the weight{mean:interval} cannot reach the output of its "
            "head: effective attention, which leaves it out, adds up to {rest:percent}. "
            "{head:name} is among the highest, {most:share}, with {rivals} whose intervals "
            "overlap.",
        },
    ),
    Rule(
        topic="effective",
        evidence=_effective,
        question="effective_correlation",
        templates={
            "same": "Effective attention is nearly the weight in every head (r at least "
            "{lowest:decimal})[; above {bound} is inconclusive for {maybe}].",
            "alike": "Effective attention differs from the weight in all heads alike: correlation "
            "{mean:decimal} on average.",
            "first": "Effective attention differs most from the weight in head {head:name}: "
            "correlation {lowest:decimal}[, where the mean over heads is {mean:decimal}].",
            "ties": "In which head effective attention differs most from the weight is "
            "inconclusive between {ties:names}: correlation {lowest:decimal} in head {head:name}"
            "[, where the mean over heads is {mean:decimal}].",
        },
    ),
    Rule(
        topic="length",
        evidence=_length,
        templates={
            HOLDS: "Effective attention and weight agree {more} in longer texts: correlation "
            "{first:decimal} below {short:g} tokens, {last:decimal} from {long:g}.",
        },
    ),
    Rule(
        topic="dispersion",
        evidence=_dispersion,
        question="vector_norm_cv",
        templates={
            HOLDS: "The lengths ‖f(x)‖ of the transformed vectors vary most in head {most:name}, "
            "CV {high:decimal}, and least in head {least:name}, CV {low:decimal}."
            "[ Inconclusive: most between {high_alone:names}.]"
            "[ Inconclusive: least between {low_alone:names}.]"
            "[ Inconclusive: most between {high_ties:names}; least between {low_ties:names}.]",
        },
    ),
    Rule(
        topic="gate",
        evidence=_gates,
        question="gate",
        templates={
            HOLDS: "Gates let through {mean:percent} of what heads compute on average"
            "{mean:interval}, and least in head {head:name}: {least:share}, nearly nothing in "
            "{closed:percent} of the cases{closed:interval}."
            "[ Which head lets through least is inconclusive between {ties:names}.]"
            "[ Norms are those of at most {queries} queries of a text, as f depends on the query.]",
        },
    ),
    Rule(
        topic="narrow",
        evidence=_narrowest,
        question="entropy",
        templates={
            "first": "Head {head:name} is the narrowest: {entropy:nats}, as if it spread its "
            "weight evenly over {keys:.1f} {unit}s.",
            "ties": "The narrowest heads are {ties:names} (order inconclusive): {head:name} has "
            "{entropy:nats}, as if it spread its weight evenly over {keys:.1f} {unit}s.",
        },
        # A head that was named for its one target is narrow for that reason.
        unless_named=True,
    ),
)


def survey_rules() -> Iterator[Rule]:
    """Yield the rules of a survey: those of means, of each share of the table, and the others."""
    yield from _MEANS
    for row in statistic_table():
        if row.target and row.prominent:
            yield Rule(
                topic=row.name,
                evidence=partial(_share, row=row),
                templates=_SHARE_TEMPLATES,
                question=row.name,
            )
    yield from _OTHERS
