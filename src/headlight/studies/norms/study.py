"""Norms of transformed vectors over a corpus (Kobayashi et al. 2020, Sections 4.1 to 4.3)."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import xarray

from headlight.analysis.batch_texts import Texts
from headlight.analysis.folder import RunFolder
from headlight.analysis.kinds import Observe, ToDataset, run_kinds
from headlight.analysis.plan import Pass, StudyPlan
from headlight.analysis.text_plan import TextSource, plan_text_study
from headlight.capture import CapturedModel
from headlight.encode import Encoded
from headlight.encode.batch import Batch
from headlight.reduce import Sample
from headlight.run import State
from headlight.studies.norms.frequency import FrequencyRanks, Occurrences, count_types
from headlight.studies.norms.observer import NormsObserver
from headlight.studies.norms.result import FIELDS, PAIR, dataset
from headlight.studies.norms.settings import NormSettings
from headlight.studies.norms.sinks import Sinks, find_sinks, looks_for_sinks
from headlight.vocabulary import CATEGORIES


def run(
    source: TextSource,
    model: CapturedModel,
    settings: NormSettings | None = None,
    *,
    folder: RunFolder | None = None,
    command: str | None = None,
    progress: bool = True,
) -> xarray.Dataset:
    """How long transformed vectors are, and how that goes together with weights and frequency.

    One pass of the model over the corpus, also for all kinds of attention; before it one for each
    kind that only tokenises, to count types, and, if sinks are looked for, another of the model
    over the beginning of the corpus.  Memory does not grow with the corpus.  Streams and resumes as
    a survey does.

    A pair of positions counts if the query can see the key and neither is padding: under a causal
    mask every query with itself and what came before, in cross-attention every position of the
    decoder with every one of the encoder.  What a token receives is the mean over the queries that
    can see it.

    Args:
        source: see `headlight.analysis.text_plan.TextSource`; it is read repeatedly.
        model: the model.
        settings: see `NormSettings`.
        folder: see `RunFolder`; without one nothing is kept.
        command: how it was asked for, for the record.
        progress: show a bar on standard error.

    Returns:
        The statistics, see the documentation of results; layers and heads are zero-based.

    Raises:
        UsageError: something does not fit together: layers, kinds, lengths, folder.
        CorpusError: the corpus cannot be read, cannot be read again, or holds no example.
        UnsupportedModelError: the attention of the model cannot be captured exactly.
        RunError: the run in the folder is of another model, corpus or setting.
    """
    settings = settings or NormSettings()
    plan = plan_text_study("norms", "Norms of transformed vectors", source, model, settings)
    known = {kind: _Known.of(part, settings) for kind, part in plan.by_kind().items()}
    depends = {str(kind): each.settings() for kind, each in known.items()}
    plan = replace(plan, options=depends if plan.all_kinds else depends[plan.kind])

    def make(plan: StudyPlan[Encoded]) -> tuple[Observe, ToDataset]:
        return _make(plan, settings, known[plan.kind])

    return run_kinds(plan, make, folder=folder, command=command, progress=progress)


@dataclass(frozen=True)
class _Known:
    """What has to be known of the corpus before its norms are looked at.

    Attributes:
        sinks: attention sinks; None where none are looked for.
        occurrences: how often the types of tokens occur.
    """

    sinks: Sinks | None
    occurrences: Occurrences

    @classmethod
    def of(cls, plan: StudyPlan[Encoded], settings: NormSettings) -> "_Known":
        """Found by going over the corpus, and with the model over its beginning."""
        occurrences = _occurrences(plan, settings)
        wanted = looks_for_sinks(plan.kind, plan.model.tokenizer, settings)
        return cls(find_sinks(plan, settings) if wanted else None, occurrences)

    def settings(self) -> dict[str, Any]:
        """What the result depends on of it, as JSON."""
        return {
            "found_sinks": self.sinks.settings() if self.sinks else None,
            "frequency": self.occurrences.settings(),
        }


def _make(
    plan: StudyPlan[Encoded], settings: NormSettings, known: _Known
) -> tuple[Observe, ToDataset]:
    """The observers of one kind of attention, and what makes a dataset of what they saw."""
    sinks, occurrences = known.sinks, known.occurrences
    categories = CATEGORIES if sinks is None else (*CATEGORIES, "sink")
    # Of all pairs of positions about half cannot be seen under a causal mask.
    drawn = settings.sample * (2 if plan.kind == "decoder" else 1)

    def observer(_: Pass, batch: Batch, examples: Sequence[Encoded]) -> NormsObserver:
        texts = Texts.of(batch, examples, plan.kind)
        return NormsObserver(
            sinks.apart(texts) if sinks else texts,
            occurrences,
            len(categories),
            plan.sites,
            pairs=Sample(drawn, len(PAIR), len(categories), seed=settings.seed),
            tokens=Sample(settings.sample, len(FIELDS), seed=settings.seed),
        )

    def to_dataset(_: Pass, state: State) -> xarray.Dataset:
        found = dataset(state.tally, occurrences, plan.layers, categories, sample=settings.sample)
        return found.assign_attrs(
            sinks=json.dumps(sinks.settings()) if sinks else None,
            frequency_source=occurrences.ranks.source,
            frequency_exclusions=occurrences.ranks.exclusions,
            frequency_left_out=occurrences.left_out,
        )

    return observer, to_dataset


def _occurrences(plan: StudyPlan[Encoded], settings: NormSettings) -> Occurrences:
    """How often every type occurs in the very examples that will be looked at."""
    tokenizer: Any = plan.model.tokenizer
    given, exclusions = settings.frequency_ranks, settings.frequency_exclusions
    ranks = None
    if given == "ids":
        ranks = FrequencyRanks.of_ids(tokenizer, exclusions=exclusions or "paper")
    elif given != "corpus":  # before the corpus, which may be long
        ranks = FrequencyRanks.read(given, tokenizer, exclusions=exclusions or "none")
    examples = islice(plan.examples, plan.max_examples)
    target = plan.kind == "decoder" and plan.model.has_decoder_inputs
    counts = count_types(examples, len(tokenizer), target=target)
    if ranks is None:
        ranks = FrequencyRanks.of_counts(counts, tokenizer, exclusions=exclusions or "none")
    return Occurrences(ranks, counts)
