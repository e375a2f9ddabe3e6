"""The result of a study of adversaries."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import xarray
from jaxtyping import Float64

from headlight.analysis.classifiers.scores import (
    derived_slots,
    macro_f1,
    majority_accuracy,
    span_f1,
)
from headlight.analysis.classifiers.study import MAJORITY, SCORES
from headlight.analysis.variables import (
    LongNames,
    Variable,
    described,
    long_names,
    slots_at,
    with_slots,
)
from headlight.capture import CapturedModel, Classes
from headlight.errors import UsageError
from headlight.reduce import Slots
from headlight.result import load, refusing_incomplete
from headlight_papers.studies.adversary.evaluation import MEANS, Tables
from headlight_papers.studies.adversary.selection import AttentionSelection

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


@refusing_incomplete()
def read_instances(path: str, model: CapturedModel, layers: Sequence[int]) -> Instances:
    """The texts of a run, in which all layers were changed at once.

    Raises:
        ResultError: there is no such result.
        UsageError: it is of another model, of other layers, or not of all of them at once.
    """
    found = load(path, stage="instance_adversary")
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


OF_HEADS = {
    "head_kl": Variable(
        "KL(attention ‖ the base's) of a row of one head", "nats", interval="positive"
    ),
    "head_jsd": Variable(
        "JSD of attention and the base's, of a row of one head", "nats", interval="positive"
    ),
}
OF_MODELS = {
    "accuracy": Variable("share of correct predictions", interval="share"),
    "f1": Variable("F1: the mean over classes, or of spans (strict IOB2)", interval="share"),
    "nll": Variable("negative log-likelihood of the gold labels", "nats", interval="positive"),
    "taught_nll": Variable(
        "negative log-likelihood of the base's labels", "nats", interval="positive"
    ),
    "agreement": Variable("share of predictions that are the base's", interval="share"),
    "tvd": Variable("total variation between predictions and the base's", interval="share"),
    "kl": Variable(
        "KL(attention ‖ the base's) of a row, mean over heads", "nats", interval="positive"
    ),
    "jsd": Variable(
        "JSD of attention and the base's, of a row, mean over heads", "nats", interval="positive"
    ),
}

VARIABLES: LongNames = {
    **long_names(OF_MODELS | OF_HEADS),
    MAJORITY: SCORES[MAJORITY],
    "loss": ("mean loss of an epoch of training", "nats"),
    "instance_jsd": ("JSD of attention that was searched for one text and the base's", "nats"),
    "instance_tvd": ("total variation distance by which it moves the prediction", "1"),
}
"""Long name and unit of every variable."""


@dataclass(frozen=True, eq=False)
class Run:
    """One row of the result.

    Attributes:
        kind: ``base``, ``adversary``, ``seed`` or ``uniform``.
        seed: of a student.
        weight: λ of an adversary.
        tables: what was measured of each text.
        losses: of each epoch.
    """

    kind: str
    seed: int | None
    weight: float | None
    tables: Tables
    losses: Sequence[float] = field(default=())


def dataset(
    runs: Sequence[Run],
    classes: Classes,
    selection: AttentionSelection,
    labels: Sequence[Sequence[int]],
    instances: Instances | None = None,
) -> xarray.Dataset:
    """Named arrays of all runs, and single texts beside."""
    settings = selection.settings
    found = [_numbers(run.tables, classes) for run in runs]
    variables: dict[str, Any] = {}
    for name in found[0]:
        dims, slots = ["run"], {"units": found[0][name]["units"]}
        for part, axis in (("mean", 0), ("without", 1), ("whole", 1)):
            cells = np.stack([each[name][part] for each in found], axis)
            slots[part] = _by_head(cells, selection) if name in OF_HEADS else cells
        dims += ["layer", "head"] if name in OF_HEADS else []
        variables |= with_slots(name, dims, slots["mean"], slots)
    losses = np.full((len(runs), settings.epochs), np.nan)
    for row, run in zip(losses, runs, strict=True):
        row[: len(run.losses)] = run.losses
    variables[MAJORITY] = ((), majority_accuracy(labels, len(classes.names)))
    variables["loss"] = (("run", "epoch"), losses)
    if instances is not None:
        variables["instance_jsd"] = ("instance", instances.jsd)
        variables["instance_tvd"] = ("instance", instances.tvd)
    coordinates = {
        "kind": ("run", [run.kind for run in runs]),
        "weight": ("run", [np.nan if run.weight is None else run.weight for run in runs]),
        "seed": ("run", [-1 if run.seed is None else run.seed for run in runs]),
        "layer": selection.layers,
        "head": sorted({head for _, head in selection.places}),
        "epoch": list(range(1, settings.epochs + 1)),
    }
    about = {} if instances is None else {"instance_corpus": instances.corpus}
    made = described(variables, coordinates, VARIABLES)
    return made.assign_attrs(task=classes.task, **about)


def _numbers(tables: Tables, classes: Classes) -> dict[str, dict[str, np.ndarray]]:
    """Return each number over all texts, and without each block of them."""
    # Held-out texts are numbered one after the other, whichever were drawn.
    _, units = np.unique(tables["units"].numpy(), return_inverse=True)
    means, kl, jsd, counts = (
        Slots.of(units, tables[name].numpy()).compute() for name in ("means", "kl", "jsd", "counts")
    )
    return {
        **{name: slots_at(means, at) for at, name in enumerate(MEANS)},
        "f1": derived_slots(counts, macro_f1 if classes.task == "sequence" else span_f1),
        "kl": derived_slots(kl, lambda rows: rows.mean(-1)),
        "jsd": derived_slots(jsd, lambda rows: rows.mean(-1)),
        "head_kl": kl,
        "head_jsd": jsd,
    }


def _by_head(
    cells: Float64[np.ndarray, "*run place"], selection: AttentionSelection
) -> Float64[np.ndarray, "*run layer head"]:
    """Cells of places as a table; NaN where a layer has no such head."""
    heads = sorted({head for _, head in selection.places})
    found = np.full((*cells.shape[:-1], len(selection.layers), len(heads)), np.nan)
    for at, (layer, head) in enumerate(selection.places):
        found[..., selection.layers.index(layer), heads.index(head)] = cells[..., at]
    return found
