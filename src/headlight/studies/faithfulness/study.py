"""What a classifier's answer loses with important words (DeYoung et al. 2020)."""

from collections.abc import Sequence

import xarray

from headlight.analysis.classifier_plan import Classified, LabelledSource, plan_classifier_study
from headlight.analysis.erasure import check_removals
from headlight.analysis.folder import RunFolder
from headlight.analysis.plan import Pass
from headlight.analysis.runner import run_study
from headlight.capture import CapturedModel
from headlight.encode.batch import Batch
from headlight.run import State
from headlight.studies.faithfulness.observer import FaithfulnessObserver
from headlight.studies.faithfulness.result import dataset
from headlight.studies.faithfulness.settings import FaithfulnessSettings


def run(
    source: LabelledSource,
    model: CapturedModel,
    settings: FaithfulnessSettings | None = None,
    *,
    folder: RunFolder | None = None,
    command: str | None = None,
    progress: bool = True,
) -> xarray.Dataset:
    """What the probability of a classifier's answer loses with the words that matter by a measure.

    Each measure puts the words of a text in an order.  Words are then taken away, the most
    important first, or all but the most important, and the model reads what is left.  The same
    words of a text are taken away once for all measures.  Memory does not grow with the corpus.

    Args:
        source: see `headlight.analysis.classifier_plan.LabelledSource`.
        model: a classifier of texts or of tokens; of the latter all numbers are means over the
            words of a sentence, for each of which p is that of its own class.
        settings: see `FaithfulnessSettings`.
        folder: see `RunFolder`; without one nothing is kept.
        command: how it was asked for, for the record.
        progress: show a bar on standard error.

    Returns:
        Over ``measure`` (with ``random``, the mean over random orders) and ``removal``:
        ``comprehensiveness`` and ``sufficiency``, also by ``share``, the areas ``deletion`` and
        ``insertion`` with their curves by ``step``, ``first_flip`` and ``share_to_flip``, all with
        their intervals.  `headlight.studies.faithfulness.metrics` defines them.

    Raises:
        MissingHeadError: the model is no classifier.
        UsageError: words cannot be taken away so, or something else does not fit.
        CorpusError: the corpus cannot be read, holds no text, or a label is none of the classes.
        UnsupportedModelError: the attention of the model cannot be captured exactly.
        CaptureError: an answer is not finite.
        RunError: the run in the folder is of another model, corpus or setting.

    Source: DeYoung et al. (2020), Section 4; Petsiuk et al. (2018); Serrano and Smith (2019).
    """
    settings = settings or FaithfulnessSettings()
    title = "What answers lose with important words"
    plan, classes = plan_classifier_study("faithfulness", title, source, model, settings)
    check_removals(model, classes, settings.removals)

    def observer(_: Pass, batch: Batch, examples: Sequence[Classified]) -> FaithfulnessObserver:
        return FaithfulnessObserver(model, batch, examples, plan.sites, settings)

    def to_dataset(_: Pass, state: State) -> xarray.Dataset:
        return dataset(state.tally, settings)

    return run_study(plan, observer, to_dataset, folder=folder, command=command, progress=progress)
