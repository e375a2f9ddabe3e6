"""Models whose attention is in code of their own: of transformers, and written by hand."""

from typing import Any

import torch
from torch import Tensor, nn
from transformers import MODEL_MAPPING, AutoConfig, PretrainedConfig, PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput

from tiny_models import VOCABULARY, build, randomise

WIDTH, HEADS, LAYERS = 32, 4, 2

_SHARED = {"vocab_size": VOCABULARY, "pad_token_id": 0}
_SETTINGS: dict[str, dict[str, Any]] = {
    "gpt_neo": {
        "hidden_size": WIDTH,
        "num_layers": LAYERS,
        "num_heads": HEADS,
        "attention_types": [[["global", "local"], 1]],
        "window_size": 4,
    },
    "deberta": {
        "hidden_size": WIDTH,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "intermediate_size": 48,
        "relative_attention": True,
        "pos_att_type": ["c2p", "p2c"],
        "max_position_embeddings": 64,
    },
    "deberta-v2": {
        "hidden_size": WIDTH,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "intermediate_size": 48,
        "relative_attention": True,
        "pos_att_type": ["c2p", "p2c"],
        "max_position_embeddings": 64,
    },
    "mpnet": {
        "hidden_size": WIDTH,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "intermediate_size": 48,
        "max_position_embeddings": 64,
    },
    "bloom": {"hidden_size": WIDTH, "n_layer": LAYERS, "n_head": HEADS},
    "gptj": {
        "n_embd": WIDTH,
        "n_layer": LAYERS,
        "n_head": HEADS,
        "rotary_dim": 4,
        "n_positions": 64,
    },
    "codegen": {
        "n_embd": WIDTH,
        "n_layer": LAYERS,
        "n_head": HEADS,
        "rotary_dim": 4,
        "n_positions": 64,
        "n_ctx": 64,
    },
    "xlnet": {"d_model": WIDTH, "n_layer": LAYERS, "n_head": HEADS, "d_inner": 48},
    "flaubert": {"emb_dim": WIDTH, "n_layers": LAYERS, "n_heads": HEADS},
}
OF_TRANSFORMERS = {
    name: settings
    for name, settings in _SETTINGS.items()
    if not MODEL_MAPPING[type(AutoConfig.for_model(name))]._supports_sdpa
}
"""Settings of tiny models, by type; GPT-J and CodeGen attend as most do since transformers 5.24."""


class OwnConfig(PretrainedConfig):
    """Of the models below."""

    model_type = "written-by-hand"

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.num_hidden_layers = LAYERS
        self.num_attention_heads = HEADS
        self.hidden_size = WIDTH
        self.vocab_size = VOCABULARY


class Encoder(PreTrainedModel):
    """PyTorch's own encoder of Transformers, as a model that transformers can hold."""

    config_class = OwnConfig
    base_model_prefix = "model"
    batch_first = True

    def __init__(self, config: OwnConfig) -> None:
        super().__init__(config)
        self.embedding = nn.Embedding(config.vocab_size, WIDTH, padding_idx=0)
        layer = nn.TransformerEncoderLayer(
            WIDTH, HEADS, 48, batch_first=self.batch_first, activation="gelu"
        )
        self.encoder = nn.TransformerEncoder(layer, LAYERS)
        self.post_init()

    def get_input_embeddings(self) -> nn.Module:
        return self.embedding

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, **_: Any
    ) -> BaseModelOutput:
        padding = None if attention_mask is None else attention_mask == 0
        states = self.embedding(input_ids)
        if not self.batch_first:
            states = states.transpose(0, 1)
        states = self.encoder(states, src_key_padding_mask=padding)
        if not self.batch_first:
            states = states.transpose(0, 1)
        return BaseModelOutput(last_hidden_state=states)


class SequenceFirst(Encoder):
    """The same with hidden states ``token batch size``, as PyTorch has them by default."""

    batch_first = False


class Block(nn.Module):
    """Attention that returns its weights, and a feed-forward."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)
        self.norm = nn.LayerNorm(WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)

    def forward(self, states: Tensor, padding: Tensor | None) -> tuple[Tensor, Tensor]:
        made, weight = self.attention(
            states, states, states, key_padding_mask=padding, average_attn_weights=False
        )
        states = self.norm(states + made)
        return states + self.out(torch.tanh(states)), weight


class Returning(PreTrainedModel):
    """``nn.MultiheadAttention`` in layers written by hand, whose weights are given out."""

    config_class = OwnConfig
    base_model_prefix = "model"

    def __init__(self, config: OwnConfig) -> None:
        super().__init__(config)
        self.embedding = nn.Embedding(config.vocab_size, WIDTH, padding_idx=0)
        self.layers = nn.ModuleList(Block() for _ in range(LAYERS))
        self.post_init()

    def get_input_embeddings(self) -> nn.Module:
        return self.embedding

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, **_: Any
    ) -> BaseModelOutput:
        padding = None if attention_mask is None else attention_mask == 0
        states, weights = self.embedding(input_ids), []
        for layer in self.layers:
            states, weight = layer(states, padding)
            weights.append(weight)
        return BaseModelOutput(last_hidden_state=states, attentions=tuple(weights))


BY_HAND: dict[str, type[PreTrainedModel]] = {
    "encoder": Encoder,
    "sequence-first": SequenceFirst,
    "returning": Returning,
}


def own_model(name: str) -> PreTrainedModel:
    """A tiny model with random weights, in evaluation mode."""
    if name in OF_TRANSFORMERS:
        return build(name, _SHARED | OF_TRANSFORMERS[name], 0)
    torch.manual_seed(0)
    model = BY_HAND[name](OwnConfig(pad_token_id=0))
    randomise(model, torch.Generator().manual_seed(0))
    return model.eval()
