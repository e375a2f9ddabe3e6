"""Sentences of studies of heads: distances, circuits, ablation and null space."""

from collections.abc import Callable

import numpy as np
import xarray as xr

from headlight.findings.candidates import APART, WORTH_SAYING, above_others, differ
from headlight.findings.estimates import (
    NO_INTERVAL,
    Estimate,
    around,
    around_first,
    average,
    between,
    category_label,
    estimates,
    listed,
    name_of,
    number,
    observed,
    occurs,
    percent,
    plural,
    undecided,
)
from headlight.findings.head_ranking import RETRIEVES
from headlight.findings.sentences import highlights
from headlight.vocabulary import head_name

FOUND = 0.5
"""A needle is found where a model says more than this share of its tokens."""

Place = tuple[int, int]
"""A layer and a head."""


def most(scores: xr.DataArray) -> list[tuple[str, float]]:
    """Heads and their scores, from the highest; those without one are last.

    Args:
        scores: over layer and head.
    """
    values = scores.transpose("layer", "head").values
    order = np.argsort(-np.where(np.isfinite(values), values, -np.inf), axis=None, kind="stable")
    places = zip(*np.unravel_index(order, values.shape), strict=True)
    layers, heads = scores["layer"].values, scores["head"].values
    return [
        (head_name(int(layers[row]), int(heads[column])), float(values[row, column]))
        for row, column in places
    ]


def joined_heads(
    result: xr.Dataset, path: str, number: int
) -> list[tuple[float, tuple[Place, Place]]]:
    """The pairs of heads with the highest composition scores.

    Args:
        result: of the study.
        path: ``query``, ``key`` or ``value``.
        number: of pairs at most.
    """
    axes = ("layer", "head", "later_layer", "later_head")
    scores = result["composition"].sel(path=path).transpose(*axes)
    values = np.where(np.isfinite(scores.values), scores.values, -np.inf)
    order = np.argsort(-values, axis=None, kind="stable")[:number]
    pairs = []
    for place in zip(*np.unravel_index(order, values.shape), strict=True):
        if np.isfinite(values[place]):
            one, two, three, four = (
                int(result[axis].values[at]) for axis, at in zip(axes, place, strict=True)
            )
            pairs.append((float(values[place]), ((one, two), (three, four))))
    return pairs


OF_WEIGHTS = "which are the same for all texts and need no interval"

CIRCUIT_ANSWERS = 5
"""Heads that are named at most."""


def circuits(result: xr.Dataset) -> list[str]:
    """Return findings on which heads complete patterns and retrieve facts, and on their weights."""
    sentences = []
    if "repeated" in result:
        sentences += _repeated(result)
    if "retrieval" in result:
        sentences += _retrieval(result)
    if "copying" in result or "matching" in result:
        sentences.append(_weights(result))
    if "composition" in result:
        sentences += _composition(result)
    return sentences


def _repeated(result: xr.Dataset) -> list[str]:
    scores = result.sel(behaviour="prefix_matching")
    sentences = [
        f"By {measure}, "
        f"{_above(scores.sel(measure=measure), 'repeated', WORTH_SAYING, 'induction head')}."
        for measure in map(str, result["measure"].values)
    ]
    first = result.isel(measure=0).sel(behaviour="previous_token")
    measure = str(first["measure"].values)
    numbers = estimates(first, "repeated")
    if (place := numbers.first()) is not None and above_others(numbers)[place]:
        names = _names(first)
        head = names[int(np.ravel_multi_index(place, numbers.value.shape))]
        of_head = f"{number(float(numbers.value[place]))}{around_first(numbers, number)}"
        sentences.append(f"{head} attends most to the token before: {of_head} by {measure}.")
        sentences[-1] += undecided(numbers, names, "which head gives it most")
    return sentences


def _names(result: xr.Dataset) -> list[str]:
    """All heads, in the order of estimates."""
    return [
        head_name(int(layer), int(head))
        for layer in result["layer"].values
        for head in result["head"].values
    ]


def _retrieval(result: xr.Dataset) -> list[str]:
    recall = result["recall"].values
    retrieved = int((recall > FOUND).sum())
    sentence = f"The model finds {retrieved} of {plural(len(recall), 'needle')}"
    if not retrieved:
        return [f"{sentence}: there is nothing to say of which heads retrieve."]
    scores = result.sel(version="paper")
    heads = [
        f"by {measure}, "
        f"{_above(scores.sel(measure=measure), 'retrieval', RETRIEVES, 'retrieval head')}"
        for measure in map(str, result["measure"].values)
    ]
    return [f"{sentence}; {'; '.join(heads)}."]


def _above(result: xr.Dataset, variable: str, bound: float, name: str) -> str:
    """Return the number of heads that are certainly above a bound, and the first of them."""
    numbers, names = estimates(result, variable), _names(result)
    value = numbers.value.ravel()
    order = np.argsort(-np.where(np.isfinite(value), value, -np.inf), kind="stable")
    verdicts = np.where(np.isfinite(value), numbers.against(bound).ravel(), "")

    def those(verdict: str) -> list[str]:
        return [f"{names[at]} ({number(value[at])})" for at in order if verdicts[at] == verdict]

    certain, open_ones, below = map(those, ("above", "inconclusive", "below"))
    unknown = "" if numbers.known else f": {NO_INTERVAL}"
    if not certain and not open_ones:
        if not below:
            return f"no head has a score as {name}"
        near = undecided(numbers, names, "which head is nearest").strip()
        return f"no head is above {bound:g}; the nearest is {below[0]}" + (
            f"; {near[0].lower()}{near[1:-1]}" if near else ""
        )
    more = f"of {plural(len(open_ones), 'head')} it is inconclusive whether they are above{unknown}"
    first = f"the first being {listed(open_ones[:CIRCUIT_ANSWERS])}"
    if not certain:
        return f"no head is certainly above {bound:g}; {more}, {first}"
    sentence = f"{plural(len(certain), name)} above {bound:g}"
    first_few = listed(certain[:CIRCUIT_ANSWERS])
    sentence += (
        f", the first being {first_few}"
        if len(certain) > CIRCUIT_ANSWERS
        else (f": {listed(certain)}")
    )
    return f"{sentence}; {more}" if open_ones else sentence


def _weights(result: xr.Dataset) -> str:
    parts = []
    for name, called in (("copying", "copying (OV)"), ("matching", "matching (QK)")):
        if name in result and np.isfinite(result[name]).any():
            head, score = most(result[name])[0]
            middle = float(result[name].median())
            of_head = f"{called} is highest in {head} ({number(score)}; median {number(middle)})"
            alike = f"{called} is alike in all heads ({number(score)} at most)"
            one = result[name].size == 1 or differ(score, middle)
            parts.append(of_head if one else alike)
    return (
        f"From the weights alone, {OF_WEIGHTS}, {' and '.join(parts)}."
        if parts
        else (
            "No scores from the weights alone: no matrices of queries, keys or values were found."
        )
    )


def _composition(result: xr.Dataset) -> list[str]:
    compositions = []
    for path in map(str, result["path"].values):
        for score, (writes, reads) in joined_heads(result, path, 1):
            compositions.append(
                f"{head_name(*reads)} makes its {path} of {head_name(*writes)} ({number(score)})"
            )
    return (
        [f"The strongest compositions, of weights alone, {OF_WEIGHTS}: {'; '.join(compositions)}."]
        if compositions
        else []
    )


HEAD_ANSWERS = 3
"""Highlights of a survey that stand above its page; all of them stand on it."""

NOTHING = "No head stands out by the rules of this page."
"""Sentence in the place of findings where there are none."""


def survey(result: xr.Dataset) -> list[str]:
    """Return what stands out most, how much intervals leave open, and answers of numbers."""
    every = highlights(result)
    findings = [each.text for each in every[:HEAD_ANSWERS]]
    findings += [each.text for each in every[HEAD_ANSWERS:] if each.kind == "inconclusive"]
    findings = findings or [NOTHING]
    return [*findings, *ranks(result), *importance(result), *null_space(result)]


def ranks(result: xr.Dataset) -> list[str]:
    """Whether weight and length go together, pooled and within heads."""
    if "weight_norm_spearman" not in result:
        return []
    pooled = observed(result, "weight_norm_spearman", ("key_group",))
    names = [str(name) for name in result["key_group"].values]
    here = [at for at, name in enumerate(names) if np.isfinite(pooled[at]) and occurs(result, name)]
    if not here:
        return []
    at = max(here, key=lambda place: abs(pooled[place]))
    heads = average(observed(result, "weight_norm_spearman_by_head", key_group=names[at])).item()
    same = abs(pooled[at] - heads) < APART
    within = "" if np.isnan(heads) else f", and {number(heads)} within a head on average"
    differ = ": the difference is one between heads, whose lengths differ"
    return [
        f"In these texts weight and length go together most for "
        f"{category_label(result, names[at])}: Spearman's ρ of α and ‖f(x)‖ is "
        f"{number(pooled[at])} over the pairs of all heads pooled{within}"
        f"{'' if same or not within else differ}; {NO_INTERVAL}."
    ]


def distances(result: xr.Dataset) -> list[str]:
    """Return findings on which two heads are most alike, and on heads of one layer."""
    measure = str(result["measure"].values[0])
    between_heads = estimates(result, "distance", ("first", "second"), measure=measure)
    layers = result["layer"].values
    names = [
        name_of(result, int(layer), int(head))
        for layer, head in zip(layers, result["head"].values, strict=True)
    ]
    one, other = np.triu_indices(len(names), 1)
    apart = between_heads.at((one, other))
    nearest = apart.times(-1.0)
    first = nearest.first()
    if first is None:
        return ["There is one head, which has nothing to be compared with."]

    def pair(at: tuple[int, ...]) -> str:
        return f"{names[one[at]]} and {names[other[at]]}"

    most_apart = float(np.log(2))
    same = layers[one] == layers[other]
    within, across = (apart.at(each).mean() for each in (same, ~same))
    if above_others(nearest, most_apart)[first]:
        sentence = _most_alike(measure, nearest, first, pair)
        say_layers = bool(np.isfinite(within.value + across.value))
    else:
        sentence = (
            f"By {measure}, no two heads attend much more alike than others: they are at least "
            f"{number(float(apart.at(first).value))} nats apart, and "
            f"{number(float(np.nanmean(apart.value)))} on average, where {most_apart:.2f} is the "
            "most there can be."
        )
        say_layers = differ(float(within.value), float(across.value), most_apart)
    if not say_layers:
        return [sentence]
    compared = str(within.minus(across).compared(0.0))
    return [
        sentence,
        f"Heads of one layer are {number(float(within.value))} nats apart on average"
        f"{around(within, number, share=False)}, heads of different layers "
        f"{number(float(across.value))}{around(across, number, share=False)}"
        f"{'; which of the two is less is inconclusive' if compared == 'inconclusive' else ''}.",
    ]


def _most_alike(
    measure: str, nearest: Estimate, first: tuple[int, ...], pair: Callable[[tuple[int, ...]], str]
) -> str:
    """Return which pair of heads is nearest, and whether others may be."""
    least = nearest.times(-1.0).at(first)
    sentence = (
        f"By {measure}, {pair(first)} attend most alike: {number(float(least.value))} nats "
        f"apart{around(least, number, share=False)}, where 0.69 is the most there can be."
    )
    if not np.isfinite(nearest.low[first] + nearest.high[first]) and len(nearest.value) > 1:
        sentence += f" Which two are most alike is inconclusive: {NO_INTERVAL}."
    if others := nearest.rivals():
        more = plural(len(others), "other pair")
        sentence += (
            f" Whether they or {pair(others[0])}"
            f"{f', or one of {more} in all,' if len(others) > 1 else ''} are most alike is "
            "inconclusive."
        )
    return sentence


def importance(result: xr.Dataset) -> list[str]:
    """To which tokens the loss depends most on attention."""
    if "importance" not in result:
        return []
    means = {
        name: estimates(result, "importance", importance_query="all", importance_key=name).mean()
        for name in map(str, result["importance_key"].values)
    }
    order = sorted(
        (name for name in means if means[name].value > 0), key=lambda name: -means[name].value
    )
    if not order:
        return ["The loss depends on attention to no token: all gradients are 0."]
    labels = {name: category_label(result, name) for name in order}
    most, least = (means[order[at]] for at in (0, -1))
    # The unmasked are all tokens but the mask tokens, and no rivals of their parts.
    parts = [name for name in order if name != "unmasked"] if order[0] != "unmasked" else order
    ends = ([getattr(means[name], end) for name in parts] for end in ("value", "low", "high"))
    of_parts = Estimate.with_ends(*map(np.array, ends))
    others = [labels[parts[at]] for (at,) in of_parts.rivals()]
    unknown = "" if of_parts.known else f"; this is inconclusive: {NO_INTERVAL}"
    highest = f"the mean |∂L/∂α| is {number(float(most.value))}{around(most, number, share=False)}"
    sentence = f"The loss depends most on attention to {labels[order[0]]}: {highest}"
    if others:
        sentence = (
            f"Attention to which tokens the loss depends most on is inconclusive between "
            f"{listed([labels[order[0]], *others])}: of {labels[order[0]]} {highest}"
        )
    if len(order) > 1:
        sentence += (
            f", {number(float(most.value / least.value))} times that of attention to "
            f"{labels[order[-1]]}, {number(float(least.value))}{around(least, number, share=False)}"
        )
        sentence += "" if others or unknown else ", where it depends least"
    sentence += unknown
    return [f"{sentence}."]


def ablation(result: xr.Dataset) -> list[str]:
    """Without which head, or layer, predictions move most, and how many can be spared."""
    sentences = []
    loss, right = float(result["own_loss"]), float(result["own_accuracy"])
    for scope in ("head", "layer"):
        if f"{scope}_kl" not in result:
            continue
        dims = ("layer", "head")[: result[f"{scope}_kl"].ndim]
        kl = estimates(result, f"{scope}_kl", dims)
        first = kl.first()
        if first is None:
            continue
        names = [
            name_of(result, int(result["layer"].values[at[0]]), *at[1:])
            for at in (first, *kl.rivals())
        ]
        change = f"KL {number(float(kl.value[first]))} nats{around_first(kl, number, share=False)}"
        median = number(float(np.nanmedian(kl.value)))
        sentences.append(
            f"Predictions move most without {names[0]}: {change}; the median is {median}."
            + (
                ""
                if kl.known
                else f" Without which {scope} predictions move most is inconclusive: {NO_INTERVAL}."
            )
            if len(names) == 1
            else f"Without which {scope} predictions move most is inconclusive between "
            f"{between(names, scope)}: without {names[0]} {change}; the median is {median}."
        )
        lows = estimates(result, f"{scope}_loss_change", dims).low
        if np.isfinite(lows).any():
            count = int(np.isfinite(lows).sum())
            sentences.append(
                f"{int((lows <= 0).sum())} of {count} {scope}s "
                f"can be removed, one at a time, without a loss that is certainly higher."
            )
        break
    if np.isfinite(loss):
        sentences.append(
            f"With all heads the loss is {number(loss)} nats, and {percent(right)} of predictions "
            "are correct."
        )
    return sentences


def null_space(result: xr.Dataset) -> list[str]:
    """Return findings on attention that no output shows, and on effective attention."""
    if "null_dimension" not in result:
        return []
    dimension = float(average(np.asarray(result["null_dimension"].values, dtype=np.float64)))
    weights = result["text_count"]
    keys = float(result["keys_mean"].weighted(weights).mean())
    correlation = float(result["effective_correlation"].weighted(weights).mean())
    whole = estimates(result, "effective_correlation_whole", ())
    if not dimension > 0:
        return [
            f"Texts have {number(keys)} tokens on average, fewer than heads have dimensions: the "
            "null space is empty, and effective attention is the weight itself."
        ]
    unseen = (
        f"In texts of {number(keys)} tokens on average, {number(dimension)} dimensions of a row of "
        f"attention ({percent(dimension / keys)}) cannot be seen in the output of a head."
    )
    if not np.isfinite(correlation):
        even = "Attention is so even that it correlates with nothing, effective attention neither."
        return [unseen, even]
    sentence = (
        f"Effective attention correlates with the weight by {number(correlation)} on average"
        f"{around(whole, number, share=False)}."
    )
    return [unseen, sentence]
