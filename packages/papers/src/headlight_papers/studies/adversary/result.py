"""The result of a study of adversaries."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import xarray
from jaxtyping import Float64

from headlight.analysis.classifiers.scores import macro_f1, majority_accuracy, span_f1
from headlight.analysis.classifiers.study import MAJORITY, SCORES
from headlight.analysis.variables import BOUNDS, LongNames, Variable, long_names
from headlight.capture import CapturedModel, Classes
from headlight.errors import UsageError
from headlight.reduce.bootstrap import resampled
from headlight.reduce.intervals import with_interval
from headlight.result import describe, load, refusing_incomplete
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
    """Named arrays of all runs, with intervals by resampling texts; and single texts beside."""
    settings = selection.settings
    text_ids = runs[0].tables["streams"].numpy()
    taken = resampled(text_ids, settings.bootstrap, settings.seed).astype(np.float64)
    found = [_numbers(run.tables, taken, classes) for run in runs]
    variables: dict[str, Any] = {}
    for name in found[0]:
        cells = np.stack([with_interval(each[name]) for each in found])
        for at, bound in enumerate(BOUNDS):
            variables[f"{name}{bound}"] = (
                (("run", "layer", "head"), _by_head(cells[:, at], selection))
                if name in OF_HEADS
                else ("run", cells[:, at])
            )
    losses = np.full((len(runs), settings.epochs), np.nan)
    for row, run in zip(losses, runs, strict=True):
        row[: len(run.losses)] = run.losses
    variables[MAJORITY] = ((), majority_accuracy(labels, len(classes.names)))
    variables["loss"] = (("run", "epoch"), losses)
    if instances is not None:
        variables["instance_jsd"] = ("instance", instances.jsd)
        variables["instance_tvd"] = ("instance", instances.tvd)
    made = xarray.Dataset(
        {name: variables[name] for name in VARIABLES if name in variables},
        coords={
            "kind": ("run", [run.kind for run in runs]),
            "weight": ("run", [np.nan if run.weight is None else run.weight for run in runs]),
            "seed": ("run", [-1 if run.seed is None else run.seed for run in runs]),
            "layer": selection.layers,
            "head": sorted({head for _, head in selection.places}),
            "epoch": list(range(1, settings.epochs + 1)),
        },
    )
    described = describe(made, {name: each for name, each in VARIABLES.items() if name in made})
    about = {} if instances is None else {"instance_corpus": instances.corpus}
    return described.assign_attrs(task=classes.task, **about)


def _numbers(
    tables: Tables, taken: Float64[np.ndarray, "text sample"], classes: Classes
) -> dict[str, Float64[np.ndarray, "sample *cell"]]:
    """Of the texts as they are, and of every resample."""
    texts = np.maximum(taken.sum(0), 1)[:, None]

    def mean(name: str) -> Float64[np.ndarray, "sample cell"]:
        found: Float64[np.ndarray, "sample cell"] = taken.T @ tables[name].numpy() / texts
        return found

    means, kl, jsd = mean("means"), mean("kl"), mean("jsd")
    counts = taken.T @ tables["counts"].numpy()
    return {
        **{name: means[:, at] for at, name in enumerate(MEANS)},
        "f1": macro_f1(counts) if classes.task == "sequence" else span_f1(counts),
        "kl": kl.mean(-1),
        "jsd": jsd.mean(-1),
        "head_kl": kl,
        "head_jsd": jsd,
    }


def _by_head(
    cells: Float64[np.ndarray, "run place"], selection: AttentionSelection
) -> Float64[np.ndarray, "run layer head"]:
    """Cells of places as a table; NaN where a layer has no such head."""
    heads = sorted({head for _, head in selection.places})
    found = np.full((len(cells), len(selection.layers), len(heads)), np.nan)
    for at, (layer, head) in enumerate(selection.places):
        found[:, selection.layers.index(layer), heads.index(head)] = cells[:, at]
    return found
