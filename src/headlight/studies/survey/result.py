"""Statistics of a survey with named axes, computed from its observations, part by part."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Int64
from torch import Tensor

from headlight.analysis.batch_runner import Positions, stacked
from headlight.analysis.variables import (
    Variable,
    describe_dispersion,
    dispersion,
    part,
    slots_at,
    standard_deviations,
    with_slots,
)
from headlight.catalogue import behaviours as names_of_behaviours
from headlight.catalogue.statistics import KEY_CLASSES, segment_rows
from headlight.encode import token_names
from headlight.measures import Scores
from headlight.pool import over_queries
from headlight.reduce import Accumulator, Strongest
from headlight.reduce.base import Array
from headlight.result import Scale
from headlight.studies.survey.deciles import DECILES, DRAWN, of_deciles
from headlight.studies.survey.observer import OFFSETS
from headlight.studies.survey.part import (
    QUERY_CATEGORIES,
    BlockRows,
    Outcome,
    PartObserver,
    SeenLayer,
    Variables,
    means,
    number,
    query_members,
)
from headlight.studies.survey.passages import BEFORE, STATISTICS
from headlight.studies.survey.token_types import SIDES, of_token_types
from headlight.tensors import single
from headlight.vocabulary import CATEGORIES, DISTANCES, RELATIVE, measure

GROUP = ("layer", "head", "measure")


def _shares(name: str, keys: str, interval: Scale | None = None) -> dict[str, Variable]:
    """A share, with and without the first token."""
    label = f"share of a row that goes to {keys}"
    rest = f"{label}, of all that does not go to the first token"
    return {
        f"{name}_share": Variable(label, interval=interval),
        f"{name}_rest": Variable(rest, interval=interval),
    }


OF_ROWS = {
    "total": Variable(
        "sum that keys of a category receive from a query", "", interval="row_positive"
    ),
    "share": Variable("share of a row that goes to keys of a category", interval="row_share"),
    "neighbour": Variable("share of a row that goes to the key at an offset", interval="row_share"),
    "class_share": Variable(
        "share of a row that goes to the first token, or to a category beside it",
        interval="row_share",
    ),
    "entropy": Variable("entropy of a row", "nat", interval="positive"),
    "entropy_uniform": Variable("entropy of uniform attention", "nat", interval="positive"),
    "token_share": Variable("share of the tokens that are of a category", interval="share"),
}

OF_MERGED_NORMS = {
    "merged_total": Variable(
        "norm of the sum over heads of what keys of a category send", "", interval="positive"
    ),
    "merged_share": Variable(
        "share of all keys of the norm of the sum over heads", interval="share"
    ),
}

OF_EFFECTIVE = {
    "rank": Variable("rank of T", interval="positive"),
    "effective_correlation": Variable("correlation (Pearson's r) of raw and effective attention"),
    "effective_correlation_by_head": Variable(
        "correlation (Pearson's r) of raw and effective attention", interval="correlation"
    ),
    "effective_correlation_std": Variable("its standard deviation over texts"),
    "effective_correlation_count": Variable("texts"),
}

OF_PASSAGES = {
    "passage_score": Variable("what the head does on average in the example of the passage"),
    "passage_rank": Variable("number by which the example of the passage can be found again"),
    "passage_length": Variable("attended tokens of that example"),
    "passage_query": Variable("place of the attending token"),
    "passage_query_token": Variable("its number in the vocabulary"),
    "passage_place": Variable("place of an attended token"),
    "passage_token": Variable("its number in the vocabulary"),
    "passage_weight": Variable("its weight"),
    "token_text": Variable("tokens that passages, and the texts that were drawn, hold"),
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
    "activation_max": Variable(
        "largest entry, in size, of the vectors that values are made from", "", interval="positive"
    ),
    "activation_ratio": Variable(
        "that entry divided by the median entry of its vector, in size", interval="positive"
    ),
    "activation_dimension": Variable("dimension of the largest of the corpus"),
    "activation_place": Variable("place of its token in the text"),
}

OF_LENGTHS = {
    **describe_dispersion("vector_norm", "‖f(x)‖"),
    **describe_dispersion("input_norm", "‖x‖"),
}


def rows(outcome: Outcome) -> Variables:
    """Categories, neighbours and entropies; of measures that are no shares, of a row's whole."""
    statistics, measures = outcome.found, outcome.measures
    if not measures:
        return {}
    by_query = (*GROUP, "query_category")
    variables = {
        **number("total", (*by_query, "key_category"), statistics, "total"),
        **_shares_of_rows("share", (*by_query, "key_category"), statistics, "total", measures),
        **_shares_of_rows("neighbour", (*GROUP, "offset"), statistics, "neighbour", measures),
        **number("entropy", by_query, statistics, "entropy"),
    }
    if "class" in statistics:
        by_class = (*by_query, "key_class")
        variables |= _shares_of_rows("class_share", by_class, statistics, "class", measures)
    return {
        "measure": list(measures),
        "query_category": list(QUERY_CATEGORIES),
        "key_category": list(CATEGORIES),
        "offset": list(OFFSETS),
        **({"key_class": list(KEY_CLASSES)} if "class" in statistics else {}),
        **_measures_first(variables),
        **number("entropy_uniform", (), statistics, "entropy_uniform"),
        **number("token_share", ("key_category",), statistics, "token_share"),
    }


def _measures_first(variables: Mapping[str, Any]) -> Variables:
    """Return variables whose axes begin with the measure, and the behaviour where there is one."""
    return {
        name: each.transpose("measure", "behaviour", ..., missing_dims="ignore")
        for name, each in variables.items()
    }


_SIZES = {"total": "share", "neighbour": "neighbour", "class": "class"}
"""Prefixes of the names of each member's ratios to what a row gives."""


def _shares_of_rows(
    name: str, dims: tuple[str, ...], sums: dict[str, Any], member: str, measures: Sequence[str]
) -> Variables:
    """Shares of rows; of measures that are no shares, ratios to what the row gives in all."""
    value, slots = sums[member]["mean"].copy(), dict(sums[f"slots_{member}"])
    sizes = [at for at, each in enumerate(measures) if not measure(each).share]
    if sizes:
        along = dims.index("measure")
        value[(slice(None),) * along + (sizes,)] = sums[f"{_SIZES[member]}_of_sizes"]["ratio"]
        for part, at in (("mean", along), ("without", along + 1)):
            whole = sums["slots_total"][part]
            if name == "neighbour":  # of all queries
                whole = whole[..., 0, :]
            inner = (slice(None),) * at + (sizes,)
            slots[part] = slots[part].copy()
            slots[part][inner] /= _whole(whole)[inner]
    return dict(with_slots(name, dims, value, slots))


def _whole(parts: Array) -> Array:
    """Return the sums of parts along the last axis; NaN where they are 0."""
    whole = np.nansum(parts, -1, keepdims=True)
    return np.where(whole > 0, whole, np.nan)


def behaviours(outcome: Outcome) -> Variables:
    """Shares, with and without the first token, and what is known of that."""
    statistics = outcome.found
    if "behaviour" not in statistics:
        return {}
    kept = _kept_behaviours(statistics)
    variables: Variables = {
        "behaviour": [names_of_behaviours()[place] for place in kept],
        "relative": list(RELATIVE),
        "distance": list(DISTANCES),
    }
    ends = np.cumsum([len(names_of_behaviours()), len(RELATIVE)])
    # Texts count the same, as in shares of categories.
    texts = {"whole": statistics["slots_behaviour_texts"]["part"][:, None, None, None, kept]}
    for end, member, weights in (("share", "behaviour", texts), ("rest", "behaviour_rest", {})):
        of_behaviours, *others = np.split(statistics[member]["ratio"], ends, -1)
        dims = (*GROUP, "behaviour")
        slots = slots_at(statistics[f"slots_{member}"], (..., kept)) | weights
        value = of_behaviours[..., kept]
        variables |= _measures_first(with_slots(f"behaviour_{end}", dims, value, slots))
        if end == "share":
            variables |= _of_first_token(value, slots, outcome.measures)
        for name, each in zip(("relative", "distance"), others, strict=True):
            moved = np.moveaxis(each, (2, 3), (0, 1))
            variables[f"{name}_{end}"] = ("measure", name, "layer", "head"), moved
    variables |= _distances(statistics)
    variables["behaviour_rows"] = "behaviour", statistics["behaviour_rows"]["total"][kept]
    variables |= _measures_first(number("sink_rate", GROUP, statistics, "sink"))
    if "drain" in statistics:
        variables |= number("value_drain", ("layer", "head"), statistics, "drain")
    return variables | _activations(statistics)


def _of_first_token(value: Array, slots: Mapping[str, Array], measures: Sequence[str]) -> Variables:
    """Return the mean over heads of the share of the first token, and its weight less its norm."""
    texts = slots["whole"][..., 0]
    shares = {"mean": value[..., 0], "without": slots["without"][..., 0]}
    over_heads = {name: _mean_over_heads(each) for name, each in shares.items()}
    of = {**over_heads, "whole": texts[:, 0, 0], "units": slots["units"]}
    variables = dict(with_slots("first_share", ("measure",), of["mean"], of))
    if {"weight", "norm"} <= set(measures):
        weight, norm = (measures.index(name) for name in ("weight", "norm"))
        less = {name: each[..., weight] - each[..., norm] for name, each in shares.items()}
        of = {**less, "whole": texts[..., 0], "units": slots["units"]}
        variables |= with_slots("no_op", ("layer", "head"), of["mean"], of)
    return variables


def _mean_over_heads(shares: Array) -> Array:
    """Return the mean over the heads with a value, by measure; layers, heads, measures are last."""
    has_value = ~np.isnan(shares)
    count = has_value.sum((-3, -2))
    total = np.where(has_value, shares, 0).sum((-3, -2))
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _kept_behaviours(found: dict[str, Any]) -> list[int]:
    """Return the places of the behaviours but for named segments that no text has."""
    share, segments = found["behaviour"]["ratio"], segment_rows()
    return [
        place
        for place, name in enumerate(names_of_behaviours())
        if name not in segments or (share[..., place] > 0).any()
    ]


def _distances(statistics: dict[str, Any]) -> Variables:
    """Mean and standard deviation of the distance of keys, with and without the first token."""
    variables: Variables = {}
    of_all, slots = statistics["distance"]["ratio"], statistics["slots_distance"]
    parts = slots["mean"], slots["without"], slots["whole"]
    for end, at in (("", 0), ("_rest", 2)):
        distance, squared = of_all[..., at], of_all[..., at + 1]
        variance = squared - distance**2
        deviation = np.sqrt(np.where(variance >= 0, variance, np.nan))
        means, squares = (part(parts, place) for place in (at, at + 1))
        for name, value, of in (
            (f"distance_mean{end}", distance, means),
            (f"distance_std{end}", deviation, standard_deviations(means, squares)),
        ):
            sums_by_name = dict(zip(("mean", "without", "whole"), of, strict=True))
            numbers = with_slots(name, GROUP, value, {**sums_by_name, "units": slots["units"]})
            variables |= _measures_first(numbers)
    return variables


def _activations(statistics: dict[str, Any]) -> Variables:
    """The largest entries of what values are made from; nothing where that is not known."""
    if "activation" not in statistics:
        return {}
    largest = statistics["largest_activation"]["rows"][0]
    return {
        **number("activation_max", ("layer",), statistics, "activation", 0),
        **number("activation_ratio", ("layer",), statistics, "activation", 1),
        "activation_dimension": ("layer", largest[:, 0]),
        "activation_place": ("layer", largest[:, 1]),
    }


def merged_norms(outcome: Outcome) -> Variables:
    """‖Σ_h α f(x)‖; nothing if no norm was observed."""
    statistics = outcome.found
    if "merged" not in statistics:
        return {}
    dims, slots = ("layer", "query_category", "key_category"), dict(statistics["slots_merged"])
    slots |= {part: slots[part] / _whole(slots[part]) for part in ("mean", "without")}
    return {
        **number("merged_total", dims, statistics, "merged"),
        **with_slots("merged_share", dims, statistics["merged_share"]["ratio"], slots),
    }


def effective(outcome: Outcome) -> Variables:
    """Effective attention beside the weights; nothing if it was not observed."""
    statistics = outcome.found
    if "correlation" not in statistics:
        return {}
    correlation, by_head = statistics["correlation"], ("layer", "head")
    return {
        "length": correlation["key"],
        **number("rank", by_head, statistics, "rank"),
        **number("effective_correlation_by_head", by_head, statistics, "correlation_by_head"),
        "effective_correlation": ("length", correlation["mean"]),
        "effective_correlation_std": ("length", correlation["std"]),
        "effective_correlation_count": ("length", correlation["count"]),
    }


def lengths(outcome: Outcome) -> Variables:
    """Return the dispersion of the lengths of transformed vectors, and of their inputs."""
    statistics = outcome.found
    return dispersion("vector_norm", statistics, ("layer", "head")) | dispersion(
        "input_norm", statistics, ("layer",)
    )


def token_types(outcome: Outcome) -> Variables:
    """Tokens of the vocabulary by head; nothing if they were not looked at."""
    variables = of_token_types(outcome.found, outcome.tokenizer)
    return {"side": list(SIDES), **variables} if variables else {}


def deciles(outcome: Outcome) -> Variables:
    """Texts of the corpus from those in which a head attends weakly to those where it does most."""
    drawn = outcome.tally.get("drawn")
    if not isinstance(drawn, Strongest):
        return {}
    variables = of_deciles(outcome.plan, drawn, outcome.measures)
    return {"decile": list(DECILES), **variables}


def passages(outcome: Outcome) -> Variables:
    """The passages of the corpus where each head does most what it does, by `STATISTICS`."""
    member = outcome.tally.get("passages")
    if not isinstance(member, Strongest):
        return {}
    rows = member.compute()["rows"][0]
    score, rank, length, query, query_token = np.moveaxis(rows[..., :BEFORE], -1, 0)
    place, token, weight = np.split(rows[..., BEFORE:], 3, axis=-1)
    group = ("does", "layer", "head")
    by_head = {
        "passage_score": score,
        "passage_rank": rank,
        "passage_length": length,
        "passage_query": query,
        "passage_query_token": query_token,
    }
    by_token = {"passage_place": place, "passage_token": token, "passage_weight": weight}
    drawn = [
        np.asarray(outcome.variables[name][1]).ravel()
        for name in DRAWN
        if name in outcome.variables
    ]
    ids = np.unique(np.concatenate([token.ravel(), query_token.ravel(), *drawn]))
    ids = ids[np.isfinite(ids)].astype(int)
    return {
        "does": list(STATISTICS),
        "token": ids,
        **{name: (group, values) for name, values in by_head.items()},
        **{name: ((*group, "kept"), each.astype(np.float32)) for name, each in by_token.items()},
        "token_text": ("token", token_names(outcome.tokenizer, ids.tolist())),
    }


NEARLY_CLOSED = 0.1
"""Below this a gate hardly lets anything through."""

VARIABLES = {
    "gate": Variable("mean of the gate of a head", interval="signed"),
    "gate_closed": Variable(f"share of the gate below {NEARLY_CLOSED}", interval="share"),
}


def query_sample(
    present: Bool[Tensor, "batch query"], most: int
) -> Bool[Tensor, "batch query"] | None:
    """Return the queries at which norms are taken where f depends on the query; None for all.

    Args:
        present: whether there is a query, and no padding.
        most: queries of a text, evenly spread; 0 for all.
    """
    number, count = present.cumsum(1), present.sum(1, keepdim=True).clamp_min(1)
    chosen = number * most // count > (number - 1) * most // count
    return present & chosen if most and bool((count > most).any()) else None


class GateObserver(PartObserver):
    """Observes the gates of each layer.

    Args:
        queries: their positions.
        units: the unit of the corpus that each text is of.
    """

    def __init__(self, queries: Positions, units: Int64[np.ndarray, " text"]) -> None:
        self._units = units
        self._members = query_members(queries)
        self._blocks = BlockRows()
        self._means: dict[int, Tensor] = {}

    def note_block(self, scores: Scores) -> None:
        """Keep `VARIABLES` of each query; NaN in a layer without gates."""
        record = scores.record
        if record.gate is None:
            shape = (*record.weight.shape[:3], 2)
            rows = single(record.weight[..., :2]).new_full(shape, torch.nan)
        else:
            gate = single(record.gate)
            rows = torch.stack([gate.mean(-1), (gate < NEARLY_CLOSED).to(gate).mean(-1)], dim=-1)
        self._blocks.keep(record, {"gate": rows})

    def note_layer(self, layer: SeenLayer) -> None:
        """Average over queries."""
        means = over_queries(self._blocks.rows["gate"], self._members)[:, :, 0]
        self._means[layer.record.site.layer] = means
        self._blocks = BlockRows()

    def members(self) -> dict[str, Accumulator]:
        """Return the statistics of the batch, by name."""
        rows = stacked([self._means[layer] for layer in sorted(self._means)])
        return means("gate", rows, self._units)


def gates(outcome: Outcome) -> Variables:
    """Return how far gates are open; nothing if the model has no gates."""
    if "gate" not in outcome.found:
        return {}
    variables: Variables = {}
    for at, name in enumerate(VARIABLES):
        variables |= number(name, ("layer", "head"), outcome.found, "gate", at)
    return variables
