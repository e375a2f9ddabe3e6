"""Variables of behaviours: shares with and without the first token, distances, sinks."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from headlight.catalogue import behaviours as names_of_behaviours
from headlight.catalogue.statistics import segment_rows
from headlight.observations.dispersion import part, standard_deviations
from headlight.observations.variables import Variable, slots_at, with_slots
from headlight.reduce.accumulator import Array
from headlight.result import Scale
from headlight.studies.survey.massive_activations import INPUT_VARIABLES, input_activations
from headlight.studies.survey.part import Outcome, Variables
from headlight.studies.survey.rows import GROUP, measures_first
from headlight.studies.survey.text_means import number
from headlight.vocabulary import DISTANCES, RELATIVE


def _shares(name: str, keys: str, interval: Scale | None = None) -> dict[str, Variable]:
    """Return the variables of a share, with and without the first token."""
    label = f"share of a row that goes to {keys}"
    rest = f"{label}, of all that does not go to the first token"
    return {
        f"{name}_share": Variable(label, interval=interval),
        f"{name}_rest": Variable(rest, interval=interval),
    }


OF_BEHAVIOURS = {
    **_shares("behaviour", "what a behaviour looks at", "row_share"),
    "behaviour_rows": Variable("rows of attention of which a behaviour is counted"),
    **_shares("relative", "the key at a place"),
    **_shares("distance", "keys at distances of a bin"),
    "distance_mean": Variable(
        "mean distance of keys, over all queries of the corpus", "tokens", interval="row_positive"
    ),
    "distance_mean_rest": Variable(
        "mean distance of keys without the first token, over all queries of the corpus",
        "tokens",
        interval="row_positive",
    ),
    "distance_std": Variable(
        "standard deviation of the distance of keys, over all queries of the corpus",
        "tokens",
        interval="positive",
    ),
    "distance_std_rest": Variable(
        "standard deviation of the distance of keys without the first token, over all queries",
        "tokens",
        interval="positive",
    ),
    "first_share": Variable("share of the first token, mean over all heads", interval="share"),
    "sink_rate": Variable(
        "share of the texts in which the first token gets more than 0.3", interval="share"
    ),
    "no_op": Variable("share of the first token by weight less that by norm", interval="signed"),
    "value_drain": Variable(
        "‖f(x)‖ of the first token divided by that of the median token", interval="positive"
    ),
    **INPUT_VARIABLES,
}


def behaviours(outcome: Outcome) -> Variables:
    """Return the variables of behaviours; nothing if none were observed."""
    statistics = outcome.statistics
    if "behaviour" not in statistics:
        return {}
    kept = _kept_behaviours(statistics)
    variables: Variables = {
        "behaviour": [names_of_behaviours()[place] for place in kept],
        "relative": list(RELATIVE),
        "distance": list(DISTANCES),
    }
    ends = np.cumsum([len(names_of_behaviours()), len(RELATIVE)])
    # Every text has the same weight, as in shares of categories.
    texts = {"whole": statistics["slots_behaviour_texts"]["part"][:, None, None, None, kept]}
    for end, member, weights in (("share", "behaviour", texts), ("rest", "behaviour_rest", {})):
        of_behaviours, *others = np.split(statistics[member]["ratio"], ends, -1)
        dims = (*GROUP, "behaviour")
        slots = slots_at(statistics[f"slots_{member}"], (..., kept)) | weights
        value = of_behaviours[..., kept]
        variables |= measures_first(with_slots(f"behaviour_{end}", dims, value, slots))
        if end == "share":
            variables |= _first_token_variables(value, slots, outcome.measures)
        for name, shares in zip(("relative", "distance"), others, strict=True):
            moved = np.moveaxis(shares, (2, 3), (0, 1))
            variables[f"{name}_{end}"] = ("measure", name, "layer", "head"), moved
    variables |= _distances(statistics)
    variables["behaviour_rows"] = "behaviour", statistics["behaviour_rows"]["total"][kept]
    variables |= measures_first(number("sink_rate", GROUP, statistics, "sink"))
    if "drain" in statistics:
        variables |= number("value_drain", ("layer", "head"), statistics, "drain")
    return variables | input_activations(statistics)


def _first_token_variables(
    value: Array, slots: Mapping[str, Array], measures: Sequence[str]
) -> Variables:
    """Return the share of the first token, mean over heads, and its weight less its norm."""
    texts = slots["whole"][..., 0]
    shares = {"mean": value[..., 0], "without": slots["without"][..., 0]}
    over_heads = {name: _mean_over_heads(share) for name, share in shares.items()}
    slots_of_mean = {**over_heads, "whole": texts[:, 0, 0], "units": slots["units"]}
    variables = dict(with_slots("first_share", ("measure",), slots_of_mean["mean"], slots_of_mean))
    if {"weight", "norm"} <= set(measures):
        weight, norm = (measures.index(name) for name in ("weight", "norm"))
        less = {name: share[..., weight] - share[..., norm] for name, share in shares.items()}
        slots_of_mean = {**less, "whole": texts[..., 0], "units": slots["units"]}
        variables |= with_slots("no_op", ("layer", "head"), slots_of_mean["mean"], slots_of_mean)
    return variables


def _mean_over_heads(shares: Array) -> Array:
    """Return the mean over heads with a value; the last axes are layer, head and measure."""
    has_value = ~np.isnan(shares)
    count = has_value.sum((-3, -2))
    total = np.where(has_value, shares, 0).sum((-3, -2))
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _kept_behaviours(statistics: dict[str, Any]) -> list[int]:
    """Return the places of the behaviours, without named segments that no text has."""
    share, segments = statistics["behaviour"]["ratio"], segment_rows()
    return [
        place
        for place, name in enumerate(names_of_behaviours())
        if name not in segments or (share[..., place] > 0).any()
    ]


def _distances(statistics: dict[str, Any]) -> Variables:
    """Return mean and deviation of the distance of keys, with and without the first token."""
    variables: Variables = {}
    of_all, slots = statistics["distance"]["ratio"], statistics["slots_distance"]
    parts = slots["mean"], slots["without"], slots["whole"]
    for end, at in (("", 0), ("_rest", 2)):
        distance, squared = of_all[..., at], of_all[..., at + 1]
        variance = squared - distance**2
        deviation = np.sqrt(np.where(variance >= 0, variance, np.nan))
        means, squares = (part(parts, place) for place in (at, at + 1))
        for name, value, sums in (
            (f"distance_mean{end}", distance, means),
            (f"distance_std{end}", deviation, standard_deviations(means, squares)),
        ):
            sums_by_name = dict(zip(("mean", "without", "whole"), sums, strict=True))
            numbers = with_slots(name, GROUP, value, {**sums_by_name, "units": slots["units"]})
            variables |= measures_first(numbers)
    return variables
