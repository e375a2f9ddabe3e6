"""The result of a survey: statistics with named axes."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray

from headlight.analysis.variables import (
    Variable,
    describe_dispersion,
    dispersion,
    long_names,
    of_mean,
    of_rate,
    of_ratio,
)
from headlight.encode import token_names
from headlight.reduce import Strongest, Tally
from headlight.result import describe
from headlight.studies.heads.by_group import VARIABLES as BY_GROUP, of_groups
from headlight.studies.heads.deciles import DECILES, DRAWN, VARIABLES as DECILES_OF_TEXTS
from headlight.studies.heads.gates import VARIABLES as GATES, of_gates
from headlight.studies.heads.observer import OFFSETS, QUERY_CATEGORIES
from headlight.studies.heads.passages import BEFORE, STATISTICS
from headlight.studies.heads.residual import VARIABLES as RESIDUAL, of_residual
from headlight.studies.heads.token_types import (
    SIDES,
    VARIABLES as TOKEN_TYPES,
    of_token_types,
)
from headlight.vocabulary import (
    BEHAVIOURS,
    CATEGORIES,
    DISTANCES,
    MEASURES,
    RELATIVE,
    measure,
)

GROUP = ("layer", "head", "measure")
TEXTS = ("passages", "drawn")
"""What observers keep of texts, which is no statistic."""


def _shares(name: str, keys: str) -> dict[str, Variable]:
    """A share, with and without the first token."""
    said = f"share of a row that goes to {keys}"
    return {
        f"{name}_share": Variable(said, interval="row_share"),
        f"{name}_rest": Variable(
            f"{said}, of all that does not go to the first token", interval="row_share"
        ),
    }


def _certain(table: dict[str, tuple[str, str]]) -> dict[str, Variable]:
    """Of a table of long names and units: what has no interval."""
    return {name: Variable(*said) for name, said in table.items()}


OF_BEHAVIOURS = {
    **_shares("behaviour", "what a behaviour looks at"),
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

VARIABLES = long_names(
    {
        "total": Variable(
            "sum that keys of a category receive from a query", "", interval="row_positive"
        ),
        "share": Variable("share of a row that goes to keys of a category", interval="row_share"),
        "neighbour": Variable(
            "share of a row that goes to the key at an offset", interval="row_share"
        ),
        "entropy": Variable("entropy of a row", "nat", interval="positive"),
        "entropy_uniform": Variable("entropy of uniform attention", "nat", interval="positive"),
        "token_share": Variable("share of the tokens that are of a category", interval="share"),
        "merged_total": Variable(
            "norm of the sum over heads of what keys of a category send", "", interval="positive"
        ),
        "merged_share": Variable(
            "share of all keys of the norm of the sum over heads", interval="share"
        ),
        "rank": Variable("rank of T", interval="positive"),
        "effective_correlation": Variable(
            "correlation (Pearson's r) of raw and effective attention", interval="correlation"
        ),
        "effective_correlation_by_head": Variable(
            "correlation (Pearson's r) of raw and effective attention", interval="correlation"
        ),
        "effective_correlation_std": Variable("its standard deviation over texts"),
        "effective_correlation_count": Variable("texts"),
        "passage_score": Variable("what the head does on average in the example of the passage"),
        "passage_rank": Variable("number by which the example of the passage can be found again"),
        "passage_length": Variable("attended tokens of that example"),
        "passage_query": Variable("place of the attending token"),
        "passage_query_token": Variable("its number in the vocabulary"),
        "passage_place": Variable("place of an attended token"),
        "passage_token": Variable("its number in the vocabulary"),
        "passage_weight": Variable("its weight"),
        "token_text": Variable("tokens that passages, and the texts that were drawn, hold"),
        **_certain(DECILES_OF_TEXTS),
        **OF_BEHAVIOURS,
        **GATES,
        **_certain(TOKEN_TYPES),
        **RESIDUAL,
        **OF_LENGTHS,
        **_certain(BY_GROUP),
    }
)
"""Long name and unit of every variable; norms are in units of the model's hidden states."""


def dataset(
    tally: Tally,
    layers: Sequence[int],
    measures: Sequence[str] = MEASURES,
    tokenizer: Any = None,
) -> xarray.Dataset:
    """Named arrays of what a run has found.

    Args:
        tally: what the observers saw, merged.
        layers: the numbers of the layers, in the order in which they were observed.
        measures: which were observed, in that order.
        tokenizer: of the model, for the tokens.
    """
    found = {name: part.compute() for name, part in tally.items() if name not in TEXTS}
    coordinates = {
        "measure": list(measures),
        "layer": list(layers),
        "head": list(range(found["total"]["mean"].shape[1])),
        "query_category": list(QUERY_CATEGORIES),
        "key_category": list(CATEGORIES),
        "offset": list(OFFSETS),
    }
    variables: dict[str, Any] = _of_rows(found, measures)
    variables |= of_mean("entropy_uniform", (), found["entropy_uniform"])
    variables |= of_ratio("token_share", ("key_category",), found["token_share"])
    variables |= of_gates(found)
    variables |= _of_merged_norms(found) | _of_effective(found)
    if "behaviour" in found:
        coordinates |= {
            "behaviour": list(BEHAVIOURS),
            "relative": list(RELATIVE),
            "distance": list(DISTANCES),
        }
        variables |= _of_behaviours(found)
    variables |= of_residual(found, tokenizer)
    if of_tokens := of_token_types(found, tokenizer):
        coordinates["side"] = list(SIDES)
        variables |= of_tokens
    variables |= dispersion("vector_norm", found, ("layer", "head"))
    variables |= dispersion("input_norm", found, ("layer",))
    by_group, intervals = of_groups(found, measures)
    variables |= by_group
    for name, (dims, *ends) in intervals.items():
        if name in variables and f"{name}_low" not in variables:
            for end, values in zip(("low", "high"), ends, strict=True):
                of_value = variables[name][0]
                variables[f"{name}_{end}"] = xarray.DataArray(values, dims=dims).transpose(
                    *of_value
                )
    return describe(xarray.Dataset(variables, coords=coordinates), VARIABLES)


def passages(found: Strongest, tokenizer: Any, result: xarray.Dataset) -> xarray.Dataset:
    """The passages of the corpus where each head does most what it does.

    Args:
        found: by `STATISTICS`, layer and head.
        tokenizer: of the model, for the tokens.
        result: the survey, of which it becomes a part.
    """
    rows = found.compute()["rows"][0]
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
    drawn = [result[name].values.ravel() for name in DRAWN if name in result]
    ids = np.unique(np.concatenate([token.ravel(), query_token.ravel(), *drawn]))
    ids = ids[np.isfinite(ids)].astype(int)
    variables: dict[str, Any] = {name: (group, values) for name, values in by_head.items()}
    variables |= {
        name: ((*group, "kept"), values.astype(np.float32)) for name, values in by_token.items()
    }
    variables["token_text"] = ("token", token_names(tokenizer, ids.tolist()))
    coordinates = {
        "does": list(STATISTICS),
        "layer": result["layer"],
        "head": result["head"],
        "token": ids,
    }
    kept = describe(xarray.Dataset(variables, coords=coordinates), VARIABLES)
    for name in by_token:  # most of a result, and half of it zeros
        kept[name].encoding["zlib"] = True
    return kept


def texts_at_deciles(variables: dict[str, Any], result: xarray.Dataset) -> xarray.Dataset:
    """Texts of the corpus from those in which a head attends weakly to those where it does most.

    Args:
        variables: see `headlight.studies.heads.deciles.of_deciles`.
        result: the survey, of which they become a part.
    """
    coordinates = {name: result[name] for name in ("measure", "layer", "head")}
    made = xarray.Dataset(variables, coords={**coordinates, "decile": list(DECILES)})
    for name in ("decile_place", "decile_value", "drawn_key", "drawn_query"):
        if name in made:
            made[name].encoding["zlib"] = True
    return describe(made, VARIABLES)


def _of_rows(found: dict[str, Any], measures: Sequence[str]) -> dict[str, Any]:
    """Categories, neighbours and entropies; of measures that are no shares, of a row's whole."""
    total = of_mean("total", (*GROUP, "query_category", "key_category"), found["total"])
    share = {name.replace("total", "share"): each.copy() for name, each in total.items()}
    neighbour = of_mean("neighbour", (*GROUP, "offset"), found["neighbour"])
    sizes = [at for at, name in enumerate(measures) if not measure(name).share]
    if sizes:
        for of, name in ((share, "share"), (neighbour, "neighbour")):
            ratios = of_ratio(name, tuple(map(str, of[name].dims)), found[f"{name}_of_sizes"])
            for end, each in ratios.items():
                of[end][{"measure": sizes}] = each.values
    entropy = of_mean("entropy", (*GROUP, "query_category"), found["entropy"])
    all_of_them = total | share | neighbour | entropy
    return {name: each.transpose("measure", ...) for name, each in all_of_them.items()}


def _of_behaviours(found: dict[str, Any]) -> dict[str, Any]:
    """Shares, with and without the first token, and what is known of that."""
    variables: dict[str, Any] = {}
    ends = np.cumsum([len(BEHAVIOURS), len(RELATIVE)])
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
    variables |= of_mean("first_share", ("measure",), found["first"])
    sink = of_rate("sink_rate", GROUP, found["sink"])
    variables |= {name: each.transpose(*by_measure) for name, each in sink.items()}
    for name, part in (("no_op", "no_op"), ("value_drain", "drain")):
        if part in found:
            variables |= of_mean(name, by_head, found[part])
    if "activation" in found:
        for at, name in enumerate(("activation_max", "activation_ratio")):
            of = {part: each[..., at] for part, each in found["activation"].items()}
            variables |= of_mean(name, ("layer",), of)
        largest = found["largest_activation"]["rows"][0]
        variables["activation_dimension"] = "layer", largest[:, 0]
        variables["activation_place"] = "layer", largest[:, 1]
    return variables


def _of_merged_norms(found: dict[str, Any]) -> dict[str, Any]:
    """‖Σ_h α f(x)‖; nothing if no norm was observed."""
    if "merged" not in found:
        return {}
    dims = ("layer", "query_category", "key_category")
    shares = of_ratio("merged_share", dims, found["merged_share"])
    return of_mean("merged_total", dims, found["merged"]) | shares


def _of_effective(found: dict[str, Any]) -> dict[str, Any]:
    """Effective attention beside the weights; nothing if it was not observed."""
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
