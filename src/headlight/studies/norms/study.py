"""Norms of transformed vectors over a corpus (Kobayashi et al. 2020, Sections 4.1 to 4.3)."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from itertools import islice
from typing import Any

import xarray

from headlight.analysis.folder import RunFolder
from headlight.analysis.plan import SAMPLE, Plan, attributes, plan_study, run_study
from headlight.analysis.settings import Settings
from headlight.capture import CapturedModel
from headlight.corpora import Corpus, Source, open_corpus
from headlight.encode import Encoded
from headlight.encode.batch import Batch
from headlight.reduce import Sample
from headlight.result import CATEGORIES
from headlight.run import State
from headlight.studies.norms.frequency import FrequencyRanks, Occurrences, count_types
from headlight.studies.norms.observer import NormsObserver
from headlight.studies.norms.result import FIELDS, PAIR, STAGE, dataset
from headlight.studies.norms.settings import NormOptions
from headlight.studies.norms.sinks import Sinks, demanded, find_sinks
from headlight.studies.norms.texts import Texts


def norm_study(
    corpus: Source | Corpus | None,
    model: CapturedModel,
    settings: Settings | None = None,
    *,
    ranks: FrequencyRanks | None = None,
    options: NormOptions | None = None,
    folder: RunFolder | None = None,
    progress: bool = True,
) -> xarray.Dataset:
    """How long transformed vectors are, and how that goes together with weights and frequency.

    One pass of the model over the corpus; before it one that only tokenises, to count types, and,
    if sinks are looked for, one of the model over the beginning of the corpus.  Memory does not
    grow with the corpus.  Streams and resumes as a `survey` does.

    A pair of positions counts if the query can see the key and neither is padding: under a causal
    mask every query with itself and what came before, in cross-attention every position of the
    decoder with every one of the encoder.  What a token receives is the mean over the queries that
    can see it.

    Args:
        corpus: a path, glob, ``hf:NAME``, texts, or an open corpus that can be read repeatedly;
            None for the sample corpus that comes with the package.
        model: the model.
        settings: see `Settings`; of measures and value bias nothing depends here.
        ranks: how frequent the types of tokens are; by default as they are in this corpus.
        options: see `NormOptions`.
        folder: see `RunFolder`; without one nothing is kept.
        progress: show a bar on standard error.

    Returns:
        The statistics, see the documentation of results; layers and heads are zero-based.

    Raises:
        UsageError: something does not fit together: layers, kinds, lengths, folder.
        CorpusError: the corpus cannot be read, cannot be read again, or holds no example.
        UnsupportedModelError: the attention of the model cannot be captured exactly.
        RunError: the run in the folder is of another model, corpus or setting.
    """
    settings, options = settings or Settings(), options or NormOptions()
    opened = (
        corpus if isinstance(corpus, Corpus) else open_corpus(SAMPLE if corpus is None else corpus)
    )
    first = plan_study(opened, model, settings, stage=STAGE)  # its examples are read beforehand
    sinks = find_sinks(first, options) if demanded(first.kind, model.tokenizer, options) else None
    occurrences = _occurrences(first, ranks)
    plan = plan_study(
        opened, model, settings, stage=STAGE, options=_signature(options, sinks, occurrences)
    )

    categories = CATEGORIES if sinks is None else (*CATEGORIES, "sink")
    # Of all pairs of positions about half cannot be seen under a causal mask.
    drawn = options.sample * (2 if plan.kind == "decoder" else 1)

    def observer(batch: Batch, examples: Sequence[Encoded]) -> NormsObserver:
        return NormsObserver(
            Texts.of(batch, examples, plan.kind, sinks),
            occurrences,
            len(categories),
            plan.sites,
            pairs=Sample(drawn, len(PAIR), len(categories), seed=settings.seed),
            tokens=Sample(options.sample, len(FIELDS), seed=settings.seed),
        )

    def described(state: State) -> xarray.Dataset:
        return dataset(
            state.tally,
            occurrences,
            sorted(site.layer for site in plan.sites),
            categories,
            _attributes(plan, state, sinks, occurrences),
            sample=options.sample,
        )

    return run_study(plan, observer, described, folder=folder or RunFolder(), progress=progress)


def _occurrences(plan: Plan, ranks: FrequencyRanks | None) -> Occurrences:
    """How often every type occurs in the very examples that will be looked at."""
    examples = islice(plan.examples, plan.settings.max_examples)
    tokenizer: Any = plan.model.tokenizer
    target = plan.kind == "decoder" and plan.model.has_decoder_inputs
    counts = count_types(examples, len(tokenizer), target=target)
    return Occurrences(ranks or FrequencyRanks.of_counts(counts, tokenizer), counts)


def _signature(
    options: NormOptions, sinks: Sinks | None, occurrences: Occurrences
) -> dict[str, Any]:
    return {
        "norms": asdict(options),
        "sinks": sinks.settings() if sinks else None,
        "frequency": occurrences.settings(),
    }


def _attributes(
    plan: Plan, state: State, sinks: Sinks | None, occurrences: Occurrences
) -> dict[str, Any]:
    found = attributes(plan, state, "Norms of transformed vectors")
    return {
        **found,
        "sinks": json.dumps(sinks.settings()) if sinks else None,
        "frequency_source": occurrences.ranks.source,
        "frequency_exclusions": occurrences.ranks.exclusions,
        "frequency_left_out": occurrences.left_out,
    }
