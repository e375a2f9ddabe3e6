"""Word alignment: how well words of a translation are linked by layer, head and measure."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray
from jaxtyping import Bool
from transformers import GenerationConfig

from headlight.capture import AttentionSite, CapturedModel, Objective
from headlight.capture.hidden_states import hidden_layers
from headlight.catalogue.embedded_models import place_of
from headlight.corpora import Corpus, open_recordings
from headlight.corpora.corpus import CorpusCounts
from headlight.corpora.source_changes import source_state
from headlight.encode import Examples, recordings
from headlight.encode.batch import Batch
from headlight.engine.folder import OpenFolder
from headlight.engine.model_parts import check_tokenizer
from headlight.engine.observer import Observer
from headlight.engine.plan import Pass, StudyPlan
from headlight.engine.repeatable_corpus import check_repeatable
from headlight.engine.state import State
from headlight.engine.study import CorpusStudy
from headlight.engine.text_sources import refuse_recordings
from headlight.errors import UsageError, per_door, setting
from headlight.files import Location
from headlight.observations.variables import Variable, described, long_names, slots_at, with_slots
from headlight.reduce import Tally
from headlight.vocabulary import place_of_head
from headlight_words.corpora import (
    SAMPLE_LINKS,
    SAMPLE_TRANSLATIONS,
    TranslationPair,
    open_parallel,
)
from headlight_words.encode.translations import EncodedTranslation, translations
from headlight_words.findings.word_times import LISTED, alignment_heads
from headlight_words.links import (
    COUNTS,
    RATES,
    Gold,
    demand_words,
    link_rate_slots,
    link_rates,
    open_links,
    swapped,
)
from headlight_words.studies.alignment import AlignmentSettings
from headlight_words.studies.alignment.observer import (
    AttentionAlignmentObserver,
    GoldOfBatch,
    InputAlignmentObserver,
    SimilarityAlignmentObserver,
    SpeechAlignmentObserver,
    speech_dataset,
)
from headlight_words.word_alignment import STEPS
from headlight_words.word_alignment.aligner import reversed_pairs
from headlight_words.word_alignment.directions import encoder_of
from headlight_words.word_alignment.inputs import check_predicts

VARIABLES = long_names(
    {
        "precision": Variable("share of the links that are possible", interval="share"),
        "recall": Variable("share of the sure links that are found", interval="share"),
        "error_rate": Variable("alignment error rate", interval="share"),
        "links": Variable("links that are found"),
    },
    by={
        "": ", of all heads of a layer together",
        "head_": ", of a head",
        "input_": ", of gradients and differences",
        "similarity_": ", of similar hidden states",
    },
) | {
    "mean_norm": ("mean ‖Σ_h αf(x)‖ over the places of target and source", "hidden"),
    "head_mean_norm": ("mean ‖αf(x)‖ over the places of target and source", "hidden"),
}
"""Long name and unit of every variable."""

_CELL = ("measure", "step", "layer")


def attention_dataset(
    tally: Tally, measures: Sequence[str], sites: Sequence[AttentionSite]
) -> xarray.Dataset:
    """Return named arrays of the links of cross-attention."""
    statistics = tally.compute()
    heads = np.array([site.heads for site in sites])
    exists = np.arange(int(heads.max())) < heads[:, None]
    counts = statistics["counts"]
    variables = {
        **_rates(counts, "", _CELL, np.s_[..., 0, :]),
        **_rates(counts, "head_", (*_CELL, "head"), np.s_[..., 1:, :], exists),
        "mean_norm": ("layer", statistics["merged_norm"]["mean"]),
        "head_mean_norm": (("layer", "head"), statistics["norm"]["mean"]),
    }
    coordinates = {
        "measure": list(measures),
        "step": list(STEPS),
        "layer": [site.layer for site in sites],
        "head": list(range(exists.shape[1])),
    }
    return _described(variables, coordinates, counts)


def input_dataset(tally: Tally, measures: Sequence[str]) -> xarray.Dataset:
    """Return named arrays of the links of gradients and differences."""
    counts = tally.compute()["counts"]
    variables = _rates(counts, "input_", ("input_measure",))
    return _described(variables, {"input_measure": list(measures)}, counts)


def similarity_dataset(
    tally: Tally, extractions: Sequence[str], layers: Sequence[int]
) -> xarray.Dataset:
    """Return named arrays of the links of similar hidden states."""
    counts = tally.compute()["counts"]
    variables = _rates(counts, "similarity_", ("extraction", "layer"))
    coordinates = {"extraction": list(extractions), "layer": list(layers)}
    return _described(variables, coordinates, counts)


def _rates(
    sums: Mapping[str, np.ndarray],
    prefix: str,
    axes: tuple[str, ...],
    cells: Any = np.s_[...],
    exists: Bool[np.ndarray, "layer head"] | None = None,
) -> dict[str, Any]:
    """Return precision, recall and error rate; NaN where there is no head."""
    counts = sums["part"][cells]
    if exists is not None:
        counts = np.where(exists[..., None], counts, np.nan)
    total = counts.sum(0)
    values, slots = link_rates(total), link_rate_slots(counts, sums["units"])
    rates: dict[str, Any] = {f"{prefix}links": (axes, total[..., COUNTS.index("links")])}
    for at, rate in enumerate(RATES):
        of_rate = slots_at(slots, np.s_[..., at])
        rates |= with_slots(f"{prefix}{rate}", axes, values[..., at], of_rate)
    return rates


def _described(
    variables: dict[str, Any], coordinates: dict[str, Any], sums: Mapping[str, np.ndarray]
) -> xarray.Dataset:
    cell = sums["part"].sum(0).reshape(-1, len(COUNTS))[0]
    attributes = {f"gold_{name}": int(cell[COUNTS.index(name)]) for name in ("sure", "possible")}
    attributes["sentences"] = int(cell[COUNTS.index("sentences")])
    return described(variables, coordinates, VARIABLES).assign_attrs(attributes)


HEADS = f"{LISTED}.json"
"""File in the folder of a run of speech: the heads to list, as a part of a generation config."""

INPUTS = "inputs"
"""The folder of the pass for gradients and differences."""


class AlignmentStudy(CorpusStudy[AlignmentSettings]):
    """Precision, recall and alignment error rate of every layer, head, step and measure.

    Teacher-forced: the decoder reads the given translation.  Memory does not grow with the corpus,
    but for the gold links.

    Its result has rates by measure, step and layer, for layers as a whole and
    for each head, and the mean norms, by which a layer can be chosen without gold; of an encoder,
    by extraction and layer.  Of speech it has how far beginnings and ends of words are found from
    where they are, in seconds, where their times are known, and how much of what words give to
    sound lies on the path through it that is found for them.

    Args:
        source: Translations, as `headlight_words.corpora.open_parallel` takes them: a path, a
            pattern, or pairs that can be iterated more than once; for a model of speech,
            recordings, as `headlight.corpora.open_recordings` takes them.
        model: Encoder-decoder, for gradients and differences with its language-model head; or an
            encoder; or a model of speech.
        settings: Settings of the study.

    Raises:
        UsageError: the model has no such measure, or something does not fit together.
        CorpusError: pairs or links cannot be read, differ in number, or do not fit each other.

    Source: Kobayashi et al. (2020), Section 5, Table 3 and Figure 7; Ding et al. (2019); Li et al.
        (2019); Jalili Sabet et al. (2020); Dou and Neubig (2021).
    """

    name = "alignment"
    title = "Word alignment"
    settings_class = AlignmentSettings

    def make_plan(
        self,
        source: str | Location | Iterable[Any] | Corpus[TranslationPair],
        objective: Objective | None,
    ) -> StudyPlan[Any]:
        """Plan the passes over pairs of sentences, or over recordings and their transcripts."""
        model, settings = self.model, self.settings
        if model.hears:
            return self._plan_speech(source, model, settings.for_speech())
        refuse_recordings(source, model)
        gold_file = _gold_file(settings, source)
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
        corpus = corpus.take(settings.max_examples)
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
        return StudyPlan(
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
            corpus=corpus,
        )

    def _plan_speech(
        self, source: Any, model: CapturedModel, settings: AlignmentSettings
    ) -> StudyPlan[Any]:
        """Plan the pass that links words of transcripts to time."""
        corpus = check_repeatable(open_recordings(source)).take(settings.max_examples)
        sites = model.sites_of("cross", settings.layers)
        self.settings, self.gold, self.hidden_layers = settings, [], []
        self.chosen = _chosen_heads(model, sites, settings.chosen_heads)
        return StudyPlan(
            name=self.name,
            title="Alignment of words and sound",
            source=corpus.source,
            model=model,
            kind="cross",
            sites=sites,
            examples=recordings(
                corpus,
                check_tokenizer(model),
                model.listener.hearing,
                decoder_start=int(model.decoder_start or 0),
                max_length=settings.max_length or model.longest,
                overflow="error",
            ),
            settings=settings,
            passes=(Pass(settings.of_attention),),
            options={"chosen": [list(place) for place in self.chosen]},
            if_empty="do its transcripts hold words?",
        )

    def prepare(self, folder: OpenFolder, *, progress: bool) -> None:
        """Claim the file of the heads to list, of a model of speech."""
        self._output = folder.output if self.model.hears else None
        if self._output is not None:
            self._output.claim([HEADS])

    def observe(self, plan: StudyPlan[Any], batch: Batch, examples: Sequence[Any]) -> Observer:
        """Return the observer of a batch, by the measures of the pass."""
        model, sites, settings = plan.model, plan.sites, self.settings
        if model.hears:
            return SpeechAlignmentObserver(examples, sites, self.chosen, settings)
        gold = GoldOfBatch(examples, self.gold, batch.word.device)
        if settings.of_hidden_states:
            return SimilarityAlignmentObserver(model, batch, gold, self.hidden_layers, settings)
        if plan.passes[0].folder == INPUTS:
            return InputAlignmentObserver(model, batch, gold, settings)
        return AttentionAlignmentObserver(batch, gold, sites, settings)

    def dataset(self, plan: StudyPlan[Any], state: State) -> xarray.Dataset:
        """Return the rates of the links."""
        settings = self.settings
        if plan.model.hears:
            result = speech_dataset(state.tally, settings.of_attention, plan.sites, self.chosen)
            if self._output is not None and (heads := alignment_heads(result)):
                self._output.write(HEADS, json.dumps({LISTED: heads}).encode())
            return result
        if settings.of_hidden_states:
            return similarity_dataset(state.tally, settings.extractions, self.hidden_layers)
        if plan.passes[0].folder == INPUTS:
            return input_dataset(state.tally, settings.of_input)
        return attention_dataset(state.tally, settings.of_attention, plan.sites)


run = AlignmentStudy.run


def _chosen_heads(
    model: CapturedModel, sites: Sequence[AttentionSite], names: Sequence[str] | None
) -> list[tuple[int, int]]:
    """Return layer and head of the combined heads; refuse a head that the layers lack."""
    existing = {(site.layer, head) for site in sites for head in range(site.heads)}
    if names is None:
        listed = getattr(getattr(model.transformer, "generation_config", None), LISTED, None)
        named = listed or _listed_beside(model)
        return [place for place in map(tuple, named) if place in existing]
    places = []
    for name in names:
        place = place_of_head(name)
        if place not in existing:
            raise UsageError(
                f"there is no head {name!r} among those of cross-attention under study; write L2H5 "
                "for head 5 of layer 2, counted from 0."
            )
        places.append(place)
    return places


def _listed_beside(model: CapturedModel) -> list[list[int]]:
    """Return the heads listed in the generation config beside a model without its head."""
    try:
        place = place_of(model.transformer.name_or_path or model.name)
        return list(getattr(GenerationConfig.from_pretrained(place), LISTED, None) or [])
    except (OSError, ValueError):  # it has none
        return []


def _gold_file(settings: AlignmentSettings, source: Any) -> str:
    if settings.gold is None and str(source) == str(SAMPLE_TRANSLATIONS):
        return str(SAMPLE_LINKS)
    if settings.gold is None:
        instead = per_door(
            python="the method align of a model",
            command_line="headlight align",
            app="headlight align",
        )
        raise UsageError(
            "alignments are judged by gold links, and none are named; name their file with "
            f"{setting('gold=')}, or find links without judging them with {instead}."
        )
    return settings.gold


def _passes(settings: AlignmentSettings) -> tuple[Pass, ...]:
    """Return the passes: one of attention alone, and others that run the model as they need."""
    if settings.of_hidden_states:
        return (Pass(("similarity",)),)
    attention = (Pass(settings.of_attention),) if settings.of_attention else ()
    inputs = (Pass(settings.of_input, folder=INPUTS),) if settings.of_input else ()
    return attention + inputs


class _Swapped:
    """The pairs with source and target exchanged, every time they are read."""

    def __init__(self, pairs: Corpus[TranslationPair]) -> None:
        self._pairs = pairs

    @property
    def counts(self) -> CorpusCounts:
        """Return the counts of what the latest iteration has left out so far."""
        return self._pairs.counts

    def __iter__(self) -> Any:
        return reversed_pairs(self._pairs)


def _gold_of(
    corpus: Iterable[TranslationPair], path: str, settings: AlignmentSettings
) -> list[Gold]:
    """Return the gold links, one for each pair, from source to target as the model has them."""
    lengths = [(len(pair.source.split()), len(pair.target.split())) for pair in corpus]
    gold_links = list(open_links(path, format=settings.gold_format, sentences=len(lengths)))
    demand_words(gold_links, lengths)
    if not settings.swap:
        return gold_links
    return [Gold(swapped(gold.sure), swapped(gold.possible), gold.name) for gold in gold_links]
