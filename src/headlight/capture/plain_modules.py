"""Modules of PyTorch, of any class, as models that transformers can hold."""

import inspect
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from itertools import product
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from transformers import PretrainedConfig, PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput, MaskedLMOutput

from headlight.capture.trial_inputs import FAILURES
from headlight.errors import UsageError

LONG, SHORT = 7, 4
"""Numbers of tokens of the two texts that a module is tried on."""

_FORMS: tuple[Callable[[Tensor], Tensor], ...] = (torch.logical_not, Tensor.bool, Tensor.long)
"""Forms of a mask: true for padding, as in PyTorch; true, or 1, for tokens."""


class Call(NamedTuple):
    """Way to call a module: whether texts are its first axis, and the argument for padding."""

    batch_first: bool = True
    mask: str = ""
    form: Callable[[Tensor], Tensor] = torch.logical_not
    axes: tuple[int, ...] = ()
    """Axes of length 1 between ``batch`` and ``token`` of the mask."""


class PlainModel(PreTrainedModel):  # type: ignore[misc]
    """Module that reads ids, or the vectors that `embed` makes of them; neither is changed."""

    config_class = PretrainedConfig

    def __init__(
        self, module: nn.Module, embed: Callable[[Tensor], Tensor] | None, **settings: Any
    ) -> None:
        if next(module.parameters(), None) is None:
            raise UsageError(f"{type(module).__name__} has no parameters, and so no attention.")
        super().__init__(PretrainedConfig(**settings))
        self.module, self.embed = module, embed
        self.calling, self.embedding_name = Call(), ""
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
        states = self.states(self.calling, input_ids, mask.bool())
        config: Any = self.config
        if states.shape[-1] == config.vocab_size != getattr(config, "hidden_size", None):
            return MaskedLMOutput(logits=states)
        return BaseModelOutput(last_hidden_state=states)

    def states(self, call: Call, ids: Tensor, keep: Tensor) -> Tensor:
        """Return the first part of what the module puts out, with texts first."""
        given = ids if self.embed is None else self.embed(ids)
        mask = call.form(keep).view(len(keep), *call.axes, -1)
        options = {call.mask: mask} if call.mask else {}
        given = given if call.batch_first else given.transpose(0, 1)
        states = _first_part(self.module(given, **options))
        return states if call.batch_first or states.dim() < 3 else states.transpose(0, 1)


class PixelModel(PlainModel):
    """Module that reads pixels, which its processor makes of pictures."""

    main_input_name = "pixel_values"
    processor: Any

    def forward(self, pixel_values: Tensor, **_: Any) -> Any:  # type: ignore[override]
        """Return the first part of what the module puts out."""
        return BaseModelOutput(last_hidden_state=_first_part(self.module(pixel_values)))


def _first_part(output: Any) -> Tensor:
    """Return the logits of an output, or else its first part."""
    if isinstance(output, Mapping):
        output = output["logits"] if "logits" in output else next(iter(output.values()), None)
    part = next(iter(output), None) if isinstance(output, list | tuple) else output
    if not isinstance(part, Tensor) or part.dim() < 2:
        raise TypeError("it puts out no states first")
    return part


def hold_module(
    module: nn.Module, tokenizer: Any, embed: Callable[[Tensor], Tensor] | None
) -> PlainModel:
    """Return a module that reads texts as a model of transformers.

    Raises:
        UsageError: the module does not take what it is given, or there are no tokens.
    """
    padding, size = tokenizer.pad_token_id, len(tokenizer)
    network = PlainModel(module, embed, vocab_size=size, pad_token_id=padding)
    known = torch.tensor([number for number in range(min(size, 99)) if number != padding])
    if not len(known):
        raise UsageError("the tokenizer has no token beside padding; give its vocabulary.")
    random = torch.Generator().manual_seed(0)
    ids = known[torch.randint(len(known), (2, LONG), generator=random)].to(network.device)
    network.calling = _find_call(network, ids, padding or 0)
    _note_embeddings(network, ids)
    return network


def _find_call(network: PlainModel, ids: Tensor, padding: int) -> Call:
    """Return the first call by which a padded text is read as it is alone.

    Where none is, it is the first by which texts of one length are: single texts can be read then.
    """
    unpadded, problem = None, "a text depends on those beside it"
    names = list(inspect.signature(network.module.forward).parameters)[1:]
    for batch_first in (True, False):
        masks = product(names, _FORMS, ((), (1,), (1, 1)))
        for call in [Call(batch_first), *(Call(batch_first, *mask) for mask in masks)]:
            try:
                if _reads_alone(network, call, ids, LONG, padding):
                    unpadded = unpadded or call
                    if _reads_alone(network, call, ids, SHORT, padding):
                        return call
            except (*FAILURES, AssertionError) as failure:
                if call == Call():
                    problem = _first_line(failure)
    if unpadded is not None:
        return unpadded
    given = "the ids of tokens" if network.embed is None else "what embed makes of ids"
    raise UsageError(
        f"{type(network.module).__name__} does not read {given} ({problem}); give a module from "
        "ids to vectors as embed, such as its nn.Embedding, or write a module whose forward takes "
        "ids, batch by token, and a padding mask, and returns states or logits."
    )


def _first_line(failure: BaseException) -> str:
    return str(failure).strip().partition("\n")[0].rstrip(".")


def _reads_alone(network: PlainModel, call: Call, ids: Tensor, tokens: int, padding: int) -> bool:
    """Return whether the second text is read in a batch as alone, to rounding."""
    keep = torch.ones_like(ids, dtype=torch.bool)
    keep[1, tokens:] = False
    with torch.no_grad():
        together = network.states(call, ids.where(keep, padding), keep)[1, :tokens]
        alone = network.states(call, ids[1:, :tokens], keep[1:, :tokens])[0, :tokens]
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
        network.states(network.calling, ids, torch.ones_like(ids, dtype=torch.bool))


def hold_viewer(module: nn.Module, processor: Any) -> PixelModel:
    """Return a module that reads pictures, with an image processor, as a model of transformers.

    Raises:
        UsageError: the module does not take the pixels.
    """
    from PIL import Image

    blank = Image.new("RGB", (64, 64))
    pixels = processor(images=[blank], return_tensors="pt")["pixel_values"]
    # Patches are cut by the first convolution.
    patch = next((m.kernel_size for m in module.modules() if isinstance(m, nn.Conv2d)), None)
    channels, *size = pixels.shape[1:]
    network = PixelModel(module, None, image_size=size, num_channels=channels, patch_size=patch)
    network.processor = processor
    try:
        with torch.no_grad():
            network(pixels.to(network.device, network.dtype))
    except FAILURES as failure:
        raise UsageError(
            f"{type(module).__name__} does not read pixels of the shape {tuple(pixels.shape)} "
            f"({_first_line(failure)}); give the image processor that belongs to it."
        ) from failure
    return network
