"""Findings on other attention with nearly the same prediction, in words."""

import numpy as np
import xarray as xr

from headlight.findings.distances import FURTHEST
from headlight.findings.estimates import Estimate, means
from headlight.findings.interval_phrases import around
from headlight.findings.phrases import percent
from headlight_papers.findings.classifiers import WHERE, accuracy_sentence, widest_scope


def instance_adversary(result: xr.Dataset) -> list[str]:
    """Return findings on how far attention can differ with (nearly) the same prediction."""
    prefix = widest_scope(result, "jsd")

    def mean(name: str) -> Estimate:
        return means(result, f"{prefix}{name}")

    def distance(name: str) -> Estimate:
        return mean(name).times(1 / FURTHEST)

    apart, exact, rows = distance("jsd"), distance("exact_jsd"), float(mean("exact_rows").value)
    sentences = [
        f"With {percent(float(mean('moved').value))} of the probability moved, attention "
        f"{WHERE[prefix]} can be {percent(float(apart.value))}{around(apart)} of the largest "
        f"possible distance away; in {percent(float(mean('near').value))} of texts it is "
        "nearly as far as possible."
    ]
    if np.isfinite(exact.value + rows):
        sentences.append(
            f"{percent(rows)} of rows have other attention with exactly the same output, which is "
            f"{percent(float(exact.value))}{around(exact)} of that distance away on average."
        )
    return [*sentences, *accuracy_sentence(result)]
