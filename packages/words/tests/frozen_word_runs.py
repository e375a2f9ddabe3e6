"""Tiny runs of the studies of annotated and parallel text; `frozen_runs` has those of text."""

from collections.abc import Mapping
from pathlib import Path

from frozen_numbers import Numbers, of_dataset
from frozen_runs import Material, StudyRun, study_result

RUNS: Mapping[str, StudyRun] = {
    "dependency": StudyRun("dependency", reads="treebank"),
    "alignment": StudyRun(
        "alignment",
        {"measures": ["weight", "norm", "effective", "difference"]},
        "parallel",
        "translator",
        gold=True,
    ),
    "alignment-encoder": StudyRun("alignment", reads="parallel", gold=True),
    "coreference": StudyRun("coreference", {}, "coreference"),
    "parser_probes": StudyRun(
        "parser_probes",
        {
            "probes": ["right_branching", "attention", "attention_and_words"],
            "measures": ["weight", "norm"],
            "training": {"epochs": 2},
            "processes": 1,
        },
        "treebank",
    ),
}
FROZEN = Path(__file__).parent / "frozen"


def numbers_of(name: str, material: Material) -> Numbers:
    """Make the run of that name and collect its numbers.

    Args:
        name: of `RUNS`.
        material: what it reads.
    """
    return of_dataset(study_result(RUNS[name], material))
