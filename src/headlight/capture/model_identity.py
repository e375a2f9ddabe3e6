"""Identity of a model, as digests of all that its numbers depend on, for two runs to compare."""

import hashlib
import json
import secrets
from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from headlight.capture.attention_interface import configured_attention, replacer_of
from headlight.capture.tensor_parallel import processes_of, whole_weight

_ABOUT_FILES = frozenset(
    {"_name_or_path", "architectures", "dtype", "torch_dtype", "transformers_version"}
)
"""Fields of a configuration that name its origin, or that `identity_of` has elsewhere."""

_BESIDE_CALLS = '"added_tokens":['
"""Beginning of a fast tokenizer's text behind truncation and padding, which any call sets."""

_SHOWN = 16


def identity_of(network: nn.Module, *, weights: str, tokenizer: str) -> dict[str, str]:
    """Return all of a model that results depend on: the same identity gives the same numbers.

    Where attention is replaced the identity is never seen again, since a function has no digest.

    Args:
        network: Model of transformers.
        weights: Digest of its weights at this moment, by `digest_of_weights`.
        tokenizer: Digest of its tokenizer, by `digest_of_tokenizer`.
    """
    config: Any = network.config
    processes = processes_of(network)
    replaced = any(replacer_of(module) is not None for module in network.modules())
    return {
        "dtype": str(network.dtype).removeprefix("torch."),
        "weights": weights,
        "configuration": _digest_of_json(_describe(config.to_dict())),
        "tokenizer": tokenizer,
        "attention_implementation": (
            f"replaced {secrets.token_hex(8)}" if replaced else str(configured_attention(config))
        ),
        **({} if processes is None else {"processes": str(processes.size())}),
    }


def is_dispensable(name: str) -> bool:
    """Return whether no attention depends on a weight; missing in a checkpoint, it is random."""
    return "pooler" in name or name.endswith("masked_spec_embed")


def digest_of_weights(network: nn.Module) -> str:
    """Return a digest of the weights as they are in memory.

    It differs for a model that was trained further, or whose file was damaged.
    """
    digest = hashlib.sha256()
    for name, weight in sorted(network.state_dict().items()):
        if not is_dispensable(name):
            digest.update(f"{name} {tuple(weight.shape)}".encode())
            whole: Any = whole_weight(weight)
            digest.update(whole.cpu().contiguous().flatten().view(torch.uint8).numpy())
    return shortened(digest)


def shortened(digest: Any) -> str:
    """Return a digest of SHA-256 as it is shown and compared."""
    return f"sha256:{digest.hexdigest()[:_SHOWN]}"


def _describe(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(k): _describe(inner) for k, inner in value.items() if k not in _ABOUT_FILES}
    return value


def digest_of_tokenizer(tokenizer: Any) -> str:
    """Return a digest of a tokenizer's reading of texts, but for what calls set; "none" of None."""
    if tokenizer is None:
        return "none"
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        state = {"vocabulary": tokenizer.get_vocab(), "class": type(tokenizer).__name__}
    else:  # not parsed: to collect the garbage of a vocabulary takes longer than all else
        head, mark, rest = backend.to_str().partition(_BESIDE_CALLS)
        state = mark + rest if mark else head
    special = {name: str(token) for name, token in tokenizer.special_tokens_map.items()}
    limit = str(tokenizer.model_max_length)
    apart = {"split": True} if getattr(tokenizer, "split_special_tokens", False) else {}
    return _digest_of_json({"state": state, "special": special, "max_length": limit, **apart})


def _digest_of_json(content: Any) -> str:
    text = json.dumps(content, sort_keys=True, default=str)
    return shortened(hashlib.sha256(text.encode()))
