"""Word alignment: how well words of a translation are linked by layer, head and measure."""

from collections.abc import Iterable, Sequence
from typing import Any

import xarray

from headlight.analysis.folder import RunFolder
from headlight.analysis.plan import Pass, StudyPlan, check_repeatable, check_tokenizer
from headlight.analysis.runner import run_study
from headlight.capture import CapturedModel
from headlight.corpora import Corpus, TranslationPair, open_parallel
from headlight.corpora.state import source_state
from headlight.encode import EncodedTranslation, Examples, translations
from headlight.encode.batch import Batch
from headlight.errors import UsageError
from headlight.files import Location
from headlight.links import Gold, demand_words, open_links, swapped
from headlight.run import State
from headlight.studies.alignment.observer import (
    AttentionAlignmentObserver,
    InputAlignmentObserver,
)
from headlight.studies.alignment.result import attention_dataset, input_dataset
from headlight.studies.alignment.settings import AlignmentSettings
from headlight.word_alignment.aligner import check_translates, reversed_pairs
from headlight.word_alignment.inputs import check_predicts

INPUTS = "inputs"
"""The folder of the pass for gradients and differences."""


def run(
    source: str | Location | Iterable[Any] | Corpus[TranslationPair],
    model: CapturedModel,
    settings: AlignmentSettings,
    *,
    folder: RunFolder | None = None,
    command: str | None = None,
    progress: bool = True,
) -> xarray.Dataset:
    """Precision, recall and alignment error rate of every layer, head, step and measure.

    Teacher-forced: the decoder reads the given translation.  Memory does not grow with the corpus,
    but for the gold links.

    Args:
        source: what `headlight.corpora.open_parallel` takes: a path, a pattern, or pairs that can
            be iterated more than once.
        model: an encoder-decoder model; for gradients and differences with its language-model head.
        settings: see `AlignmentSettings`.
        folder: see `RunFolder`; without one nothing is kept.
        command: how it was asked for, for the record.
        progress: show a bar on standard error.

    Returns:
        Rates with their intervals by measure, step and layer, for layers as a whole and for each
        head, and the mean norms, by which a layer can be chosen without gold; layers and heads from
        0.

    Raises:
        UsageError: the model has no cross-attention, or something does not fit together.
        CorpusError: pairs or links cannot be read, differ in number, or do not fit each other.
        UnsupportedModelError: the attention of the model cannot be captured exactly.
        RunError: what is in the folder is of another model, corpus or setting.

    Source: Kobayashi et al. (2020), Section 5, Table 3 and Figure 7; Ding et al. (2019); Li et al.
        (2019).
    """
    if settings.gold is None:
        raise UsageError(
            "alignments are judged by gold links, and none are named; name their file with gold "
            "(--gold), or find links without judging them with headlight align."
        )
    check_translates(model)
    tokenizer = check_tokenizer(model)
    for measure in settings.of_input:
        check_predicts(model, measure)
    columns = settings.columns
    corpus = open_parallel(source, settings.target, format=settings.format, columns=columns)
    corpus = check_repeatable(corpus)
    gold = _gold_of(corpus, settings.gold, settings)
    corpus = corpus.take(settings.max_pairs)
    start = model.decoder_start
    assert start is not None  # noqa: S101 - it has a decoder
    pairs = _Swapped(corpus) if settings.swap else corpus
    examples: Examples[EncodedTranslation] = translations(
        pairs,
        tokenizer,
        decoder_start=start,
        max_length=settings.max_length or model.longest,
        overflow="error",
        prefix=settings.prefix,
    )
    sites = model.sites_of("cross", settings.layers) if settings.of_attention else []
    plan = StudyPlan(
        name="alignment",
        title="Word alignment",
        source=corpus.source,
        model=model,
        kind="cross",
        sites=sites,
        examples=examples,
        settings=settings,
        passes=_passes(settings),
        options={"gold_state": source_state(settings.gold)},
        if_empty="are its lines empty?",
    )

    def observer(
        one: Pass, batch: Batch, examples: Sequence[EncodedTranslation]
    ) -> AttentionAlignmentObserver | InputAlignmentObserver:
        if one.folder == INPUTS:
            return InputAlignmentObserver(model, batch, examples, gold, settings)
        return AttentionAlignmentObserver(batch, examples, gold, sites, settings)

    def describe(one: Pass, state: State) -> xarray.Dataset:
        if one.folder == INPUTS:
            return input_dataset(state.tally, settings.of_input)
        return attention_dataset(state.tally, settings.of_attention, sites)

    return run_study(plan, observer, describe, folder=folder, command=command, progress=progress)


def _passes(settings: AlignmentSettings) -> tuple[Pass, ...]:
    """Forward for attention; gradients and differences run the model as they need."""
    attention = (Pass(settings.of_attention),) if settings.of_attention else ()
    inputs = (Pass(settings.of_input, folder=INPUTS),) if settings.of_input else ()
    return attention + inputs


class _Swapped:
    """Pairs with source and target exchanged, every time they are read."""

    def __init__(self, pairs: Iterable[TranslationPair]) -> None:
        self._pairs = pairs

    def __iter__(self) -> Any:
        return reversed_pairs(self._pairs)


def _gold_of(
    corpus: Iterable[TranslationPair], path: str, settings: AlignmentSettings
) -> list[Gold]:
    """The gold links, from source to target as the model has them.

    Raises:
        CorpusError: there are more or fewer of them than pairs, or a link is out of its sentences.
    """
    lengths = [(len(pair.source.split()), len(pair.target.split())) for pair in corpus]
    found = list(open_links(path, format=settings.gold_format, sentences=len(lengths)))
    demand_words(found, lengths)
    if not settings.swap:
        return found
    return [Gold(swapped(each.sure), swapped(each.possible), each.name) for each in found]
