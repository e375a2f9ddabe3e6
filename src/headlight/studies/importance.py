"""Which attention weights the loss depends on (Clark et al. 2019, Section 3.2, Figure 3)."""

import json
from collections.abc import Sequence
from typing import Any

import xarray

from headlight.analysis.folder import RunFolder
from headlight.analysis.plan import Plan, attributes, plan_study, run_study
from headlight.analysis.settings import Settings
from headlight.capture import CapturedModel, Objective, Prepared, default_objective
from headlight.corpora import Corpus, Source
from headlight.encode import Encoded
from headlight.encode.batch import Batch
from headlight.errors import CorpusError, UsageError
from headlight.reduce import Tally
from headlight.result import FORMAT
from headlight.run import State
from headlight.studies.importance_observer import (
    KEY_CATEGORIES,
    QUERY_CATEGORIES,
    ImportanceObserver,
)

STAGE = "gradient"


def gradient_importance(
    corpus: Source | Corpus | None,
    model: CapturedModel,
    objective: Objective | None = None,
    settings: Settings | None = None,
    *,
    folder: RunFolder | None = None,
    command: str | None = None,
    progress: bool = True,
) -> xarray.Dataset:
    """How much the loss changes with attention to tokens of each category, on a corpus.

    For a head and a category C of keys, the mean over documents of the mean over all queries i and
    all keys j in C that i can see, of |∂L/∂α_ij|.  Documents without such a pair are left out of
    that mean.  Dropout is off, and α is differentiated as what the values are multiplied with, as
    if each could change alone.  The paper does not say how the loss is scaled, so compare shapes
    with its Figure 3, not values.

    Streams and resumes as a `survey` does, at the cost of about one forward and one backward pass.

    Args:
        corpus: a path, glob, ``hf:NAME``, ``-``, texts, or an open corpus; None for the sample
            corpus that comes with the package.
        model: the model with its head; see `headlight.capture.load_model`.
        objective: whose loss; by default what the model was trained for.
        settings: see `Settings`; of measures and value bias nothing depends here.
        folder: see `RunFolder`; without one nothing is kept.
        command: how it was asked for, for the record.
        progress: show a bar on standard error.

    Returns:
        ``importance[layer, head, key_category]``, its standard deviation over documents, the same
        by category of the query, in how many documents a category of keys occurs, the mean loss of
        a predicted token in nats, and how many tokens were predicted and masked.  Layers and heads
        are zero-based.

    Raises:
        MissingHeadError: the model has no language-model head, and no objective is given.
        UsageError: something does not fit together: layers, kinds, lengths, folder.
        CorpusError: the corpus cannot be read, or holds no example of which something is predicted.
        CaptureError: a loss or gradient is not finite, or does not depend on a layer's weights.
        RunError: the run in the folder is of another model, corpus or setting.
    """
    settings = settings or Settings()
    chosen = objective or default_objective(model)
    if model.has_decoder_inputs and not settings.pairs:
        raise UsageError(f"the loss of {model.name} needs two texts per example; use pairs.")
    plan = plan_study(corpus, model, settings, objective=chosen, stage=STAGE)

    def observer(batch: Batch, _: Sequence[Encoded]) -> ImportanceObserver:
        assert isinstance(batch, Prepared)  # noqa: S101 - a step with an objective prepares
        return ImportanceObserver(batch, plan.kind, chosen.reduction)

    def described(state: State) -> xarray.Dataset:
        return _described(state, plan, command)

    return run_study(plan, observer, described, folder=folder or RunFolder(), progress=progress)


def _described(state: State, plan: Plan, command: str | None) -> xarray.Dataset:
    found = state.tally.compute()
    if not found["loss"]["count"] > 0:
        raise CorpusError(
            f"{plan.signature['corpus']}: nothing in it can be predicted; every text is too short."
        )
    described = {
        **attributes(plan, state, "Gradient importance", command),
        "unpredicted": int(found["unpredicted"]["total"]),
        "objective": json.dumps(plan.signature["objective"]),
    }
    return dataset(state.tally, [site.layer for site in plan.sites], described)


def dataset(tally: Tally, layers: Sequence[int], attributes: dict[str, Any]) -> xarray.Dataset:
    """Named arrays of what a run has found.

    Args:
        tally: what the observers saw, merged.
        layers: the numbers of the layers, in increasing order.
        attributes: what would have to be repeated to get the same.
    """
    found = tally.compute()
    importance = found["importance"]
    by_query = ("layer", "head", "query_category", "key_category")
    by_key = ("layer", "head", "key_category")
    variables: dict[str, Any] = {
        "importance": (by_key, importance["mean"][:, :, 0]),
        "importance_std": (by_key, importance["std"][:, :, 0]),
        "importance_by_query": (by_query, importance["mean"]),
        "documents": ("key_category", importance["count"][:, :, 0].max(axis=(0, 1))),
        "loss": ((), found["loss"]["mean"]),
        "loss_std": ((), found["loss"]["std"]),
        "predicted_tokens": ((), found["predicted"]["total"]),
        "masked_tokens": ((), found["masked"]["total"]),
    }
    coordinates = {
        "layer": list(layers),
        "head": list(range(importance["mean"].shape[1])),
        "query_category": list(QUERY_CATEGORIES),
        "key_category": list(KEY_CATEGORIES),
    }
    described = {name: value for name, value in attributes.items() if value is not None}
    return xarray.Dataset(
        variables, coords=coordinates, attrs={**described, "format": FORMAT, "stage": STAGE}
    )
