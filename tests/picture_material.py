"""Tiny encoders of pictures with random weights, and pictures that are drawn here."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers as hf
from PIL import Image
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

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


PROMPT = "What is in the picture?"
_TEXT = {**_SIZES, "intermediate_size": 48, "num_key_value_heads": 2, "vocab_size": 300}
_TOKENS = ("<image>", "<|video_pad|>", "<|vision_start|>", "<|vision_end|>")


def tokenizer_with_images() -> Any:
    """Return a tokenizer of bytes and pairs, which knows the tokens that stand for pictures."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=300,
        special_tokens=["<s>", "</s>", *_TOKENS],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator([PROMPT] * 3, trainer)
    names = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "</s>"}
    return hf.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names)


def llava(folder: Path) -> Any:
    """Write a tiny LLaVA with its tokenizer; returns its processor."""
    tokenizer = tokenizer_with_images()
    config = hf.LlavaConfig(
        text_config={"model_type": "llama", **_TEXT},
        vision_config={"model_type": "clip_vision_model", **_SQUARE, "projection_dim": 16},
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
        vision_feature_layer=-1,
    )
    torch.manual_seed(0)
    saved(hf.LlavaForConditionalGeneration(config), folder)
    images = hf.CLIPImageProcessorPil.from_pretrained(folder)
    about = {"vision_feature_select_strategy": "default", "num_additional_image_tokens": 1}
    processor = hf.LlavaProcessor(images, tokenizer, patch_size=PATCH, **about)
    processor.save_pretrained(folder)
    return processor


def qwen(folder: Path) -> Any:
    """Write a tiny Qwen2-VL with its tokenizer; returns its processor, made without torchvision."""
    tokenizer = tokenizer_with_images()
    image, video, start, end = tokenizer.convert_tokens_to_ids(list(_TOKENS))
    rope = {"rope_type": "default", "mrope_section": [1, 1, 2], "rope_theta": 10000.0}
    config = hf.Qwen2VLConfig(
        text_config={**_TEXT, "rope_parameters": rope, "bos_token_id": 0, "eos_token_id": 1},
        vision_config={
            "depth": 2, "embed_dim": 32, "hidden_size": 32, "num_heads": 4, "patch_size": 4,
            "mlp_ratio": 2, "spatial_merge_size": 2, "temporal_patch_size": 2,
        },
        image_token_id=image,
        video_token_id=video,
        vision_start_token_id=start,
        vision_end_token_id=end,
    )  # fmt: skip
    torch.manual_seed(0)
    hf.Qwen2VLForConditionalGeneration(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    processor = object.__new__(hf.Qwen2VLProcessor)  # which cannot be made without its video part
    processor.image_processor = Qwen2VLImageProcessorPil(
        min_pixels=64, max_pixels=2048, patch_size=4, merge_size=2
    )
    processor.tokenizer, processor.video_processor, processor.chat_template = tokenizer, None, None
    processor.image_token, processor.video_token = _TOKENS[:2]
    processor.image_token_id, processor.video_token_id = image, video
    return processor
