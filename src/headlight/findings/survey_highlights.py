"""Highlights of a survey: sentences, each with what makes it worth saying."""

from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from headlight.catalogue import Statistic, statistic, statistic_table
from headlight.findings import thresholds as rules
from headlight.findings.candidates import (
    APART,
    SAME,
    WORTH_SAYING,
    above_others,
    candidates,
    coincides,
    differ,
    is_ranked,
    is_understood,
    uniform_share,
    unknown,
)
from headlight.findings.category_shares import TOTALS
from headlight.findings.estimates import Estimate, by_length, estimates, unreached
from headlight.findings.interval_phrases import around, between, many
from headlight.findings.phrases import (
    category_label,
    layer_list,
    listed,
    name_of,
    percent,
    plural,
    unit_of_keys,
)
from headlight.findings.statistics import applies, masked, numbers_of, row_target, say_rows
from headlight.findings.token_names import pieces_of
from headlight.findings.variables import observed
from headlight.findings.weight_and_norm_shares import mean_shares, shares_of, weight_and_norm
from headlight.findings.what_was_read import independent_units, number_of_texts
from headlight.vocabulary import MASSIVE, MASSIVE_RATIO, SINK

_MOST = 12
_SPECIAL = ("cls", "sep")
_IN_BERT = (
    "Kobayashi et al. (2020) found much weight and little norm at the special tokens of BERT."
)


@dataclass(frozen=True, slots=True)
class Highlight:
    """Sentence about a model.

    Attributes:
        text: Sentence.
        layer: Layer that it is about, or None.
        head: Head that it is about, or None.
        importance: Importance from 0 to 1, by which highlights are ranked.
        kind: Topic; no other highlight of a list has the same.
        question: Question of the grid of heads that shows it; empty without a head.
        measure: Measure of the question; empty where the question has none.
        inconclusive: Whether intervals leave open what it says; such highlights are counted, and
            not listed.
    """

    text: str
    layer: int | None
    head: int | None
    importance: float
    kind: str
    question: str = ""
    measure: str = ""
    inconclusive: bool = False


def highlights(result: xr.Dataset) -> list[Highlight]:
    """Return the highlights of a survey: at most twelve sentences, the most important first.

    Args:
        result: Result of a survey, of one kind of attention. Numbers that were not observed (NaN)
            or are missing are not spoken of, nor those that `headlight.findings.candidates` leaves
            out.
    """
    if not is_understood(result):
        return []
    by_row = {
        row.name: _of_row(result, row) for row in statistic_table() if row.target and row.prominent
    }
    candidates = [
        *_joined(_first_token(result), by_row),
        _massive(result),
        *_joined(_special_tokens(result), by_row),
        *by_row.values(),
        _particular_tokens(result),
        _broadest(result),
        _breadth_from_cls(result),
        _unreached(result),
        _effective(result),
        _length(result),
        _dispersion(result),
        _gates(result),
    ]
    chosen = [candidate for candidate in candidates if candidate is not None]
    narrowest = _narrowest(result)
    # A head that was named for its one target is narrow for that reason: one sentence is enough.
    named = {(highlight.layer, highlight.head) for highlight in chosen}
    if narrowest is not None and (narrowest.layer, narrowest.head) not in named:
        chosen.append(narrowest)
    conclusive = [each for each in chosen if not each.inconclusive]
    most = sorted(conclusive, key=lambda highlight: -highlight.importance)[:_MOST]
    return [*most, *_left_out(result, len(chosen) - len(conclusive))]


def _joined(
    mean: tuple[Highlight, str, str] | None, by_row: dict[str, Highlight | None]
) -> list[Highlight]:
    """Join a highlight of means with that of the head that shows it most, taken from the rows."""
    if mean is None:
        return []
    highlight, more, row = mean
    of_head = by_row.get(row)
    if of_head is None or of_head.inconclusive or highlight.importance < 1:
        return [replace(highlight, text=f"{highlight.text} {more}")]
    del by_row[row]
    return [replace(of_head, text=f"{highlight.text} {of_head.text} {more}", importance=1.0)]


def _left_out(result: xr.Dataset, number: int) -> list[Highlight]:
    """Return a line about findings that intervals leave open; empty where there are none."""
    if not number:
        return []
    verb = "is" if number == 1 else "are"
    text = f"{number} more {verb} inconclusive with these {number_of_texts(result)}."
    return [Highlight(text, None, None, 0.0, "inconclusive")]


def _of_row(result: xr.Dataset, row: Statistic) -> Highlight | None:
    """Return the highlight of a share of the table, for the head that has most of it."""
    if not applies(result, row):
        return None
    if row.category or (row.name == "first" and result.attrs.get("kind") == "decoder"):
        return _category(result, row)
    return _neighbour(result, row) if "offset" in row.labels else _behaviour(result, row)


def _is_open(one: Estimate, scale: float = 1.0) -> bool:
    return bool(one.high - one.low > rules.OPEN * scale)


def _special_share(result: xr.Dataset, measure: str) -> Estimate:
    """Return the share of all special tokens together, [layer, head]."""
    parts = [shares_of(result, measure, category) for category in _SPECIAL]
    observed_parts = [each for each in parts if np.isfinite(each.value).any()]
    ends = (
        np.sum([np.nan_to_num(getattr(each, end)) for each in observed_parts], axis=0)
        for end in ("value", "low", "high")
    )
    any_observed = np.any([np.isfinite(each.value) for each in observed_parts], axis=0)
    have_ends = bool(observed_parts) and all(each.known for each in observed_parts)
    value, low, high = (np.where(any_observed, each, np.nan) for each in ends)
    return Estimate.with_ends(
        value, *(each if have_ends else np.full_like(value, np.nan) for each in (low, high))
    )


def _of_most(result: xr.Dataset, numbers: Estimate, what: str) -> str:
    """Say which heads may be first, where that is inconclusive; empty otherwise."""
    first = numbers.first()
    others = numbers.rivals()
    if first is None or not others:
        return ""
    names = [_name(result, place) for place in (first, *others)]
    return f" Which head {what} is inconclusive between {between(names)}."


def _special_tokens(result: xr.Dataset) -> tuple[Highlight, str, str] | None:
    """Return the highlight of special tokens (Kobayashi et al. 2020, Section 4.2)."""
    means = {name: mean_shares(result, name) for name in _SPECIAL}
    order = sorted(_SPECIAL, key=lambda name: -np.nan_to_num(means[name][0], nan=-1.0))
    sentences = [each for name in order if (each := weight_and_norm(result, name)) is not None]
    if not sentences:
        return None
    gap = np.subtract(*means[order[0]])
    layers = [int(layer) for layer in result["layer"].values]
    scope = f"Means over all heads of {layer_list(layers)}{_where(result)}."
    in_bert = [_IN_BERT] * (unit_of_keys(result) == "token")
    importance = 1.0 if gap >= APART else 0.6
    highlight = Highlight(sentences[0], None, None, importance, "special tokens")
    return highlight, " ".join([*sentences[1:], scope, *in_bert]), order[0]


def _first_token(result: xr.Dataset) -> tuple[Highlight, str, str] | None:
    """Return the highlight of a decoder's first token: its share, and heads that are sinks."""
    if result.attrs.get("kind") != "decoder":
        return None
    by = {name: numbers_of(result, statistic("first"), name) for name in TOTALS}
    by = {name: each for name, each in by.items() if np.isfinite(each.value).any()}
    if not by:
        return None
    shares_by = {name: shares.mean() for name, shares in by.items()}
    means = [
        f"{percent(float(mean.value))} of the {name}{around(mean)}"
        for name, mean in shares_by.items()
    ]
    if not differ(max(float(mean.value) for mean in shares_by.values()), uniform_share(result)):
        return None
    less = len(by) > 1 and str(by["weight"].minus(by["norm"]).mean().compared(APART)) == "above"
    sinks = [f"{many(shares.compared(SINK))} by {name}" for name, shares in by.items()]
    heads = int(np.isfinite(next(iter(by.values())).value).sum())
    shares_text = ", but only ".join(means) if less else listed(means)
    text = f"The first token of a text gets {shares_text}, means over all heads."
    more = f"It gets more than {percent(SINK)} in {listed(sinks)} of {heads} heads."
    return Highlight(text, None, None, 1.0, "first token"), more, "first"


def _massive(result: xr.Dataset) -> Highlight | None:
    """Return the highlight of massive activations (Sun et al. 2024, Section 2)."""
    share = estimates(result, "residual_massive", ("layer",))
    most = share.value > rules.MOST
    layers, open_ones = (
        result["layer"].values[each].tolist()
        for each in (most, most & (share.compared(rules.MOST) == "inconclusive"))
    )
    if not layers:
        return None
    highest = observed(result, "residual_highest", ("layer",))
    at = int(np.nanargmax(highest))
    number = {
        name: float(observed(result, f"residual_{name}", ("layer",))[at])
        for name in ("dimension", "place", "ratio", "length")
    }
    which = "the first token" if number["place"] == 0 else f"token {number['place']:.0f}"
    text = (
        f"The input of {layer_list(layers)} holds massive activations in most texts"
        f"{_and_open(open_ones)} (above {MASSIVE}, and {MASSIVE_RATIO:,} times the median; Sun et "
        f"al. 2024): up to {highest[at]:,.0f} in dimension {number['dimension']:.0f} at {which} of "
        f"a text, before {name_of(result, int(result['layer'].values[at]))}, where the largest of "
        f"a text is {number['ratio']:,.0f} times the median on average, and the first token's "
        f"vector {number['length']:,.0f} times as long as the median one."
    )
    return Highlight(text, None, None, 0.6, "massive activations")


def _and_open(layers: list[int]) -> str:
    return f" (inconclusive for {layer_list(layers)})" if layers else ""


def _behaviour(result: xr.Dataset, row: Statistic) -> Highlight | None:
    """Return the highlight of the head with most of a behaviour.

    It is judged by norm, which the first token does not dominate.
    """
    weights, norms = (numbers_of(result, row, measure) for measure in TOTALS)
    measure = "norm" if np.isfinite(norms.value).any() else "weight"
    shares = candidates(result, row, measure)
    place = shares.first()
    if place is None or shares.value[place] < WORTH_SAYING:
        return None
    most, weight = shares.at(place), weights.at(place)
    value = float(most.value)
    text = f"Head {_name(result, place)} gives {percent(value)} of its {measure}{around(most)}"
    if measure == "norm" and isfinite(float(weight.value)):
        text += f" and {percent(float(weight.value))} of its weight{around(weight)}"
    text += f" to {row_target(result, row)}"
    rows = say_rows(result, row)
    text += f", in the {rows} of attention that can." if rows else "."
    text += _of_most(result, shares, "gives most")
    where = _numbers(result, place)
    return Highlight(
        text, *where, 0.9 * value, row.name, row.name, measure, inconclusive=_is_open(most)
    )


def _particular_tokens(result: xr.Dataset) -> Highlight | None:
    """Return the highlight of the head whose keys are least like the tokens of the corpus."""
    if "token_divergence" not in result or not is_ranked(result, statistic("particular_tokens")):
        return None
    by = {name: estimates(result, "token_divergence", side="key", measure=name) for name in TOTALS}
    measure = "norm" if np.isfinite(by["norm"].value).any() else "weight"
    first = numbers_of(result, statistic("first"), measure).value
    # What a head gives to others than the first token must be worth speaking of.
    by[measure] = masked(by[measure], ~(first > rules.NEARLY_ALL))
    place = by[measure].first()
    if place is None or by[measure].value[place] < rules.PARTICULAR:
        return None
    layer, head = _numbers(result, place)
    here = result.sel(side="key", measure=measure, layer=layer, head=head)
    shares = observed(here, "top_token_share", ("top",))
    lifts = observed(here, "top_token_lift", ("top",))
    not_named = unknown(here, "top_token")
    named = {
        piece.label: f"{percent(float(share))} to “{piece.label}” ({lift:.1f} times its frequency)"
        for at, (piece, share, lift) in reversed(
            list(enumerate(zip(pieces_of(here, "top_token"), shares, lifts, strict=True)))
        )
        if isfinite(share) and at not in not_named
    }
    tokens = list(named.values())[::-1]
    if not tokens:
        return None
    text = (
        f"In these texts head {_name(result, place)} has the most token-specific attention: of its "
        f"{measure} that does not go to first tokens it gives {listed(tokens[:3])}."
    )
    importance = 0.5 * min(float(by[measure].value[place]), 1.0)
    where = _numbers(result, place)
    return Highlight(text, *where, importance, "particular tokens", "particular_tokens", measure)


def _where(result: xr.Dataset) -> str:
    """Name the layers in which special tokens together get far more weight than norm."""
    weight, norm = (_special_share(result, m).mean(axis=1) for m in ("weight", "norm"))
    gap = weight.minus(norm).compared(APART)
    layers, open_ones = (
        result["layer"].values[gap == each].tolist() for each in ("above", "inconclusive")
    )
    if layers:
        return f"; the gap is ten points and more in {layer_list(layers)}{_and_open(open_ones)}"
    if open_ones:
        return f"; whether the gap is ten points in {layer_list(open_ones)} is inconclusive"
    return ""


def _category(result: xr.Dataset, row: Statistic) -> Highlight | None:
    """Return the highlight of the head whose weight and norm differ most for a category.

    If none differ, it is the head that gives the category most.
    """
    if not is_ranked(result, row):
        return None
    weights, norms = (numbers_of(result, row, measure) for measure in TOTALS)
    gap = weights.minus(norms)
    gap = gap.times(np.where(gap.value < 0, -1.0, 1.0))
    gap = masked(gap, above_others(gap))
    differs = bool((gap.value >= APART).any())
    named = candidates(result, row, "weight")
    place = (gap if differs else named).first()
    if place is None or (not differs and weights.value[place] <= rules.MOST):
        return None
    weight, norm = weights.at(place), norms.at(place)
    text = (
        f"{percent(float(weight.value))} of {_name(result, place)}'s weight{around(weight)} goes "
        f"to {row_target(result, row)}"
    )
    chosen = gap.simultaneous(independent_units(result)).at(place)
    verdict = str(chosen.compared(0.0)) if differs else ""
    if np.isfinite(norm.value):
        only = "but only" if norm.value < weight.value else "but"
        text += f", {only if verdict == 'above' else 'and'} {percent(float(norm.value))} of its "
        text += f"norm{around(norm)}"
    text += "."
    numbers, what = (gap, "differs most in this") if differs else (named, "gives most")
    text += _of_most(result, numbers, what)
    most = 2 * float(gap.value[place]) if differs else float(weight.value) / 2
    importance = 0.95 * min(most, 1.0)
    where = _numbers(result, place)
    is_open = verdict == "inconclusive" or _is_open(weight)
    return Highlight(text, *where, importance, row.name, row.name, "weight", inconclusive=is_open)


def _neighbour(result: xr.Dataset, row: Statistic) -> Highlight | None:
    """Return the highlight of most attention to a neighbour (Clark et al. 2019, Section 3.1)."""
    weights, norms = candidates(result, row, "weight"), numbers_of(result, row, "norm")
    place = weights.first()
    if place is None or weights.value[place] < WORTH_SAYING:
        return None
    weight, norm = weights.at(place), norms.at(place)
    value = float(weight.value)
    text = f"Head {_name(result, place)} gives {percent(value)} of its weight{around(weight)}"
    if np.isfinite(norm.value):
        text += f" and {percent(float(norm.value))} of its norm{around(norm)}"
    verdicts = numbers_of(result, row, "weight").compared(rules.MOST)
    text += f" to {row_target(result, row)}"
    if int(np.isin(verdicts, ("above", "inconclusive")).sum()) > 1:
        text += f"; {_heads(verdicts, 'gives', 'give')} it more than half of their weight"
    text += f".{_of_most(result, weights, 'gives it most')}"
    importance = 0.9 * value
    where = _numbers(result, place)
    return Highlight(
        text, *where, importance, row.name, row.name, "weight", inconclusive=_is_open(weight)
    )


def _heads(verdicts: NDArray[Any], one: str, several: str) -> str:
    verb = one if int((verdicts == "above").sum()) == 1 else several
    return f"{many(verdicts, 'head')} {verb}"


def _broadest(result: xr.Dataset) -> Highlight | None:
    entropy = estimates(result, "entropy", measure="weight", query_category="all")
    uniform = float(observed(result, "entropy_uniform", ()))
    entropy = masked(entropy, above_others(entropy, uniform))
    place = entropy.first()
    if place is None or not uniform > 0 or entropy.value[place] < rules.BROAD * uniform:
        return None
    nats = entropy.at(place)
    part = float(nats.value) / uniform
    text = (
        f"Head {_name(result, place)} is the broadest: its entropy, {nats.value:.2f} nats"
        f"{_in_nats(nats)}, is {percent(part)} of that of uniform attention ({uniform:.2f})"
    )
    if others := entropy.rivals():
        names = [_name(result, each) for each in (place, *others)]
        text = (
            f"The broadest heads are {between(names)} (order inconclusive): the entropy of "
            f"{names[0]}, {nats.value:.2f} nats{_in_nats(nats)}, is {percent(part)} of that of "
            f"uniform attention ({uniform:.2f})"
        )
    verdicts = entropy.compared(rules.VERY_BROAD * uniform)
    several = int(np.isin(verdicts, ("above", "inconclusive")).sum()) > 1
    above = f" above {percent(rules.VERY_BROAD)}."
    text += f"; {_heads(verdicts, 'is', 'are')}{above}" if several else "."
    importance = 0.55 * min(part, 1.0)
    where = _numbers(result, place)
    is_open = _is_open(nats, uniform)
    return Highlight(text, *where, importance, "broad", "entropy", "weight", inconclusive=is_open)


def _narrowest(result: xr.Dataset) -> Highlight | None:
    entropy = estimates(result, "entropy", measure="weight", query_category="all")
    uniform = float(observed(result, "entropy_uniform", ()))
    low = entropy.times(-1.0)
    low = masked(low, above_others(low, uniform))
    place = low.first()
    if place is None or not uniform > 0 or entropy.value[place] > rules.NARROW * uniform:
        return None
    nats = float(entropy.value[place])
    at = entropy.at(place)
    spread = (
        f"{nats:.2f} nats{_in_nats(at)}, as if it spread its weight evenly over "
        f"{np.exp(nats):.1f} {unit_of_keys(result)}s."
    )
    text = f"Head {_name(result, place)} is the narrowest: {spread}"
    if others := low.rivals():
        names = [_name(result, each) for each in (place, *others)]
        text = (
            f"The narrowest heads are {between(names)} (order inconclusive): {names[0]} has "
            f"{spread}"
        )
    importance = 0.5 * (1 - nats / uniform)
    where = _numbers(result, place)
    is_open = _is_open(at, uniform)
    return Highlight(text, *where, importance, "narrow", "entropy", "weight", inconclusive=is_open)


def _in_nats(one: Estimate) -> str:
    return around(one, _two, share=False)


def _two(value: float) -> str:
    return f"{value:.2f}".replace("-", "\u2212")


def _breadth_from_cls(result: xr.Dataset) -> Highlight | None:
    """Return the highlight of breadth from [CLS], last layer (Clark et al. 2019, Section 3.3).

    Under a causal mask the first token sees itself alone, which says nothing about the model.
    """
    if result.attrs.get("kind") == "decoder":
        return None
    cls, everyone = (
        estimates(result, "entropy", measure="weight", query_category=query).mean(axis=1).at(-1)
        for query in ("cls", "all")
    )
    gap = cls.minus(everyone)
    if not abs(gap.value) >= rules.NATS_APART:
        return None
    layer = int(result["layer"].values[-1])
    more = {"above": "broader", "below": "narrower"}.get(str(gap.compared(0.0)), "")
    from_class = f"{cls.value:.2f} nats{_in_nats(cls)}"
    average = f"that from tokens on average, {everyone.value:.2f} nats{_in_nats(everyone)}"
    label = category_label(result, "cls", attending=True)
    where = f"In {name_of(result, layer)}, the last that was looked at,"
    text = f"{where} attention from {label}, {from_class}, is {more} than {average}."
    importance = min(0.35, 0.2 * abs(float(gap.value)))
    return Highlight(text, layer, None, importance, "breadth from cls", inconclusive=not more)


def _unreached(result: xr.Dataset) -> Highlight | None:
    """Return the highlight of weight that changes no output (Brunner et al. 2020, Section 3)."""
    missing = unreached(result)
    if coincides(result, "effective"):
        return None
    place, mean = missing.first(), missing.mean()
    part = float(mean.value)
    if place is None or part < rules.UNREACHED:
        return None
    most = missing.at(place)
    text = (
        f"{percent(part)} of the weight{around(mean)} cannot reach the output of its head: "
        f"effective attention, which leaves it out, adds up to {percent(1 - part)}."
    )
    name, share = _name(result, place), f"{percent(float(most.value))}{around(most)}"
    if others := missing.rivals():
        heads = plural(len(others), "head")
        text += f" {name} is among the highest, {share}, with {heads} whose intervals overlap."
    else:
        text += f" Most of it is in head {name}: {share}."
    where = _numbers(result, place)
    importance, is_open = min(0.5 + part, 0.9), _is_open(mean)
    return Highlight(text, *where, importance, "out of reach", "unreached", inconclusive=is_open)


def _effective(result: xr.Dataset) -> Highlight | None:
    """Return the highlight of effective attention least like the weight (Brunner et al. 2020)."""
    if coincides(result, "effective"):
        return None
    correlation = estimates(result, "effective_correlation_by_head")
    negative = correlation.times(-1.0)
    place = negative.first()
    if place is None:
        return None
    at, mean = correlation.at(place), correlation.mean()
    lowest, around_it = float(at.value), _in_nats(at)
    if lowest > SAME:
        verdicts = correlation.compared(SAME)
        open_ones = int((verdicts == "inconclusive").sum())
        heads = plural(open_ones, "head")
        more = f"; above {SAME} is inconclusive for {heads}" if open_ones else ""
        text = (
            f"Effective attention is nearly the weight in every head (r at least {lowest:.2f}"
            f"{around_it}){more}."
        )
        return Highlight(text, None, None, 0.3, "effective")
    negative = masked(negative, above_others(negative))
    place = negative.first()
    if place is None:
        text = (
            "Effective attention differs from the weight in all heads alike: correlation "
            f"{mean.value:.2f}{_in_nats(mean)} on average."
        )
        return Highlight(text, None, None, 0.3, "effective")
    text = (
        f"Effective attention differs most from the weight in head {_name(result, place)}: "
        f"correlation {lowest:.2f}{around_it}"
    )
    if others := negative.rivals():
        names = [_name(result, each) for each in (place, *others)]
        text = (
            "In which head effective attention differs most from the weight is inconclusive "
            f"between {between(names)}: correlation {lowest:.2f}{around_it} in head {names[0]}"
        )
    several = np.isfinite(correlation.value).sum() > 1
    text += f", where the mean over heads is {mean.value:.2f}{_in_nats(mean)}." if several else "."
    importance = min(0.8 * (1 - lowest), 0.8)
    return Highlight(
        text, *_numbers(result, place), importance, "effective", "effective_correlation"
    )


def _length(result: xr.Dataset) -> Highlight | None:
    """Return the highlight of effective attention by the length of texts (Brunner, Figure 1a)."""
    correlation = by_length(result)
    count = observed(result, "effective_correlation_count", ("length",))
    # A bin of one or two documents says nothing about its length.
    bins = np.flatnonzero(np.isfinite(correlation.value) & ~(count < rules.FEWEST_TEXTS))
    if len(bins) < 2:
        return None
    first, last = (correlation.at(bins[at]) for at in (0, -1))
    longer = last.minus(first)
    if abs(longer.value) < rules.CORRELATION_APART:
        return None
    edges = result["length"].values
    more = {"above": "more", "below": "less"}.get(str(longer.compared(0.0)), "")
    numbers = (
        f"correlation {first.value:.2f}{_in_nats(first)} below {edges[bins[0] + 1]:g} tokens, "
        f"{last.value:.2f}{_in_nats(last)} from {edges[bins[-1]]:g}."
    )
    text = f"Effective attention and weight agree {more} in longer texts: {numbers}"
    importance = min(0.4 + abs(float(longer.value)) / 2, 0.7)
    return Highlight(text, None, None, importance, "length", inconclusive=not more)


def _dispersion(result: xr.Dataset) -> Highlight | None:
    """Return the highlight of the CV of ‖f(x)‖ by head (Kobayashi et al. 2020, Table 1)."""
    cv = estimates(result, "vector_norm_cv")
    most, least = cv.first(), cv.times(-1.0).first()
    if most is None or least is None or most == least:
        return None
    ends = [cv.at(place) for place in (most, least)]
    if not differ(float(ends[0].value), float(ends[1].value)):
        return None
    variations = [f"CV {each.value:.2f}{_in_nats(each)}" for each in ends]
    text = (
        f"The lengths ‖f(x)‖ of the transformed vectors vary most in head {_name(result, most)}, "
        f"{variations[0]}, and least in head {_name(result, least)}, {variations[1]}."
    )
    open_ones = [
        f"{which} between {between([_name(result, each) for each in (place, *others)])}"
        for which, place, others in (
            ("most", most, cv.rivals()),
            ("least", least, cv.times(-1.0).rivals()),
        )
        if others
    ]
    text += f" Inconclusive: {'; '.join(open_ones)}." if open_ones else ""
    importance = min(0.4, float(ends[0].value))
    is_open = str(ends[0].minus(ends[1]).compared(0.0)) == "inconclusive"
    return Highlight(
        text,
        *_numbers(result, most),
        importance,
        "dispersion",
        "vector_norm_cv",
        inconclusive=is_open,
    )


def _gates(result: xr.Dataset) -> Highlight | None:
    """Return the highlight of open gates between heads and W^O, and where norms were taken."""
    gate, closed = (estimates(result, name) for name in ("gate", "gate_closed"))
    place = gate.times(-1.0).first()
    if place is None:
        return None
    mean, least, nothing = gate.mean(), gate.at(place), closed.at(place)
    text = (
        f"Gates let through {percent(float(mean.value))} of what heads compute on average"
        f"{around(mean)}, and least in head {_name(result, place)}: "
        f"{percent(float(least.value))}{around(least)}, nearly nothing in "
        f"{percent(float(nothing.value))} of the cases{around(nothing)}."
    )
    text += _of_most(result, gate.times(-1.0), "lets through least")
    if sample := result.attrs.get("gated_queries"):
        text += (
            f" Norms are those of at most {sample} queries of a text, as f depends on the query."
        )
    return Highlight(text, *_numbers(result, place), 0.6, "gate")


def _numbers(result: xr.Dataset, place: tuple[int, ...]) -> tuple[int, int]:
    """Return layer and head as the model counts them; a survey may hold some layers only."""
    return int(result["layer"].values[place[0]]), place[1]


def _name(result: xr.Dataset, place: tuple[int, ...]) -> str:
    return name_of(result, *_numbers(result, place))
