"""Findings of studies of what words have to do with each other."""

import numpy as np
import xarray as xr

from headlight.findings.answers.words import head_of_row, undecided_heads
from headlight.findings.estimates import Estimate, around, beside, estimates, undecided
from headlight.findings.what_was_read import independent_units
from headlight.findings.wording import interval, percent
from headlight_papers.findings.coreference import ALL as EVERY_MENTION, best_heads


def coreference(result: xr.Dataset) -> list[str]:
    """The best head beside the best baseline."""
    found = best_heads(result)
    best = found[found["mention_kind"] == EVERY_MENTION].sort_values("accuracy", ascending=False)
    every = result.sel(mention_kind=EVERY_MENTION)
    baselines = estimates(every, "baseline_accuracy", ("baseline",))
    place = baselines.first()
    if not len(best) or place is None:
        return ["No mention was asked about."]
    row = best.to_dict("records")[0]
    rule = baselines.at(place)
    name, rate = str(result["baseline"].values[place[0]]), percent(float(rule.value))
    heads = estimates(every, "accuracy", ("measure", "layer", "head", "direction"))
    at = heads.first()
    assert at is not None  # noqa: S101 - there is a best head
    beyond = heads.minus(rule).simultaneous(independent_units(result)).at(at)
    called = f"the {rate}{around(rule)} of the best baseline ({name})"
    return [
        f"{head_of_row(result, row)} finds the antecedent of {percent(row['accuracy'])} of "
        f"{int(row['count']):,} mentions{interval(row['low'], row['high'])}, "
        f"{beside(heads.at(at), rule, called, beyond)}." + undecided_heads(every)
    ]


def parser_probes(result: xr.Dataset) -> list[str]:
    """The best probe that sees attention beside the best that sees none."""
    scores = estimates(result, "score", ("row",), metric="uas")
    probes = [str(name).replace("_", " ") for name in result["probe"].values]
    measures = list(map(str, result["measure"].values))
    names = np.array([" by ".join(filter(None, each))
                      for each in zip(probes, measures, strict=True)])  # fmt: skip
    sees = np.array([measure != "" and probe != "random attention"
                     for probe, measure in zip(probes, measures, strict=True)])  # fmt: skip
    looking, others = scores.at(sees), scores.at(~sees)
    first, second = looking.first(), others.first()
    if first is None:
        said = "No probe was trained."
        return [said if second is None else f"{_probe(names[~sees], others, second)}."]
    said = _probe(names[sees], looking, first)
    if second is not None:
        other = others.at(second)
        called = f"{percent(float(other.value))}{around(other)} without the attention of the model"
        called += f" ({np.array(probes)[~sees][second]})"
        beyond = looking.minus(other).simultaneous(independent_units(result)).at(first)
        said += f", {beside(looking.at(first), other, called, beyond)}"
    return [f"{said}.{undecided(looking, names[sees], 'which probe finds most', 'probe')}"]


def _probe(names: np.ndarray, scores: Estimate, place: tuple[int, ...]) -> str:
    one = scores.at(place)
    return (
        f"The probe {names[place]} finds the governor of {percent(float(one.value))} of words"
        f"{around(one)}"
    )
