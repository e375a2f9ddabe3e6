"""The result of a survey: statistics with named axes."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray

from headlight.analysis.dispersion import describe_dispersion, dispersion
from headlight.encode import token_names
from headlight.reduce import Strongest, Tally
from headlight.result import describe
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


def _with_errors(name: str, share: str, keys: str) -> dict[str, tuple[str, str]]:
    """A share, with and without the first token."""
    said = share.format(keys)
    return {
        f"{name}_share": (said, "1"),
        f"{name}_error": ("its standard error", "1"),
        f"{name}_rest": (f"{said}, of all that does not go to the first token", "1"),
        f"{name}_rest_error": ("its standard error", "1"),
    }


OF_BEHAVIOURS = {
    **_with_errors("behaviour", "share of a row that goes to {}", "what a behaviour looks at"),
    **_with_errors("relative", "share of a row that goes to {}", "the key at a place"),
    **_with_errors("distance", "share of a row that goes to {}", "keys at distances of a bin"),
    "distance_mean": ("mean distance of keys", "tokens"),
    "distance_mean_error": ("its standard error", "tokens"),
    "distance_mean_rest": ("the same without the first token", "tokens"),
    "distance_mean_rest_error": ("its standard error", "tokens"),
    "distance_std": ("standard deviation of the distance of keys", "tokens"),
    "distance_std_rest": ("the same without the first token", "tokens"),
    "first_share": ("share of the first token, mean over all heads", "1"),
    "first_error": ("its standard error", "1"),
    "sink_rate": ("share of the texts in which the first token gets more than 0.3", "1"),
    "sink_rate_error": ("its standard error", "1"),
    "no_op": ("share of the first token by weight less that by norm", "1"),
    "no_op_error": ("its standard error", "1"),
    "value_drain": ("‖f(x)‖ of the first token divided by that of the median token", "1"),
    "value_drain_error": ("its standard error", "1"),
    "activation_max": ("largest entry, in size, of the vectors that values are made from", ""),
    "activation_ratio": ("that, divided by the median entry of its vector, in size", "1"),
    "activation_ratio_error": ("its standard error", "1"),
    "activation_dimension": ("dimension of the largest of the corpus", "1"),
    "activation_place": ("place of its token in the text", "1"),
}

VARIABLES = {
    "total": ("what keys of a category receive from a query", ""),
    "share": ("share of a row that goes to keys of a category", "1"),
    "neighbour": ("share of a row that goes to the key at an offset", "1"),
    "entropy": ("entropy of a row", "nat"),
    "share_error": ("standard error of the share, of all queries", "1"),
    "neighbour_error": ("standard error of the share at an offset", "1"),
    "entropy_error": ("standard error of the entropy, of all queries", "nat"),
    "entropy_uniform": ("entropy of uniform attention", "nat"),
    "token_share": ("share of the tokens that are of a category", "1"),
    "merged_total": ("norm of the sum over heads of what keys of a category send", ""),
    "merged_share": ("its share of all keys", "1"),
    "rank": ("rank of T", "1"),
    "effective_correlation": ("Pearson's r of raw and effective attention", "1"),
    "effective_correlation_by_head": ("Pearson's r of raw and effective attention", "1"),
    "effective_correlation_std": ("its standard deviation over texts", "1"),
    "effective_correlation_count": ("texts", "1"),
    "passage_score": ("what the head does on average in the example of the passage", "1"),
    "passage_rank": ("number by which the example of the passage can be found again", "1"),
    "passage_length": ("attended tokens of that example", "1"),
    "passage_query": ("place of the attending token", "1"),
    "passage_query_token": ("its number in the vocabulary", "1"),
    "passage_place": ("place of an attended token", "1"),
    "passage_token": ("its number in the vocabulary", "1"),
    "passage_weight": ("its weight", "1"),
    "token_text": ("tokens that passages, and the texts that were drawn, hold", "1"),
    **DECILES_OF_TEXTS,
    **OF_BEHAVIOURS,
    **GATES,
    **TOKEN_TYPES,
    **RESIDUAL,
    **describe_dispersion("vector_norm", "‖f(x)‖"),
    **describe_dispersion("input_norm", "‖x‖"),
}
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
    total = xarray.DataArray(
        found["total"]["mean"], dims=(*GROUP, "query_category", "key_category")
    )
    neighbour = xarray.DataArray(found["neighbour"]["mean"], dims=(*GROUP, "offset"))
    variables: dict[str, Any] = {
        "total": _measure_first(total),
        "share": _measure_first(_shared(total, total, measures)),
        "neighbour": _measure_first(_shared(neighbour, total.isel(query_category=0), measures)),
        "entropy": _measure_first(
            xarray.DataArray(found["entropy"]["mean"], dims=(*GROUP, "query_category"))
        ),
        "entropy_uniform": ((), found["entropy_uniform"]["mean"]),
        "token_share": ("key_category", found["token_share"]["mean"]),
    }
    variables |= _errors(found, measures)
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


def _measure_first(array: xarray.DataArray) -> xarray.DataArray:
    return array.transpose("measure", ...)


def _shared(
    part: xarray.DataArray, total: xarray.DataArray, measures: Sequence[str]
) -> xarray.DataArray:
    """A share of the row's whole, which weights and effective attention are already."""
    are_shares = np.array([measure(name).share for name in measures])
    whole = total.sum("key_category", min_count=1)
    return part.where(xarray.DataArray(are_shares, dims="measure"), part / whole)


def _errors(found: dict[str, Any], measures: Sequence[str]) -> dict[str, Any]:
    """Standard errors over texts: of means, and of shares that are ratios of means."""
    total, neighbour, entropy = (_error(found[name]) for name in ("total", "neighbour", "entropy"))
    share = total[..., 0, :]
    sizes = [at for at, name in enumerate(measures) if not measure(name).share]
    if sizes:
        of_row = found["of_row"]["error"]
        share[..., sizes, :] = of_row[..., : len(CATEGORIES)]
        neighbour[..., sizes, :] = of_row[..., len(CATEGORIES) :]
    errors = {
        "share_error": xarray.DataArray(share, dims=(*GROUP, "key_category")),
        "neighbour_error": xarray.DataArray(neighbour, dims=(*GROUP, "offset")),
        "entropy_error": xarray.DataArray(entropy[..., 0], dims=GROUP),
    }
    return {name: _measure_first(each) for name, each in errors.items()}


def _error(moments: dict[str, Any]) -> Any:
    """Standard error of a mean over texts; that of one text is NaN."""
    freedom = np.where(moments["count"] > 1, moments["count"] - 1, np.nan)
    return moments["std"] / np.sqrt(freedom)


def _of_behaviours(found: dict[str, Any]) -> dict[str, Any]:
    """Shares, with and without the first token, and what is known of that."""
    share, rest = found["behaviour"], found["behaviour_rest"]
    variables: dict[str, Any] = {}
    ends = np.cumsum([len(BEHAVIOURS), len(RELATIVE)])
    parts = (share["mean"], _error(share), rest["ratio"], rest["error"])
    for end, values in zip(("share", "error", "rest", "rest_error"), parts, strict=True):
        for name, each in zip(
            ("behaviour", "relative", "distance"), np.split(values, ends, axis=-1), strict=True
        ):
            dims = ("measure", name, "layer", "head")
            variables[f"{name}_{end}"] = dims, np.moveaxis(each, (2, 3), (0, 1))
    by_measure, by_head = ("measure", "layer", "head"), ("layer", "head")
    distance = {part: np.moveaxis(each, 2, 0) for part, each in found["distance"].items()}
    for end, at in (("", 0), ("_rest", 2)):
        mean, squared = distance["ratio"][..., at], distance["ratio"][..., at + 1]
        variance = squared - mean**2
        deviation = np.sqrt(np.where(variance >= 0, variance, np.nan))
        variables[f"distance_mean{end}"] = by_measure, mean
        variables[f"distance_mean{end}_error"] = by_measure, distance["error"][..., at]
        variables[f"distance_std{end}"] = by_measure, deviation
    variables["first_share"] = "measure", found["first"]["mean"]
    variables["first_error"] = "measure", _error(found["first"])
    sink = np.moveaxis(found["sink"]["mean"], 2, 0)
    variables["sink_rate"] = by_measure, sink
    variables["sink_rate_error"] = by_measure, np.moveaxis(_error(found["sink"]), 2, 0)
    for name, part in (("no_op", "no_op"), ("value_drain", "drain")):
        if part in found:
            variables[name] = by_head, found[part]["mean"]
            variables[f"{name}_error"] = by_head, _error(found[part])
    if "activation" in found:
        activation, error = found["activation"]["mean"], _error(found["activation"])
        variables["activation_max"] = "layer", activation[:, 0]
        variables["activation_ratio"] = "layer", activation[:, 1]
        variables["activation_ratio_error"] = "layer", error[:, 1]
        largest = found["largest_activation"]["rows"][0]
        variables["activation_dimension"] = "layer", largest[:, 0]
        variables["activation_place"] = "layer", largest[:, 1]
    return variables


def _of_merged_norms(found: dict[str, Any]) -> dict[str, Any]:
    """‖Σ_h α f(x)‖; nothing if no norm was observed."""
    if "merged" not in found:
        return {}
    dims = ("layer", "query_category", "key_category")
    merged = xarray.DataArray(found["merged"]["mean"], dims=dims)
    return {
        "merged_total": merged,
        "merged_share": merged / merged.sum("key_category", min_count=1),
    }


def _of_effective(found: dict[str, Any]) -> dict[str, Any]:
    """Effective attention beside the weights; nothing if it was not observed."""
    if "correlation" not in found:
        return {}
    correlation = found["correlation"]
    return {
        "length": correlation["key"],
        "rank": (("layer", "head"), found["rank"]["mean"]),
        "effective_correlation_by_head": (
            ("layer", "head"),
            found["correlation_by_head"]["mean"],
        ),
        "effective_correlation": ("length", correlation["mean"]),
        "effective_correlation_std": ("length", correlation["std"]),
        "effective_correlation_count": ("length", correlation["count"]),
    }
