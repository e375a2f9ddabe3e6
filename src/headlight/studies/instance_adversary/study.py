"""The most different attention with nearly the same prediction (Jain and Wallace 2019, 4.2.2)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray

from headlight.analysis.classifiers.components import by_scope, components_of, name_of
from headlight.analysis.classifiers.plan import Classified
from headlight.analysis.classifiers.study import ClassifierStudy
from headlight.analysis.variables import BOUNDS, Variable, described, long_names
from headlight.encode.batch import Batch
from headlight.reduce import Tally
from headlight.studies.instance_adversary import InstanceAdversarySettings
from headlight.studies.instance_adversary.observer import (
    QUANTITIES,
    STATISTICS,
    InstanceObserver,
)

BY_ANSWER = ("jsd", "near")
"""What there is by the predicted class as well."""

MEANINGS = {
    "jsd": ("divergence of the most different attention with nearly the same prediction", "nat"),
    "near": ("share of texts with a divergence of at least 0.6", "1"),
    "moved": ("total variation distance by which the prediction moves", "1"),
    "steps": ("steps of the search", "count"),
    "exact_jsd": ("divergence of attention of exactly the same output", "nat"),
    "exact_rows": ("share of rows that have other attention of exactly the same output", "1"),
    "largest_weight": ("mean over rows of the largest weight", "1"),
}
_WHERE = {"": ", all layers at once", "layer_": ", one layer", "head_": ", one head"}
_OF_ANSWER = {
    f"predicted_class_{where}": f"{component}, by the predicted class"
    for where, component in _WHERE.items()
}

VARIABLES = long_names(
    {
        name: Variable(meaning, unit, interval=True, by=None if name in BY_ANSWER else [*_WHERE])
        for name, (meaning, unit) in MEANINGS.items()
    },
    by=_WHERE | _OF_ANSWER,
) | long_names(
    {
        "predicted_class_texts": Variable("texts, by the predicted class", "count"),
        "exact_moved": Variable(
            "distance by which all exact alternatives at once move the prediction", "1"
        ),
        "points": Variable(
            "largest weight, divergences, distance and prediction of texts, at random", ""
        ),
    }
)


class InstanceAdversaryStudy(ClassifierStudy[InstanceAdversarySettings]):
    """How different attention can be, text by text, while the prediction stays nearly what it is.

    For each text attention is looked for, by gradients, that is as far from the model's own as can
    be (Jensen-Shannon divergence, the mean over rows), while the probabilities of the classes move
    by ε at most (total variation distance; of a tagger the mean over words).  What is found is a
    lower bound of what there is.  Beside it stands attention of which no output of any head changes
    at all, as it is constructed from the left null space.  Nothing is trained.

    Its result has, of all layers at once, and with the prefixes ``layer_`` and ``head_`` where
    these are asked for: ``jsd``, the share ``near`` the bound of ln 2, by how much predictions have
    ``moved``, the ``steps``, ``exact_jsd`` and ``exact_rows``, all with their intervals; by the
    predicted class with the prefix ``predicted_class_``; ``exact_moved``, and ``points``.

    Source: Jain and Wallace (2019), Section 4.2.2, Figures 8 and 9, where a text has one row; exact
        alternatives: Brunner et al. (2020), Section 3.3.
    """

    name = "instance_adversary"
    title = "The most different attention with nearly the same prediction"
    settings_class = InstanceAdversarySettings

    def observe(self, batch: Batch, examples: Sequence[Classified]) -> InstanceObserver:
        """Looks for other attention of each text."""
        return InstanceObserver(self, batch, examples)

    def dataset(self, tally: Tally) -> xarray.Dataset:
        """Means over texts, of all layers at once, of layers and of heads."""
        found, sites = tally.compute(), self.plan.sites
        classes = self.classes.names if self.classes.task == "sequence" else ()
        components = components_of(self.settings.by, sites)
        variables: dict[str, Any] = {}
        for bound, statistic in BOUNDS.items():
            for at, name in enumerate(STATISTICS):
                values = found["found"][statistic][:, at]
                for prefix, (axes, cells) in by_scope(values, components, sites).items():
                    variables[f"{prefix}{name}{bound}"] = (axes, cells[0])
                    if classes and name in BY_ANSWER:
                        variables[f"predicted_class_{prefix}{name}{bound}"] = (
                            ("predicted_class", *axes),
                            cells[1:],
                        )
        if classes:
            variables["predicted_class_texts"] = (
                "predicted_class",
                found["found"]["count"][1:, 0, 0],
            )
        variables["exact_moved"] = ((), found["exact"]["mean"])
        (points,) = found["points"]["rows"]
        kept = points[np.isfinite(points[:, -1])]
        variables["points"] = (
            ("point", "quantity", "place"),
            kept.reshape(len(kept), len(QUANTITIES), len(components)),
        )
        coordinates: dict[str, list[Any]] = {
            "quantity": list(QUANTITIES),
            "place": [name_of(component) for component in components],
            "layer": [site.layer for site in sites],
        }
        if classes:
            coordinates["predicted_class"] = list(classes)
        if "head_jsd" in variables:
            coordinates["head"] = list(range(max(site.heads for site in sites)))
        return described(variables, coordinates, VARIABLES)


run = InstanceAdversaryStudy.run
