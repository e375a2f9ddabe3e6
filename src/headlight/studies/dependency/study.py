"""Heads as parsers: how often the word a head attends to most is the governor, or the dependent."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import xarray

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
from headlight.corpora import Sentence, open_treebank
from headlight.encode import EncodedSentence, sentences as encode_sentences
from headlight.encode.batch import Batch
from headlight.run import State
from headlight.studies.dependency.gold import summarize
from headlight.studies.dependency.observer import DependencyObserver
from headlight.studies.dependency.result import to_dataset
from headlight.studies.dependency.sentences import best_sentences, no_sentences
from headlight.studies.dependency.settings import DependencySettings


def run(
    source: str | Path | Iterable[Sentence],
    model: CapturedModel,
    settings: DependencySettings | None = None,
    *,
    objective: Objective | None = None,
    folder: RunFolder | None = None,
    command: str | None = None,
    progress: bool = True,
) -> xarray.Dataset:
    """How well every head, in both directions, finds the governor of a word, by relation.

    The treebank is read twice, once for its relations and once through the model; a third time, and
    backward, for the ``gradient``.  Memory does not grow with it.

    Args:
        source: what `headlight.corpora.open_treebank` takes: a path, a pattern, or sentences that
            can be iterated more than once.
        model: the model.
        settings: see `DependencySettings`.
        objective: the loss of which the ``gradient`` is taken, in a pass of its own; by default
            that of what the model was trained for.
        folder: see `RunFolder`; without one nothing is kept.
        command: how it was asked for, for the record.
        progress: show a bar on standard error.

    Returns:
        Accuracy of every measure, layer, head, direction and relation with its interval, the
        baselines, and the counts; layers and heads from 0.
        `headlight.findings.dependency.best_heads` makes Table 1 of it.

    Raises:
        UsageError: something does not fit together: measures, layers, lengths, folder.
        MissingHeadError: the gradient needs a language-model head, or an objective of your own.
        CorpusError: the treebank cannot be read, has no trees, or no sentence is short enough.
        UnsupportedModelError: the attention of the model cannot be captured exactly.
        RunError: what is in the folder is of another model, treebank or setting.

    Source: Clark et al. (2019), Section 4.2, Table 1 and Figure 5, and their notebook.
    """
    settings = settings or DependencySettings()
    treebank = open_treebank(source, format=settings.format, invalid=settings.invalid)
    treebank = check_repeatable(treebank.take(settings.max_sentences))
    tokenizer = check_tokenizer(model)
    model = encoder_for_one_text(model, settings.kind)
    kind, sites = choose_sites(model, settings)
    objective = required_objective(model, settings.measures, objective)
    summary = summarize(treebank, settings.relations)
    examples = encode_sentences(
        treebank,
        tokenizer,
        max_length=choose_length(model, settings.max_length),
        overflow=settings.overflow,
        unencodable=settings.unencodable,
    )
    plan = StudyPlan(
        name="dependency",
        title="Heads as parsers",
        source=treebank.source,
        model=model,
        kind=kind,
        sites=sites,
        examples=examples,
        settings=settings,
        passes=plan_passes(settings.measures, objective, settings.attribution),
        measures=settings.measures,
        options={"trees": summary.digest},
        if_empty="are all its sentences longer than max_length?",
    )
    codes = {name: number for number, name in enumerate(summary.relations)}

    def observer(
        one: Pass, batch: Batch, examples: Sequence[EncodedSentence]
    ) -> DependencyObserver:
        return DependencyObserver(batch, examples, sites, settings, one.measures, codes)

    def describe(one: Pass, state: State) -> xarray.Dataset:
        found = to_dataset(state.tally, settings, one.measures, summary.relations, sites)
        if settings.sentences:
            forward_alone = one.objective is None and one.attribution is None
            found = found.merge(
                best_sentences(found, plan, settings, codes)
                if forward_alone
                else no_sentences(found)
            )
        return found.assign_attrs(trees_digest=summary.digest, invalid=treebank.skipped)

    return run_study(plan, observer, describe, folder=folder, command=command, progress=progress)
