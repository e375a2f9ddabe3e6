"""The result of a survey: statistics with named axes."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray

from headlight.analysis.dispersion import describe_dispersion, dispersion
from headlight.reduce import Strongest, Tally
from headlight.result import describe
from headlight.studies.heads.observer import OFFSETS, QUERY_CATEGORIES
from headlight.studies.heads.passages import BEFORE, STATISTICS
from headlight.vocabulary import CATEGORIES, MEASURES, measure

GROUP = ("layer", "head", "measure")

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
    "token_text": ("tokens that passages hold", "1"),
    **describe_dispersion("vector_norm", "‖f(x)‖"),
    **describe_dispersion("input_norm", "‖x‖"),
}
"""Long name and unit of every variable; norms are in units of the model's hidden states."""


def dataset(
    tally: Tally,
    layers: Sequence[int],
    measures: Sequence[str] = MEASURES,
) -> xarray.Dataset:
    """Named arrays of what a run has found.

    Args:
        tally: what the observers saw, merged.
        layers: the numbers of the layers, in the order in which they were observed.
        measures: which were observed, in that order.
    """
    found = {name: part.compute() for name, part in tally.items() if name != "passages"}
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
    variables |= _of_merged_norms(found) | _of_effective(found)
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
    ids = np.unique(np.concatenate([token.ravel(), query_token.ravel()]))
    ids = ids[np.isfinite(ids)].astype(int)
    variables: dict[str, Any] = {name: (group, values) for name, values in by_head.items()}
    variables |= {
        name: ((*group, "kept"), values.astype(np.float32)) for name, values in by_token.items()
    }
    variables["token_text"] = ("token", tokenizer.convert_ids_to_tokens(ids.tolist()))
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
    moments = {name: found[name] for name in ("total", "neighbour", "entropy")}
    with np.errstate(invalid="ignore", divide="ignore"):
        total, neighbour, entropy = (
            each["std"] / np.sqrt(np.where(each["count"] > 1, each["count"] - 1, np.nan))
            for each in moments.values()
        )
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
