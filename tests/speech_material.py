"""A tiny Whisper of random weights, and recordings of noise."""

import wave
from pathlib import Path

import numpy as np
import torch
from transformers import WhisperConfig, WhisperFeatureExtractor, WhisperForConditionalGeneration

import headlight

SECONDS, RATE, POSITIONS = 0.41, 22050, 50


def wav(path: Path, seconds: float = SECONDS, *, width: int = 2, seed: int = 0) -> Path:
    noise = np.random.default_rng(seed).normal(0, 3000, int(seconds * RATE)).astype("<i2")
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(width)
        file.setframerate(RATE)
        file.writeframes(noise.tobytes() if width == 2 else bytes(len(noise)))
    return path


def tiny_whisper(made: Path) -> Path:
    """A window of one second, which the encoder sees as 50 positions of 20 ms."""
    tokenizer = headlight.load().tokenizer
    assert tokenizer is not None
    special = dict.fromkeys(("pad_token_id", "bos_token_id", "eos_token_id"), 0)
    config = WhisperConfig(
        vocab_size=len(tokenizer), num_mel_bins=8, d_model=16, encoder_layers=2, decoder_layers=2,
        encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=16,
        decoder_ffn_dim=16, max_source_positions=POSITIONS, max_target_positions=20,
        decoder_start_token_id=1, suppress_tokens=None, begin_suppress_tokens=None, **special,
    )  # fmt: skip
    torch.manual_seed(0)
    WhisperForConditionalGeneration(config).save_pretrained(made)
    WhisperFeatureExtractor(feature_size=8, chunk_length=1).save_pretrained(made)
    tokenizer.save_pretrained(made)
    return made


SAID = {
    "a": (0.41, "The cat sat.", ((0.0, 0.1), (0.12, 0.2), (0.2, 0.35))),
    "b": (0.6, "A dog ran home.", ((0.0, 0.05), (0.1, 0.2), (0.25, 0.4), (0.4, 0.6))),
    "c": (0.3, "Rain fell.", ((0.0, 0.1), (0.15, 0.3))),
}
"""Seconds, transcript and times of the words of each recording."""


def recordings(folder: Path, *, times: bool = True) -> Path:
    """A folder of them."""
    folder.mkdir(exist_ok=True)
    for seed, (name, (seconds, text, said)) in enumerate(SAID.items()):
        wav(folder / f"{name}.wav", seconds, seed=seed)
        (folder / f"{name}.txt").write_text(text + "\n", encoding="utf-8")
        if times:
            lines = [f"{word}\t{a}\t{b}\n" for word, (a, b) in zip(text.split(), said, strict=True)]
            (folder / f"{name}.times").write_text("".join(lines), encoding="utf-8")
    return folder
