"""Word alignment: how well words of a translation are linked by layer, head and measure."""

from collections.abc import Iterable, Sequence
from typing import Any

import xarray

from headlight.analysis.batch_runner import Observer
from headlight.analysis.plan import Pass, StudyPlan, check_repeatable, check_tokenizer
from headlight.analysis.study import PassStudy
from headlight.capture import CapturedModel
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


class AlignmentStudy(PassStudy[AlignmentSettings]):
    """Precision, recall and alignment error rate of every layer, head, step and measure.

    Teacher-forced: the decoder reads the given translation.  Memory does not grow with the corpus,
    but for the gold links.

    Its result has rates with their intervals by measure, step and layer, for layers as a whole and
    for each head, and the mean norms, by which a layer can be chosen without gold; of an encoder,
    by extraction and layer.

    Args:
        source: what `headlight.corpora.open_parallel` takes: a path, a pattern, or pairs that can
            be iterated more than once.
        model: an encoder-decoder model, for gradients and differences with its language-model head;
            or an encoder.
        settings: see `AlignmentSettings`.

    Raises:
        UsageError: the model has no such measure, or something does not fit together.
        CorpusError: pairs or links cannot be read, differ in number, or do not fit each other.

    Source: Kobayashi et al. (2020), Section 5, Table 3 and Figure 7; Ding et al. (2019); Li et al.
        (2019); Jalili Sabet et al. (2020); Dou and Neubig (2021).
    """

    name = "alignment"
    title = "Word alignment"
    settings_class = AlignmentSettings

    def __init__(
        self,
        source: str | Location | Iterable[Any] | Corpus[TranslationPair],
        model: CapturedModel,
        settings: AlignmentSettings,
    ) -> None:
        gold_file = _gold_file(settings)
        settings = settings.for_model(model.name, translates=model.has_decoder_inputs)
        self.settings = settings
        if settings.of_hidden_states:
            model = encoder_of(model)
        for measure in settings.of_input:
            check_predicts(model, measure)
        tokenizer, columns = check_tokenizer(model), settings.columns
        corpus = open_parallel(source, settings.target, format=settings.format, columns=columns)
        corpus = check_repeatable(corpus)
        self.gold = _gold_of(corpus, gold_file, settings)
        corpus = corpus.take(settings.max_pairs)
        examples: Examples[EncodedTranslation] = translations(
            _Swapped(corpus) if settings.swap else corpus,
            tokenizer,
            decoder_start=model.decoder_start,
            max_length=settings.max_length or model.longest,
            overflow="error",
            prefix=settings.prefix,
        )
        of_states = settings.of_hidden_states
        self.hidden_layers = hidden_layers(model, settings.layers) if of_states else []
        self.plan = StudyPlan(
            name=self.name,
            title=self.title,
            source=corpus.source,
            model=model,
            kind="encoder" if of_states else "cross",
            sites=model.sites_of("cross", settings.layers) if settings.of_attention else [],
            examples=examples,
            settings=settings,
            passes=_passes(settings),
            options={"gold_state": source_state(gold_file), "hidden_layers": self.hidden_layers},
            if_empty="are its lines empty?",
        )

    def observe(self, one: Pass, batch: Batch, examples: Sequence[EncodedTranslation]) -> Observer:
        """Links words of one batch, by what the pass looks at."""
        model, settings, gold = self.plan.model, self.settings, self.gold
        if settings.of_hidden_states:
            layers = self.hidden_layers
            return SimilarityAlignmentObserver(model, batch, examples, gold, layers, settings)
        if one.folder == INPUTS:
            return InputAlignmentObserver(model, batch, examples, gold, settings)
        return AttentionAlignmentObserver(batch, examples, gold, self.plan.sites, settings)

    def dataset(self, one: Pass, state: State) -> xarray.Dataset:
        """Rates of what was linked."""
        settings = self.settings
        if settings.of_hidden_states:
            return similarity_dataset(state.tally, settings.extractions, self.hidden_layers)
        if one.folder == INPUTS:
            return input_dataset(state.tally, settings.of_input)
        return attention_dataset(state.tally, settings.of_attention, self.plan.sites)


run = AlignmentStudy.run


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
