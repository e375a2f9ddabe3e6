"""The sentences, each with what makes it worth saying."""

from dataclasses import dataclass
from math import isfinite

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from headlight.findings import rules
from headlight.findings.observed import (
    TOTALS,
    average,
    category_label,
    name_of,
    observed,
    out_of_reach,
    share,
    unit_of_keys,
)
from headlight.findings.piece_text import pieces_of
from headlight.findings.special_tokens import mean_shares, weight_and_norm
from headlight.findings.wording import interval, layer_list, listed, percent
from headlight.vocabulary import BEHAVIOURS, MASSIVE, MASSIVE_RATIO, NEIGHBOURS, SINK

_MOST = 12
_SPECIAL = ("cls", "sep")
_IN_BERT = (
    "Kobayashi et al. (2020) found much weight and little norm at the special tokens of BERT."
)


@dataclass(frozen=True, slots=True)
class Highlight:
    """One sentence about a model.

    Attributes:
        text: The sentence.
        layer: The layer it is about, or None.
        head: The head it is about, or None.
        importance: From 0 to 1; highlights are ranked by it.
        kind: What it is about, one word; no other highlight of a list has the same.
        question: Which question of the grid of heads shows it; empty without a head.
        measure: By which measure; empty where the question has none.
    """

    text: str
    layer: int | None
    head: int | None
    importance: float
    kind: str
    question: str = ""
    measure: str = ""


def highlights(result: xr.Dataset) -> list[Highlight]:
    """What stands out in a survey: at most twelve sentences, the most important first.

    Args:
        result: A survey's result, of one kind of attention. What was not observed (NaN), or is not
            there at all, is not spoken of.
    """
    candidates = [
        _first_token(result),
        _massive(result),
        _special_tokens(result),
        *(_category(result, category) for category in ("cls", "sep", "punctuation")),
        *(_neighbour(result, which, offset) for which, offset in NEIGHBOURS.items()),
        *(_behaviour(result, name) for name in ("duplicate", "induction", "subword")),
        _particular_tokens(result),
        _broadest(result),
        _breadth_from_cls(result),
        _unreached(result),
        _effective(result),
        _length(result),
        _dispersion(result),
        _gates(result),
    ]
    found = [candidate for candidate in candidates if candidate is not None]
    narrowest = _narrowest(result)
    # A head that was named for its one target is narrow for that reason: one sentence is enough.
    named = {(highlight.layer, highlight.head) for highlight in found}
    if narrowest is not None and (narrowest.layer, narrowest.head) not in named:
        found.append(narrowest)
    return sorted(found, key=lambda highlight: -highlight.importance)[:_MOST]


def _highest(values: NDArray[np.float64]) -> tuple[int, int] | None:
    """Where the largest value stands, or None where nothing was observed."""
    if not np.isfinite(values).any():
        return None
    layer, head = np.unravel_index(np.nanargmax(values), values.shape)
    return int(layer), int(head)


def _special_share(result: xr.Dataset, measure: str) -> NDArray[np.float64]:
    """Share of all special tokens together, [layer, head]."""
    parts = np.stack([share(result, measure, category) for category in _SPECIAL])
    return np.where(np.isfinite(parts).any(axis=0), np.nansum(parts, axis=0), np.nan)


def _special_tokens(result: xr.Dataset) -> Highlight | None:
    """Whether special tokens get weight but little norm (Kobayashi et al. 2020, Section 4.2)."""
    found = [(mean_shares(result, name)[0], weight_and_norm(result, name)) for name in _SPECIAL]
    said = [sentence for _, sentence in sorted(found, reverse=True) if sentence is not None]
    if not said:
        return None
    layers = [int(layer) for layer in result["layer"].values]
    scope = f"Means over all heads of {layer_list(layers)}"
    text = " ".join(said) + f" {scope}{_where(result)}."
    if unit_of_keys(result) == "token":
        text += f" {_IN_BERT}"
    return Highlight(text, None, None, 1.0, "special tokens")


def _first_token(result: xr.Dataset) -> Highlight | None:
    """What the first token of a decoder's text gets, and how many heads are sinks (Gu et al.)."""
    if result.attrs.get("kind") != "decoder":
        return None
    said, sinks, heads = [], [], 0
    most: tuple[int, int] | None = None
    for name in TOTALS:
        mean = float(observed(result, "first_share", (), measure=name))
        low, high = (
            float(observed(result, f"first_share_{end}", (), measure=name))
            for end in ("low", "high")
        )
        shares = observed(result, "behaviour_share", measure=name, behaviour="first")
        if isfinite(mean):
            heads = int(np.isfinite(shares).sum())
            most = most or _highest(shares)
            said.append(f"{percent(mean)} of the {name}{interval(low, high)}")
            sinks.append(f"{int((shares > SINK).sum())} by {name}")
    if not said:
        return None
    text = (
        f"The first token of a text gets {listed(said)}, means over all heads. It gets more than "
        f"{percent(SINK)} in {listed(sinks)} of {heads} heads"
    )
    if most is None:
        return Highlight(f"{text}.", None, None, 1.0, "first")
    measure = "weight" if "by weight" in sinks[0] else "norm"
    share = observed(result, "behaviour_share", measure=measure, behaviour="first")[most]
    text += f", most in {_name(result, most)} ({percent(float(share))})."
    return Highlight(text, *_numbers(result, most), 1.0, "first", "first", measure)


def _massive(result: xr.Dataset) -> Highlight | None:
    """Where the residual stream has massive activations (Sun et al. 2024, Section 2)."""
    share = observed(result, "residual_massive", ("layer",))
    layers = [int(layer) for layer in result["layer"].values[share > rules.MOST]]
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
        f"What enters {layer_list(layers)} holds massive activations in most texts (above "
        f"{MASSIVE}, and {MASSIVE_RATIO:,} times the median; Sun et al. 2024): up to "
        f"{highest[at]:,.0f} in dimension {number['dimension']:.0f} at {which} of a text, before "
        f"{name_of(result, int(result['layer'].values[at]))}, where the largest of a "
        f"text is {number['ratio']:,.0f} times the median on average, and the first token's vector "
        f"{number['length']:,.0f} times as long as the median one."
    )
    return Highlight(text, None, None, 0.9, "massive activations")


def _behaviour(result: xr.Dataset, name: str) -> Highlight | None:
    """The head that does one thing most: by norm, which the first token does not outshine."""
    shares = {
        measure: observed(result, "behaviour_share", measure=measure, behaviour=name)
        for measure in TOTALS
    }
    measure = "norm" if np.isfinite(shares["norm"]).any() else "weight"
    place = _highest(shares[measure])
    if place is None or shares[measure][place] < rules.WORTH_SAYING:
        return None
    low, high = (
        float(observed(result, f"behaviour_share_{end}", measure=measure, behaviour=name)[place])
        for end in ("low", "high")
    )
    value, around = float(shares[measure][place]), interval(low, high)
    text = f"Head {_name(result, place)} gives {percent(value)} of its {measure}{around}"
    weight = float(shares["weight"][place])
    if measure == "norm" and isfinite(weight):
        text += f" and {percent(weight)} of its weight"
    text += f" to {BEHAVIOURS[name]}, of tokens that have such."
    return Highlight(text, *_numbers(result, place), 0.9 * value, name, name, measure)


def _particular_tokens(result: xr.Dataset) -> Highlight | None:
    """The head whose keys are least like the tokens of the corpus, and which they are."""
    if "token_divergence" not in result:
        return None
    by = {name: observed(result, "token_divergence", side="key", measure=name) for name in TOTALS}
    measure = "norm" if np.isfinite(by["norm"]).any() else "weight"
    place = _highest(by[measure])
    if place is None or by[measure][place] < rules.PARTICULAR:
        return None
    layer, head = _numbers(result, place)
    here = result.sel(side="key", measure=measure, layer=layer, head=head)
    shares = observed(here, "top_token_share", ("top",))
    lifts = observed(here, "top_token_lift", ("top",))
    named = [
        f"{percent(float(share))} to “{piece.label}” ({lift:.1f} times its frequency)"
        for piece, share, lift in zip(pieces_of(here, "top_token"), shares, lifts, strict=True)
        if isfinite(share)
    ]
    text = (
        f"Head {_name(result, place)} is the most one for particular tokens: of its {measure} that "
        f"does not go to first tokens it gives {listed(named[:3])}."
    )
    importance = 0.5 * min(float(by[measure][place]), 1.0)
    where = _numbers(result, place)
    return Highlight(text, *where, importance, "particular tokens", "tokens", measure)


def _where(result: xr.Dataset) -> str:
    """The layers in which special tokens together get far more weight than norm."""
    weight, norm = (average(_special_share(result, m), axis=1) for m in ("weight", "norm"))
    layers = [int(layer) for layer in result["layer"].values[weight - norm >= rules.APART]]
    return f"; the gap is ten points and more in {layer_list(layers)}" if layers else ""


def _category(result: xr.Dataset, category: str) -> Highlight | None:
    """The head whose weight and norm differ most about a category, or that gives it most."""
    weights = share(result, "weight", category)
    norms = share(result, "norm", category)
    gap = np.abs(weights - norms)
    differs = bool((gap >= rules.APART).any())
    place = _highest(gap if differs else weights)
    if place is None or (not differs and weights[place] <= rules.MOST):
        return None
    text = (
        f"Head {_name(result, place)} gives {percent(float(weights[place]))} of its weight to "
        f"{category_label(result, category)}"
    )
    if np.isfinite(norms[place]):
        text += f", {'but' if differs else 'and'} {percent(float(norms[place]))} of its norm"
    importance = 0.95 * min(float(gap[place]) if differs else float(weights[place]) / 2, 1.0)
    where = _numbers(result, place)
    return Highlight(f"{text}.", *where, importance, category, category, "weight")


def _neighbour(result: xr.Dataset, which: str, offset: int) -> Highlight | None:
    """The head that attends most to a neighbour (Clark et al. 2019, Section 3.1)."""
    weights = observed(result, "neighbour", measure="weight", offset=offset)
    place = _highest(weights)
    if place is None or weights[place] < rules.WORTH_SAYING:
        return None
    norm = observed(result, "neighbour", measure="norm", offset=offset)[place]
    text = f"Head {_name(result, place)} gives {percent(float(weights[place]))} of its weight"
    if np.isfinite(norm):
        text += f" and {percent(float(norm))} of its norm"
    many = int((weights > rules.MOST).sum())
    unit = unit_of_keys(result)
    text += f" to the current {unit} itself" if offset == 0 else f" to the {which} {unit}"
    if many > 1:
        text += f"; {many} heads give it more than half of their weight"
    importance = 0.9 * float(weights[place])
    return Highlight(
        f"{text}.", *_numbers(result, place), importance, which, question=which, measure="weight"
    )


def _broadest(result: xr.Dataset) -> Highlight | None:
    entropy = observed(result, "entropy", measure="weight", query_category="all")
    uniform = float(observed(result, "entropy_uniform", ()))
    place = _highest(entropy)
    if place is None or not uniform > 0 or entropy[place] < rules.BROAD * uniform:
        return None
    part = float(entropy[place]) / uniform
    text = (
        f"Head {_name(result, place)} is the broadest: its entropy, {entropy[place]:.2f} nats, is "
        f"{percent(part)} of that of uniform attention ({uniform:.2f})"
    )
    many = int((entropy > rules.VERY_BROAD * uniform).sum())
    text += f"; {many} heads are above {percent(rules.VERY_BROAD)}." if many > 1 else "."
    importance = 0.55 * min(part, 1.0)
    return Highlight(text, *_numbers(result, place), importance, "broad", "entropy", "weight")


def _narrowest(result: xr.Dataset) -> Highlight | None:
    entropy = observed(result, "entropy", measure="weight", query_category="all")
    uniform = float(observed(result, "entropy_uniform", ()))
    place = _highest(-entropy)
    if place is None or not uniform > 0 or entropy[place] > rules.NARROW * uniform:
        return None
    nats = float(entropy[place])
    text = (
        f"Head {_name(result, place)} is the narrowest: {nats:.2f} nats, as if it spread its "
        f"weight evenly over {np.exp(nats):.1f} {unit_of_keys(result)}s."
    )
    importance = 0.5 * (1 - nats / uniform)
    return Highlight(text, *_numbers(result, place), importance, "narrow", "entropy", "weight")


def _breadth_from_cls(result: xr.Dataset) -> Highlight | None:
    """Whether [CLS] looks more broadly in the last layer (Clark et al. 2019, Section 3.3).

    Under a causal mask the first token sees itself alone, which says nothing about the model.
    """
    if result.attrs.get("kind") == "decoder":
        return None
    mean = [
        average(observed(result, "entropy", measure="weight", query_category=query), axis=1)
        for query in ("cls", "all")
    ]
    last = len(mean[0]) - 1
    cls, everyone = float(mean[0][last]), float(mean[1][last])
    if not abs(cls - everyone) >= rules.NATS_APART:
        return None
    layer = int(result["layer"].values[last])
    text = (
        f"In {name_of(result, layer)}, the last that was looked at, attention from "
        f"{category_label(result, 'cls', attending=True)} is "
        f"{'broader' if cls > everyone else 'narrower'} ({cls:.2f} nats) than that from tokens on "
        f"average ({everyone:.2f})."
    )
    return Highlight(text, layer, None, min(0.35, 0.2 * abs(cls - everyone)), "breadth from cls")


def _unreached(result: xr.Dataset) -> Highlight | None:
    """How much of the weight cannot change the output at all (Brunner et al. 2020, Section 3)."""
    unreached = out_of_reach(result)
    place = _highest(unreached)
    mean = float(average(unreached))
    if place is None or mean < rules.UNREACHED:
        return None
    text = (
        f"{percent(mean)} of the weight cannot reach the output of its head: "
        f"effective attention, which leaves it out, adds up to {percent(1 - mean)}. Most of it is "
        f"in head {_name(result, place)} ({percent(float(unreached[place]))})."
    )
    where = _numbers(result, place)
    return Highlight(text, *where, min(0.5 + mean, 0.9), "out of reach", "unreached")


def _effective(result: xr.Dataset) -> Highlight | None:
    """The head whose effective attention is least like its weights (Brunner et al. 2020)."""
    correlation = observed(result, "effective_correlation_by_head")
    place = _highest(-correlation)
    if place is None:
        return None
    lowest, mean = float(correlation[place]), float(average(correlation))
    if lowest > rules.SAME:
        text = f"Effective attention is nearly the weight in every head (r at least {lowest:.2f})."
        return Highlight(text, None, None, 0.3, "effective")
    text = (
        f"Effective attention differs most from the weight in head {_name(result, place)}: "
        f"correlation {lowest:.2f}"
    )
    several = np.isfinite(correlation).sum() > 1
    text += f", where the mean over heads is {mean:.2f}." if several else "."
    importance = min(0.8 * (1 - lowest), 0.8)
    return Highlight(text, *_numbers(result, place), importance, "effective", "correlation")


def _length(result: xr.Dataset) -> Highlight | None:
    """Whether effective attention leaves the weights in longer texts (Brunner, Figure 1a)."""
    correlation = observed(result, "effective_correlation", ("length",))
    count = observed(result, "effective_correlation_count", ("length",))
    # A bin of one or two documents says nothing about its length.
    seen = np.flatnonzero(np.isfinite(correlation) & ~(count < rules.FEWEST_TEXTS))
    if len(seen) < 2:
        return None
    first, last = seen[0], seen[-1]
    if abs(correlation[first] - correlation[last]) < rules.CORRELATION_APART:
        return None
    edges = result["length"].values
    text = (
        f"Effective attention and weight agree "
        f"{'less' if correlation[last] < correlation[first] else 'more'} in longer texts: "
        f"correlation {correlation[first]:.2f} below {edges[first + 1]:g} tokens, "
        f"{correlation[last]:.2f} from {edges[last]:g}."
    )
    change = abs(float(correlation[first] - correlation[last]))
    return Highlight(text, None, None, min(0.4 + change / 2, 0.7), "length")


def _dispersion(result: xr.Dataset) -> Highlight | None:
    """The heads with the largest and the smallest CV of ‖f(x)‖ (Kobayashi et al. 2020, Table 1)."""
    cv = observed(result, "vector_norm_cv")
    most, least = _highest(cv), _highest(-cv)
    if most is None or least is None or most == least:
        return None
    text = (
        f"The lengths ‖f(x)‖ of the transformed vectors vary most in head {_name(result, most)} "
        f"(CV {cv[most]:.2f}) and least in head {_name(result, least)} (CV {cv[least]:.2f})."
    )
    importance = min(0.4, float(cv[most]))
    return Highlight(text, *_numbers(result, most), importance, "dispersion", "cv")


def _gates(result: xr.Dataset) -> Highlight | None:
    """How far the gates between heads and W^O are open, and where norms were taken."""
    gate, closed = (observed(result, name) for name in ("gate", "gate_closed"))
    place = _highest(-gate)
    if place is None:
        return None
    text = (
        f"Gates let through {percent(float(average(gate)))} of what heads compute on average, and "
        f"least in head {_name(result, place)}: {percent(float(gate[place]))}"
    )
    text += f", nearly nothing in {percent(float(closed[place]))} of the cases."
    if sample := result.attrs.get("gated_queries"):
        text += (
            f" Norms are those of at most {sample} queries of a text, as f depends on the query."
        )
    return Highlight(text, *_numbers(result, place), 0.6, "gate")


def _numbers(result: xr.Dataset, place: tuple[int, int]) -> tuple[int, int]:
    """Layer and head as the model counts them; a survey may hold some layers only."""
    return int(result["layer"].values[place[0]]), place[1]


def _name(result: xr.Dataset, place: tuple[int, int]) -> str:
    return name_of(result, *_numbers(result, place))
