"""Results of format 1 in the names of format 2."""

import xarray

OLDER_FORMAT = "1"

STAGES = {"gradient": "importance", "probes": "parser_probes"}
"""Stages whose name has changed."""

ATTRIBUTES = {"documents": "examples"}
"""Attributes whose name has changed: what was counted was examples."""
_ANNOTATED = {"broken": "invalid"}
ATTRIBUTES_OF = {"dependency": _ANNOTATED, "coreference": _ANNOTATED}
"""The same of stages that have names of their own; ``documents`` of coreference are documents."""

_STATISTICS = ("", "_std", "_min", "_max", "_count")
_EFFECTIVE = {
    f"correlation{part}{statistic}": f"effective_correlation{part}{statistic}"
    for part in ("", "_by_head")
    for statistic in _STATISTICS
}
_RANKED = {
    f"{old}{part}{suffix}": f"{new}{part}{suffix}"
    for old, new in (
        ("correlation", "weight_norm_spearman"),
        ("frequency_correlation", "frequency_spearman"),
    )
    for part in ("", "_by_layer", "_by_head")
    for suffix in ("", "_error_bound", "_count")
}

VARIABLES = {
    "survey": _EFFECTIVE,
    "identifiability": _EFFECTIVE,
    "norms": {**_RANKED, "documents_by_category": "examples_by_category"},
    "importance": {"documents": "examples"},
    "contributions": {"own_probe_error": "own_estimate_error"},
}
"""Variables whose name has changed, by stage of format 2."""


def upgraded(result: xarray.Dataset) -> xarray.Dataset:
    """A result of format 1 as format 2 has it, in which one name has one meaning; others as is.

    ``correlation`` meant Pearson's r of raw and effective attention in one stage, and Spearman's ρ
    of weights and norms in another; ``documents`` counted examples.
    """
    if result.attrs.get("format") != OLDER_FORMAT:
        return result
    stage = str(result.attrs["stage"])
    stage = STAGES.get(stage, stage)
    names = VARIABLES.get(stage, {})
    renamed = ATTRIBUTES_OF.get(stage, ATTRIBUTES)
    attributes = {renamed.get(name, name): value for name, value in result.attrs.items()}
    found = result.rename_vars({old: new for old, new in names.items() if old in result})
    found.attrs = {**attributes, "stage": stage, "format": "2"}
    return found
