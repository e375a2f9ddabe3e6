"""Features of sound, for a model that hears a window of fixed length."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int64
from torch import Tensor
from transformers import AutoFeatureExtractor, PreTrainedModel

from headlight.capture.preprocessors import load_without_code
from headlight.encode.speech import EncodedSpeech, Hearing
from headlight.encode.wav_files import read_sound
from headlight.errors import UsageError


@dataclass(frozen=True)
class SoundListener:
    """Audio input that makes features of sound, for a model that hears a window of fixed length.

    Attributes:
        network: Model that hears.
        extractor: Feature extractor of transformers, which belongs to the model.
        hearing: Window of sound that the model encodes.
    """

    network: PreTrainedModel
    extractor: Any
    hearing: Hearing

    @classmethod
    def from_model(cls, network: PreTrainedModel, name: str) -> "SoundListener":
        """Return the audio input of a model.

        Raises:
            UsageError: The model does not say how sound becomes features, or hears no window of
                fixed length.
        """
        try:
            extractor = load_without_code(AutoFeatureExtractor, network, name)
        except (OSError, ValueError) as problem:
            raise UsageError(
                f"{name} does not say how sound becomes features; load it from a folder that holds "
                "its preprocessor_config.json (save_pretrained of its processor)."
            ) from problem
        samples = getattr(extractor, "n_samples", None)
        frames = getattr(network.config, "max_source_positions", None)
        if not samples or not frames:
            raise UsageError(
                f"{name} has no audio window of fixed length, which models of speech need here; "
                "choose one such as Whisper."
            )
        rate = int(extractor.sampling_rate)
        return cls(network, extractor, Hearing(rate, samples / rate, int(frames)))

    def features(
        self, examples: Sequence[EncodedSpeech]
    ) -> tuple[Float[Tensor, "batch bin time"], Int64[Tensor, " batch"]]:
        """Return the input of the encoder, and the number of its positions that sound fills.

        Raises:
            CorpusError: A file cannot be read any more.
        """
        rate = self.hearing.rate
        sounds = [read_sound(example.audio, rate) for example in examples]
        inputs = self.extractor(sounds, sampling_rate=rate, return_tensors="pt")
        device, dtype = self.network.device, self.network.dtype
        audible_frames = torch.tensor([example.heard for example in examples], device=device)
        return inputs.input_features.to(device, dtype), audible_frames
