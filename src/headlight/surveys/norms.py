"""Norms of transformed vectors over a corpus (Kobayashi et al. 2020, Sections 4.1 to 4.3)."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from itertools import islice
from typing import Any

import xarray

from headlight.capture import Subject
from headlight.corpora import Corpus, Source
from headlight.encode import Encoded
from headlight.encode.batch import Batch
from headlight.result import CATEGORIES
from headlight.run import State
from headlight.surveys.folder import Folder
from headlight.surveys.frequency import FrequencyRanks
from headlight.surveys.norms_dataset import STAGE, dataset
from headlight.surveys.norms_observer import NormsObserver
from headlight.surveys.norms_settings import NormOptions
from headlight.surveys.observer import Side
from headlight.surveys.plan import Plan, attributes, conducted, planned
from headlight.surveys.settings import Settings
from headlight.surveys.sinks import Sinks, demanded, find_sinks, key_ids


def norm_study(
    corpus: Source | Corpus | None,
    subject: Subject,
    settings: Settings | None = None,
    *,
    ranks: FrequencyRanks | None = None,
    options: NormOptions | None = None,
    folder: Folder | None = None,
    progress: bool = True,
) -> xarray.Dataset:
    """How long transformed vectors are, and how that goes together with weights and frequency.

    One pass over the corpus; with sinks to be found, one over its beginning before, and without
    ranks one that only tokenises.  Memory does not grow with the corpus.  Streams and resumes as a
    `survey` does.

    A pair of positions counts if the query can see the key and neither is padding: under a causal
    mask every query with itself and what came before, in cross-attention every position of the
    decoder with every one of the encoder.  What a token receives is the mean over the queries that
    can see it.

    Args:
        corpus: a path, glob, ``hf:NAME``, texts, or an open corpus that can be read repeatedly;
            None for the sample corpus that comes with the package.
        subject: the model.
        settings: see `Settings`; of measures and value bias nothing depends here.
        ranks: how frequent the types of tokens are; by default as they are in this corpus.
        options: see `NormOptions`.
        folder: see `Folder`; without one nothing is kept.
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
    first = planned(corpus, subject, settings, stage=STAGE)  # its examples are read beforehand
    sinks = find_sinks(first, options) if demanded(first.kind, subject.tokenizer, options) else None
    ranks = ranks or _own_ranks(first)
    plan = planned(
        corpus, subject, settings, stage=STAGE, options=_signature(options, sinks, ranks)
    )

    def observer(batch: Batch, examples: Sequence[Encoded]) -> NormsObserver:
        queries, keys = Side.both(batch, plan.kind)
        ids = key_ids(batch, plan.kind)
        category = sinks.in_category(keys.category, ids) if sinks else keys.category
        return NormsObserver(queries.category, category, len(_categories(sinks)))

    def described(state: State) -> xarray.Dataset:
        return dataset(
            state.tally,
            sorted(site.layer for site in plan.sites),
            _categories(sinks),
            _attributes(plan, state, sinks, ranks),
        )

    return conducted(plan, observer, described, folder=folder or Folder(), progress=progress)


def _own_ranks(plan: Plan) -> FrequencyRanks:
    """The ranks of the types in the very examples that will be looked at."""
    examples = islice(plan.examples, plan.settings.max_examples)
    target = plan.kind == "decoder" and plan.subject.has_decoder_inputs
    return FrequencyRanks.of_corpus(examples, plan.subject.tokenizer, target=target)


def _categories(sinks: Sinks | None) -> tuple[str, ...]:
    return CATEGORIES if sinks is None else (*CATEGORIES, "sink")


def _signature(options: NormOptions, sinks: Sinks | None, ranks: FrequencyRanks) -> dict[str, Any]:
    return {
        "norms": asdict(options),
        "sinks": sinks.settings() if sinks else None,
        "ranks": ranks.settings(),
    }


def _attributes(
    plan: Plan, state: State, sinks: Sinks | None, ranks: FrequencyRanks
) -> dict[str, Any]:
    found = attributes(plan, state, "Norms of transformed vectors")
    return {
        **found,
        "sinks": json.dumps(sinks.settings()) if sinks else None,
        "frequency_source": ranks.source,
        "frequency_exclusions": ranks.exclusions,
    }
