"""Word alignment: how well words of a translation are linked by layer, head and measure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import xarray

from headlight.analysis.batch_runner import Observer
from headlight.analysis.folder import RunFolder
from headlight.analysis.plan import Pass, StudyPlan, check_repeatable, check_tokenizer
from headlight.analysis.runner import run_study
from headlight.capture import AttentionSite, CapturedModel
from headlight.capture.hidden_states import hidden_layers
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
    SimilarityAlignmentObserver,
)
from headlight.studies.alignment.result import (
    attention_dataset,
    input_dataset,
    similarity_dataset,
)
from headlight.studies.alignment.settings import AlignmentSettings
from headlight.word_alignment.aligner import reversed_pairs
from headlight.word_alignment.encoders import encoder_of
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
        model: an encoder-decoder model, for gradients and differences with its language-model head;
            or an encoder.
        settings: see `AlignmentSettings`.
        folder: see `RunFolder`; without one nothing is kept.
        command: how it was asked for, for the record.
        progress: show a bar on standard error.

    Returns:
        Rates with their intervals by measure, step and layer, for layers as a whole and for each
        head, and the mean norms, by which a layer can be chosen without gold; layers and heads from
        0.  Of an encoder, by extraction and layer.

    Raises:
        UsageError: the model has no such measure, or something does not fit together.
        CorpusError: pairs or links cannot be read, differ in number, or do not fit each other.
        UnsupportedModelError: the attention of the model cannot be captured exactly.
        RunError: what is in the folder is of another model, corpus or setting.

    Source: Kobayashi et al. (2020), Section 5, Table 3 and Figure 7; Ding et al. (2019); Li et al.
        (2019); Jalili Sabet et al. (2020); Dou and Neubig (2021).
    """
    gold_file = _gold_file(settings)
    settings = settings.for_model(model.name, translates=model.has_decoder_inputs)
    if settings.of_hidden_states:
        model = encoder_of(model)
    for measure in settings.of_input:
        check_predicts(model, measure)
    tokenizer, columns = check_tokenizer(model), settings.columns
    corpus = open_parallel(source, settings.target, format=settings.format, columns=columns)
    corpus = check_repeatable(corpus)
    gold = _gold_of(corpus, gold_file, settings)
    corpus = corpus.take(settings.max_pairs)
    examples: Examples[EncodedTranslation] = translations(
        _Swapped(corpus) if settings.swap else corpus,
        tokenizer,
        decoder_start=model.decoder_start,
        max_length=settings.max_length or model.longest,
        overflow="error",
        prefix=settings.prefix,
    )
    asked = _Asked(model, settings, gold)
    plan = StudyPlan(
        name="alignment",
        title="Word alignment",
        source=corpus.source,
        model=model,
        kind="encoder" if settings.of_hidden_states else "cross",
        sites=asked.sites,
        examples=examples,
        settings=settings,
        passes=_passes(settings),
        options={"gold_state": source_state(gold_file), "hidden_layers": asked.hidden_layers},
        if_empty="are its lines empty?",
    )
    return run_study(
        plan, asked.observer, asked.describe, folder=folder, command=command, progress=progress
    )


@dataclass(frozen=True)
class _Asked:
    """What is observed in each pass, and what becomes of it."""

    model: CapturedModel
    settings: AlignmentSettings
    gold: Sequence[Gold]

    @cached_property
    def sites(self) -> list[AttentionSite]:
        """The layers of cross-attention that are looked at."""
        asked = self.settings
        return self.model.sites_of("cross", asked.layers) if asked.of_attention else []

    @cached_property
    def hidden_layers(self) -> list[int]:
        """After how many layers hidden states are compared."""
        asked = self.settings
        return hidden_layers(self.model, asked.layers) if asked.of_hidden_states else []

    def observer(self, one: Pass, batch: Batch, examples: Sequence[EncodedTranslation]) -> Observer:
        """Of one batch."""
        model, settings, gold = self.model, self.settings, self.gold
        if settings.of_hidden_states:
            layers = self.hidden_layers
            return SimilarityAlignmentObserver(model, batch, examples, gold, layers, settings)
        if one.folder == INPUTS:
            return InputAlignmentObserver(model, batch, examples, gold, settings)
        return AttentionAlignmentObserver(batch, examples, gold, self.sites, settings)

    def describe(self, one: Pass, state: State) -> xarray.Dataset:
        """Of all batches."""
        if self.settings.of_hidden_states:
            extractions = self.settings.extractions
            return similarity_dataset(state.tally, extractions, self.hidden_layers)
        if one.folder == INPUTS:
            return input_dataset(state.tally, self.settings.of_input)
        return attention_dataset(state.tally, self.settings.of_attention, self.sites)


def _gold_file(settings: AlignmentSettings) -> str:
    if settings.gold is None:
        raise UsageError(
            "alignments are judged by gold links, and none are named; name their file with gold "
            "(--gold), or find links without judging them with headlight align."
        )
    return settings.gold


def _passes(settings: AlignmentSettings) -> tuple[Pass, ...]:
    """Forward for attention; all others run the model as they need."""
    if settings.of_hidden_states:
        return (Pass(("similarity",)),)
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
