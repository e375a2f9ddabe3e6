"""Adversaries of single texts, as `headlight.studies.instance_adversary` has found them."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from headlight.analysis.folder import RESULT
from headlight.capture import CapturedModel
from headlight.errors import UsageError
from headlight.files import location
from headlight.result import load

ALL = "all"
"""The place of attention that was changed in all layers at once."""
SAME = ("weights", "configuration")
"""What two runs on the same model have in common."""


@dataclass(frozen=True, eq=False)
class Instances:
    """The most different attention of single texts.

    Attributes:
        jsd: how far it is from the model's own.
        tvd: how far the prediction moves by it.
        corpus: of the texts.
    """

    jsd: Float64[np.ndarray, " instance"]
    tvd: Float64[np.ndarray, " instance"]
    corpus: str


def read_instances(path: str, model: CapturedModel, layers: Sequence[int]) -> Instances:
    """The texts of a run, in which all layers were changed at once.

    Args:
        path: the folder of the run, or its result.
        model: on which it has to be.
        layers: whose attention is looked at.

    Raises:
        ResultError: there is no such result.
        UsageError: it is of another model, of other layers, or not of all of them at once.
    """
    place = location(path)
    found = load(place / RESULT if place.is_dir() else place, stage="instance_adversary")
    theirs, own = json.loads(found.attrs.get("settings", "{}")), model.identity()
    if any(theirs.get(name) != own[name] for name in SAME):
        raise UsageError(
            f"{path} is of {found.attrs.get('model')}, which is not the model {model.name} or has "
            "other weights; give a run of headlight instance-adversary on this model."
        )
    if theirs.get("layers") != list(layers):
        raise UsageError(
            f"{path} is about the layers {theirs.get('layers')}, and the students about "
            f"{list(layers)}; give a run with the same layers."
        )
    if ALL not in found["place"].values or "moved" not in found["quantity"].values:
        raise UsageError(
            f"{path} does not hold how far the predictions to single texts move as all layers are "
            "changed at once; run headlight instance-adversary again, with --by all."
        )
    points = found["points"].sel(place=ALL)
    jsd, tvd = (points.sel(quantity=name).values for name in ("jsd", "moved"))
    return Instances(jsd, tvd, str(found.attrs.get("corpus", "")))
