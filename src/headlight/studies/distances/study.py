"""How differently heads attend, over a corpus (Clark et al. 2019, Section 6)."""

from collections.abc import Sequence

import numpy as np
import xarray

from headlight.analysis.folder import RunFolder
from headlight.analysis.kinds import Observe, ToDataset, run_kinds
from headlight.analysis.plan import Pass, StudyPlan, plan_passes, required_objective
from headlight.analysis.positions import Positions
from headlight.analysis.text_plan import TextSource, plan_text_study
from headlight.capture import AttentionSite, CapturedModel, Objective
from headlight.encode import Encoded
from headlight.encode.batch import Batch
from headlight.reduce import Tally
from headlight.result import describe
from headlight.run import State
from headlight.studies.distances.observer import DistancesObserver
from headlight.studies.distances.settings import DistanceSettings

VARIABLES = {"distance": ("Jensen-Shannon divergence of two heads, mean over queries", "nat")}


def run(
    source: TextSource,
    model: CapturedModel,
    settings: DistanceSettings | None = None,
    *,
    objective: Objective | None = None,
    folder: RunFolder | None = None,
    command: str | None = None,
    progress: bool = True,
) -> xarray.Dataset:
    """The Jensen-Shannon divergence between all pairs of heads of all layers, over a corpus.

    Rows of every measure are made distributions over keys first: absolute values, divided by their
    sum; a row of zeros, such as the gradient of a query on which no loss depends, is spread evenly.
    All positions count, special tokens as well.  Streams and resumes as a survey does.

    Args:
        source: see `headlight.analysis.text_plan.TextSource`.
        model: the model.
        settings: see `DistanceSettings`; heads are compared by each of its measures, among them
            ``gradient`` for a model with a language-model head.
        objective: whose gradient, if it is among the measures; by default that of what the model
            was trained for.
        folder: see `RunFolder`; without one nothing is kept.
        command: how it was asked for, for the record.
        progress: show a bar on standard error.

    Returns:
        ``distance[measure, first, second]`` in nats per query: the mean over all queries of the
        corpus, where the authors have the sum, which is the same up to a scale.  ``first`` and
        ``second`` number the heads of all layers, and have coordinates: ``layer`` and ``head`` of
        the first, ``second_layer`` and ``second_head``, zero-based.

    Raises:
        UsageError: something does not fit together: layers, kinds, lengths, objective.
        MissingHeadError: the gradient needs a language-model head, or an objective of your own.
        CorpusError: the corpus cannot be read, or holds no example.
        CaptureError: attention is not finite.
        RunError: the run in the folder is of another model, corpus or setting.
    """
    settings = settings or DistanceSettings()
    measures = settings.measures
    objective = required_objective(model, measures, objective)
    plan = plan_text_study(
        "distances",
        "Distances between heads",
        source,
        model,
        settings,
        passes=plan_passes(measures, objective, None, together=True),
        measures=measures,
    )

    def make(plan: StudyPlan[Encoded]) -> tuple[Observe, ToDataset]:
        def observer(_: Pass, batch: Batch, __: Sequence[Encoded]) -> DistancesObserver:
            queries, keys = Positions.for_kind(batch, plan.kind)
            return DistancesObserver(
                queries, keys, measures, settings.value_bias, settings.smoothing
            )

        def to_dataset(_: Pass, state: State) -> xarray.Dataset:
            found = _dataset(state.tally, measures, plan.sites)
            return found.assign_attrs(smoothing=settings.smoothing, unit="nats per query")

        return observer, to_dataset

    return run_kinds(plan, make, folder=folder, command=command, progress=progress)


def _dataset(
    tally: Tally, measures: Sequence[str], sites: Sequence[AttentionSite]
) -> xarray.Dataset:
    pairs = tally.compute()["distance"]["mean"]
    layers, heads = _places(sites)
    distance = np.zeros((len(pairs), len(heads), len(heads)))
    first, second = np.triu_indices(len(heads), 1)
    distance[:, first, second] = distance[:, second, first] = pairs
    found = xarray.Dataset(
        {"distance": (("measure", "first", "second"), distance)},
        coords={
            "measure": list(measures),
            "layer": ("first", layers),
            "head": ("first", heads),
            "second_layer": ("second", layers),
            "second_head": ("second", heads),
        },
    )
    return describe(found, VARIABLES)


def _places(sites: Sequence[AttentionSite]) -> tuple[list[int], list[int]]:
    """Layer and head of every head, in the order in which they are compared."""
    ordered = sorted(sites, key=lambda site: site.layer)
    places = [(site.layer, head) for site in ordered for head in range(site.heads)]
    return [layer for layer, _ in places], [head for _, head in places]
