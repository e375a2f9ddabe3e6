"""What the numbers of a study answer, in a sentence or a few: one function for each study.

They stand first on every page, in the terminal and in JSON. Where a number has an interval, it is
called different from another only if its interval leaves that out (`headlight.findings.rules`).
"""

from collections.abc import Callable, Mapping

import numpy as np
import xarray as xr

from headlight.findings.answers import classifiers, heads, words
from headlight.findings.answers.circuits import circuits
from headlight.findings.answers.map_faithfulness import map_faithfulness
from headlight.findings.answers.tokens import flow, mixing
from headlight.findings.what_was_read import has_interval
from headlight_papers.findings.adversary import adversary

ANSWERS: Mapping[str, Callable[[xr.Dataset], list[str]]] = {
    "survey": heads.survey,
    "norms": heads.norms,
    "distances": heads.distances,
    "importance": heads.importance,
    "ablation": heads.ablation,
    "circuits": circuits,
    "mixing": mixing,
    "flow": flow,
    "identifiability": heads.identifiability,
    "attribution": heads.attribution,
    "token_identity": heads.token_identity,
    "dependency": words.dependency,
    "coreference": words.coreference,
    "parser_probes": words.parser_probes,
    "alignment": words.alignment,
    "permutation": classifiers.permutation,
    "faithfulness": classifiers.faithfulness,
    "map_faithfulness": map_faithfulness,
    "agreement": classifiers.agreement,
    "instance_adversary": classifiers.instance_adversary,
    "adversary": adversary,
    "guided": classifiers.guided,
}
"""By the name of the study."""


def answers(result: xr.Dataset) -> list[str]:
    """What was found, a sentence each; none of a study that is not ours.

    Args:
        result: of any study, of one kind of attention.
    """
    answer = ANSWERS.get(str(result.attrs.get("stage", "")))
    return answer(_without_intervals_of_too_few(result)) if answer else []


def _without_intervals_of_too_few(result: xr.Dataset) -> xr.Dataset:
    """Resamples of a single text are all alike, which says nothing of others."""
    if has_interval(result):
        return result
    ends = [name for name in map(str, result.data_vars) if name.endswith(("low", "high"))]
    return result.assign({name: result[name] * np.nan for name in ends})
