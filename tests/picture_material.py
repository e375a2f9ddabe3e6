"""Tiny encoders of pictures with random weights, and pictures that are drawn here."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers as hf
from PIL import Image

SIDE, PATCH = 32, 8
_SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
_SQUARE = {**_SIZES, "intermediate_size": 48, "image_size": SIDE, "patch_size": PATCH}
_DINO = {**_SIZES, "mlp_ratio": 2, "image_size": SIDE, "patch_size": PATCH}

ENCODERS: dict[str, tuple[str, dict[str, Any], list[str]]] = {
    "vit": ("ViT", _SQUARE, ["cls"]),
    "deit": ("DeiT", _SQUARE, ["cls", "dist"]),
    "beit": ("Beit", _SQUARE, ["cls"]),
    "dinov2": ("Dinov2", _DINO, ["cls"]),
    "registers": (
        "Dinov2WithRegisters", {**_DINO, "num_register_tokens": 3}, ["cls", "reg1", "reg2", "reg3"],
    ),
    "dinov3": ("DINOv3ViT", {**_SQUARE, "num_register_tokens": 2}, ["cls", "reg1", "reg2"]),
    "clip": ("CLIPVision", _SQUARE, ["cls"]),
    "siglip": ("SiglipVision", _SQUARE, []),
}  # fmt: skip
"""Class of transformers, what its configuration says, and positions before the patches."""


def encoder(name: str) -> Any:
    """Return a tiny encoder, whose special positions differ from one another."""
    family, options, _ = ENCODERS[name]
    torch.manual_seed(0)
    model = getattr(hf, f"{family}Model")(getattr(hf, f"{family}Config")(**options)).eval()
    with torch.no_grad():
        for each in model.parameters():  # tokens for class and registers begin as zeros
            each.add_(torch.randn_like(each) * 0.1)
    return model


def saved(model: Any, folder: Path, *, side: int = SIDE) -> Path:
    """Write a model and the processor that resizes and crops for it."""
    model.save_pretrained(folder)
    processor = hf.CLIPImageProcessorPil(
        size={"shortest_edge": side}, crop_size={"height": side, "width": side}
    )
    processor.save_pretrained(folder)
    return folder


def picture(path: Path, size: tuple[int, int] = (50, 40), seed: int = 0) -> Path:
    """Write a picture of coloured noise with a bright blob."""
    random = np.random.default_rng(seed)
    pixels = random.integers(0, 120, (size[1], size[0], 3), dtype=np.uint8)
    pixels[5:15, 8:20] = (250, 220, 40)
    Image.fromarray(pixels).save(path)
    return path
