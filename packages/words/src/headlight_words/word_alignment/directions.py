"""Alignment in two directions, and by encoders; choice of a layer without gold links."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from headlight.capture import CapturedModel, LayerRecord
from headlight.capture.hidden_states import HiddenStates, hidden_layers, trial_hidden_states
from headlight.encode import length_batches
from headlight.encode.batch import Batch
from headlight.errors import UsageError
from headlight.measures import Scores
from headlight_words.corpora import TranslationPair
from headlight_words.encode.translations import EncodedTranslation
from headlight_words.links import Gold, Links, Symmetrization, score_links, swapped, symmetrized
from headlight_words.word_alignment import INPUT_MEASURES, AlignerSettings, Extraction
from headlight_words.word_alignment.aligner import (
    Aligner,
    Alignment,
    PairAligner,
    Soft,
    encode,
    mean_of_places,
    places,
    reversed_pairs,
    word_links,
)
from headlight_words.word_alignment.hidden_state_similarity import SentencePairs, Units, extracted

SAMPLE = 200
"""Largest number of pairs by which a layer is chosen."""
JUDGED = 25
"""Largest number of pairs of which every source piece is erased in turn."""


@dataclass(frozen=True)
class Choice:
    """A chosen layer, and the reason for it.

    Attributes:
        layer: Layer of cross-attention, from 0; of an encoder, the number of layers run.
        reason: Clause that gives the reason for the choice.
        reverse_layer: Layer of the model for the other direction, if there is one.
    """

    layer: int
    reason: str
    reverse_layer: int | None = None


def choose_layer(
    model: CapturedModel,
    settings: AlignerSettings,
    pairs: Sequence[TranslationPair],
    reverse_model: CapturedModel | None = None,
) -> Choice:
    """Choose the layer whose links are probably the best.

    With a model for the other direction, it is the pair of layers whose links agree most (Chen et
    al. 2020, Section 4.1).  Without, it is the layer whose links agree most with those by the
    model's own predictions without a source piece (the measure ``difference``), on `JUDGED` pairs.
    Of a model without predictions it is the layer with the highest mean norm, which was the best
    layer in all of the models of Kobayashi et al. (2020, Section 5), if a row stands for the word
    that the decoder reads.

    Args:
        model: Encoder-decoder model.
        settings: Settings of the alignment, with measure and step.
        pairs: Some of the pairs to align; the first `SAMPLE` with words are examined.
        reverse_model: Model from the target language to the source.

    Raises:
        UsageError: There is neither a reverse model nor a head that predicts, and a row stands for
            the predicted word.
    """
    sample = [pair for pair in pairs if pair.source and pair.target][:SAMPLE]
    if not sample:
        return Choice(0, "no pair has words")
    if reverse_model is not None:
        return _agreeing(model, reverse_model, settings, sample)
    if model.transformer.get_output_embeddings() is not None:
        return _predicting(model, settings, sample[:JUDGED])
    if settings.step == "output":
        raise UsageError(
            f"{model} has no language-model head and there is no model for the other "
            "direction, so that no layer can be chosen for the step output; name a layer, a "
            "reverse model, or take the step input."
        )
    norms = mean_norms(model, settings, sample)
    best = max(norms, key=lambda layer: norms[layer])
    return Choice(best, f"its mean norm is the highest ({norms[best]:.3g})")


def mean_norms(
    model: CapturedModel, settings: AlignerSettings, pairs: Sequence[TranslationPair]
) -> dict[int, float]:
    """Return the mean over sentences of the mean ‖Σ_h αf(x)‖ of their places, by layer."""
    examples: list[EncodedTranslation] = list(encode(model, pairs, settings))
    norms: dict[int, float] = {}
    sites = model.sites_of("cross")
    for chosen in length_batches(examples, settings.batch_tokens):
        batch = model.collate([examples[at] for at in chosen])
        mask = places(batch)

        def visit(record: LayerRecord, place_mask: Float[torch.Tensor, "b t s"] = mask) -> None:
            total = mean_of_places(Scores(record).merged_norm[:, None], place_mask).sum()
            layer = record.site.layer
            norms[layer] = norms.get(layer, 0.0) + float(total) / len(examples)

        with model.capture(sites) as recorder:
            recorder.visit = visit
            model.run(batch)
    return norms


def _predicting(
    model: CapturedModel, settings: AlignerSettings, sample: Sequence[TranslationPair]
) -> Choice:
    judge = Aligner(model, settings.replace(measure="difference", layer=None, head=None))
    wanted = [links.links for links in judge.align(sample)]
    by_layer = _links_by_layer(model, settings, sample)
    rates = {layer: error_rate(wanted, links) for layer, links in by_layer.items()}
    best = min(rates, key=lambda layer: rates[layer])
    return Choice(
        best,
        "it agrees best with what predictions lose without a source word (they differ in "
        f"{rates[best]:.1%} of their links, over {len(sample)} pairs; no gold is looked at)",
    )


def _agreeing(
    model: CapturedModel,
    reverse_model: CapturedModel,
    settings: AlignerSettings,
    sample: Sequence[TranslationPair],
) -> Choice:
    forward = _links_by_layer(model, settings, sample)
    backward = {
        layer: [swapped(links) for links in links_of_layer]
        for layer, links_of_layer in _links_by_layer(
            reverse_model, settings, list(reversed_pairs(sample))
        ).items()
    }
    rates = {
        (layer, reverse_layer): error_rate(forward[layer], backward[reverse_layer])
        for layer in forward
        for reverse_layer in backward
    }
    best = min(rates, key=lambda both: rates[both])
    return Choice(
        best[0],
        f"with layer {best[1]} of the reverse model it agrees best (they differ in "
        f"{rates[best]:.1%} of their links; no gold is looked at)",
        best[1],
    )


def _links_by_layer(
    model: CapturedModel, settings: AlignerSettings, sample: Sequence[TranslationPair]
) -> dict[int, list[Links]]:
    """Return the links of the sample by each layer, with a pass for each; the sample is small."""
    layers = [site.layer for site in model.sites_of("cross")]
    aligners = {layer: Aligner(model, settings.replace(layer=layer)) for layer in layers}
    return {
        layer: [alignment.links for alignment in aligner.align(sample)]
        for layer, aligner in aligners.items()
    }


def error_rate(gold: Sequence[Links], links: Sequence[Links]) -> float:
    """Return the AER of `links` links with `gold` as the gold; 1 where there are no links."""
    rate = score_links([Gold.of(links) for links in gold], links).error_rate
    return 1.0 if math.isnan(rate) else rate


USUAL_LAYER = 8
"""Number of layers after which SimAlign and awesome-align take hidden states."""


def encoder_of(model: CapturedModel) -> CapturedModel:
    """Return the part of a model that reads one sentence: an encoder, without head or decoder.

    Raises:
        UsageError: The model reads from left to right alone.
    """
    encoder = model.encoder() if model.has_decoder_inputs else model.base()
    last = trial_hidden_states(encoder)[-1]
    if torch.allclose(last[0, 0], last[1, 0]):
        raise UsageError(
            f"{model} reads from left to right, so that the hidden state of a word does not "
            "encode the right context; name an encoder, such as bert-base-multilingual-cased, or "
            "a translation model."
        )
    return encoder


def usual_layer(encoder: CapturedModel) -> Choice:
    """Choose `USUAL_LAYER` layers, or two thirds of all where there are fewer.

    8 of the 12 layers of BERT and XLM-R are two thirds.  A reason is given only for another layer
    than the usual.
    """
    depth = hidden_layers(encoder)[-1]
    if depth >= USUAL_LAYER:
        return Choice(USUAL_LAYER, "")
    layers = "layer" if depth == 1 else "layers"
    reason = f"{encoder.name} has {depth} {layers}, fewer than the usual {USUAL_LAYER}"
    return Choice(max(1, round(depth * 2 / 3)), reason)


def pairs_of(source: Tensor, target: Tensor, batch: Batch, unit: str | None) -> SentencePairs:
    """Return the units of a batch, from the hidden states of its sources and of its targets."""
    return SentencePairs(
        Units.from_batch(source, batch.source_alone(), unit),
        Units.from_batch(target, batch.target_alone(), unit),
    )


class SimilarityAligner(PairAligner):
    """Aligner by the hidden states of an encoder.

    Args:
        encoder: Encoder, see `encoder_of`.
        settings: Settings of the alignment, see `AlignerSettings`, with the layer.
        symmetrization: Method that joins the most similar source word of each target word and the
            most similar target word of each source word, in place of an extraction.

    Raises:
        UsageError: The settings are those of a translation model, no layer is named, there is no
            tokenizer, or both an extraction and a symmetrization are requested.
    """

    def __init__(
        self,
        encoder: CapturedModel,
        settings: AlignerSettings,
        symmetrization: Symmetrization | None = None,
    ) -> None:
        super().__init__(encoder, settings.for_model(encoder.name, translates=False))
        if settings.layer is None:
            raise UsageError("the layer is not chosen yet; name one, or see `usual_layer`.")
        if symmetrization is not None and settings.extraction is not None:
            raise UsageError(
                f"links are made by one extraction ({settings.extraction}), or of two directions "
                f"({symmetrization}); leave one of the two out."
            )
        self._states = HiddenStates(encoder, settings.layer)
        self._symmetrization = symmetrization

    def _link_batch(self, examples: Sequence[EncodedTranslation]) -> Iterator[tuple[Links, Soft]]:
        batch = self.model.collate(examples)
        source, target = self._states(batch.source_alone()), self._states(batch.target_alone())
        with torch.inference_mode():
            pairs = pairs_of(source, target, batch, self.settings.unit)
            links_by_extraction = [
                extracted(pairs, extraction, self.settings.similarity)
                for extraction in self._extractions
            ]
            words = [pairs.links_of_words(links).cpu() for links, _ in links_by_extraction]
            soft = pairs.largest_of_words(links_by_extraction[0][1]).float().cpu().numpy()
        for row, example in enumerate(examples):
            links = [word_links(linked[row], example) for linked in words]
            yield self._join_links(links), _pad_words(soft[row], example)

    @property
    def _extractions(self) -> tuple[Extraction, ...]:
        if self._symmetrization is not None:
            return ("forward", "reverse")
        return (self.settings.extraction or "argmax",)

    def _join_links(self, links: Sequence[Links]) -> Links:
        if self._symmetrization is None:
            return links[0]
        return symmetrized(self._symmetrization, links[0], links[1])


def _pad_words(soft: Float[np.ndarray, "row column"], example: EncodedTranslation) -> Soft:
    """Pad with zeros for words without pieces at the end of a sentence, similar to no word."""
    shape = (len(example.target_text), len(example.source_text))
    of_words = np.zeros(shape, dtype=np.float32)
    of_pieces = soft[: shape[0], : shape[1]]
    of_words[: of_pieces.shape[0], : of_pieces.shape[1]] = of_pieces
    return of_words


WINDOW = 256
"""Pairs that both directions align in turn."""


def align_pairs(  # noqa: PLR0913 - each is a choice of its own
    pairs: Iterable[TranslationPair],
    model: CapturedModel,
    settings: AlignerSettings,
    *,
    reverse_model: CapturedModel | None = None,
    symmetrization: Symmetrization | None = None,
    start: int = 0,
    choice: Choice | None = None,
    on_choice: Callable[[Choice], object] = lambda _: None,
) -> Iterator[Alignment]:
    """Yield an alignment for every pair, in their order; memory does not grow with their number.

    Args:
        pairs: Sentences and their translations.
        model: Encoder-decoder model, or encoder.
        settings: Settings of the alignment, see `AlignerSettings`; a layer is chosen if the measure
            needs one and none is named.
        reverse_model: Model from the target language to the source; its links are joined with those
            of `model`.
        symmetrization: Method that joins the links; by default grow-diag-final-and.  With an
            encoder it joins the links of target words and those of source words, in place of an
            extraction.
        start: First pair that is aligned, from 0; a layer is chosen by the first pairs of all.
        choice: Layers, where they were chosen before, see `choose_layers`.
        on_choice: Function called with a choice that is made here.

    Raises:
        UsageError: A model does not fit, or a layer cannot be chosen.
    """
    _check_directions(model, settings, reverse_model, symmetrization)
    stream = iter(pairs)
    tell = choice is None and needs_choice(settings)
    if tell:
        first = list(islice(stream, SAMPLE))
        choice = choose_layers(first, model, settings, reverse_model)
        stream = chain(first, stream)
    stream = islice(stream, start, None)
    other = settings
    if choice is not None:
        other = settings.replace(layer=choice.reverse_layer)
        settings = settings.replace(layer=choice.layer)
    if _compares_hidden_states(model, settings):
        alignments = SimilarityAligner(encoder_of(model), settings, symmetrization).align(stream)
    elif reverse_model is None:
        alignments = Aligner(model, settings).align(stream)
    else:
        both = Aligner(model, settings), Aligner(reverse_model, other)
        alignments = _join_links(stream, *both, symmetrization or "grow-diag-final-and")
    if tell and choice is not None:  # after whatever the aligners may refuse
        on_choice(choice)
    return alignments


def align(
    model: CapturedModel, pairs: Iterable[TranslationPair], **settings: Any
) -> Iterator[Alignment]:
    """Yield the links between the words of sentences and their translations, pair by pair.

    Args:
        model: Model that reads the pairs.
        pairs: Pairs, usually of `headlight_words.corpora.open_parallel`.
        settings: Settings of `headlight_words.word_alignment.AlignerSettings`, such as
            ``measure`` and ``layer``; see `headlight_words.word_alignment.directions.align_pairs`.

    Returns:
        An `Alignment` for each pair: its links are numbers of a source word and a target word, and
        ``soft`` (target word × source word) the value of the measure behind them.

    Raises:
        UsageError: The settings do not go together, or do not fit the model.
    """
    return align_pairs(pairs, model, AlignerSettings(**settings))


def needs_choice(settings: AlignerSettings) -> bool:
    """Whether there is a layer to choose."""
    return settings.layer is None and settings.measure not in INPUT_MEASURES


def choose_layers(
    pairs: Sequence[TranslationPair],
    model: CapturedModel,
    settings: AlignerSettings,
    reverse_model: CapturedModel | None = None,
) -> Choice:
    """Choose the layers by which words are linked.

    Args:
        pairs: First of the pairs to align.
        model: Model, see `align_pairs`.
        settings: Settings that need a choice of layers, see `needs_choice`.
        reverse_model: Reverse model, see `align_pairs`.

    Raises:
        UsageError: No layer can be chosen.
    """
    if _compares_hidden_states(model, settings):
        return usual_layer(encoder_of(model))
    return choose_layer(model, settings, pairs, reverse_model)


def _compares_hidden_states(model: CapturedModel, settings: AlignerSettings) -> bool:
    return not model.has_decoder_inputs or settings.of_hidden_states


def _check_directions(
    model: CapturedModel,
    settings: AlignerSettings,
    reverse_model: CapturedModel | None,
    symmetrization: Symmetrization | None,
) -> None:
    """Refuse settings and models that do not go together."""
    if _compares_hidden_states(model, settings):
        if reverse_model is not None:
            raise UsageError(
                "an encoder reads both languages, and has no other direction; leave out the "
                "reverse model."
            )
        return
    if reverse_model is None:
        if symmetrization is not None:
            raise UsageError(
                f"{symmetrization} puts two directions together, and here is one; name a reverse "
                "model."
            )
        return
    reverse_model.require_translator()
    if settings.head is not None:
        raise UsageError("a head is one of one model; leave it out where there are two models.")


def _join_links(
    stream: Iterator[TranslationPair], forward: Aligner, backward: Aligner, method: Symmetrization
) -> Iterator[Alignment]:
    while window := list(islice(stream, WINDOW)):
        back = backward.align(reversed_pairs(window))
        for link_forward, link_backward in zip(forward.align(window), back, strict=True):
            yield _joined(link_forward, link_backward, method)


def _joined(forward: Alignment, backward: Alignment, method: Symmetrization) -> Alignment:
    """Join the links of both; their soft matrix is the geometric mean of the two shares."""
    if forward.soft is None or backward.soft is None:
        return Alignment(forward.pair, omitted=forward.omitted or backward.omitted)
    links = symmetrized(method, forward.links, swapped(backward.links))
    soft = np.sqrt(np.maximum(forward.soft, 0) * np.maximum(backward.soft.T, 0))
    return Alignment(forward.pair, links, soft)
