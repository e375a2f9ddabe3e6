"""A model that has learned nothing but its embeddings: what a probe can find without attention."""

import copy
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from headlight.capture import CapturedModel
from headlight.errors import UnsupportedModelError


@dataclass(eq=False, repr=False)
class RandomControl(CapturedModel):
    """A model whose weights are random except for its embeddings.

    Attributes:
        kept: names of the parameters that are the pretrained ones; all others are random.
    """

    kept: tuple[str, ...] = ()


def random_control(model: CapturedModel, seed: int = 0) -> RandomControl:
    """Return a copy with pretrained tables of embeddings, and random weights elsewhere.

    The random weights are drawn as the model itself draws them before training.  Kept are the
    input embeddings and every other table of embeddings outside the attention modules; `kept` of
    the result names them.  Normalisation and projections after the embeddings are random as well.

    Source: Clark et al. (2019), Section 5, third baseline.

    Raises:
        UnsupportedModelError: the model cannot be built from its configuration alone, or has no
            input embeddings.
    """
    pretrained: Any = model.transformer
    kept = _embeddings(model)
    fresh = _fresh(model, seed)
    values = dict(pretrained.named_parameters())
    with torch.no_grad():
        for name, parameter in fresh.named_parameters():
            if name in kept:
                parameter.copy_(values[name])
    control = RandomControl(
        fresh.to(pretrained.device, pretrained.dtype).eval(),
        model.tokenizer,
        f"{model.name}, random but for its embeddings",
        f"{model.revision}, seed {seed}",
        kept=kept,
    )
    if _attention(control) != _attention(model):
        raise _otherwise(model)
    return control


def _fresh(model: CapturedModel, seed: int) -> Any:
    network: Any = model.transformer
    try:
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            fresh = type(network)(copy.deepcopy(network.config))
    except Exception as problem:  # models raise whatever they like
        raise UnsupportedModelError(
            f"{model.name} cannot be built from its configuration ({problem}), so there is no "
            "random control; leave it out of the probes."
        ) from problem
    # A pooler or head that was left out of the model does no harm.
    if not _shapes(network).items() <= _shapes(fresh).items():
        raise _otherwise(model)
    return fresh


def _embeddings(model: CapturedModel) -> tuple[str, ...]:
    network: Any = model.transformer
    try:
        words = network.get_input_embeddings()
    except (NotImplementedError, AttributeError):
        words = None
    if words is None:
        raise UnsupportedModelError(f"{model.name} has no input embeddings that can be kept.")
    attention = {id(inner) for site in model.sites for inner in site.module.modules()}
    tables = [
        module
        for module in network.modules()
        if module is words or (isinstance(module, nn.Embedding) and id(module) not in attention)
    ]
    wanted = {id(parameter) for module in tables for parameter in module.parameters()}
    return tuple(name for name, each in network.named_parameters() if id(each) in wanted)


def _attention(model: CapturedModel) -> list[tuple[str, int, int]]:
    return [(site.kind, site.layer, site.heads) for site in model.sites]


def _otherwise(model: CapturedModel) -> UnsupportedModelError:
    return UnsupportedModelError(
        f"{model.name} is built otherwise than its configuration says, so there is no random "
        "control; leave it out of the probes."
    )


def _shapes(network: nn.Module) -> dict[str, torch.Size]:
    return {name: parameter.shape for name, parameter in network.named_parameters()}
