"""Results of the same model over a corpus, beside the numbers of a text."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import xarray as xr

from headlight.catalogue import Statistic
from headlight.errors import UsageError
from headlight.findings import highlights
from headlight.findings.estimates import estimates
from headlight.findings.statistics import statistics_of
from headlight.result.kinds import split_kinds
from headlight.views.head_numbers import numbers_as_json
from headlight.vocabulary import head_name

FEWEST_WORDS = 10
"""A relation of fewer words says nothing about a head."""


@dataclass(frozen=True)
class InCorpus:
    """Results of the same model over a corpus.

    Attributes:
        survey: Result of `headlight.survey`, or None.
        dependency: Result of `headlight.dependency`, or None.
        report: Address of the survey's report, as seen from the page; empty for none.
    """

    survey: xr.Dataset | None = None
    dependency: xr.Dataset | None = None
    report: str = ""


def with_corpus(
    header: Mapping[str, Any], revision: str, corpus: InCorpus | None
) -> dict[str, Any]:
    """Return the header of a view with results over a corpus beside those of the text.

    Args:
        header: Header of the view; see `headlight.views.reading.format`.
        revision: Revision of the model that read the text.
        corpus: Results over the corpus; None for none.

    Raises:
        UsageError: A result is of another study, or of another model.
    """
    if corpus is None:
        return dict(header)
    _check(corpus.survey, "survey", revision)
    _check(corpus.dependency, "dependency", revision)
    kinds = {kind: dict(part) for kind, part in header["kinds"].items()}
    for kind, part in kinds.items():
        survey = _of_kind(corpus.survey, kind)
        if survey is not None:
            part["statistics"] = _beside(part, survey)
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
    actual = str(result.attrs.get("revision", ""))
    if actual != revision:
        raise UsageError(
            f"the {stage} is of another model ({actual}) than the text ({revision}); read the text "
            "with the model of the run."
        )


def _of_kind(result: xr.Dataset | None, kind: str) -> xr.Dataset | None:
    return None if result is None else split_kinds(result).get(kind)


def _beside(part: Mapping[str, Any], survey: xr.Dataset) -> list[dict[str, Any]]:
    """Return the statistics of the text, each with that of the corpus."""
    rows = {
        row["name"]: row["by"]
        for row in numbers_as_json(survey, statistics_of(survey), _places(part))
    }
    return [
        {
            **row,
            "corpus": {
                name: rows[row["name"]][name]
                for name in row["by"]
                if name in rows.get(row["name"], ())
            },
        }
        for row in part["statistics"]
    ]


def _places(part: Mapping[str, Any]) -> list[tuple[int, int]]:
    layers = zip(part["layers"], part["heads"], strict=True)
    return [(layer, head) for layer, heads in layers for head in range(heads)]


def _findings(survey: xr.Dataset) -> dict[str, list[str]]:
    """Return the sentences about each head, by its name."""
    sentences_by_head: dict[str, list[str]] = {}
    for finding in highlights(survey):
        if finding.layer is not None and finding.head is not None:
            name = head_name(finding.layer, finding.head)
            sentences_by_head.setdefault(name, []).append(finding.text)
    return sentences_by_head


def _relations(result: xr.Dataset, part: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the accuracy of each head at relations, by its better direction."""
    of_best = _better_direction(result)
    counts = result["count"]
    counts = counts.max([dim for dim in counts.dims if dim != "relation"])
    names = [str(name) for name in result["relation"].values]
    frequent = [name for name in names if float(counts.sel(relation=name)) >= FEWEST_WORDS]
    measures = [str(name) for name in result["measure"].values if name in part["measures"]]
    rows = []
    for name in sorted(frequent):
        row = Statistic(name=f"relation {name}", short=name, title=name)
        by = {
            measure: estimates(of_best.sel(relation=name), "accuracy", measure=measure)
            for measure in measures
        }
        rows.append((row, by))
    numbers = numbers_as_json(of_best, rows, _places(part))
    return [{**row, "relation": True} for row in numbers]


def _better_direction(result: xr.Dataset) -> xr.Dataset:
    """Return the accuracy of each head in its better direction, and its interval."""
    better = result["accuracy"].fillna(-1).argmax("direction")
    if "low" in result:
        result = result.rename(low="accuracy_low", high="accuracy_high")
    names = ("accuracy", "accuracy_low", "accuracy_high")
    return result.drop_vars([variable for variable in result if variable not in names]).isel(
        direction=better
    )
