"""Attention heads as resolvers of coreference (Clark et al. 2019, Section 4.3, Table 2)."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import xarray

from headlight import encode
from headlight.analysis.folder import RunFolder
from headlight.analysis.plan import (
    Pass,
    StudyPlan,
    check_repeatable,
    check_tokenizer,
    choose_length,
    choose_sites,
    encoder_for_one_text,
    plan_passes,
    required_objective,
)
from headlight.analysis.runner import run_study
from headlight.capture import CapturedModel, Objective
from headlight.corpora import CoreferenceDocument, open_coreference
from headlight.encode.batch import Batch
from headlight.run import State
from headlight.studies.coreference.observer import AntecedentObserver
from headlight.studies.coreference.result import to_dataset
from headlight.studies.coreference.sentences import best_sentences, no_sentences
from headlight.studies.coreference.settings import CoreferenceSettings
from headlight.studies.coreference.task import AntecedentExample, AntecedentExamples


def run(
    source: str | Path | Iterable[CoreferenceDocument],
    model: CapturedModel,
    settings: CoreferenceSettings | None = None,
    *,
    objective: Objective | None = None,
    folder: RunFolder | None = None,
    command: str | None = None,
    progress: bool = True,
) -> xarray.Dataset:
    """How often each head links a mention to an antecedent, and how often three baselines do.

    "What percent of the time does the head word of a coreferent mention most attend to the head of
    one of that mention's antecedents" (Clark et al. 2019, Section 4.3).  Attention is taken between
    whole words (Section 4.1), special tokens left out.  What the paper leaves open is in the
    settings; by default heads and baselines are on a par: both pick among the mentions before.

    Args:
        source: what `headlight.corpora.open_coreference` takes: a path, a pattern, or documents
            that can be iterated again.
        model: the model.
        settings: see `CoreferenceSettings`.
        objective: the loss of which the ``gradient`` is taken, in a pass of its own; by default
            that of what the model was trained for.
        folder: see `RunFolder`; without one nothing is kept.
        command: how it was asked for, for the record.
        progress: show a bar on standard error.

    Returns:
        ``correct``, ``accuracy`` and its 95% interval ``low`` to ``high`` by measure, layer, head
        (zero-based), direction (who attends: the ``mention`` or the ``antecedent``) and kind of
        mention; ``count``; and the same of the baselines.  Accuracies are between 0 and 1,
        intervals from resampled documents.  Attributes count documents, windows and mentions, also
        those left out.  `headlight.findings.coreference.systems_table` makes Table 2 of it.

    Raises:
        UsageError: something does not fit together: measures, layers, lengths, folder.
        MissingHeadError: the gradient needs a language-model head, or an objective of your own.
        CorpusError: the corpus cannot be read, or holds no mention with an antecedent.
        UnsupportedModelError: the attention of the model cannot be captured exactly.
        RunError: what is in the folder is of another model, corpus or setting.
    """
    settings = settings or CoreferenceSettings()
    corpus = open_coreference(source, format=settings.format, invalid=settings.invalid)
    corpus = check_repeatable(corpus.take(settings.max_documents))
    tokenizer = check_tokenizer(model)
    model = encoder_for_one_text(model, settings.kind)
    kind, sites = choose_sites(model, settings)
    objective = required_objective(model, settings.measures, objective)
    windows = encode.documents(
        corpus,
        tokenizer,
        max_length=choose_length(model, settings.max_length),
        overlap=settings.overlap,
        unencodable=settings.unencodable,
    )
    examples = AntecedentExamples(windows, settings)
    plan = StudyPlan(
        name="coreference",
        title="Heads as resolvers of coreference",
        source=corpus.source,
        model=model,
        kind=kind,
        sites=sites,
        examples=examples,
        settings=settings,
        passes=plan_passes(settings.measures, objective, settings.attribution),
        measures=settings.measures,
        if_empty="has it mentions with an antecedent, and is max_length large enough for both?",
    )

    def observer(
        one: Pass, batch: Batch, examples: Sequence[AntecedentExample]
    ) -> AntecedentObserver:
        return AntecedentObserver(batch, examples, sites, settings, one.measures)

    def describe(one: Pass, state: State) -> xarray.Dataset:
        attributes = {"documents": examples.counts.documents, "invalid": corpus.skipped}
        found = to_dataset(state.tally, sites, one.measures)
        if settings.sentences:
            forward_alone = one.objective is None and one.attribution is None
            found = found.merge(
                best_sentences(found, plan, settings) if forward_alone else no_sentences(found)
            )
        return found.assign_attrs(attributes)

    return run_study(plan, observer, describe, folder=folder, command=command, progress=progress)
