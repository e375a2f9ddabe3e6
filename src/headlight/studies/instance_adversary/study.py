"""The most different attention with nearly the same answer (Jain and Wallace 2019, 4.2.2)."""

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
from headlight.studies.instance_adversary.observer import InstanceObserver
from headlight.studies.instance_adversary.result import dataset
from headlight.studies.instance_adversary.settings import InstanceAdversarySettings


def run(
    source: LabelledSource,
    model: CapturedModel,
    settings: InstanceAdversarySettings | None = None,
    *,
    folder: RunFolder | None = None,
    command: str | None = None,
    progress: bool = True,
) -> xarray.Dataset:
    """How different attention can be, text by text, while the answer stays nearly what it is.

    For each text attention is looked for, by gradients, that is as far from the model's own as can
    be (Jensen-Shannon divergence, the mean over rows), while the probabilities of the classes move
    by ε at most (total variation distance; of a tagger the mean over words).  What is found is a
    lower bound of what there is.  Beside it stands attention of which no output of any head changes
    at all, as it is constructed from the left null space.  Nothing is trained.

    Args:
        source: see `headlight.analysis.classifier_plan.LabelledSource`.
        model: a classifier of texts or of tokens.
        settings: see `InstanceAdversarySettings`.
        folder: see `RunFolder`; without one nothing is kept.
        command: how it was asked for, for the record.
        progress: show a bar on standard error.

    Returns:
        Of all layers at once, and with the prefixes ``layer_`` and ``head_`` where these are asked
        for: ``jsd``, the share ``near`` the bound of ln 2, by how much answers have ``moved``, the
        ``steps``, ``exact_jsd`` and ``exact_rows``, all with their intervals; by the class of the
        answer with the prefix ``answer_``; ``exact_moved``, and ``points``.

    Raises:
        MissingHeadError: the model is no classifier.
        UsageError: something does not fit together: classes, kinds, layers, lengths, columns.
        CorpusError: the corpus cannot be read, holds no text, or a label is none of the classes.
        UnsupportedModelError: the attention of the model cannot be captured exactly.
        CaptureError: an answer is not finite.
        RunError: the run in the folder is of another model, corpus or setting.

    Source: Jain and Wallace (2019), Section 4.2.2, Figures 8 and 9, where a text has one row; exact
        alternatives: Brunner et al. (2020), Section 3.3.
    """
    settings = settings or InstanceAdversarySettings()
    title = "The most different attention with nearly the same answer"
    plan, classes = plan_classifier_study("instance_adversary", title, source, model, settings)
    names = classes.names if classes.task == "sequence" else ()

    def observer(_: Pass, batch: Batch, examples: Sequence[Classified]) -> InstanceObserver:
        return InstanceObserver(model, batch, examples, plan.sites, settings, len(names))

    def to_dataset(_: Pass, state: State) -> xarray.Dataset:
        return dataset(state.tally, places_of(settings.by, plan.sites), plan.sites, names)

    return run_study(plan, observer, to_dataset, folder=folder, command=command, progress=progress)
