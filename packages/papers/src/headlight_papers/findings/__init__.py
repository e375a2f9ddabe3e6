"""Results of these studies in words: classifiers, hidden tokens, coreference and probes."""

from collections.abc import Callable

import numpy as np
import pandas
import xarray
import xarray as xr

from headlight.findings.dependency import head_of_row, undecided_heads
from headlight.findings.estimates import Estimate, estimates, means
from headlight.findings.faithfulness import called
from headlight.findings.interval_phrases import NO_INTERVAL, around, beside, interval, undecided
from headlight.findings.phrases import listed, number, percent
from headlight.findings.thresholds import is_near_majority
from headlight.findings.variables import observed
from headlight.findings.what_was_read import independent_units
from headlight.settings import require_choice
from headlight_papers.findings.seeds import over_seeds

MOVED = 2.0
"""KL counts as changed above this multiple of its value at λ = 0."""


def adversary(result: xr.Dataset) -> list[str]:
    """Whether attention that was trained away moves predictions more than another seed does."""
    largest = float(np.nanmax(result["weight"].values))
    adversaries, seeds = trained(result, largest), result["kind"].values == "seed"
    sentences = [
        f"At the largest λ ({largest:g}) attention is {_mean(result, 'jsd', adversaries)} nats "
        f"of JSD away, and predictions move by TVD {_mean(result, 'tvd', adversaries)}."
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
    """Whether models have more of something than a multiple of what others have.

    Args:
        result: of the study.
        name: of a number of each model.
        rows: which models.
        others: those that they are compared with.
        times: what their number is multiplied by.

    Returns:
        ``above``, ``below`` or ``inconclusive``, by intervals over seeds; so it is where there is
        one model of a kind.
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
    if rows.sum() > 1:
        one = over_seeds(result[name].values[rows])
    else:
        one = estimates(result, name, ("run",)).at(rows).mean()
    return f"{number(float(one.value))}{around(one, number, share=False)}"


CHANGES = {
    "permuted": "permuted weights",
    "uniform": "uniform weights",
    "largest": "all weight on the largest",
    "random": "all weight on a random key",
}
WHERE = {
    "": "in all layers at once",
    "layer_": "in one layer, on average",
    "head_": "in one head, on average",
}


def permutation(result: xr.Dataset) -> list[str]:
    """Return findings on how far predictions move with other attention, and where most."""
    prefix = _widest(result, "tvd")
    moved = means(result, f"{prefix}tvd", "change")
    place = moved.first()
    if place is None:
        return ["No prediction could be compared."]
    names = [CHANGES[name] for name in map(str, result["change"].values)]
    most = str(result["change"].values[place[0]])
    agreement = float(means(result, f"{prefix}agreement", "change").value[place])
    sentences = [
        f"Predictions move most with {CHANGES[most]} {WHERE[prefix]}: by TVD "
        f"{number_text(moved, place)}, and {percent(agreement)} of them stay the same."
        + undecided(moved, names, "with which attention they move most", "change")
    ]
    reverse = moved.times(-1.0)
    if len(names) > 1 and (least := reverse.first()) is not None:
        sentences.append(
            f"They move least with {names[least[0]]}: by {number_text(moved, least)}."
            + undecided(reverse, names, "with which attention they move least", "change")
        )
    if "layer_tvd" in result:
        layers = estimates(result, "layer_tvd", ("layer",), change=most)
        if (at := layers.first()) is not None:
            called = [f"layer {layer}" for layer in result["layer"].values]
            sentences.append(
                f"Of single layers, {called[at[0]]} moves them most: by {number_text(layers, at)}."
                + undecided(layers, called, "which layer moves them most", "layer")
            )
    return [*sentences, *accuracy_sentence(result)]


def instance_adversary(result: xr.Dataset) -> list[str]:
    """Return findings on how far attention can differ with (nearly) the same prediction."""
    prefix = _widest(result, "jsd")

    def mean(name: str) -> Estimate:
        return means(result, f"{prefix}{name}")

    apart, exact, rows = mean("jsd"), mean("exact_jsd"), float(mean("exact_rows").value)
    sentences = [
        f"With nearly the same prediction (moved by TVD {number(float(mean('moved').value))}), "
        f"attention {WHERE[prefix]} can be {number(float(apart.value))} nats away"
        f"{around(apart, number, share=False)} of 0.69 at most; in "
        f"{percent(float(mean('near').value))} of texts it is 0.6 or more."
    ]
    if np.isfinite(exact.value + rows):
        sentences.append(
            f"{percent(rows)} of rows have other attention with exactly the same output, which is "
            f"{number(float(exact.value))} nats away on average"
            f"{around(exact, number, share=False)}."
        )
    return [*sentences, *accuracy_sentence(result)]


def guided(result: xr.Dataset) -> list[str]:
    """Whether attention of the model is worth more to another than uniform weights."""
    names = [str(name) for name in result["guide"].values]
    guides = [name for name in names if name not in ("uniform", "random", "own")] or names
    every = estimates(result.sel(guide=guides), "accuracy", ("guide",))
    place, labels = every.first(), list(map(called, guides))
    if place is None:
        return ["No model could be tested."]
    sentence = (
        f"Of what was given, {labels[place[0]]} is worth most: "
        f"{number_text(every, place, percent)} of predictions are correct"
    )
    if "uniform" in names and "uniform" not in guides:
        uniform = estimates(result, "accuracy", (), guide="uniform")
        weights = f"the {number_text(uniform, (), percent)} of uniform weights"
        beyond = every.minus(uniform).simultaneous(independent_units(result)).at(place)
        sentence += f", {beside(every.at(place), uniform, weights, beyond)}"
    sentence += "." + undecided(every, labels, "what is worth most", "kind")
    own = estimates(result, "own_accuracy", ())
    return [sentence, f"The model that reads whole texts has {number_text(own, (), percent)}."]


def accuracy_sentence(result: xr.Dataset) -> list[str]:
    """Return how good the model is, unless a caution has said that it is not."""
    accuracy = estimates(result, "own_accuracy", ())
    own, majority = float(accuracy.value), float(observed(result, "majority_accuracy", ()))
    if not np.isfinite(own) or is_near_majority(own, float(accuracy.low), majority):
        return []
    return [
        f"{percent(own)} of the model's predictions are correct; always predicting the most "
        f"frequent class gives {percent(majority)}."
    ]


def number_text(
    numbers: Estimate, place: tuple[int, ...], written: Callable[[float], str] = number
) -> str:
    """Return one number as text, with its interval."""
    one = numbers.at(place)
    return f"{written(float(one.value))}{around(one, written, share=written is percent)}"


def _widest(result: xr.Dataset, name: str) -> str:
    """Return the prefix of all layers at once, or of what there is."""
    return next(prefix for prefix in WHERE if f"{prefix}{name}" in result)


ALL = "all"
"""The kind of mentions that stands for every mention."""


def best_heads(result: xarray.Dataset, measure: str | None = None) -> pandas.DataFrame:
    """The head that finds most antecedents over all mentions, in either direction.

    It is chosen on the very mentions that it is evaluated on, as in the paper; its accuracies by
    kind are those of that same head.  Of equal heads the first counts, by layer, head and
    direction.

    Args:
        result: Of the study.
        measure: Only this one; by default all.

    Returns:
        ``measure``, ``mention_kind``, ``count``, ``layer``, ``head``, ``direction``, ``accuracy``,
        ``low`` and ``high``: for each measure all mentions, then the kinds.  Shares of 1, layers
        and heads from 0.

    Raises:
        UnknownNameError: the result has no such measure.
    """
    measures = result.measure.values if measure is None else [measure]
    best = [_best(result, str(name)) for name in measures]
    return pandas.DataFrame([row for rows in best for row in rows], columns=_COLUMNS)


def systems_table(result: xarray.Dataset, measure: str | None = None) -> pandas.DataFrame:
    """The baselines and the best head of each measure, as in Table 2 of Clark et al. (2019).

    Args:
        result: Of the study.
        measure: Only this one; by default all.

    Returns:
        One row per baseline and measure.  Columns ``all``, ``pronoun``, ``proper`` and ``nominal``
        are accuracies in percent; ``layer``, ``head`` (zero-based) and ``direction`` say which head
        it is, and are missing for baselines.

    Raises:
        UnknownNameError: the result has no such measure.
    """
    best = best_heads(result, measure)
    place = best.groupby("measure", sort=False)[["layer", "head", "direction"]].first()
    wide = best.pivot(index="measure", columns="mention_kind", values="accuracy")
    heads = wide.join(place).reindex(place.index)
    baselines = result.baseline_accuracy.to_pandas()
    frame: pandas.DataFrame = pandas.concat([baselines, heads]).rename_axis("model")
    kinds = [str(kind) for kind in result.mention_kind.values]
    frame[kinds] *= 100
    columns = [*kinds, "layer", "head", "direction"]
    return frame.reindex(columns=columns).astype({"layer": "Int64", "head": "Int64"})


_COLUMNS = (
    "measure",
    "mention_kind",
    "count",
    "layer",
    "head",
    "direction",
    "accuracy",
    "low",
    "high",
)


def _best(result: xarray.Dataset, measure: str) -> list[dict[str, object]]:
    """The best head of a measure, by the kinds of mentions; none without any accuracy."""
    require_choice("measure", measure, result.measure.values)
    chosen = result.sel(measure=measure)
    overall = chosen.accuracy.sel(mention_kind=ALL).transpose("layer", "head", "direction")
    if overall.isnull().all():
        return []
    best = chosen.isel({str(axis): int(at) for axis, at in overall.argmax(...).items()})
    head = {
        "layer": int(best["layer"]),
        "head": int(best["head"]),
        "direction": str(best["direction"].item()),
    }
    numbers = estimates(best, "accuracy", ("mention_kind",))
    score = {"accuracy": numbers.value, "low": numbers.low, "high": numbers.high}
    return [
        {"measure": measure, "mention_kind": kind, "count": int(best["count"][at]), **head}
        | {name: float(values[at]) for name, values in score.items()}
        for at, kind in enumerate(map(str, result.mention_kind.values))
    ]


def attribution(result: xr.Dataset) -> list[str]:
    """Return findings on a token's own input, in the first and in the last layer."""
    own = estimates(result, "own_mean", ("layer",), group="all")
    other = estimates(result, "not_largest", ("layer",))
    first, last = (f"layer {int(result['layer'].values[at])}" for at in (0, -1))
    rows = [
        [f"{percent(float(of.value[at]))}{around(of.at(at))}" for at in (0, -1)]
        for of in (own, other)
    ]
    if len(own.value) == 1:
        return [
            f"In {first}, {rows[0][0]} of a hidden token is due to its own input; for {rows[1][0]} "
            "of tokens another input counts for more."
        ]
    open_ones = [
        "; which of the two is more is inconclusive"
        if str(of.at(-1).minus(of.at(0)).compared(0.0)) == "inconclusive"
        else ""
        for of in (own, other)
    ]
    return [
        f"{rows[0][0]} of a hidden token is due to its own input in {first}, and {rows[0][1]} in "
        f"{last}{open_ones[0]}.",
        f"For {rows[1][1]} of tokens another input counts for more in {last}, and for {rows[1][0]} "
        f"in {first}{open_ones[1]}.",
    ]


def token_identity(result: xr.Dataset) -> list[str]:
    """Return findings on tokens identified in the last layer, by the best map and without one."""
    offset = int(np.abs(result["offset"].values).argmin())
    plain = result.isel(offset=offset, fraction=int(result["fraction"].values.argmax()))
    plain = plain.isel(layer=-1)
    every = estimates(plain, "rate_mean", ("map", "loss"))
    first = every.first()
    if first is None:
        return ["No map could be compared in the last layer."]
    rates = plain["rate_mean"].transpose("map", "loss")
    best = rates[first]
    chance = result.attrs.get("chance")
    layer = int(plain["layer"])
    by_chance = "" if chance is None else f"; by chance it would be {percent(float(chance))}"
    sentences = [
        f"In layer {layer}, the map {best['map'].item()!s} (distance {best['loss'].item()!s}) "
        f"finds {percent(float(best))} of tokens again{around(every.at(first))}{by_chance}."
    ]
    if others := every.rivals():
        maps = [
            f"{rates[place]['map'].item()!s} ({rates[place]['loss'].item()!s})"
            for place in (first, *others)
        ]
        sentences.append(f"Which map finds most is inconclusive between {listed(maps)}.")
    if "naive" in plain["map"].values and str(best["map"].item()) != "naive":
        naive = estimates(plain.sel(map="naive"), "rate_mean", ("loss",))
        if (place := naive.first()) is not None:
            value = percent(float(naive.at(place).value))
            sentences.append(
                f"Without training (naive), {value} are found{around(naive.at(place))}."
            )
    return sentences


def coreference(result: xr.Dataset) -> list[str]:
    """The best head beside the best baseline."""
    table = best_heads(result)
    best = table[table["mention_kind"] == ALL].sort_values("accuracy", ascending=False)
    every = result.sel(mention_kind=ALL)
    baselines = estimates(every, "baseline_accuracy", ("baseline",))
    place = baselines.first()
    if not len(best) or place is None:
        return ["No mention was asked about."]
    row = best.to_dict("records")[0]
    rule = baselines.at(place)
    name, rate = str(result["baseline"].values[place[0]]), percent(float(rule.value))
    heads = estimates(every, "accuracy", ("measure", "layer", "head", "direction"))
    at = heads.first()
    assert at is not None  # noqa: S101 - there is a best head
    beyond = heads.minus(rule).simultaneous(independent_units(result)).at(at)
    called = f"the {rate}{around(rule)} of the best baseline ({name})"
    return [
        f"{head_of_row(result, row)} finds the antecedent of {percent(row['accuracy'])} of "
        f"{int(row['count']):,} mentions{interval(row['low'], row['high'])}, "
        f"{beside(heads.at(at), rule, called, beyond)}." + undecided_heads(every)
    ]


def parser_probes(result: xr.Dataset) -> list[str]:
    """The best probe that sees attention beside the best that sees none."""
    scores = estimates(result, "score", ("row",), metric="uas")
    probes = [str(name).replace("_", " ") for name in result["probe"].values]
    measures = list(map(str, result["measure"].values))
    names = np.array(
        [" by ".join(filter(None, each)) for each in zip(probes, measures, strict=True)]
    )
    sees = np.array(
        [
            measure != "" and probe != "random attention"
            for probe, measure in zip(probes, measures, strict=True)
        ]
    )
    looking, others = scores.at(sees), scores.at(~sees)
    first, second = looking.first(), others.first()
    if first is None:
        sentence = "No probe was trained."
        return [sentence if second is None else f"{_probe(names[~sees], others, second)}."]
    sentence = _probe(names[sees], looking, first)
    if second is not None:
        other = others.at(second)
        called = f"{percent(float(other.value))}{around(other)} without the attention of the model"
        called += f" ({np.array(probes)[~sees][second]})"
        beyond = looking.minus(other).simultaneous(independent_units(result)).at(first)
        sentence += f", {beside(looking.at(first), other, called, beyond)}"
    return [f"{sentence}.{undecided(looking, names[sees], 'which probe finds most', 'probe')}"]


def _probe(names: np.ndarray, scores: Estimate, place: tuple[int, ...]) -> str:
    one = scores.at(place)
    return (
        f"The probe {names[place]} finds the governor of {percent(float(one.value))} of words"
        f"{around(one)}"
    )
