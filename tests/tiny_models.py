"""Tiny random models: how they are built, what they are fed, and what their own attention is.

The rows are in `architectures`; nothing here knows headlight.
"""

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import Tensor, nn
from transformers import AutoConfig, AutoModel, PreTrainedModel

Inputs = dict[str, Tensor]
Padding = Literal["none", "right", "left"]

LENGTHS = (12, 7)
"""Tokens of the two sequences of a padded batch; without padding both have the first."""
TARGETS = (9, 5)
"""The same for the decoder side of encoder-decoders."""

FIRST_WORD = 5
VOCABULARY = 99


# Inputs


def words(
    generator: torch.Generator, lengths: tuple[int, int], padding: Padding
) -> tuple[Tensor, Tensor]:
    """Random token ids, 0 where padded, and the mask of the real ones."""
    ids = torch.randint(FIRST_WORD, VOCABULARY, (2, lengths[0]), generator=generator)
    mask = torch.ones_like(ids)
    if padding == "right":
        mask[1, lengths[1] :] = 0
    if padding == "left":
        mask[1, : -lengths[1]] = 0
    return ids * mask, mask


def text(generator: torch.Generator, padding: Padding) -> Inputs:
    """Token ids, with an attention mask if there is padding."""
    ids, mask = words(generator, LENGTHS, padding)
    return {"input_ids": ids} if padding == "none" else {"input_ids": ids, "attention_mask": mask}


def text_pair(generator: torch.Generator, padding: Padding) -> Inputs:
    """A source and a target for an encoder-decoder."""
    return text(generator, padding) | target(generator, padding)


def target(generator: torch.Generator, padding: Padding) -> Inputs:
    """What the decoder of an encoder-decoder reads."""
    ids, mask = words(generator, TARGETS, padding)
    if padding == "none":
        return {"decoder_input_ids": ids}
    return {"decoder_input_ids": ids, "decoder_attention_mask": mask}


def image(generator: torch.Generator, padding: Padding) -> Inputs:
    """Images have no padding: 3 channels, 12 x 12 pixels, to be cut into 9 patches."""
    return {"pixel_values": torch.randn(2, 3, 12, 12, generator=generator)}


def video(generator: torch.Generator, padding: Padding) -> Inputs:
    """Two pictures of the same kind."""
    return {"pixel_values": torch.randn(2, 2, 3, 12, 12, generator=generator)}


def samples(generator: torch.Generator, padding: Padding) -> Inputs:
    """Raw sound; the models turn 10 samples into one position."""
    sound = torch.randn(2, 120, generator=generator)
    if padding == "none":
        return {"input_values": sound}
    mask = torch.ones(2, 120, dtype=torch.long)
    mask[1, 70:] = 0
    return {"input_values": sound * mask, "attention_mask": mask}


def spectrogram(generator: torch.Generator, padding: Padding) -> Inputs:
    """Mel features of a fixed length, as Whisper takes them (it masks nothing), and a target."""
    features = torch.randn(2, 8, 24, generator=generator)
    return {"input_features": features, **target(generator, "none")}


def frames(generator: torch.Generator, padding: Padding) -> Inputs:
    """Mel features of any length, four frames to a position, and a target."""
    inputs = {"input_features": torch.randn(2, 40, 8, generator=generator)}
    if padding != "none":
        inputs["attention_mask"] = torch.ones(2, 40, dtype=torch.long)
        inputs["attention_mask"][1, 24:] = 0
    return inputs | target(generator, padding)


def unmasked_frames(generator: torch.Generator, padding: Padding) -> Inputs:
    """Mel features of any length, for an encoder."""
    return {"input_features": torch.randn(2, 40, 8, generator=generator)}


def masked_spectrogram(generator: torch.Generator, padding: Padding) -> Inputs:
    """Mel features of a fixed length, all of them sound, for an encoder."""
    features = torch.randn(2, 8, 24, generator=generator)
    return {"input_features": features, "input_features_mask": torch.ones(2, 24, dtype=torch.long)}


def patches_of_sound(generator: torch.Generator, padding: Padding) -> Inputs:
    """A spectrogram of a fixed length, to be cut into 8 patches."""
    return {"input_values": torch.randn(2, 16, 8, generator=generator)}


PADDINGS: dict[Callable[..., Inputs], tuple[Padding, ...]] = {
    text: ("none", "right", "left"),
    text_pair: ("none", "right", "left"),
    samples: ("none", "right"),
    frames: ("none", "right"),
}
"""How each kind of input can be padded; the others cannot."""


# A row of the table


@dataclass(frozen=True, slots=True)
class Expected:
    """What one attention module must be found to be."""

    kind: str
    heads: int = 4
    key_value_heads: int = 4
    head_dim: int = 8
    window: int | None = None
    """Keys before the query that it may see, itself counted in decoders, not in encoders."""
    gate: str | None = None
    """The context of a query is multiplied by a number for each `head`, or for each `element`."""


@dataclass(frozen=True, slots=True)
class Architecture:
    """One row of the table: how to build the model, and what capture must find in it."""

    name: str
    model_type: str
    attentions: tuple[Expected, ...]
    special: str
    settings: dict[str, Any] = field(default_factory=dict)
    make_inputs: Callable[[torch.Generator, Padding], Inputs] = text

    def build(self) -> PreTrainedModel:
        """The model in evaluation mode, the same at every call."""
        return build(self.model_type, self.settings, seed=zlib.crc32(self.name.encode()))

    def inputs(self, generator: torch.Generator, padding: Padding) -> Inputs:
        """Two sequences for the forward pass; with padding the second is shorter and masked."""
        return self.make_inputs(generator, padding)

    @property
    def paddings(self) -> tuple[Padding, ...]:
        """The ways in which its inputs can be padded."""
        return PADDINGS.get(self.make_inputs, ("none",))


@dataclass(frozen=True, slots=True)
class Refused:
    """A model that Headlight must refuse, and why."""

    name: str
    model_type: str
    cause: str
    """`outside` the attention interface, `changed` context, or `none`: no attention at all."""
    settings: dict[str, Any] = field(default_factory=dict)
    make_inputs: Callable[[torch.Generator, Padding], Inputs] = text

    def build(self) -> PreTrainedModel:
        """The model in evaluation mode, the same at every call."""
        return build(self.model_type, self.settings, seed=zlib.crc32(self.name.encode()))

    def inputs(self, generator: torch.Generator) -> Inputs:
        """Two sequences for the forward pass."""
        return self.make_inputs(generator, "none")


def build(model_type: str, settings: dict[str, Any], seed: int) -> PreTrainedModel:
    """A model of this type with random weights; float32, evaluation mode."""
    tokens = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
    config = AutoConfig.for_model(model_type, **{**tokens, **settings})
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = AutoModel.from_config(config, dtype=torch.float32)
    randomise(model, torch.Generator().manual_seed(seed))
    return model.eval()


@torch.no_grad()
def randomise(model: nn.Module, generator: torch.Generator) -> None:
    """Matrices with unit gain, and a random step away from its neutral value for every vector."""
    for parameter in model.parameters():
        noise = torch.randn(parameter.shape, generator=generator)
        if parameter.ndim < 2:
            parameter.add_(0.3 * noise)
        else:
            parameter.copy_(noise / parameter[0].numel() ** 0.5)
    for embedding in (module for module in model.modules() if isinstance(module, nn.Embedding)):
        embedding.weight.copy_(torch.randn(embedding.weight.shape, generator=generator))
        if embedding.padding_idx is not None:  # MobileBERT reads the token after the last one
            embedding.weight[embedding.padding_idx] = 0


# Who may see whom


def real_tokens(model: PreTrainedModel, inputs: Inputs, side: str, positions: int) -> Tensor:
    """Which positions of a side (`source` or `target`) are real. Shape [batch, positions]."""
    name = "decoder_attention_mask" if side == "target" else "attention_mask"
    if name not in inputs:
        return torch.ones(2, positions, dtype=torch.bool)
    mask = inputs[name]
    if mask.shape[1] != positions:  # sound: samples became positions
        mask = model._get_feature_vector_attention_mask(positions, mask)
    return mask.bool()


def visible(expected: Expected, query_real: Tensor, key_real: Tensor) -> Tensor:
    """Which keys each query may see. Shape [batch, query, key].

    Rows of padding queries are false: what they attend to means nothing.
    """
    seen = query_real[:, :, None] & key_real[:, None, :]
    query = torch.arange(query_real.shape[1])[:, None]
    key = torch.arange(key_real.shape[1])[None, :]
    if expected.kind == "decoder":
        seen = seen & (key <= query)
        if expected.window is not None:
            seen = seen & (key > query - expected.window)
    elif expected.window is not None:
        seen = seen & ((key - query).abs() <= expected.window)
    return seen


# The reference


def eager_attention(model: PreTrainedModel, inputs: Inputs) -> list[Tensor]:
    """The model's own attention weights in call order, as it gives them in eager mode.

    Each [batch, head, query, key]. In encoder-decoders the decoder's layers alternate between
    self-attention and cross-attention.
    """
    implementation = model.config._attn_implementation
    model.set_attn_implementation("eager")
    try:
        with torch.no_grad():
            output = model(**inputs, output_attentions=True)
    finally:
        model.set_attn_implementation(implementation)
    if "attentions" in output:
        return list(output.attentions)
    decoder = zip(output.decoder_attentions, output.cross_attentions, strict=True)
    return [*output.encoder_attentions, *(weight for layer in decoder for weight in layer)]
