"""How much the loss depends on attention, by category (Clark et al. 2019, Section 3.2)."""

import json
from collections.abc import Sequence
from typing import Any

import xarray

from headlight.analysis.folder import RunFolder
from headlight.analysis.kinds import Observe, ToDataset, run_kinds
from headlight.analysis.plan import Pass, StudyPlan
from headlight.analysis.text_plan import TextSource, plan_text_study
from headlight.capture import CapturedModel, Objective, Prepared, default_objective
from headlight.encode import Encoded
from headlight.encode.batch import Batch
from headlight.errors import CorpusError
from headlight.reduce import Tally
from headlight.result import describe
from headlight.run import State
from headlight.studies.importance.observer import (
    KEY_CATEGORIES,
    QUERY_CATEGORIES,
    ImportanceObserver,
)
from headlight.studies.importance.settings import ImportanceSettings

VARIABLES = {
    "importance": ("mean |∂L/∂α| of the pairs with keys of a category", "nat"),
    "importance_std": ("its standard deviation over examples", "nat"),
    "importance_by_query": ("mean |∂L/∂α| of the pairs of two categories", "nat"),
    "examples": ("examples with keys of a category", "1"),
    "loss": ("mean loss of a predicted token", "nat"),
    "loss_std": ("its standard deviation over examples", "nat"),
    "predicted_tokens": ("tokens that were predicted", "1"),
    "masked_tokens": ("tokens that were hidden", "1"),
}


def run(
    source: TextSource,
    model: CapturedModel,
    settings: ImportanceSettings | None = None,
    *,
    objective: Objective | None = None,
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
        source: see `headlight.analysis.text_plan.TextSource`.
        model: the model with its language-model head.
        settings: see `ImportanceSettings`.
        objective: whose loss; by default what the model was trained for.
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
    settings = settings or ImportanceSettings()
    chosen = objective or default_objective(model)
    passes = (Pass(objective=chosen),)
    title = "Gradient importance"
    plan = plan_text_study("importance", title, source, model, settings, passes=passes)

    def make(plan: StudyPlan[Encoded]) -> tuple[Observe, ToDataset]:
        def observer(_: Pass, batch: Batch, __: Sequence[Encoded]) -> ImportanceObserver:
            assert isinstance(batch, Prepared)  # noqa: S101 - a pass with an objective prepares
            return ImportanceObserver(batch, plan.kind, chosen.reduction)

        def to_dataset(_: Pass, state: State) -> xarray.Dataset:
            found = state.tally.compute()
            if not found["loss"]["count"] > 0:
                raise CorpusError(
                    f"{plan.source}: nothing in it can be predicted; every text is too short."
                )
            return dataset(state.tally, plan.layers).assign_attrs(
                unpredicted=int(found["unpredicted"]["total"]),
                objective=json.dumps(chosen.settings()),
            )

        return observer, to_dataset

    return run_kinds(plan, make, folder=folder, command=command, progress=progress)


def dataset(tally: Tally, layers: Sequence[int]) -> xarray.Dataset:
    """Named arrays of what a run has found.

    Args:
        tally: what the observers saw, merged.
        layers: the numbers of the layers, in increasing order.
    """
    found = tally.compute()
    importance = found["importance"]
    by_query = ("layer", "head", "query_category", "key_category")
    by_key = ("layer", "head", "key_category")
    variables: dict[str, Any] = {
        "importance": (by_key, importance["mean"][:, :, 0]),
        "importance_std": (by_key, importance["std"][:, :, 0]),
        "importance_by_query": (by_query, importance["mean"]),
        "examples": ("key_category", importance["count"][:, :, 0].max(axis=(0, 1))),
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
    return describe(xarray.Dataset(variables, coords=coordinates), VARIABLES)
