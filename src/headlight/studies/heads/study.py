"""The main job: read a corpus through a model, and say head by head what attention does."""

from collections.abc import Sequence

import xarray

from headlight.analysis.folder import RunFolder
from headlight.analysis.plan import attributes, plan_study, require_objective, run_study
from headlight.analysis.positions import Positions
from headlight.analysis.settings import Settings
from headlight.capture import CapturedModel, Objective
from headlight.corpora import Corpus, Source
from headlight.encode import Encoded
from headlight.encode.batch import Batch
from headlight.run import State
from headlight.studies.heads.observer import Observer
from headlight.studies.heads.result import dataset


def survey(
    corpus: Source | Corpus | None,
    model: CapturedModel,
    settings: Settings | None = None,
    *,
    objective: Objective | None = None,
    folder: RunFolder | None = None,
    command: str | None = None,
    progress: bool = True,
) -> xarray.Dataset:
    """What raw weights, vector norms and effective attention say about every head, on a corpus.

    Streams: memory does not grow with the corpus.  With a folder, what was found is kept after
    every shard, so that an interrupted run can be resumed, and ends in ``result.nc``.

    Args:
        corpus: a path, glob, ``hf:NAME``, ``-``, texts, or an open corpus; None for the sample
            corpus that comes with the package.
        model: the model.
        settings: see `Settings`.
        objective: whose gradient, if it is among the measures; by default that of what the model
            was trained for, which then needs its head (`headlight.capture.load_model`).
        folder: see `RunFolder`; without one nothing is kept.
        command: how it was asked for, for the record.
        progress: show a bar on standard error.

    Returns:
        The statistics, see the documentation of results; layers and heads are zero-based.

    Raises:
        UsageError: something does not fit together: layers, kinds, lengths, folder, objective.
        MissingHeadError: the gradient needs a language-model head, or an objective of your own.
        CorpusError: the corpus cannot be read, or holds no example.
        UnsupportedModelError: the attention of the model cannot be captured exactly.
        RunError: the run in the folder is of another model, corpus or setting.
    """
    settings = settings or Settings()
    chosen = require_objective(model, settings, objective)
    plan = plan_study(corpus, model, settings, objective=chosen)

    def observer(batch: Batch, _: Sequence[Encoded]) -> Observer:
        sides = Positions.for_kind(batch, plan.kind)
        return Observer(*sides, plan.kind, settings.value_bias, settings.measures)

    def described(state: State) -> xarray.Dataset:
        return dataset(
            state.tally,
            [site.layer for site in plan.sites],
            attributes(plan, state, "Survey of attention", command),
            settings.measures,
        )

    return run_study(plan, observer, described, folder=folder or RunFolder(), progress=progress)
