"""What a classifier's answers lose with other attention (Jain and Wallace 2019, Section 4.2.1)."""

from collections.abc import Sequence

import xarray

from headlight.analysis.classifier_plan import Classified, LabelledSource, plan_classifier_study
from headlight.analysis.folder import RunFolder
from headlight.analysis.places import places_of
from headlight.analysis.plan import Pass
from headlight.analysis.runner import run_study
from headlight.capture import CapturedModel
from headlight.encode.batch import Batch
from headlight.run import State
from headlight.studies.permutation.observer import PermutationObserver
from headlight.studies.permutation.result import dataset
from headlight.studies.permutation.settings import PermutationSettings


def run(
    source: LabelledSource,
    model: CapturedModel,
    settings: PermutationSettings | None = None,
    *,
    folder: RunFolder | None = None,
    command: str | None = None,
    progress: bool = True,
) -> xarray.Dataset:
    """How far a classifier's answers move when its attention is replaced while it reads.

    Each text is read as it is, and then with the attention of all layers, of one layer or of one
    head permuted, made uniform, or put on one key.  The model is not trained again.  The distance
    of the answers is the total variation of the probabilities of the classes; of a tagger it is the
    mean over the words of a sentence.  Random draws depend on the text and the seed alone.

    Args:
        source: see `headlight.analysis.classifier_plan.LabelledSource`.
        model: a classifier of texts or of tokens.
        settings: see `PermutationSettings`.
        folder: see `RunFolder`; without one nothing is kept.
        command: how it was asked for, for the record.
        progress: show a bar on standard error.

    Returns:
        Over ``change``, and ``layer`` and ``head`` where these are asked for: ``tvd``,
        ``agreement`` and ``accuracy`` with their intervals, of all layers at once, and the same
        with the prefixes ``layer_`` and ``head_``; the largest weights, and ``points``.

    Raises:
        MissingHeadError: the model is no classifier.
        UsageError: something does not fit together: classes, kinds, layers, lengths, columns.
        CorpusError: the corpus cannot be read, holds no text, or a label is none of the classes.
        UnsupportedModelError: the attention of the model cannot be captured exactly.
        CaptureError: an answer is not finite.
        RunError: the run in the folder is of another model, corpus or setting.

    Source: Jain and Wallace (2019), Section 4.2.1, Figures 6 and 7, where one layer of attention
        stands above an encoder; uniform weights: Wiegreffe and Pinter (2019), Section 3.1.
    """
    settings = settings or PermutationSettings()
    title = "Answers with other attention"
    plan, _ = plan_classifier_study("permutation", title, source, model, settings)

    def observer(_: Pass, batch: Batch, examples: Sequence[Classified]) -> PermutationObserver:
        return PermutationObserver(model, batch, examples, plan.sites, settings)

    def to_dataset(_: Pass, state: State) -> xarray.Dataset:
        places = places_of(settings.by, plan.sites)
        return dataset(state.tally, settings.changes, places, plan.sites)

    return run_study(plan, observer, to_dataset, folder=folder, command=command, progress=progress)
