"""Alignments of one model or of two, one for each direction, with layers chosen where need be."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice

import numpy as np

from headlight.capture import CapturedModel
from headlight.corpora import TranslationPair
from headlight.errors import UsageError
from headlight.links import Symmetrization, swapped, symmetrized
from headlight.word_alignment.aligner import Aligner, Alignment, reversed_pairs
from headlight.word_alignment.choose import SAMPLE, Choice, choose_layer
from headlight.word_alignment.encoders import SimilarityAligner, encoder_of, usual_layer
from headlight.word_alignment.settings import INPUT_MEASURES, AlignerSettings

WINDOW = 256
"""Pairs that both directions are asked about in turn."""


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
        choice: The layers, where they were chosen before, see `choose_layers`.
        on_choice: Is told of a choice that is made here.

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
        found = SimilarityAligner(encoder_of(model), settings, symmetrization).align(stream)
    elif reverse_model is None:
        found = Aligner(model, settings).align(stream)
    else:
        both = Aligner(model, settings), Aligner(reverse_model, other)
        found = _together(stream, *both, symmetrization or "grow-diag-final-and")
    if tell and choice is not None:  # after whatever the aligners may refuse
        on_choice(choice)
    return found


def needs_choice(settings: AlignerSettings) -> bool:
    """Whether there is a layer to choose."""
    return settings.layer is None and settings.measure not in INPUT_MEASURES


def choose_layers(
    pairs: Sequence[TranslationPair],
    model: CapturedModel,
    settings: AlignerSettings,
    reverse_model: CapturedModel | None = None,
) -> Choice:
    """The layers by which words are linked.

    Args:
        pairs: The first of those that are aligned.
        model: See `align_pairs`.
        settings: Of which layers are asked for, see `needs_choice`.
        reverse_model: See `align_pairs`.

    Raises:
        UsageError: None can be chosen.
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
    """Refuse what does not go together.

    Raises:
        UsageError: It does not.
    """
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
