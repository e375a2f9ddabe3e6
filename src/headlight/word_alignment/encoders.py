"""Align pairs with the hidden states of an encoder, which reads each sentence by itself."""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from headlight.capture import CapturedModel
from headlight.capture.hidden_states import (
    HiddenStates,
    hidden_layers,
    trial_hidden_states,
)
from headlight.encode import EncodedTranslation
from headlight.encode.batch import Batch
from headlight.errors import UsageError
from headlight.links import Links, Symmetrization, symmetrized
from headlight.word_alignment.aligner import PairAligner, Soft, word_links
from headlight.word_alignment.choose import Choice
from headlight.word_alignment.settings import AlignerSettings, Extraction
from headlight.word_alignment.similarity import SentencePairs, Units, extracted

USUAL_LAYER = 8
"""How many layers have run where SimAlign and awesome-align take hidden states."""


def encoder_of(model: CapturedModel) -> CapturedModel:
    """Return the part of a model that reads one sentence: an encoder, without head or decoder.

    Raises:
        UsageError: The model reads from left to right alone.
    """
    encoder = model.encoder() if model.has_decoder_inputs else model.base()
    last = trial_hidden_states(encoder)[-1]
    if torch.allclose(last[0, 0], last[1, 0]):
        raise UsageError(
            f"{model.name} reads from left to right, so that the hidden state of a word knows "
            "nothing of what follows it; name an encoder, such as bert-base-multilingual-cased, "
            "or a translation model."
        )
    return encoder


def usual_layer(encoder: CapturedModel) -> Choice:
    """After `USUAL_LAYER` layers, or after two thirds of all where there are fewer.

    8 of the 12 layers of BERT and XLM-R are two thirds.  There is a reason only for another layer
    than the usual one.
    """
    depth = hidden_layers(encoder)[-1]
    if depth >= USUAL_LAYER:
        return Choice(USUAL_LAYER, "")
    layers = "layer" if depth == 1 else "layers"
    reason = f"{encoder.name} has {depth} {layers}, fewer than the usual {USUAL_LAYER}"
    return Choice(max(1, round(depth * 2 / 3)), reason)


def pairs_of(source: Tensor, target: Tensor, batch: Batch, unit: str | None) -> SentencePairs:
    """The units of a batch, from the hidden states of its sources and of its targets."""
    return SentencePairs(
        Units.of(source, batch.source_alone(), unit), Units.of(target, batch.target_alone(), unit)
    )


class SimilarityAligner(PairAligner):
    """Finds links with the hidden states of an encoder.

    Args:
        encoder: See `encoder_of`.
        settings: See `AlignerSettings`, with the layer.
        symmetrization: With one, the words that each target word and each source word is most
            similar to are put together by it, in place of an extraction.

    Raises:
        UsageError: The settings are those of a translation model, no layer is named, there is no
            tokenizer, or both an extraction and a symmetrization are asked for.
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

    def _found(self, examples: Sequence[EncodedTranslation]) -> Iterator[tuple[Links, Soft]]:
        batch = self.model.collate(examples)
        source, target = self._states(batch.source_alone()), self._states(batch.target_alone())
        with torch.inference_mode():
            pairs = pairs_of(source, target, batch, self.settings.unit)
            found = [
                extracted(pairs, extraction, self.settings.similarity)
                for extraction in self._extractions
            ]
            words = [pairs.links_of_words(links).cpu() for links, _ in found]
            soft = pairs.largest_of_words(found[0][1]).float().cpu().numpy()
        for row, example in enumerate(examples):
            links = [word_links(each[row], example) for each in words]
            yield self._together(links), _of_all_words(soft[row], example)

    @property
    def _extractions(self) -> tuple[Extraction, ...]:
        if self._symmetrization is not None:
            return ("forward", "reverse")
        return (self.settings.extraction or "argmax",)

    def _together(self, links: Sequence[Links]) -> Links:
        if self._symmetrization is None:
            return links[0]
        return symmetrized(self._symmetrization, links[0], links[1])


def _of_all_words(soft: Float[np.ndarray, "row column"], example: EncodedTranslation) -> Soft:
    """Also of words without pieces at the end of a sentence, which nothing is similar to."""
    shape = (len(example.target_text), len(example.source_text))
    made = np.zeros(shape, dtype=np.float32)
    there = soft[: shape[0], : shape[1]]
    made[: there.shape[0], : there.shape[1]] = there
    return made
