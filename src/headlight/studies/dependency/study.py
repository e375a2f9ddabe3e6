"""Heads as parsers: how often the word a head attends to most is the governor, or the dependent."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import xarray

from headlight.analysis.plan import Pass, check_repeatable
from headlight.analysis.word_study import WordStudy
from headlight.capture import CapturedModel, Objective
from headlight.corpora import Sentence, open_treebank
from headlight.encode import EncodedSentence, Examples, sentences as encode_sentences
from headlight.encode.batch import Batch
from headlight.run import State
from headlight.studies.dependency.gold import summarize
from headlight.studies.dependency.observer import DependencyObserver
from headlight.studies.dependency.result import to_dataset
from headlight.studies.dependency.sentences import best_sentences, no_sentences
from headlight.studies.dependency.settings import DependencySettings


class DependencyStudy(WordStudy[DependencySettings]):
    """How well every head, in both directions, finds the governor of a word, by relation.

    The treebank is read twice, once for its relations and once through the model; a third time, and
    backward, for the ``gradient``.

    Its result has the accuracy of every measure, layer, head, direction and relation with its
    interval, the baselines, and the counts; `headlight.findings.dependency.best_heads` makes
    Table 1 of it.

    Args:
        source: what `headlight.corpora.open_treebank` takes: a path, a pattern, or sentences that
            can be iterated more than once.
        model: the model.
        settings: see `DependencySettings`.
        objective: the loss of which the ``gradient`` is taken, in a pass of its own; by default
            that of what the model was trained for.

    Source: Clark et al. (2019), Section 4.2, Table 1 and Figure 5, and their notebook.
    """

    name = "dependency"
    title = "Heads as parsers"
    settings_class = DependencySettings

    def __init__(
        self,
        source: str | Path | Iterable[Sentence],
        model: CapturedModel,
        settings: DependencySettings,
        objective: Objective | None = None,
    ) -> None:
        self.settings = settings
        treebank = open_treebank(source, format=settings.format, invalid=settings.invalid)
        treebank = check_repeatable(treebank.take(settings.max_sentences))
        self.treebank = treebank

        def encode(tokenizer: Any, longest: int) -> Examples[EncodedSentence]:
            return encode_sentences(
                treebank,
                tokenizer,
                max_length=longest,
                overflow=settings.overflow,
                unencodable=settings.unencodable,
            )

        if_empty = "are all its sentences longer than max_length?"
        plan = self.plan_measures(treebank, model, settings, objective, encode, if_empty)
        self.summary = summarize(treebank, settings.relations)
        self.codes = {name: number for number, name in enumerate(self.summary.relations)}
        self.plan = replace(plan, options={"trees": self.summary.digest})

    def observe(
        self, one: Pass, batch: Batch, examples: Sequence[EncodedSentence]
    ) -> DependencyObserver:
        """Looks whether heads point at governors, by the measures of the pass."""
        sites, settings = self.plan.sites, self.settings
        return DependencyObserver(batch, examples, sites, settings, one.measures, self.codes)

    def dataset(self, one: Pass, state: State) -> xarray.Dataset:
        """Accuracies, and sentences in which the best heads are right."""
        settings, relations = self.settings, self.summary.relations
        found = to_dataset(state.tally, settings, one.measures, relations, self.plan.sites)
        if settings.sentences:
            found = found.merge(
                best_sentences(found, self.plan, settings, self.codes)
                if one.forward_alone
                else no_sentences(found)
            )
        return found.assign_attrs(trees_digest=self.summary.digest, invalid=self.treebank.skipped)


run = DependencyStudy.run
