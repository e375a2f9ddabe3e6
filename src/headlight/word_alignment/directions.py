"""Alignments of one model or of two, one for each direction, with layers chosen where need be."""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice

import numpy as np

from headlight.capture import CapturedModel
from headlight.corpora import TranslationPair
from headlight.errors import UsageError
from headlight.links import Symmetrization, swapped, symmetrized
from headlight.word_alignment.aligner import (
    Aligner,
    Alignment,
    check_translates,
    reversed_pairs,
)
from headlight.word_alignment.choose import SAMPLE, Choice, choose_layer
from headlight.word_alignment.encoders import SimilarityAligner, encoder_of, usual_layer
from headlight.word_alignment.settings import AlignerSettings

WINDOW = 256
"""Pairs that both directions are asked about in turn."""


def align_pairs(
    pairs: Iterable[TranslationPair],
    model: CapturedModel,
    settings: AlignerSettings,
    *,
    reverse_model: CapturedModel | None = None,
    symmetrization: Symmetrization | None = None,
    start: int = 0,
    on_choice: Callable[[Choice], object] = lambda _: None,
) -> Iterator[Alignment]:
    """One alignment for every pair, in their order; memory does not grow with their number.

    Args:
        pairs: Sentences and their translations.
        model: An encoder-decoder model, or an encoder.
        settings: See `AlignerSettings`; a layer is chosen if the measure needs one and none is
            named.
        reverse_model: A model from the target language to the source; its links are put together
            with those of `model`.
        symmetrization: How; by default grow-diag-final-and.  With an encoder: how the links of
            target words and those of source words are put together, in place of an extraction.
        start: The first pair that is aligned, from 0; a layer is chosen by the first pairs of all.
        on_choice: Is told of the layer that was chosen.

    Raises:
        UsageError: A model does not fit, or a layer cannot be chosen.
    """
    if not model.has_decoder_inputs or settings.of_hidden_states:
        if reverse_model is not None:
            raise UsageError(
                "an encoder reads both languages, and has no other direction; leave out the "
                "reverse model."
            )
        aligner = _similarity_aligner(model, settings, symmetrization, on_choice)
        return aligner.align(islice(iter(pairs), start, None))
    for each in filter(None, (model, reverse_model)):
        check_translates(each)
    if reverse_model is None and symmetrization is not None:
        raise UsageError(
            f"{symmetrization} puts two directions together, and here is one; name a reverse model."
        )
    stream = iter(pairs)
    other = settings
    if settings.of_attention and settings.layer is None:
        first = list(islice(stream, SAMPLE))
        choice = choose_layer(model, settings, first, reverse_model)
        on_choice(choice)
        stream = chain(first, stream)
        settings = settings.replace(layer=choice.layer)
        other = settings.replace(layer=choice.reverse_layer)
    stream = islice(stream, start, None)
    forward = Aligner(model, settings)
    if reverse_model is None:
        return forward.align(stream)
    if other.head is not None:
        raise UsageError("a head is one of one model; leave it out where there are two models.")
    method = symmetrization or "grow-diag-final-and"
    return _together(stream, forward, Aligner(reverse_model, other), method)


def _similarity_aligner(
    model: CapturedModel,
    settings: AlignerSettings,
    symmetrization: Symmetrization | None,
    on_choice: Callable[[Choice], object],
) -> SimilarityAligner:
    encoder = encoder_of(model)
    if settings.layer is not None:
        return SimilarityAligner(encoder, settings, symmetrization)
    choice = usual_layer(encoder)
    made = SimilarityAligner(encoder, settings.replace(layer=choice.layer), symmetrization)
    if choice.reason:
        on_choice(choice)
    return made


def _together(
    stream: Iterator[TranslationPair], forward: Aligner, backward: Aligner, method: Symmetrization
) -> Iterator[Alignment]:
    while window := list(islice(stream, WINDOW)):
        back = backward.align(reversed_pairs(window))
        for one, other in zip(forward.align(window), back, strict=True):
            yield _joined(one, other, method)


def _joined(one: Alignment, other: Alignment, method: Symmetrization) -> Alignment:
    """The links of both; their soft matrix is the geometric mean of the two shares."""
    if one.soft is None or other.soft is None:
        return Alignment(one.pair, omitted=one.omitted or other.omitted)
    links = symmetrized(method, one.links, swapped(other.links))
    soft = np.sqrt(np.maximum(one.soft, 0) * np.maximum(other.soft.T, 0))
    return Alignment(one.pair, links, soft)
