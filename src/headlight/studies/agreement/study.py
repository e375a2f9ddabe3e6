"""How far measures agree on which words matter (Jain and Wallace 2019, Section 4.1)."""

from collections.abc import Sequence

import xarray

from headlight.analysis.classifier_plan import Classified, LabelledSource, plan_classifier_study
from headlight.analysis.erasure import check_removals
from headlight.analysis.folder import RunFolder
from headlight.analysis.plan import Pass
from headlight.analysis.runner import run_study
from headlight.capture import CapturedModel
from headlight.encode.batch import Batch
from headlight.errors import UsageError
from headlight.run import State
from headlight.studies.agreement.observer import AgreementObserver
from headlight.studies.agreement.result import dataset
from headlight.studies.agreement.settings import AgreementSettings


def run(
    source: LabelledSource,
    model: CapturedModel,
    settings: AgreementSettings | None = None,
    *,
    folder: RunFolder | None = None,
    command: str | None = None,
    progress: bool = True,
) -> xarray.Dataset:
    """How far measures put the words of a text in the same order.

    Kendall's τ of each two measures on each text, and the overlap of the words that both call most
    important; their means over texts, over all and by the class of the answer.  This describes
    measures, and does not tell which of them is right.  Memory does not grow with the corpus.

    Args:
        source: see `headlight.analysis.classifier_plan.LabelledSource`.
        model: a classifier of texts.
        settings: see `AgreementSettings`.
        folder: see `RunFolder`; without one nothing is kept.
        command: how it was asked for, for the record.
        progress: show a bar on standard error.

    Returns:
        Over ``measure`` and ``other`` (with ``random``): ``tau`` with its ``tau_deviation`` over
        texts, the share that is ``significant``, the ``overlap``, all with their intervals,
        ``undefined``, how many texts have no τ, and the ``histogram`` of τ by ``bin``; the same by
        ``answer`` with the prefix ``answer_``.

    Raises:
        MissingHeadError: the model is no classifier.
        UsageError: it is a tagger, words cannot be left out so, or something else does not fit.
        CorpusError: the corpus cannot be read, holds no text, or a label is none of the classes.
        UnsupportedModelError: the attention of the model cannot be captured exactly.
        CaptureError: an answer is not finite.
        RunError: the run in the folder is of another model, corpus or setting.

    Source: Jain and Wallace (2019), Section 4.1, Table 2 and Figures 2 to 5.
    """
    settings = settings or AgreementSettings()
    title = "Which measures agree on the words that matter"
    plan, classes = plan_classifier_study("agreement", title, source, model, settings)
    if classes.task == "token":
        raise UsageError(
            f"{model.name} answers for every word, and measures are compared for one answer; give "
            "a classifier of texts."
        )
    check_removals(model, classes, (settings.removal,))
    names = classes.names

    def observer(_: Pass, batch: Batch, examples: Sequence[Classified]) -> AgreementObserver:
        return AgreementObserver(model, batch, examples, plan.sites, settings, len(names))

    def to_dataset(_: Pass, state: State) -> xarray.Dataset:
        return dataset(state.tally, settings.compared, names)

    return run_study(plan, observer, to_dataset, folder=folder, command=command, progress=progress)
