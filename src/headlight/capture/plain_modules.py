"""Modules of PyTorch, of any class, as models that transformers can hold.

How a module is called is found by trying: a text in a padded batch has to be read as it is alone.
That tells which axis texts lie along, and which argument hides padding, in which form.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import product
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PretrainedConfig, PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput, MaskedLMOutput

from headlight.capture.trial_inputs import FAILURES
from headlight.errors import UsageError

LONG, SHORT = 7, 4
"""Numbers of tokens of the two texts that a module is tried on."""

_FAILURES = (*FAILURES, AssertionError)

_FORMS: tuple[Callable[[Tensor], Tensor], ...] = (torch.logical_not, Tensor.bool, Tensor.long)
"""Forms of a mask: true for padding, as in PyTorch; true, or 1, for tokens."""


@dataclass(frozen=True)
class Call:
    """Way to call a module.

    Attributes:
        batch_first: Whether the first axis is that of texts, and not that of tokens.
        mask: Argument that hides padding, if any.
        form: Function of the mask of tokens, ``batch token``.
        axes: Axes of length 1 of the mask between its two.
    """

    batch_first: bool
    mask: str = ""
    form: Callable[[Tensor], Tensor] = torch.logical_not
    axes: tuple[int, ...] = ()

    def __call__(self, network: "PlainModel", ids: Tensor, keep: Tensor) -> Tensor:
        """Return the first part of what the module puts out, with texts first."""
        given = ids if network.embed is None else network.embed(ids)
        mask = self.form(keep).view(len(keep), *self.axes, -1)
        output = network.module(
            given if self.batch_first else given.transpose(0, 1),
            **({self.mask: mask} if self.mask else {}),
        )
        states = first_part(output)
        return states if self.batch_first or states.dim() < 3 else states.transpose(0, 1)


def first_part(output: Any) -> Tensor:
    """Return the logits of an output, or else its first part."""
    if isinstance(output, Mapping):
        output = output["logits"] if "logits" in output else next(iter(output.values()))
    while isinstance(output, list | tuple):
        output = output[0]
    if not isinstance(output, Tensor):
        raise TypeError(f"it puts out a {type(output).__name__}, and no tensor")
    return output


class PlainModel(PreTrainedModel):  # type: ignore[misc]
    """Module that reads ids, or the vectors that `embed` makes of them; neither is changed."""

    config_class = PretrainedConfig

    def __init__(
        self, module: nn.Module, embed: Callable[[Tensor], Tensor] | None, **settings: Any
    ) -> None:
        super().__init__(PretrainedConfig(**settings))
        self.module, self.embed = module, embed
        self.calling, self.embedding_name = Call(batch_first=True), ""
        self.training = False  # its own flag alone

    def get_input_embeddings(self) -> nn.Module:
        """Return the embedding of ids, if a module of that kind was found."""
        if not self.embedding_name:
            raise NotImplementedError
        embedding: nn.Module = self.get_submodule(self.embedding_name)
        return embedding

    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None, **_: Any) -> Any:
        """Return logits over the vocabulary, or else hidden states."""
        mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask
        states = self.calling(self, input_ids, mask.bool())
        config: Any = self.config
        if states.shape[-1] == config.vocab_size != getattr(config, "hidden_size", None):
            return MaskedLMOutput(logits=states)
        return BaseModelOutput(last_hidden_state=states)


class PixelModel(PlainModel):
    """Module that reads pixels, which its processor makes of pictures."""

    main_input_name = "pixel_values"
    processor: Any

    def forward(self, pixel_values: Tensor, **_: Any) -> Any:  # type: ignore[override]
        """Return the first part of what the module puts out."""
        return BaseModelOutput(last_hidden_state=first_part(self.module(pixel_values)))


def hold_module(
    module: nn.Module, tokenizer: Any, embed: Callable[[Tensor], Tensor] | None
) -> PlainModel:
    """Return a module that reads texts as a model of transformers.

    Raises:
        UsageError: the module does not take what it is given.
    """
    padding, size = tokenizer.pad_token_id, len(tokenizer)
    network = PlainModel(module, embed, vocab_size=size, pad_token_id=padding)
    known = [number for number in range(min(size, 99)) if number != padding]
    # In another order than positions, by which the two embeddings are told apart.
    ids = torch.tensor([known[(5 * at + 3) % len(known)] for at in range(2 * LONG)])
    ids = ids.view(2, LONG).to(network.device)
    network.calling = _find_call(network, ids, padding or 0)
    _note_embeddings(network, ids)
    return network


def _find_call(network: PlainModel, ids: Tensor, padding: int) -> Call:
    """Return the first call by which a padded text is read as it is alone.

    Where none is, it is the first by which texts of one length are: single texts can be read then.
    """
    unpadded, problem = None, ""
    for call in _calls(network.module):
        try:
            if _reads_alone(network, call, ids, LONG, padding):
                unpadded = unpadded or call
                if _reads_alone(network, call, ids, SHORT, padding):
                    return call
        except _FAILURES as failure:
            problem = problem or str(failure).strip().partition("\n")[0].rstrip(".")
    if unpadded is not None:
        return unpadded
    given = "the ids of tokens" if network.embed is None else "what embed makes of ids"
    raise UsageError(
        f"a {type(network.module).__name__} does not read {given} "
        f"({problem or 'a text depends on those beside it'}); give a module from ids to vectors as "
        "embed, such as its nn.Embedding, or write a module whose forward takes ids, batch by "
        "token, and a padding mask."
    )


def _calls(module: nn.Module) -> Iterator[Call]:
    names = list(inspect.signature(module.forward).parameters)[1:]
    for batch_first in (True, False):
        yield Call(batch_first)
        for name, axes, form in product(names, ((), (1,), (1, 1)), _FORMS):
            yield Call(batch_first, name, form, axes)


def _reads_alone(network: PlainModel, call: Call, ids: Tensor, tokens: int, padding: int) -> bool:
    """Return whether the second text is read in a batch as alone, to rounding."""
    keep = torch.ones_like(ids, dtype=torch.bool)
    keep[1, tokens:] = False
    with torch.no_grad():
        together = call(network, ids.where(keep, padding), keep)[1, :tokens]
        alone = call(network, ids[1:, :tokens], keep[1:, :tokens])[0, :tokens]
    allowed = 1e-4 if alone.dtype.itemsize >= 4 else 2e-2
    return bool((together - alone).norm() <= allowed * alone.norm())


def _note_embeddings(network: PlainModel, ids: Tensor) -> None:
    """Note the embedding of ids and the number of positions, as a pass shows them."""
    config: Any = network.config
    names = {module: name for name, module in network.named_modules()}

    def look(module: nn.Module, given: tuple[Tensor, ...]) -> None:
        numbers = given[0].flatten().tolist()
        if sorted(numbers) == sorted(ids.flatten().tolist()):
            network.embedding_name = names[module]
            config.vocab_size, config.hidden_size = module.num_embeddings, module.embedding_dim
        elif numbers[:LONG] == [*range(LONG)]:
            config.max_position_embeddings = module.num_embeddings

    with ExitStack() as hooks, torch.no_grad():
        for module in names:
            if isinstance(module, nn.Embedding):
                hooks.enter_context(module.register_forward_pre_hook(look))
        network.calling(network, ids, torch.ones_like(ids, dtype=torch.bool))


def hold_viewer(module: nn.Module, transform: Callable[[Any], Any]) -> PixelModel:
    """Return a module that reads pictures as a model of transformers.

    Raises:
        UsageError: the transform makes no pixels of a picture, or the module does not take them.
    """
    from PIL import Image

    processor: Any = transform if hasattr(transform, "image_mean") else _Processor(transform)
    try:
        blank = Image.new("RGB", (256, 256))
        pixels = processor(images=[blank], return_tensors="pt")["pixel_values"]
        channels, *size = pixels.shape[1:]
        parameter = next(module.parameters())
        with torch.no_grad():
            first_part(module(pixels.to(parameter.device, parameter.dtype)))
    except _FAILURES as failure:
        raise UsageError(
            f"a {type(module).__name__} does not read what {type(transform).__name__} makes of a "
            f"picture ({failure}); give a tokenizer for texts, and for pictures a function from a "
            "picture of Pillow to its pixels, channel by row by column."
        ) from failure
    patch = next((m.kernel_size for m in module.modules() if isinstance(m, nn.Conv2d)), None)
    settings = {"image_size": size, "num_channels": channels, "patch_size": patch}
    network = PixelModel(module, None, **settings)
    network.processor = processor
    return network


class _Processor(SimpleNamespace):
    """Transform of single pictures as a processor; its last mean and deviation are undone."""

    def __init__(self, transform: Callable[[Any], Any]) -> None:
        parts = [part for part in getattr(transform, "transforms", []) if hasattr(part, "std")]
        norms = {"image_mean": parts[-1].mean, "image_std": parts[-1].std} if parts else {}
        super().__init__(transform=transform, do_normalize=bool(parts), **norms)

    def __call__(self, images: list[Any], **_: Any) -> dict[str, Tensor]:
        return {"pixel_values": torch.stack([self.transform(image) for image in images])}
