"""How differently heads attend, over a corpus (Clark et al. 2019, Section 6)."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import xarray

from headlight.analysis.folder import RunFolder
from headlight.analysis.plan import Plan, attributes, plan_study, require_objective, run_study
from headlight.analysis.positions import Positions
from headlight.analysis.settings import Settings
from headlight.capture import AttentionSite, CapturedModel, Objective
from headlight.corpora import Corpus, Source
from headlight.encode import Encoded
from headlight.encode.batch import Batch
from headlight.errors import UsageError
from headlight.measures import ATTRIBUTION
from headlight.measures.divergence import SMOOTHING
from headlight.result import FORMAT
from headlight.run import State
from headlight.studies.distances_observer import DistancesObserver

STAGE = "distances"

HELD_TOKENS = 512
"""Tokens in a batch at most: attention of all layers is held at once."""


def head_distances(
    corpus: Source | Corpus | None,
    model: CapturedModel,
    settings: Settings | None = None,
    *,
    smoothing: float = SMOOTHING,
    objective: Objective | None = None,
    folder: RunFolder | None = None,
    progress: bool = True,
) -> xarray.Dataset:
    """The Jensen-Shannon divergence between all pairs of heads of all layers, over a corpus.

    Rows of every measure are made distributions over keys first: absolute values, divided by their
    sum; a row of zeros, such as the gradient of a query on which no loss depends, is spread evenly.
    All positions count, special tokens as well.  Streams and resumes as a `survey` does.

    Args:
        corpus: a path, glob, ``hf:NAME``, ``-``, texts, or an open corpus; None for the sample
            corpus that comes with the package.
        model: the model.
        settings: see `Settings`; heads are compared by each of its measures, among them
            ``gradient`` for a model with a language-model head.  Of a batch no more than 512 tokens
            are taken at once.
        smoothing: the share of every row that is spread evenly over its keys; the authors' is
            0.001.
        objective: whose gradient, if it is among the measures; by default that of what the model
            was trained for.
        folder: see `RunFolder`; without one nothing is kept.
        progress: show a bar on standard error.

    Returns:
        ``distance[measure, first, second]`` in nats per query: the mean over all queries of the
        corpus, where the authors have the sum, which is the same up to a scale.  ``first`` and
        ``second`` number the heads of all layers, and have coordinates: ``layer`` and ``head`` of
        the first, ``second_layer`` and ``second_head``, zero-based.

    Raises:
        UsageError: something does not fit together: layers, kinds, lengths, smoothing, objective.
        MissingHeadError: the gradient needs a language-model head, or an objective of your own.
        CorpusError: the corpus cannot be read, or holds no example.
        CaptureError: attention is not finite.
        RunError: the run in the folder is of another model, corpus or setting.
    """
    if not 0 <= smoothing < 1:
        raise UsageError(f"smoothing must be at least 0 and below 1, not {smoothing}.")
    settings = settings or Settings()
    if ATTRIBUTION in settings.measures:
        raise UsageError(
            "contributions are of a layer and not of a head, so heads have no distance by them; "
            "leave 'attribution' out of the measures."
        )
    settings = replace(settings, batch_tokens=min(settings.batch_tokens, HELD_TOKENS))
    plan = plan_study(
        corpus,
        model,
        settings,
        objective=require_objective(model, settings, objective),
        stage=STAGE,
        options={"smoothing": smoothing},
    )

    def observer(batch: Batch, _: Sequence[Encoded]) -> DistancesObserver:
        sides = Positions.for_kind(batch, plan.kind)
        return DistancesObserver(*sides, settings.measures, settings.value_bias, smoothing)

    def described(state: State) -> xarray.Dataset:
        return _described(state, plan)

    return run_study(plan, observer, described, folder=folder or RunFolder(), progress=progress)


def _described(state: State, plan: Plan) -> xarray.Dataset:
    pairs = state.tally.compute()["distance"]["mean"]
    layers, heads = _places(plan.sites)
    distance = np.zeros((len(pairs), len(heads), len(heads)))
    first, second = np.triu_indices(len(heads), 1)
    distance[:, first, second] = distance[:, second, first] = pairs
    found = {
        **attributes(plan, state, "Distances between heads"),
        "smoothing": plan.signature["smoothing"],
        "unit": "nats per query",
        "format": FORMAT,
        "stage": STAGE,
    }
    return xarray.Dataset(
        {"distance": (("measure", "first", "second"), distance)},
        coords={
            "measure": list(plan.settings.measures),
            "layer": ("first", layers),
            "head": ("first", heads),
            "second_layer": ("second", layers),
            "second_head": ("second", heads),
        },
        attrs={name: value for name, value in found.items() if value is not None},
    )


def _places(sites: Sequence[AttentionSite]) -> tuple[list[int], list[int]]:
    """Layer and head of every head, in the order in which they are compared."""
    ordered = sorted(sites, key=lambda site: site.layer)
    places = [(site.layer, head) for site in ordered for head in range(site.heads)]
    return [layer for layer, _ in places], [head for _, head in places]
