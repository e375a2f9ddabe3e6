"""The architectures that capture is tried on, and those that it must refuse.

Every model is built from a configuration alone: two layers, width 32, four heads, a vocabulary of
99. Grouped heads, windows shorter than the texts, soft caps, sinks and biases are switched on where
the family has them. What is special about each is said in its row.
"""

from typing import Any

import pytest

from tiny_models import (
    VOCABULARY,
    Architecture,
    Expected,
    Refused,
    frames,
    image,
    masked_spectrogram,
    patches_of_sound,
    samples,
    spectrogram,
    text_pair,
    unmasked_frames,
    video,
)

# Configurations

WIDE = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "max_position_embeddings": 64,
}
GROUPED = {**WIDE, "num_key_value_heads": 2}
GPT2 = {"vocab_size": VOCABULARY, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64}
EXPERTS = {"num_experts_per_tok": 2, "moe_intermediate_size": 16}
HYBRID = {**GROUPED, **EXPERTS, "head_dim": 8, "num_experts": 4}
LINEAR = {
    "layer_types": ["linear_attention", "full_attention"],
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "linear_key_head_dim": 8,
    "linear_value_head_dim": 8,
}
BART = {
    "vocab_size": VOCABULARY,
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 48,
    "decoder_ffn_dim": 48,
    "max_position_embeddings": 64,
    "decoder_start_token_id": 1,
}
T5 = {
    "vocab_size": VOCABULARY,
    "d_model": 32,
    "d_kv": 8,
    "d_ff": 48,
    "num_layers": 2,
    "num_heads": 4,
    "decoder_start_token_id": 0,
}
VISION = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "image_size": 12,
    "patch_size": 4,
}
SOUND = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "conv_dim": (16, 16),
    "conv_kernel": (5, 2),
    "conv_stride": (5, 2),
    "num_feat_extract_layers": 2,
    "feat_extract_norm": "layer",
    "num_conv_pos_embeddings": 3,
    "num_conv_pos_embedding_groups": 2,
}

ENCODER = (Expected("encoder"),) * 2
DECODER = (Expected("decoder"),) * 2
GROUPED_DECODER = (Expected("decoder", key_value_heads=2),) * 2
ENCODER_DECODER = ENCODER + (Expected("decoder"), Expected("cross")) * 2


def sliding(window: int, **sizes: Any) -> Expected:
    return Expected("decoder", key_value_heads=2, window=window, **sizes)


ENCODERS = [
    Architecture("BERT", "bert", ENCODER, "absolute positions, W^O outside the attention", WIDE),
    Architecture("RoBERTa", "roberta", ENCODER, "positions counted from the padding id", WIDE),
    Architecture("XLM-RoBERTa", "xlm-roberta", ENCODER, "as RoBERTa", WIDE),
    Architecture("CamemBERT", "camembert", ENCODER, "as RoBERTa", WIDE),
    Architecture(
        "RoBERTa-PreLayerNorm", "roberta-prelayernorm", ENCODER, "norm before attention", WIDE
    ),
    Architecture(
        "ELECTRA",
        "electra",
        ENCODER,
        "embeddings narrower than the layers",
        {**WIDE, "embedding_size": 24},
    ),
    Architecture(
        "ALBERT",
        "albert",
        ENCODER,
        "one module runs once per layer",
        {**WIDE, "embedding_size": 16, "num_hidden_groups": 1},
    ),
    Architecture(
        "DistilBERT",
        "distilbert",
        ENCODER,
        "its own names for everything",
        {
            "vocab_size": VOCABULARY,
            "dim": 32,
            "n_layers": 2,
            "n_heads": 4,
            "hidden_dim": 48,
            "max_position_embeddings": 64,
        },
    ),
    Architecture(
        "MobileBERT",
        "mobilebert",
        ENCODER,
        "attention narrower than the layer",
        {
            **WIDE,
            "normalization_type": "layer_norm",  # without it such random weights explode
            "hidden_size": 64,
            "embedding_size": 32,
            "intra_bottleneck_size": 32,
            "num_feedforward_networks": 2,
        },
    ),
    Architecture(
        "ModernBERT",
        "modernbert",
        (Expected("encoder"), Expected("encoder", window=2)),
        "rotary positions, one fused matrix for query, key and value, every other layer local",
        {
            **WIDE,
            "local_attention": 4,
            "attention_bias": True,
            "norm_bias": True,
            "cls_token_id": 1,
            "sep_token_id": 2,
        },
    ),
    Architecture(
        "ESM",
        "esm",
        ENCODER,
        "rotary positions in a protein model",
        {**WIDE, "position_embedding_type": "rotary", "mask_token_id": 3},
    ),
    Architecture("ERNIE", "ernie", ENCODER, "task embeddings", {**WIDE, "use_task_id": True}),
    Architecture("Nomic BERT", "nomic_bert", ENCODER, "rotary positions, gated feed-forward", WIDE),
    Architecture("GTE", "gte", ENCODER, "rotary positions", WIDE),
    Architecture(
        "EuroBERT",
        "eurobert",
        (Expected("encoder", key_value_heads=2),) * 2,
        "an encoder with grouped heads",
        {**GROUPED, "attention_bias": True, "mask_token_id": 3},
    ),
]

DECODERS = [
    Architecture("GPT-2", "gpt2", DECODER, "projections are Conv1D", GPT2),
    Architecture(
        "GPT-BigCode",
        "gpt_bigcode",
        (Expected("decoder", key_value_heads=1),) * 2,
        "one key and value head for all",
        GPT2,
    ),
    Architecture("GPT-NeoX", "gpt_neox", DECODER, "rotary on a part of each head", WIDE),
    Architecture("CTRL", "ctrl", DECODER, "sinusoidal positions", {**GPT2, "dff": 48}),
    Architecture("OPT", "opt", DECODER, "positions counted from the mask", {**WIDE, "ffn_dim": 48}),
    Architecture("BioGPT", "biogpt", DECODER, "as OPT, with scaled embeddings", WIDE),
    Architecture(
        "Llama", "llama", GROUPED_DECODER, "grouped heads", {**GROUPED, "attention_bias": True}
    ),
    Architecture(
        "Mistral",
        "mistral",
        (sliding(4, head_dim=16),) * 2,
        "sliding window, heads together wider than the layer",
        {**GROUPED, "sliding_window": 4, "head_dim": 16},
    ),
    Architecture(
        "Mixtral",
        "mixtral",
        GROUPED_DECODER,
        "experts",
        {**GROUPED, "num_local_experts": 3, "num_experts_per_tok": 2, "sliding_window": None},
    ),
    Architecture(
        "Qwen2",
        "qwen2",
        (Expected("decoder", key_value_heads=2), sliding(4)),
        "bias on query, key and value but not on W^O; later layers slide",
        {**GROUPED, "use_sliding_window": True, "sliding_window": 4, "max_window_layers": 1},
    ),
    Architecture(
        "Qwen3",
        "qwen3",
        (Expected("decoder", key_value_heads=2, head_dim=16),) * 2,
        "norms on queries and keys",
        {**GROUPED, "head_dim": 16, "attention_bias": True},
    ),
    Architecture(
        "Qwen3-MoE",
        "qwen3_moe",
        (Expected("decoder", key_value_heads=2, head_dim=8),) * 2,
        "norms on queries and keys, experts",
        {**GROUPED, **EXPERTS, "head_dim": 8, "num_experts": 4},
    ),
    Architecture(
        "Gemma",
        "gemma",
        (Expected("decoder", key_value_heads=1, head_dim=16),) * 2,
        "one key and value head for all, norms around one plus a weight",
        {**GROUPED, "num_key_value_heads": 1, "head_dim": 16, "attention_bias": True},
    ),
    Architecture(
        "Gemma 2",
        "gemma2",
        (sliding(4), Expected("decoder", key_value_heads=2)),
        "soft cap on the scores, every other layer slides",
        {
            **GROUPED,
            "head_dim": 8,
            "sliding_window": 4,
            "attn_logit_softcapping": 1.5,
            "query_pre_attn_scalar": 8,
        },
    ),
    Architecture(
        "Gemma 3",
        "gemma3_text",
        (sliding(4), Expected("decoder", key_value_heads=2)),
        "norms on queries and keys, another rotary base in sliding layers",
        {
            **GROUPED,
            "head_dim": 8,
            "sliding_window": 4,
            "query_pre_attn_scalar": 8,
            "layer_types": ["sliding_attention", "full_attention"],
        },
    ),
    Architecture("Phi", "phi", GROUPED_DECODER, "biases, parallel feed-forward", GROUPED),
    Architecture(
        "Phi-3",
        "phi3",
        (sliding(4),) * 2,
        "one fused matrix for query, key and value",
        {**GROUPED, "sliding_window": 4},
    ),
    Architecture("OLMo", "olmo", GROUPED_DECODER, "norms without weights", GROUPED),
    Architecture("OLMo 2", "olmo2", GROUPED_DECODER, "norm after attention", GROUPED),
    Architecture(
        "StableLM",
        "stablelm",
        GROUPED_DECODER,
        "rotary on a part of each head",
        {**GROUPED, "use_qkv_bias": True, "qk_layernorm": True},
    ),
    Architecture(
        "Cohere",
        "cohere",
        GROUPED_DECODER,
        "parallel feed-forward",
        {**GROUPED, "use_qk_norm": True, "attention_bias": True},
    ),
    Architecture(
        "Cohere 2",
        "cohere2",
        (sliding(4), Expected("decoder", key_value_heads=2)),
        "sliding layers with rotary, full ones without positions",
        {
            **GROUPED,
            "sliding_window": 4,
            "layer_types": ["sliding_attention", "full_attention"],
        },
    ),
    Architecture(
        "Granite",
        "granite",
        GROUPED_DECODER,
        "scores scaled by a setting",
        {**GROUPED, "attention_multiplier": 0.2, "attention_bias": True},
    ),
    Architecture(
        "SmolLM3",
        "smollm3",
        GROUPED_DECODER,
        "every other layer without positions",
        {**GROUPED, "no_rope_layers": [1, 0], "attention_bias": True},
    ),
    Architecture(
        "GPT-OSS",
        "gpt_oss",
        (sliding(4), Expected("decoder", key_value_heads=2)),
        "learnt sinks: rows sum to less than one; experts; every other layer slides",
        {
            **GROUPED,
            "head_dim": 8,
            "sliding_window": 4,
            "num_local_experts": 4,
            "num_experts_per_tok": 2,
            "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0},
        },
    ),
    Architecture(
        "Starcoder 2",
        "starcoder2",
        (sliding(4),) * 2,
        "biases everywhere",
        {**GROUPED, "sliding_window": 4},
    ),
    Architecture(
        "DeepSeek-V3",
        "deepseek_v3",
        (Expected("decoder", head_dim=8),) * 2,
        "latent keys and values; keys wider than values",
        {
            **WIDE,
            "num_key_value_heads": 4,
            "q_lora_rank": 16,
            "kv_lora_rank": 12,
            "qk_nope_head_dim": 8,
            "qk_rope_head_dim": 4,
            "v_head_dim": 8,
            "first_k_dense_replace": 2,
            "attention_bias": True,
        },
    ),
    Architecture(
        "LFM2",
        "lfm2",
        (Expected("decoder", key_value_heads=2),),
        "the first layer is a convolution, only the second attends",
        {
            **GROUPED,
            "layer_types": ["conv", "full_attention"],
            "block_auto_adjust_ff_dim": False,
        },
    ),
    Architecture(
        "AFMoE",
        "afmoe",
        (sliding(4, gate="element"),) * 2,
        "a gate for each component of the context; sliding layers",
        {**HYBRID, "sliding_window": 4},
    ),
    Architecture(
        "Qwen3-Next",
        "qwen3_next",
        (Expected("decoder", key_value_heads=2, gate="element"),),
        "a gate for each component; the first layer is linear attention, only the second attends",
        {**HYBRID, **LINEAR},
    ),
    Architecture(
        "Qwen 3.5",
        "qwen3_5_text",
        (Expected("decoder", key_value_heads=2, gate="element"),),
        "as Qwen3-Next, without experts",
        {**GROUPED, **LINEAR, "head_dim": 8},
    ),
    Architecture(
        "Laguna",
        "laguna",
        (Expected("decoder", key_value_heads=2, gate="head"),) * 2,
        "a gate for each head; experts",
        {**HYBRID, "layer_types": ["full_attention", "full_attention"]},
    ),
    Architecture(
        "LFM3",
        "lfm3",
        (Expected("decoder", key_value_heads=2, gate="head"),) * 2,
        "a gate for each head",
        {**HYBRID, "layer_types": ["full_attention", "full_attention"]},
    ),
    Architecture(
        "CLIP text",
        "clip_text_model",
        DECODER,
        "a causal tower without a decoder's name",
        WIDE,
    ),
]

ENCODER_DECODERS = [
    Architecture(
        "T5",
        "t5",
        ENCODER_DECODER,
        "relative position biases, scores not scaled, no biases",
        T5,
        text_pair,
    ),
    Architecture(
        "UMT5", "umt5", ENCODER_DECODER, "relative position biases in every layer", T5, text_pair
    ),
    Architecture("BART", "bart", ENCODER_DECODER, "cross-attention", BART, text_pair),
    Architecture("mBART", "mbart", ENCODER_DECODER, "norm before attention", BART, text_pair),
    Architecture("Marian", "marian", ENCODER_DECODER, "sinusoidal positions", BART, text_pair),
    Architecture("Pegasus", "pegasus", ENCODER_DECODER, "sinusoidal positions", BART, text_pair),
    Architecture(
        "M2M-100",
        "m2m_100",
        ENCODER + (Expected("decoder", 2, 2, 16), Expected("cross", 2, 2, 16)) * 2,
        "positions counted from the padding id; fewer heads in the decoder than in the encoder",
        {**BART, "decoder_attention_heads": 2},
        text_pair,
    ),
    Architecture("Blenderbot", "blenderbot", ENCODER_DECODER, "norm first", BART, text_pair),
    Architecture("PLBart", "plbart", ENCODER_DECODER, "as BART, for programs", BART, text_pair),
]

VISION_MODELS = [
    Architecture("ViT", "vit", ENCODER, "patches and a class token", VISION, image),
    Architecture("DeiT", "deit", ENCODER, "a distillation token", VISION, image),
    Architecture("DINOv2", "dinov2", ENCODER, "output scaled after W^O", VISION, image),
    Architecture(
        "DINOv3",
        "dinov3_vit",
        ENCODER,
        "rotary positions, register tokens, no bias on keys",
        {**VISION, "num_register_tokens": 2},
        image,
    ),
    Architecture(
        "BEiT",
        "beit",
        ENCODER,
        "relative position biases",
        {**VISION, "use_relative_position_bias": True},
        image,
    ),
    Architecture("CLIP vision", "clip_vision_model", ENCODER, "norm first", VISION, image),
    Architecture("SigLIP vision", "siglip_vision_model", ENCODER, "no class token", VISION, image),
    Architecture(
        "VideoMAE",
        "videomae",
        ENCODER,
        "patches of several pictures; bias on queries and values only",
        {**VISION, "num_frames": 2, "tubelet_size": 1},
        video,
    ),
]

SPEECH_MODELS = [
    Architecture(
        "Whisper",
        "whisper",
        ENCODER_DECODER,
        "no bias on keys; cross-attention to sound",
        {
            **{name: value for name, value in BART.items() if name != "max_position_embeddings"},
            "num_mel_bins": 8,
            "max_source_positions": 12,
            "max_target_positions": 20,
        },
        spectrogram,
    ),
    Architecture(
        "Speech2Text",
        "speech_to_text",
        ENCODER_DECODER,
        "padding shortened by convolutions",
        {
            **{name: value for name, value in BART.items() if name != "max_position_embeddings"},
            "input_feat_per_channel": 8,
            "input_channels": 1,
            "conv_channels": 16,
            "max_source_positions": 40,
            "max_target_positions": 20,
        },
        frames,
    ),
    Architecture("Wav2Vec2", "wav2vec2", ENCODER, "positions by convolution", SOUND, samples),
    Architecture("HuBERT", "hubert", ENCODER, "as Wav2Vec2", SOUND, samples),
    Architecture(
        "UniSpeech",
        "unispeech",
        ENCODER,
        "norm first",
        {**SOUND, "do_stable_layer_norm": True},
        samples,
    ),
    Architecture(
        "Audio Spectrogram Transformer",
        "audio-spectrogram-transformer",
        ENCODER,
        "patches of a spectrogram",
        {
            **VISION,
            "num_mel_bins": 8,
            "max_length": 16,
            "frequency_stride": 4,
            "time_stride": 4,
        },
        patches_of_sound,
    ),
    Architecture(
        "Wav2Vec2-BERT",
        "wav2vec2-bert",
        ENCODER,
        "relative positions as keys, convolutions between attention and feed-forward",
        {**WIDE, "feature_projection_input_dim": 8, "conv_depthwise_kernel_size": 3},
        unmasked_frames,
    ),
    Architecture(
        "Parakeet",
        "parakeet_encoder",
        ENCODER,
        "relative positions, convolutions between attention and feed-forward",
        {
            **WIDE,
            "num_mel_bins": 8,
            "subsampling_factor": 4,
            "subsampling_conv_channels": 8,
            "conv_kernel_size": 3,
        },
        unmasked_frames,
    ),
    Architecture(
        "Audio Flamingo 3",
        "audioflamingo3_encoder",
        ENCODER,
        "as Whisper's encoder, with a mask of frames",
        {
            "num_mel_bins": 8,
            "d_model": 32,
            "hidden_size": 32,
            "encoder_layers": 2,
            "num_hidden_layers": 2,
            "encoder_attention_heads": 4,
            "num_attention_heads": 4,
            "encoder_ffn_dim": 48,
            "intermediate_size": 48,
            "max_source_positions": 12,
        },
        masked_spectrogram,
    ),
]

ARCHITECTURES = [*ENCODERS, *DECODERS, *ENCODER_DECODERS, *VISION_MODELS, *SPEECH_MODELS]
COMMON = ("BERT", "GPT-2", "Llama", "T5", "BART", "ViT")
"""Those that a quick run of the tests is content with."""


def case(row: Architecture, *more: Any) -> Any:
    """A case of a test: the row, and what else belongs to it; slow if it is none of `COMMON`."""
    marks = () if row.name in COMMON else pytest.mark.slow
    return pytest.param(row, *more, id="-".join([row.name, *map(str, more)]), marks=marks)


# Refused

JETMOE = {
    **WIDE,
    "num_key_value_heads": 4,
    "kv_channels": 8,
    "num_local_experts": 4,
    "num_experts_per_tok": 2,
}

REFUSED = [
    Refused(
        "Longformer",
        "longformer",
        "outside",
        {**WIDE, "attention_window": 4},
    ),
    Refused(
        "LongT5",
        "longt5",
        "outside",
        T5,
        text_pair,
    ),
    Refused(
        "FNet",
        "fnet",
        "none",
        {**WIDE, "tpu_short_seq_length": 12},
    ),
    Refused(
        "Mamba",
        "mamba",
        "none",
        {**WIDE, "state_size": 4, "time_step_rank": 2},
    ),
    Refused("BitNet", "bitnet", "changed", {**GROUPED}),
    Refused(
        "JetMoE",
        "jetmoe",
        "changed",
        JETMOE,
    ),
    Refused(
        "DiffLlama",
        "diffllama",
        "changed",
        {**GROUPED},
    ),
    Refused(
        "Granite with sinks",
        "granite_swa",
        "changed",
        {**GROUPED, "sliding_window": 4},
    ),
]
