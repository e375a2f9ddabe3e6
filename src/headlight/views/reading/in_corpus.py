"""What results over a corpus say of the heads of a text, for the page of the text."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from headlight.errors import UsageError
from headlight.findings import highlights
from headlight.result.kinds import split_kinds
from headlight.vocabulary import BEHAVIOURS, CATEGORIES, NEIGHBOURS, head_name

SAME_SHARES = ("weight", "norm")
"""Measures whose shares a text and a survey count alike; not those that may be below 0."""

FEWEST_WORDS = 10
"""A relation of fewer words says nothing about a head."""


@dataclass(frozen=True)
class InCorpus:
    """Results of the same model over a corpus.

    Attributes:
        survey: of `headlight.survey`, or None.
        dependency: of `headlight.dependency`, or None.
        report: address of the survey's report, as seen from the page; empty for none.
    """

    survey: xr.Dataset | None = None
    dependency: xr.Dataset | None = None
    report: str = ""


def with_corpus(
    header: Mapping[str, Any], revision: str, corpus: InCorpus | None
) -> dict[str, Any]:
    """The header of a view with what was found over a corpus beside what the text has.

    Args:
        header: see `headlight.views.reading.format`.
        revision: of the model that read the text.
        corpus: None for nothing.

    Raises:
        UsageError: a result is of another study, or of another model.
    """
    if corpus is None:
        return dict(header)
    _check(corpus.survey, "survey", revision)
    _check(corpus.dependency, "dependency", revision)
    kinds = {kind: dict(part) for kind, part in header["kinds"].items()}
    for kind, part in kinds.items():
        survey = _of_kind(corpus.survey, kind)
        if survey is not None:
            part["statistics"] = [_beside(row, survey, part) for row in part["statistics"]]
            part["findings"] = _findings(survey)
        relations = _of_kind(corpus.dependency, kind)
        if relations is not None:
            part["statistics"] = [*part["statistics"], *_relations(relations, part)]
    return {**header, "kinds": kinds, "report": corpus.report}


def _check(result: xr.Dataset | None, stage: str, revision: str) -> None:
    if result is None:
        return
    if result.attrs.get("stage") != stage:
        raise UsageError(
            f"this is a result of {result.attrs.get('stage')}, where one of {stage} is needed; "
            "give the folder of such a run."
        )
    found = str(result.attrs.get("revision", ""))
    if found != revision:
        raise UsageError(
            f"the {stage} is of another model ({found}) than the text ({revision}); read the text "
            "with the model of the run."
        )


def _of_kind(result: xr.Dataset | None, kind: str) -> xr.Dataset | None:
    return None if result is None else split_kinds(result).get(kind)


def _beside(row: Mapping[str, Any], survey: xr.Dataset, part: Mapping[str, Any]) -> dict[str, Any]:
    """A statistic of the text with that of the corpus, where both tell the same."""
    measures = [name for name in SAME_SHARES if name in survey["measure"].values]
    told: dict[str, dict[str, Any]] = {"corpus": {}, "low": {}, "high": {}}
    for name in measures:
        found = _surveyed(survey.sel(measure=name), row["name"])
        for bound, values in found.items():
            told[bound][name] = _lists(values, part)
    return {**row, **{bound: values for bound, values in told.items() if values}}


def _surveyed(survey: xr.Dataset, name: str) -> dict[str, xr.DataArray]:
    """What a survey says by one measure, [layer, head], and the interval that it knows."""
    where: dict[str, str | int] = {}
    if name in CATEGORIES:
        statistic, where = "share", {"key_category": name}
    elif name in NEIGHBOURS:
        statistic, where = "neighbour", {"offset": NEIGHBOURS[name]}
    elif name == "broad":
        statistic = "entropy"
    elif name in BEHAVIOURS and "behaviour" in survey.coords:
        statistic, where = "behaviour_share", {"behaviour": name}
    else:
        return {}
    if "query_category" in survey[statistic].dims:
        where["query_category"] = "all"
    most = None if statistic == "entropy" else 1.0
    ends = {
        end: survey[f"{statistic}_{end}"].sel(where).clip(0.0, most)
        for end in ("low", "high")
        if f"{statistic}_{end}" in survey  # which older results do not have
    }
    return {"corpus": survey[statistic].sel(where), **ends}


def _findings(survey: xr.Dataset) -> dict[str, list[str]]:
    """The sentences about each head, by its name."""
    found: dict[str, list[str]] = {}
    for each in highlights(survey):
        if each.layer is not None and each.head is not None:
            found.setdefault(head_name(each.layer, each.head), []).append(each.text)
    return found


def _relations(result: xr.Dataset, part: Mapping[str, Any]) -> list[dict[str, Any]]:
    """How often a head finds the word at the other end of a relation, by the better direction."""
    of_best = _better_direction(result)
    counts = result["count"]
    counts = counts.max([dim for dim in counts.dims if dim != "relation"])
    names = [str(name) for name in result["relation"].values]
    frequent = [name for name in names if float(counts.sel(relation=name)) >= FEWEST_WORDS]
    measures = [str(name) for name in result["measure"].values if name in part["measures"]]
    return [
        {
            "name": f"relation {name}",
            "label": name,
            "unit": "1",
            "relation": True,
            **{
                bound: {
                    each: _lists(values.sel(measure=each, relation=name), part) for each in measures
                }
                for bound, values in of_best.items()
            },
        }
        for name in sorted(frequent)
    ]


def _better_direction(result: xr.Dataset) -> dict[str, xr.DataArray]:
    """How often each head is right in its better direction, and the interval of that."""
    accuracy = result["accuracy"]
    better = accuracy.fillna(-1).argmax("direction")
    found = {"by_measure": "accuracy", "low": "low", "high": "high"}
    return {
        bound: result[name].isel(direction=better)
        for bound, name in found.items()
        if name in result
    }


def _lists(values: xr.DataArray, part: Mapping[str, Any]) -> list[list[float | None]]:
    """By layer and head of the text; None where the corpus says nothing."""
    heads = max(part["heads"])
    wide = values.reindex(layer=part["layers"], head=range(heads)).transpose("layer", "head")
    numbers: NDArray[np.float64] = wide.values
    return [
        [float(f"{value:.4g}") if np.isfinite(value) else None for value in layer[:there]]
        for layer, there in zip(numbers, part["heads"], strict=True)
    ]
