"""Sentences on tokens: of flow, faithfulness of maps, and routes of one token.

The best map is picked by the very numbers that it is judged by, so that others are said to be worse
only where they are further behind on the same texts than any would be by chance.
"""

import json
from itertools import combinations

import numpy as np
import xarray as xr

from headlight.findings.candidates import agree_by_construction, differ, unsaid
from headlight.findings.estimates import (
    NO_INTERVAL,
    around,
    estimates,
    listed,
    means,
    number,
    pairwise,
    percent,
    plural,
    undecided,
)
from headlight.findings.piece_text import Link, labels_of, parked, sums_of, ways_to
from headlight.findings.what_was_read import independent_units
from headlight.settings.flow import METHODS
from headlight.vocabulary import head_name


def flow(result: xr.Dataset) -> list[str]:
    """Return what is said of tokens that were followed, and of mixing ratios."""
    sentences = _followed(result) if "own" in result else []
    return sentences + _mixing(result) if "mixing" in result else sentences


def _followed(result: xr.Dataset) -> list[str]:
    """Return what tokens come from after the last layer, and which methods agree least."""
    last = result.isel(layer=-1)
    after = f"After layer {int(last['layer'])}, a token comes from"
    sentences = [
        f"{after} the input token at its own place to {_by_map(last, 'own')}, mean over texts."
    ]
    if result.attrs.get("kind") == "decoder":  # which attends to its first token for want of others
        sentences.insert(0, f"{after} the first token of the text to {_by_map(last, 'first')}.")
    return sentences + _agreement(last)


def _by_map(last: xr.Dataset, name: str) -> str:
    """A share of all tokens, by each method."""
    every = last.sel(token="all")
    numbers = estimates(every, name, ("map",))
    return listed(
        [
            f"{percent(float(each.value))}{around(each)} by {_called(one)}"
            for place, one in enumerate(every["map"].values)
            for each in [numbers.at(place)]
        ]
    )


def _agreement(last: xr.Dataset) -> list[str]:
    """The two methods that are furthest apart, and the two that are closest."""
    pairs = list(combinations(map(str, last["map"].values), 2))
    numbers = pairwise(last, "agreement", pairs, "map")
    least, most = numbers.times(-1.0).first(), numbers.first()
    if least is None or most is None:
        return []
    several = np.isfinite(numbers.value).sum() > 1
    if several and not differ(numbers.value[most], numbers.value[least]):
        ends = f"{number(float(numbers.value[least]))} to {number(float(numbers.value[most]))}"
        return [f"All methods order input tokens alike, by mean rank correlations of {ends}."]
    names = [" with ".join(map(_called, pair)) for pair in pairs]

    def told(place: tuple[int, ...]) -> str:
        return (
            f"{number(float(numbers.value[place]))}{around(numbers.at(place), number, share=False)}"
        )

    if not several:
        return [f"They order input tokens alike by a rank correlation of {told(most)}."]
    return [
        "In the order of the input tokens these two are closest, by mean rank correlation: "
        f"{names[most[0]]}, {told(most)}; and these furthest apart: {names[least[0]]}, "
        f"{told(least)}."
        + undecided(numbers, names, "which two are closest", "pair")
        + undecided(numbers.times(-1.0), names, "which two are furthest apart", "pair")
    ]


def _called(name: str) -> str:
    return METHODS[str(name)].label


ALONE, WHOLE = "norm", "norm_residual_norm"


def _mixing(result: xr.Dataset) -> list[str]:
    """Return findings on mixing from the context, with and without the residual, by layer."""
    alone, whole = (means(result.sel(scope=each), "mixing") for each in (ALONE, WHOLE))
    sentences = [
        f"Attention alone mixes {percent(float(alone.value))}{around(alone)} from the context into "
        "a token, by norms, mean over layers; with the residual connection, and the norm behind it "
        f"where there is one, {percent(float(whole.value))}{around(whole)}."
    ]
    by_layer = estimates(result.sel(scope=WHOLE), "mixing", ("layer",))
    if len(by_layer.value) > 1 and np.isfinite(by_layer.value).all():
        names = [f"layer {layer}" for layer in result["layer"].values]
        low, high = float(by_layer.value.min()), float(by_layer.value.max())
        if not differ(low, high):
            alike = f"All layers mix about as much: {percent(low)} to {percent(high)}."
            return [*sentences, alike, *_frequency(result)]
        ends = [
            f"{names[place]}: {percent(float(each.value))}{around(each)}"
            for place in (int(by_layer.value.argmax()), int(by_layer.value.argmin()))
            for each in [by_layer.at((place,))]
        ]
        sentences.append(
            f"Most is mixed in {ends[0]}, least in {ends[1]}."
            + undecided(by_layer, names, "in which layer most is mixed", "layer")
            + undecided(by_layer.times(-1.0), names, "in which layer least is mixed", "layer")
        )
    return sentences + _frequency(result)


def _frequency(result: xr.Dataset) -> list[str]:
    """Rare types against frequent ones, in the layers in which intervals tell them apart."""
    whole = result.sel(scope=WHOLE)
    frequencies = [
        each
        for each in whole["frequency"].values
        if whole["mixing_by_frequency"].sel(frequency=each).notnull().all()
    ]
    if len(frequencies) < 2:
        return []
    rare, frequent = (
        estimates(whole, "mixing_by_frequency", ("layer",), frequency=frequencies[at])
        for at in (0, -1)
    )
    verdicts = rare.against(frequent)
    more, less = (int((verdicts == each).sum()) for each in ("above", "below"))
    layers = len(verdicts)
    counts = [
        f"{words} in {'all' if count == layers else f'{count} of'} {layers} layers"
        for count, words in ((more, "more"), (less, "less"))
        if count
    ]
    sentence = (
        f"Rare types (fewer than 10 occurrences) mix {listed(counts)} than the most frequent ones"
    )
    if not counts:
        sentence = (
            "Whether rare types (fewer than 10 occurrences) mix more than the most frequent ones "
            f"is inconclusive in all {layers} layers"
        )
    elif more + less < layers:
        sentence += "; in the others it is inconclusive"
    if more + less < layers and not (rare.known and frequent.known):
        sentence += f": {NO_INTERVAL}"
    return [f"{sentence}."]


LOWER_IS_BETTER = ("sufficiency", "share_to_flip")
BEST, WORSE, OPEN = "best", "worse", "inconclusive"
RANDOM = "random"
BESIDE = {RANDOM: "control", "leave_one_out": "reference"}
"""Roles of the maps that are none of the inside of a model, and stand beside those that are."""

SAYS = {
    "comprehensiveness": "Most is lost without the tokens that come first by {best}",
    "sufficiency": "Least is lost without the tokens that come last by {best}",
    "share_to_flip": "The prediction changes at the smallest share of the tokens by {best}",
    "leave_one_out": "Closest to what each token does when it alone is left out comes {best}",
    "gradient_input": "Closest to gradient × input comes {best}",
}

BY_REMOVAL = ("comprehensiveness", "sufficiency", "share_to_flip")
"""Questions of which a random order, and leaving one out, show what is little and much."""

NAMES = {
    **{name: method.label for name, method in METHODS.items()},
    "merged_norm": "merged norm",
    "prediction": "parts of the prediction",
    "gradient_input": "gradient × input",
    "leave_one_out": "leave one out",
    RANDOM: "random order",
}
"""Labels of maps that are not called by their names."""

BESIDE_RANDOM = {
    "below": "a random order does certainly better",
    OPEN: "whether that is better than a random order is inconclusive",
}

SYMBOLS = {"spearman": "ρ", "kendall": "τ"}

SHOWN = 5e-4
"""Numbers that are closer are the same as they are shown."""


def symbol_of(result: xr.Dataset) -> str:
    """Return how the coefficient of correlation is written."""
    settings = json.loads(str(result.attrs.get("settings", "{}")))
    return SYMBOLS[settings.get("coefficient", "spearman")]


def called(name: str) -> str:
    """Return what a map is called."""
    return NAMES.get(name, name)


def distinct_maps(result: xr.Dataset) -> tuple[xr.Dataset, dict[str, str]]:
    """Return the result with maps of equal numbers once, and what its maps are called.

    A map that stands for others is called ``weight = effective here``.
    """
    same: dict[str, list[str]] = {}
    for name in map(str, result["map"].values):
        twin = next((each for each in same if _is_same(result, each, name)), name)
        same.setdefault(twin, []).append(called(name))
    kept_maps = list(same)
    names = {
        name: f"{' = '.join(each)} here" if len(each) > 1 else each[0]
        for name, each in same.items()
    }
    return result.sel({dim: kept_maps for dim in ("map", "other") if dim in result.dims}), names


def _is_same(result: xr.Dataset, one: str, other: str) -> bool:
    """Whether two maps of the inside have the same numbers as far as they are shown."""
    if {one, other} & BESIDE.keys():
        return False
    apart = result.drop_sel(other=[one, other]) if "other" in result.dims else result
    numbers = [each for each in apart.data_vars.values() if "map" in each.dims]
    pairs = [(each.sel(map=one).values, each.sel(map=other).values) for each in numbers]
    return any(np.isfinite(first).any() for first, _ in pairs) and all(
        np.allclose(first, second, rtol=0, atol=SHOWN, equal_nan=True) for first, second in pairs
    )


def beside_best(result: xr.Dataset, question: str) -> xr.Dataset:
    """Return the maps by one question, each with how far it is behind the first.

    The first is one of those that look into the model: leaving one out does what it is judged by.

    Returns:
        Over ``map``: ``score`` and ``behind``, at least 0 for all that look into the model, with
        their intervals; ``verdict``: ``worse`` of a map that is certainly not the first, ``best``
        of the first where all others are worse, else ``inconclusive``, and of maps beside them what
        they are.  Maps without a score, such as one that would be compared with itself, are left
        out.  Attributes: the ``first``, and whether it is ``above`` a random order.
    """
    scores = estimates(result, "score", ("map",), question=question)
    observed = np.isfinite(scores.value)
    scores = scores.at(observed)
    names = list(map(str, result["map"].values[observed]))
    if not names:
        return xr.Dataset()
    order = scores.times(-1.0 if question in LOWER_IS_BETTER else 1.0)
    inside = [at for at, name in enumerate(names) if name not in BESIDE] or [*range(len(names))]
    first = inside[int(order.value[inside].argmax())]
    behind = order.at(first).minus(order)
    tied = {inside[at] for at in np.flatnonzero(order.at(inside).ties())}
    has_ends = bool(np.isfinite(order.low[first] + order.high[first]))
    verdicts = [OPEN if at in tied or not has_ends else WORSE for at in range(len(names))]
    if len(inside) == 1 or (has_ends and tied == {first}):
        verdicts[first] = BEST
    control = ""
    if RANDOM in names:
        ahead = order.at(inside).minus(order.at(names.index(RANDOM)))
        first_ahead = ahead.simultaneous(independent_units(result)).at(inside.index(first))
        control = str(first_ahead.against(0.0))
    numbers = {"score": scores, "behind": behind}
    return xr.Dataset(
        {
            "verdict": ("map", [BESIDE.get(name, verdicts[at]) for at, name in enumerate(names)]),
            **{name: ("map", each.value) for name, each in numbers.items()},
            **{f"{name}_low": ("map", each.low) for name, each in numbers.items()},
            **{f"{name}_high": ("map", each.high) for name, each in numbers.items()},
        },
        {"map": names},
        {"first": names[first], "beside_random": control},
    )


def faithfulness(result: xr.Dataset) -> list[str]:
    """Return for each question what is certain of its maps, and in one line what is not."""
    result, names = distinct_maps(result)
    sentences, unclear = [], []
    for question in map(str, result["question"].values) if "question" in result else ():
        if question not in SAYS:
            continue
        compared = beside_best(result, question)
        if "verdict" not in compared:
            continue
        first = str(compared.attrs["first"])
        rest = _certain(compared, question, names)
        score = estimates(compared, "score", (), map=first)
        start = f"{SAYS[question].format(best=names[first])}: {number(float(score.value))}"
        beside = _beside(compared, question)
        if rest:
            start += f"{around(score, number, share=False)}{beside}"
            sentences.append(f"{'; '.join([start, *rest])}.")
        elif OPEN in compared["verdict"].values:
            unclear.append(f"{start[0].lower()}{start[1:]}{beside}")
    if unclear:
        bounded = estimates(result, "score", ("question", "map")).known
        why = f"with {plural(int(result['texts']), 'text')}" if bounded else f"({NO_INTERVAL})"
        sentences.append(f"Which map is first is inconclusive {why}: {'; '.join(unclear)}.")
    return [*sentences, *_closest_pair(result, names)]


def _beside(result: xr.Dataset, question: str) -> str:
    """Return the scores of a random order and of leaving one out, by a question of removal."""
    names = list(map(str, result["map"].values))
    return "".join(
        f", {words} {number(float(result['score'].sel(map=name)))}"
        for name, words in ((RANDOM, "in a random order"), ("leave_one_out", "by leave one out"))
        if name in names and question in BY_REMOVAL and name != result.attrs["first"]
    )


def _certain(result: xr.Dataset, question: str, names: dict[str, str]) -> list[str]:
    """Return clauses on which maps, and a random order, are certainly behind or before it."""
    first = str(result.attrs["first"])
    rest = result.drop_sel(map=first)
    worse, tied = (
        [names[name] for name in rest["map"].values[rest["verdict"].values == verdict].tolist()]
        for verdict in (WORSE, OPEN)
    )
    control = str(result.attrs["beside_random"]) if question in BY_REMOVAL else ""
    if tied and not worse and control not in ("above", "below"):
        return []
    clauses = (
        BESIDE_RANDOM.get(control, ""),
        f"certainly behind it: {listed(worse)}" if worse else "",
        f"which of these is first is inconclusive: {listed([names[first], *tied])}" if tied else "",
    )
    return [each for each in clauses if each]


def _closest_pair(result: xr.Dataset, names: dict[str, str]) -> list[str]:
    """The two maps that agree most, but for those that do by construction."""
    if "correlation" not in result:
        return []
    pairs = [
        pair
        for pair in combinations([name for name in names if name != RANDOM], 2)
        if not agree_by_construction(*pair)
    ]
    every = pairwise(result, "correlation", pairs, "map")
    place = every.first() if pairs else None
    if place is None:
        return ["No two maps could be compared: no correlation is defined in any text."]
    one, other = (names[name] for name in pairs[place[0]])
    ends = around(every.at(place), number, share=False)
    labels = [" with ".join(names[name] for name in pair) for pair in pairs]
    return [
        f"{one[0].upper()}{one[1:]} and {other} agree most: {symbol_of(result)} "
        f"{number(float(every.value[place]))}{ends}."
        + undecided(every, labels, "which two agree most", "pair")
    ]


_LEAST_NAMED, _MOST_NAMED = 0.02, 3
"""Tokens that a sentence names give this share at least, and are this many at most."""


def routes(result: xr.Dataset, token: int, layer: int | None, *, least: float) -> list[str]:
    """Return of which tokens the chosen one is made: what it takes itself, and traced on."""
    ways, hidden = ways_to(result, token, layer, least=least), unsaid(result, "query")
    labels = [f"“{label}”" for label in labels_of(result, "query_token")]
    order = [at for at in np.argsort(-ways.direct, kind="stable").tolist() if at != token]
    named = [at for at in order if at not in hidden and ways.direct[at] >= _LEAST_NAMED]
    parts = [
        f"{percent(ways.direct[at])} from {labels[at]}{_by(ways.most[at]) if rank < 2 else ''}"
        for rank, at in enumerate(named[:_MOST_NAMED])
    ]
    own = f"{percent(ways.direct[token])} is still its own word."
    first = f"{labels[token]} takes {listed(parts) or 'little from other words'}; {own}"
    last = int(result["layer"].values[-1] if layer is None else layer)
    inputs = ways.passing[0]
    order = np.argsort(-inputs, kind="stable").tolist()
    traced = [at for at in order if at not in hidden and at != token and inputs[at] > 0][:2]
    inputs_said = [f"{percent(inputs[at])} is the input {labels[at]}" for at in traced]
    if ends := [at for at in parked(result, "query") if at != token]:
        share = percent(float(inputs[ends].sum()))
        inputs_said.append(f"{share} comes from {listed([labels[at] for at in ends])}")
    ending = f"After layer {last}, with what those tokens had taken before: {listed(inputs_said)}."
    if by_segment := sums_of(result, inputs):
        shares = listed([f"{name} {percent(share)}" for name, share in by_segment.items()])
        ending += f" By segment: {shares}."
    return [first, ending]


def _by(link: Link) -> str:
    return f" (most by {head_name(link.layer, link.heads[0][0])})" if link.heads else ""
