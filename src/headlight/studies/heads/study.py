"""The main job: read a corpus through a model, and say head by head what attention does."""

from collections.abc import Sequence

import xarray

from headlight.analysis.folder import RunFolder
from headlight.analysis.kinds import Observe, ToDataset, run_kinds
from headlight.analysis.plan import Pass, StudyPlan, plan_passes, required_objective
from headlight.analysis.positions import Positions
from headlight.analysis.text_plan import TextSource, plan_text_study
from headlight.capture import CapturedModel, Objective
from headlight.encode import Encoded
from headlight.encode.batch import Batch
from headlight.reduce import Strongest
from headlight.run import State
from headlight.studies.heads.observer import HeadsObserver
from headlight.studies.heads.passages import PassageSeeker
from headlight.studies.heads.result import dataset, passages
from headlight.studies.heads.settings import SurveySettings


def run(
    source: TextSource,
    model: CapturedModel,
    settings: SurveySettings | None = None,
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
        source: see `headlight.analysis.text_plan.TextSource`.
        model: the model.
        settings: see `SurveySettings`.
        objective: whose gradient, if it is among the measures; by default that of what the model
            was trained for.
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
    settings = settings or SurveySettings()
    measures = settings.measures
    objective = required_objective(model, measures, objective)
    plan = plan_text_study(
        "survey",
        "Survey of attention",
        source,
        model,
        settings,
        passes=plan_passes(measures, objective, settings.attribution, together=True),
        measures=measures,
    )

    def make(plan: StudyPlan[Encoded]) -> tuple[Observe, ToDataset]:
        def observer(_: Pass, batch: Batch, examples: Sequence[Encoded]) -> HeadsObserver:
            queries, keys = Positions.for_kind(batch, plan.kind)
            seeker = PassageSeeker(batch, examples, plan.kind) if settings.passages else None
            return HeadsObserver(queries, keys, plan.kind, settings.value_bias, measures, seeker)

        def to_dataset(_: Pass, state: State) -> xarray.Dataset:
            found = dataset(state.tally, plan.layers, measures)
            kept = state.tally.get("passages")
            if not isinstance(kept, Strongest):
                return found
            return found.merge(passages(kept, plan.model.tokenizer, found))

        return observer, to_dataset

    return run_kinds(plan, make, folder=folder, command=command, progress=progress)
