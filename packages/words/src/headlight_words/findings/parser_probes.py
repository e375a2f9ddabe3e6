"""Sentences of the study of probes that parse."""

import numpy as np
import xarray as xr

from headlight.findings.estimates import Estimate, estimates
from headlight.findings.interval_phrases import around, beside, undecided
from headlight.findings.phrases import percent
from headlight.findings.what_was_read import independent_units


def parser_probes(result: xr.Dataset) -> list[str]:
    """Return findings on the best probe that sees attention, beside the best that sees none."""
    scores = estimates(result, "score", ("row",), metric="uas")
    probes = [str(name).replace("_", " ") for name in result["probe"].values]
    measures = list(map(str, result["measure"].values))
    names = np.array(
        [" by ".join(filter(None, labels)) for labels in zip(probes, measures, strict=True)]
    )
    sees = np.array(
        [
            measure != "" and probe != "random attention"
            for probe, measure in zip(probes, measures, strict=True)
        ]
    )
    looking, others = scores.at(sees), scores.at(~sees)
    first, second = looking.first(), others.first()
    if first is None:
        sentence = "No probe was trained."
        return [sentence if second is None else f"{_probe(names[~sees], others, second)}."]
    sentence = _probe(names[sees], looking, first)
    if second is not None:
        other = others.at(second)
        called = f"{percent(float(other.value))}{around(other)} without the attention of the model"
        called += f" ({np.array(probes)[~sees][second]})"
        beyond = looking.minus(other).simultaneous(independent_units(result)).at(first)
        sentence += f", {beside(looking.at(first), other, called, beyond)}"
    return [f"{sentence}.{undecided(looking, names[sees], 'which probe finds most', 'probe')}"]


def _probe(names: np.ndarray, scores: Estimate, place: tuple[int, ...]) -> str:
    score = scores.at(place)
    return (
        f"The probe {names[place]} finds the governor of {percent(float(score.value))} of words"
        f"{around(score)}"
    )
