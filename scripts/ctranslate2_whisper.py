"""Whisper of CTranslate2 as a model of transformers, for `real_models`.

A file of CTranslate2 is a list of named tensors, in which the projections that read the same
vectors are one matrix.
"""

import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np
import torch
from transformers import (
    GenerationConfig,
    WhisperConfig,
    WhisperFeatureExtractor,
    WhisperForConditionalGeneration,
    WhisperTokenizerFast,
)

_TYPES = {0: "<f4", 1: "<i1", 2: "<i2", 3: "<i4", 4: "<f2"}
_START, _END, _NO_TIMES = "<|startoftranscript|>", "<|endoftext|>", "<|notimestamps|>"
_FRAMES, _LONGEST = "position_encodings/encodings", 448
Tensors = dict[str, torch.Tensor]


def from_ctranslate2(unpacked: Path, out: Path) -> None:
    """Write the one English Whisper there is, float32, with tokenizer and feature extractor."""
    (path,) = unpacked.rglob("model.bin")
    with path.open("rb") as file:
        stored = dict(_tensors(file))
    tokenizer = WhisperTokenizerFast(
        tokenizer_file=str(path.parent / "tokenizer.json"),
        bos_token=_END,
        eos_token=_END,
        unk_token=_END,
        pad_token=_END,
    )
    start, end, no_times = tokenizer.convert_tokens_to_ids([_START, _END, _NO_TIMES])
    width, channels, _ = stored["encoder/conv1/weight"].shape[:3]
    heads = int(stored["encoder/num_heads"])
    inner = stored["encoder/layer_0/ffn/linear_0/bias"].numel()
    config = WhisperConfig(
        vocab_size=len(stored["decoder/embeddings/weight"]),
        num_mel_bins=channels,
        d_model=width,
        encoder_layers=_depth(stored, "encoder"),
        decoder_layers=_depth(stored, "decoder"),
        encoder_ffn_dim=inner,
        decoder_ffn_dim=inner,
        encoder_attention_heads=heads,
        decoder_attention_heads=heads,
        max_source_positions=len(stored[f"encoder/{_FRAMES}"]),
        max_target_positions=_LONGEST,
        bos_token_id=end,
        eos_token_id=end,
        pad_token_id=end,
        decoder_start_token_id=start,
    )
    model = WhisperForConditionalGeneration(config).eval()
    missing, unexpected = model.load_state_dict(dict(_renamed(stored)), strict=False)
    if set(missing) - {"proj_out.weight"} or unexpected:
        raise SystemExit(f"{path.name} holds another model: {missing} {unexpected}")
    said = json.loads((path.parent / "config.json").read_text(encoding="utf-8"))
    model.generation_config = GenerationConfig(
        alignment_heads=said["alignment_heads"],
        suppress_tokens=said["suppress_ids"],
        begin_suppress_tokens=said["suppress_ids_begin"],
        bos_token_id=end,
        eos_token_id=end,
        pad_token_id=end,
        decoder_start_token_id=start,
        forced_decoder_ids=None,
        is_multilingual=False,
        no_timestamps_token_id=no_times,
        max_length=_LONGEST,
        return_timestamps=False,
    )
    model.save_pretrained(out)
    tokenizer.save_pretrained(out)
    WhisperFeatureExtractor(feature_size=channels).save_pretrained(out)


def _tensors(file: BinaryIO) -> Iterator[tuple[str, torch.Tensor]]:
    """Names and values: version, name and revision of the format, and then one by one."""

    def numbers(code: str) -> tuple[int, ...]:
        return struct.unpack(f"<{code}", file.read(struct.calcsize(f"<{code}")))

    def text() -> str:
        (length,) = numbers("H")
        return file.read(length).rstrip(b"\0").decode()

    numbers("I")
    text()
    _, count = numbers("II")
    for _ in range(count):
        name = text()
        shape = numbers(f"{numbers('B')[0]}I")
        kind, size = numbers("BI")
        values = np.frombuffer(file.read(size), _TYPES[kind]).reshape(shape).astype(np.float32)
        yield name, torch.from_numpy(values)


def _depth(stored: Tensors, half: str) -> int:
    return sum(name.startswith(f"{half}/layer_") and "ffn/linear_0/bias" in name for name in stored)


def _renamed(stored: Tensors) -> Iterator[tuple[str, torch.Tensor]]:
    """The tensors under the names of transformers; their keys have no bias."""
    for half in ("encoder", "decoder"):
        yield f"model.{half}.embed_positions.weight", stored[f"{half}/{_FRAMES}"]
        yield from _parts(stored, f"{half}/layer_norm", f"model.{half}.layer_norm", [""])
        for n in range(_depth(stored, half)):
            old, new = f"{half}/layer_{n}", f"model.{half}.layers.{n}"
            yield from _attention(stored, f"{old}/self_attention", f"{new}.self_attn", "qkv")
            if half == "decoder":
                yield from _attention(stored, f"{old}/attention", f"{new}.encoder_attn", "q", "kv")
            yield from _parts(stored, f"{old}/ffn/layer_norm", f"{new}.final_layer_norm", [""])
            yield from _parts(stored, f"{old}/ffn/linear_0", f"{new}.fc1", [""])
            yield from _parts(stored, f"{old}/ffn/linear_1", f"{new}.fc2", [""])
    for name in ("conv1", "conv2"):
        yield from _parts(stored, f"encoder/{name}", f"model.encoder.{name}", [""])
    yield "model.decoder.embed_tokens.weight", stored["decoder/embeddings/weight"]


def _attention(
    stored: Tensors, old: str, new: str, *projections: str
) -> Iterator[tuple[str, torch.Tensor]]:
    """One attention module: the projections that are one matrix each, W^O, and its norm."""
    yield from _parts(stored, f"{old}/layer_norm", f"{new}_layer_norm", [""])
    for n, letters in enumerate((*projections, ("out",))):
        names = [f".{letter}_proj" for letter in letters]
        yield from _parts(stored, f"{old}/linear_{n}", new, names)


def _parts(
    stored: Tensors, old: str, new: str, names: list[str]
) -> Iterator[tuple[str, torch.Tensor]]:
    """Weight and bias of some linear maps that are stored as one."""
    for kind, ours in (
        ("weight", "weight"),
        ("bias", "bias"),
        ("gamma", "weight"),
        ("beta", "bias"),
    ):
        if (whole := stored.get(f"{old}/{kind}")) is not None:
            for name, each in zip(names, whole.chunk(len(names)), strict=True):
                if (name, ours) != (".k_proj", "bias"):
                    yield f"{new}{name}.{ours}", each.clone()
