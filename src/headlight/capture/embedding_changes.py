"""Model as a function from a change of its input embeddings to the outputs of its blocks."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from transformers.modeling_outputs import BaseModelOutput

from headlight.capture.captured_model import CapturedModel
from headlight.capture.differentiation import check_differentiable, differentiable
from headlight.capture.hooks import Registration, hooked
from headlight.encode.batch import Batch
from headlight.errors import UnsupportedModelError, setting
from headlight.settings.attribution import Embeddings
from headlight.vocabulary import Kind


@dataclass
class Run:
    """One text, ready to run through a model as often as needed.

    Attributes:
        model: Model that runs.
        arguments: Arguments of its forward pass.
        states: Field of its output that holds the hidden states.
        source: Stack whose input embeddings are changed.
        attention: First attention module of that stack.
        tokens: Number of its input tokens.
    """

    model: Any
    arguments: Mapping[str, Any]
    states: str
    source: Any
    attention: nn.Module
    tokens: int
    embedded: Tensor = field(init=False)
    """x, before any change."""
    _change: Tensor | None = field(default=None, init=False)
    _waiting: bool = field(default=False, init=False)

    def hidden(
        self, change: Float[Tensor, "1 key dimension"] | None = None
    ) -> tuple[Float[Tensor, "query d_model"], ...]:
        """Return the output of every block for x + `change`; the last is after a final norm.

        Raises:
            UnsupportedModelError: the model gives no hidden states.
        """
        return tuple(state[0] for state in self.states_of(change)[1:])

    def states_of(self, change: Tensor | None) -> tuple[Tensor, ...]:
        """Return all hidden states, the first of which is the input of the first block.

        Raises:
            UnsupportedModelError: the model does not return hidden states.
        """
        self._change, self._waiting = change, True
        try:
            output = self.model(**self.arguments, output_hidden_states=True)
        finally:
            self._change, self._waiting = None, False
        states = output.get(self.states)
        if states is None or len(states) < 2:
            raise UnsupportedModelError(
                "the model does not return the hidden states of its blocks, so nothing can be "
                "attributed to them."
            )
        return tuple(states)

    @cached_property
    def shapes(self) -> tuple[torch.Size, ...]:
        """Return the shapes of all hidden states, which no change of the input alters."""
        return tuple(state.shape for state in self.states_of(None))

    def changed(self, embedded: Tensor) -> Tensor:
        """Return the value to compute with in place of `embedded`; only its first use counts.

        An encoder and a decoder may share one embedding module, layers may share one block.
        """
        if not self._waiting:
            return embedded
        self._waiting = False
        if self._change is None:
            self.embedded = embedded
            return embedded
        return embedded + self._change


@contextmanager
def prepared(
    model: CapturedModel, text: Batch, kind: Kind, embeddings: Embeddings = "sum"
) -> Iterator[Run]:
    """Yield a text without padding in a model that takes changes of it, within the block.

    Raises:
        UnsupportedModelError: the place of the input embeddings cannot be found.
        CaptureError: the model is being captured.
    """
    first = model.sites_of("encoder" if kind == "cross" else kind)[0].module
    network = model.base().transformer
    check_differentiable(network, model.name)
    # Forward mode needs no graph, but tensors that inference mode does not make.
    with torch.inference_mode(mode=False), torch.no_grad(), differentiable(network):
        run = _run(model, network, text, kind, first)
        with hooked([_hook_sum(run) if embeddings == "sum" else _hook_output(run)]):
            run.hidden()
            _check_embedded(run)
            yield run


def _run(model: CapturedModel, network: Any, text: Batch, kind: Kind, first: nn.Module) -> Run:
    arguments = model.inputs(text)
    if not (model.has_decoder_inputs or model.reads_twice):
        tokens = text.input_ids.shape[1]
        return Run(network, arguments, "hidden_states", network, first, tokens)
    encoder = network.get_encoder()
    if kind == "encoder":
        arguments = CapturedModel(encoder).inputs(text.source_alone())
        return Run(encoder, arguments, "hidden_states", encoder, first, text.input_ids.shape[1])
    assert text.target_ids is not None  # noqa: S101 - was demanded
    if kind == "cross":
        tokens = text.input_ids.shape[1]
        return Run(network, arguments, "decoder_hidden_states", encoder, first, tokens)
    # What the encoder puts out is the same, whatever is changed in the decoder.
    read = encoder(**CapturedModel(encoder).inputs(text.source_alone()))[0]
    del arguments["input_ids"]
    arguments["encoder_outputs"] = BaseModelOutput(last_hidden_state=read)
    decoder, tokens = network.get_decoder(), text.target_ids.shape[1]
    return Run(network, arguments, "decoder_hidden_states", decoder, first, tokens)


def _hook_sum(run: Run) -> Registration:
    # Behind the table of tokens: what is added later (positions, segments) has a derivative of 1.
    module = run.source.get_input_embeddings()
    return module.register_forward_hook, lambda _, __, output: run.changed(output)


def _hook_output(run: Run) -> Registration:
    """Return a hook before the outermost module around the first attention given hidden state 0."""
    block, place = _first_reader(run)

    def replaced(
        _: nn.Module, arguments: tuple[Any, ...], options: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        if isinstance(place, str):
            return arguments, {**options, place: run.changed(options[place])}
        changed = run.changed(arguments[place])
        return (*arguments[:place], changed, *arguments[place + 1 :]), options

    return partial(block.register_forward_pre_hook, with_kwargs=True), replaced


def _first_reader(run: Run) -> tuple[nn.Module, int | str]:
    inner_states: list[tuple[nn.Module, int | str, Tensor]] = []

    def note(module: nn.Module, arguments: tuple[Any, ...], options: dict[str, Any]) -> None:
        named: list[tuple[int | str, Any]] = [*enumerate(arguments), *options.items()]
        inner_states.extend((module, place, value) for place, value in named if _is_state(value))

    hooks = [
        (partial(module.register_forward_pre_hook, with_kwargs=True), note)
        for module in _around(run.source, run.attention)
    ]
    with hooked(hooks):
        states = _embedded_states(run)
    for module, place, value in inner_states:
        if value.shape == states[0].shape and torch.equal(value, states[0]):
            return module, place
    raise UnsupportedModelError(
        f"no block of {type(run.model).__name__} is given the first of its hidden states, so the "
        f"output of the embeddings cannot be found; use {setting('embeddings=sum')}."
    )


def _embedded_states(run: Run) -> tuple[Tensor, ...]:
    """Return the states of the stack whose inputs are changed, not always the observed stack."""
    if run.states == "decoder_hidden_states" and "encoder_outputs" not in run.arguments:
        output = run.model(**run.arguments, output_hidden_states=True)
        return tuple(output.get("encoder_hidden_states") or ())
    return run.states_of(None)


def _is_state(value: Any) -> bool:
    return isinstance(value, Tensor) and value.is_floating_point() and value.ndim == 3


def _around(stack: nn.Module, attention: nn.Module) -> list[nn.Module]:
    """Return the modules around the first attention, and the first block, which may have none."""
    holders = [module for module in stack.modules() if _holds(module, attention)]
    return holders + [
        holder[0]
        for holder in holders
        if isinstance(holder, nn.ModuleList) and holder[0] not in holders
    ]


def _holds(module: nn.Module, part: nn.Module) -> bool:
    return any(inner is part for inner in module.modules())


def _check_embedded(run: Run) -> None:
    embedded = getattr(run, "embedded", None)
    if embedded is None or embedded.shape[:2] != (1, run.tokens):
        raise UnsupportedModelError(
            f"{type(run.model).__name__} does not read one vector for every token from its input "
            "embeddings, so nothing can be attributed to them."
        )
