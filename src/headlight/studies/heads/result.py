"""What is computed of what a survey has seen: statistics with named axes, part by part."""

from typing import Any

import numpy as np
import xarray

from headlight.analysis.variables import (
    Variable,
    describe_dispersion,
    dispersion,
    of_mean,
    of_rate,
    of_ratio,
)
from headlight.catalogue import behaviours as names_of_behaviours
from headlight.catalogue.statistics import KEY_CLASSES
from headlight.encode import token_names
from headlight.reduce import Strongest
from headlight.studies.heads.by_group import of_groups
from headlight.studies.heads.deciles import DECILES, DRAWN, of_deciles
from headlight.studies.heads.observer import OFFSETS, QUERY_CATEGORIES
from headlight.studies.heads.part import Outcome, Variables
from headlight.studies.heads.passages import BEFORE, STATISTICS
from headlight.studies.heads.token_types import SIDES, of_token_types
from headlight.vocabulary import CATEGORIES, DISTANCES, RELATIVE, measure

GROUP = ("layer", "head", "measure")


def _shares(name: str, keys: str) -> dict[str, Variable]:
    """A share, with and without the first token."""
    said = f"share of a row that goes to {keys}"
    return {
        f"{name}_share": Variable(said, interval="row_share"),
        f"{name}_rest": Variable(
            f"{said}, of all that does not go to the first token", interval="row_share"
        ),
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
    "effective_correlation": Variable(
        "correlation (Pearson's r) of raw and effective attention", interval="correlation"
    ),
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
    **_shares("behaviour", "what a behaviour looks at"),
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
    found, measures = outcome.found, outcome.measures
    if not measures:
        return {}
    total = of_mean("total", (*GROUP, "query_category", "key_category"), found["total"])
    share = {name.replace("total", "share"): each.copy() for name, each in total.items()}
    neighbour = of_mean("neighbour", (*GROUP, "offset"), found["neighbour"])
    shares = {"share": share, "neighbour": neighbour}
    if "class" in found:
        dims = (*GROUP, "query_category", "key_class")
        shares["class"] = of_mean("class_share", dims, found["class"])
    sizes = [at for at, name in enumerate(measures) if not measure(name).share]
    for name, of in shares.items() if sizes else ():
        first = next(iter(of))
        ratios = of_ratio(first, tuple(map(str, of[first].dims)), found[f"{name}_of_sizes"])
        for end, each in ratios.items():
            of[end][{"measure": sizes}] = each.values
    entropy = of_mean("entropy", (*GROUP, "query_category"), found["entropy"])
    all_of_them = total | share | neighbour | shares.get("class", {}) | entropy
    return {
        "measure": list(measures),
        "query_category": list(QUERY_CATEGORIES),
        "key_category": list(CATEGORIES),
        "offset": list(OFFSETS),
        **({"key_class": list(KEY_CLASSES)} if "class" in found else {}),
        **{name: each.transpose("measure", ...) for name, each in all_of_them.items()},
        **of_mean("entropy_uniform", (), found["entropy_uniform"]),
        **of_ratio("token_share", ("key_category",), found["token_share"]),
    }


def behaviours(outcome: Outcome) -> Variables:
    """Shares, with and without the first token, and what is known of that."""
    found = outcome.found
    if "behaviour" not in found:
        return {}
    variables: Variables = {
        "behaviour": list(names_of_behaviours()),
        "relative": list(RELATIVE),
        "distance": list(DISTANCES),
    }
    ends = np.cumsum([len(names_of_behaviours()), len(RELATIVE)])
    share = of_mean("share", (*GROUP, "number"), found["behaviour"])
    rest = of_ratio("rest", (*GROUP, "number"), found["behaviour_rest"])
    for end, values in (share | rest).items():
        for name, each in zip(
            ("behaviour", "relative", "distance"), np.split(values.values, ends, -1), strict=True
        ):
            dims = ("measure", name, "layer", "head")
            variables[f"{name}_{end}"] = dims, np.moveaxis(each, (2, 3), (0, 1))
    by_measure, by_head = ("measure", "layer", "head"), ("layer", "head")
    for end, at in (("", 0), ("_rest", 2)):
        distance, squared = (
            {part: np.moveaxis(each, 2, 0)[..., place] for part, each in found["distance"].items()}
            for place in (at, at + 1)
        )
        variables |= of_ratio(f"distance_mean{end}", by_measure, distance)
        variance = squared["ratio"] - distance["ratio"] ** 2
        deviation = np.sqrt(np.where(variance >= 0, variance, np.nan))
        variables[f"distance_std{end}"] = by_measure, deviation
    variables["behaviour_rows"] = "behaviour", found["behaviour_rows"]["total"]
    variables |= of_mean("first_share", ("measure",), found["first"])
    sink = of_rate("sink_rate", GROUP, found["sink"])
    variables |= {name: each.transpose(*by_measure) for name, each in sink.items()}
    for name, part in (("no_op", "no_op"), ("value_drain", "drain")):
        if part in found:
            variables |= of_mean(name, by_head, found[part])
    return variables | _activations(found)


def _activations(found: dict[str, Any]) -> Variables:
    """The largest entries of what values are made from; nothing where that is not known."""
    variables: Variables = {}
    if "activation" in found:
        for at, name in enumerate(("activation_max", "activation_ratio")):
            of = {part: each[..., at] for part, each in found["activation"].items()}
            variables |= of_mean(name, ("layer",), of)
        largest = found["largest_activation"]["rows"][0]
        variables["activation_dimension"] = "layer", largest[:, 0]
        variables["activation_place"] = "layer", largest[:, 1]
    return variables


def merged_norms(outcome: Outcome) -> Variables:
    """‖Σ_h α f(x)‖; nothing if no norm was observed."""
    found = outcome.found
    if "merged" not in found:
        return {}
    dims = ("layer", "query_category", "key_category")
    shares = of_ratio("merged_share", dims, found["merged_share"])
    return of_mean("merged_total", dims, found["merged"]) | shares


def effective(outcome: Outcome) -> Variables:
    """Effective attention beside the weights; nothing if it was not observed."""
    found = outcome.found
    if "correlation" not in found:
        return {}
    correlation, by_head = found["correlation"], ("layer", "head")
    return {
        "length": correlation["key"],
        **of_mean("rank", by_head, found["rank"]),
        **of_mean("effective_correlation_by_head", by_head, found["correlation_by_head"]),
        **of_mean("effective_correlation", ("length",), correlation),
        "effective_correlation_std": ("length", correlation["std"]),
        "effective_correlation_count": ("length", correlation["count"]),
    }


def lengths(outcome: Outcome) -> Variables:
    """How long transformed vectors are, and what they are made from."""
    found = outcome.found
    return dispersion("vector_norm", found, ("layer", "head")) | dispersion(
        "input_norm", found, ("layer",)
    )


def token_types(outcome: Outcome) -> Variables:
    """Tokens of the vocabulary by head; nothing if they were not looked at."""
    variables = of_token_types(outcome.found, outcome.tokenizer)
    return {"side": list(SIDES), **variables} if variables else {}


def groups(outcome: Outcome) -> Variables:
    """What each group of texts moves numbers by, and intervals of numbers that have none yet."""
    known = outcome.variables
    variables, intervals = of_groups(outcome.found, outcome.measures)
    for name, (dims, *ends) in intervals.items():
        if name in known and f"{name}_low" not in known:
            for end, values in zip(("low", "high"), ends, strict=True):
                moved = xarray.DataArray(values, dims=dims).transpose(*known[name][0])
                variables[f"{name}_{end}"] = moved
    return variables


def deciles(outcome: Outcome) -> Variables:
    """Texts of the corpus from those in which a head attends weakly to those where it does most."""
    drawn = outcome.tally.get("drawn")
    if not isinstance(drawn, Strongest):
        return {}
    bias = outcome.settings.value_bias
    variables = of_deciles(outcome.plan, drawn, outcome.measures, bias)
    return {"decile": list(DECILES), **variables}


def passages(outcome: Outcome) -> Variables:
    """The passages of the corpus where each head does most what it does, by `STATISTICS`."""
    kept = outcome.tally.get("passages")
    if not isinstance(kept, Strongest):
        return {}
    rows = kept.compute()["rows"][0]
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
