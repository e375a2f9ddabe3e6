"""Residual stream: what enters a block of a model, before anything normalises it.

The modules that receive it are found in a trial, by what the model itself calls its hidden states;
nothing about architectures is listed.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from headlight.capture.hooks import Registration, hooked
from headlight.vocabulary import Kind

States = Float[Tensor, "*tokens d_model"]

Stream = Float[Tensor, "batch token size"]

StreamPlaces = Mapping[nn.Module, Mapping[int, tuple[Kind, ...]]]
"""Modules that are given hidden states, with the numbers of these calls, and attention kinds."""

_STACKS: Mapping[str, tuple[Kind, ...]] = {
    "hidden_states": ("encoder", "decoder", "cross"),
    "encoder_hidden_states": ("encoder",),
    "decoder_hidden_states": ("decoder", "cross"),
}


def find_stream(model: nn.Module, inputs: Mapping[str, Any]) -> StreamPlaces:
    """Find the modules that receive hidden states: for each state, the first, which is the block.

    Args:
        model: Model of transformers in evaluation mode.
        inputs: Keyword arguments of its forward pass.

    Returns:
        The modules; empty for a model that does not give out its hidden states.
    """
    with torch.inference_mode():
        output = model(**inputs, output_hidden_states=True)
        wanted = [
            (state, kinds)
            for name, kinds in _STACKS.items()
            for state in getattr(output, name, None) or ()
        ]
        calls: dict[nn.Module, int] = {}
        places: dict[nn.Module, dict[int, tuple[Kind, ...]]] = {}

        def compare(module: nn.Module, args: tuple[Any, ...], options: dict[str, Any]) -> None:
            calls[module] = calls.get(module, 0) + 1
            states = _states(args, options)
            if states is None:
                return
            for number, (state, kinds) in enumerate(wanted):
                if state.shape == states.shape and torch.equal(state.to(states.device), states):
                    places.setdefault(module, {})[calls[module]] = kinds
                    del wanted[number]
                    return

        with hooked((_before(module), compare) for module in model.modules()):
            model(**inputs)
    return places


def stream_hooks(keeper: "StreamKeeper") -> list[Registration]:
    """Return the hooks that keep what enters the blocks of a model."""
    return [(_before(module), keeper.keep) for module in keeper.places]


def _before(module: nn.Module) -> Callable[..., Any]:
    return partial(module.register_forward_pre_hook, with_kwargs=True)


def _states(args: tuple[Any, ...], options: Mapping[str, Any]) -> Tensor | None:
    """Return the first argument of a module that has the form of hidden states."""
    tensors = (argument for argument in (*args, *options.values()) if isinstance(argument, Tensor))
    return next(
        (tensor for tensor in tensors if tensor.ndim == 3 and tensor.is_floating_point()), None
    )


class StreamKeeper:
    """Keeper of the latest hidden states of a pass: those that enter the block that runs."""

    def __init__(self, places: StreamPlaces) -> None:
        self.places = places
        self._calls = dict.fromkeys(places, 0)
        self._latest: tuple[tuple[Kind, ...], Tensor] | None = None

    def begin(self) -> None:
        """Forget the hidden states, as a forward pass starts or has ended."""
        self._calls = dict.fromkeys(self.places, 0)
        self._latest = None

    def keep(self, module: nn.Module, args: tuple[Any, ...], options: dict[str, Any]) -> None:
        """Keep the hidden states that a module is given (a forward pre-hook)."""
        self._calls[module] += 1
        kinds, states = self.places[module].get(self._calls[module]), _states(args, options)
        if kinds is not None and states is not None:
            self._latest = kinds, states.detach()

    def before(self, kind: Kind, batch: int, tokens: int) -> Stream | None:
        """Return the input of the block in which attention of a kind runs now, where that is known.

        Args:
            kind: Kind of the attention.
            batch: Number of texts.
            tokens: Number of tokens of each text, on the side that attends.
        """
        if self._latest is None:
            return None
        kinds, stream = self._latest
        is_present = kind in kinds and stream.shape[:2] == (batch, tokens)
        return stream if is_present else None
