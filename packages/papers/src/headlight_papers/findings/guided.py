"""Findings on models that are given attention, in words."""

import xarray as xr

from headlight.findings.estimates import estimates
from headlight.findings.faithfulness import called
from headlight.findings.interval_phrases import beside, undecided
from headlight.findings.phrases import percent
from headlight.findings.what_was_read import independent_units
from headlight_papers.findings.classifiers import number_text


def guided(result: xr.Dataset) -> list[str]:
    """Whether attention of the model is worth more to another than uniform weights."""
    names = [str(name) for name in result["guide"].values]
    guides = [name for name in names if name not in ("uniform", "random", "own")] or names
    by_guide = estimates(result.sel(guide=guides), "accuracy", ("guide",))
    place, labels = by_guide.first(), list(map(called, guides))
    if place is None:
        return ["No model could be tested."]
    sentence = (
        f"Of what was given, {labels[place[0]]} is worth most: "
        f"{number_text(by_guide, place, percent)} of predictions are correct"
    )
    if "uniform" in names and "uniform" not in guides:
        uniform = estimates(result, "accuracy", (), guide="uniform")
        weights = f"the {number_text(uniform, (), percent)} of uniform weights"
        beyond = by_guide.minus(uniform).simultaneous(independent_units(result)).at(place)
        sentence += f", {beside(by_guide.at(place), uniform, weights, beyond)}"
    sentence += "." + undecided(by_guide, labels, "what is worth most", "kind")
    of_model = estimates(result, "own_accuracy", ())
    return [sentence, f"The model that reads whole texts has {number_text(of_model, (), percent)}."]
