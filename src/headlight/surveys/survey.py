"""The main job: read a corpus through a model, and say head by head what attention does."""

from collections.abc import Sequence

import xarray

from headlight.capture import Objective, Subject
from headlight.corpora import Corpus, Source
from headlight.encode import Encoded
from headlight.encode.batch import Batch
from headlight.run import State
from headlight.surveys.dataset import dataset
from headlight.surveys.folder import Folder
from headlight.surveys.observer import Observer, Side
from headlight.surveys.plan import attributes, conducted, demanded_objective, planned
from headlight.surveys.settings import Settings


def survey(
    corpus: Source | Corpus | None,
    subject: Subject,
    settings: Settings | None = None,
    *,
    objective: Objective | None = None,
    folder: Folder | None = None,
    command: str | None = None,
    progress: bool = True,
) -> xarray.Dataset:
    """What raw weights, vector norms and effective attention say about every head, on a corpus.

    Streams: memory does not grow with the corpus.  With a folder, what was found is kept after
    every shard, so that an interrupted run can be resumed, and ends in ``result.nc``.

    Args:
        corpus: a path, glob, ``hf:NAME``, ``-``, texts, or an open corpus; None for the sample
            corpus that comes with the package.
        subject: the model.
        settings: see `Settings`.
        objective: whose gradient, if it is among the measures; by default that of what the model
            was trained for, which then needs its head (`headlight.capture.load_subject`).
        folder: see `Folder`; without one nothing is kept.
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
    chosen = demanded_objective(subject, settings, objective)
    plan = planned(corpus, subject, settings, objective=chosen)

    def observer(batch: Batch, _: Sequence[Encoded]) -> Observer:
        sides = Side.both(batch, plan.kind)
        return Observer(*sides, plan.kind, settings.value_bias, settings.measures)

    def described(state: State) -> xarray.Dataset:
        return dataset(
            state.tally,
            [site.layer for site in plan.sites],
            attributes(plan, state, "Survey of attention", command),
            settings.measures,
        )

    return conducted(plan, observer, described, folder=folder or Folder(), progress=progress)
