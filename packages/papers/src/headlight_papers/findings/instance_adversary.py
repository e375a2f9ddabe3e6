"""Findings on other attention with nearly the same prediction, in words."""

import numpy as np
import xarray as xr

from headlight.findings.distances import FURTHEST
from headlight.findings.estimates import Estimate, means
from headlight.findings.interval_phrases import around
from headlight.findings.phrases import number, percent
from headlight_papers.findings.classifiers import WHERE, accuracy_sentence, widest_scope


def instance_adversary(result: xr.Dataset) -> list[str]:
    """Return findings on how far attention can differ with (nearly) the same prediction."""
    prefix = widest_scope(result, "jsd")

    def mean(name: str) -> Estimate:
        return means(result, f"{prefix}{name}")

    apart, exact, rows = mean("jsd"), mean("exact_jsd"), float(mean("exact_rows").value)
    share, moved = apart.times(1 / FURTHEST), float(mean("moved").value)
    sentences = [
        f"With {percent(moved)} of the probability moved, attention {WHERE[prefix]} can be "
        f"{percent(float(share.value))} of the largest possible distance away. In nats that is "
        f"{number(float(apart.value))}{around(apart, number, share=False)} of 0.69, at TVD "
        f"{number(moved)}; in {percent(float(mean('near').value))} of texts it is 0.6 or more."
    ]
    if np.isfinite(exact.value + rows):
        sentences.append(
            f"{percent(rows)} of rows have other attention with exactly the same output, which is "
            f"{number(float(exact.value))} nats away on average"
            f"{around(exact, number, share=False)}."
        )
    return [*sentences, *accuracy_sentence(result)]
