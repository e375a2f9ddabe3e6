"""Choose a layer of cross-attention where there are no gold links to choose it by."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float

from headlight.capture import CapturedModel, LayerRecord
from headlight.corpora import TranslationPair
from headlight.encode import EncodedTranslation, length_batches
from headlight.errors import UsageError
from headlight.links import Gold, Links, score_links, swapped
from headlight.measures import Scores
from headlight.word_alignment import AlignerSettings
from headlight.word_alignment.aligner import Aligner, encode, mean_of_places, places, reversed_pairs

SAMPLE = 200
"""Pairs that are looked at."""
JUDGED = 25
"""Pairs of which every source piece is erased in turn."""


@dataclass(frozen=True)
class Choice:
    """A layer, and why it.

    Attributes:
        layer: Of cross-attention, from 0.
        reason: A clause that says what speaks for it.
        reverse_layer: That of the model for the other direction, if there is one.
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
    """The layer whose links are probably the best.

    With a model for the other direction, it is the pair of layers whose links agree most (Chen et
    al. 2020, Section 4.1).  Without, it is the layer whose links agree most with what the model's
    own predictions lose without a source piece (the measure ``difference``), on `JUDGED` pairs.
    Of a model without predictions it is the layer with the highest mean norm, which was the best
    one in all of the models of Kobayashi et al. (2020, Section 5), if a row stands for the word
    that the decoder reads.

    Args:
        model: An encoder-decoder model.
        settings: Measure and step.
        pairs: Some of those that are to be aligned; the first `SAMPLE` with words are looked at.
        reverse_model: From the target language to the source.

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
    """The mean over sentences of the mean ‖Σ_h αf(x)‖ of their places, by layer."""
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
        (one, other): error_rate(forward[one], backward[other])
        for one in forward
        for other in backward
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
    """A pass for each layer; the sample is small."""
    layers = [site.layer for site in model.sites_of("cross")]
    aligners = {layer: Aligner(model, settings.replace(layer=layer)) for layer in layers}
    return {
        layer: [alignment.links for alignment in aligner.align(sample)]
        for layer, aligner in aligners.items()
    }


def error_rate(one: Sequence[Links], other: Sequence[Links]) -> float:
    """AER of links, where others are taken for the gold; 1 where there are none at all."""
    rate = score_links([Gold.of(links) for links in one], other).error_rate
    return 1.0 if math.isnan(rate) else rate
