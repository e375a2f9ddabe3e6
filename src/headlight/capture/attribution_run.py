"""The model run from given embeddings, with its derivatives, for attribution.

Forward mode: one change of one input token, and how far every hidden token moves.
All blocks and all positions come at once.  Changes run side by side (`vmap`), the text itself runs
once for all of them.
"""

import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from typing import Any

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn
from torch.autograd import forward_ad
from torch.func import jvp, vmap
from transformers.modeling_outputs import BaseModelOutput
from transformers.pytorch_utils import Conv1D

from headlight.capture.attention import eager_function
from headlight.capture.backward import check_differentiable
from headlight.capture.captured_model import CapturedModel
from headlight.capture.residual_stream import Registration, hooked
from headlight.capture.session import interface_hook
from headlight.encode.batch import Batch
from headlight.errors import UnsupportedModelError, setting
from headlight.settings.flow import Embeddings
from headlight.vocabulary import Kind


@dataclass
class Run:
    """One text, ready to run through a model as often as wanted.

    Attributes:
        model: what runs.
        arguments: of its forward pass.
        states: the field of its output that holds the hidden states.
        source: the stack whose input embeddings are changed.
        attention: the first attention module of that stack.
        tokens: how many input tokens it has.
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
        """The output of every block, when `change` is added to x; the last is after a final norm.

        Raises:
            UnsupportedModelError: the model gives no hidden states.
        """
        return tuple(state[0] for state in self.states_of(change)[1:])

    def states_of(self, change: Tensor | None) -> tuple[Tensor, ...]:
        """All hidden states, the first of which is what the first block is given."""
        self._change, self._waiting = change, True
        try:
            output = self.model(**self.arguments, output_hidden_states=True)
        finally:
            self._change, self._waiting = None, False
        states = output.get(self.states)
        if states is None or len(states) < 2:
            raise UnsupportedModelError(
                f"{type(self.model).__name__} does not return the hidden states of its blocks, so "
                "nothing can be attributed to them."
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
    """A text without padding and a model that takes changes of it, for the time of the block.

    Raises:
        UnsupportedModelError: the place of the input embeddings cannot be found.
        CaptureError: the model is being captured.
    """
    first = model.sites_of("encoder" if kind == "cross" else kind)[0].module
    network = model.base().transformer
    check_differentiable(network, model.name)
    with torch.inference_mode(mode=False), torch.no_grad(), differentiable(network):
        run = _run(model, network, text, kind, first)
        with hooked([_at_sum(run) if embeddings == "sum" else _at_output(run)]):
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


def _at_sum(run: Run) -> Registration:
    """After the token embeddings: what is added to them (positions, segments) has derivative 1."""
    module = run.source.get_input_embeddings()
    return module.register_forward_hook, lambda _, __, output: run.changed(output)


def _at_output(run: Run) -> Registration:
    """Before the outermost module around the first attention that is given hidden state 0."""
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
    """The states of the stack whose inputs are changed, which is not always the one looked at."""
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


class Eager:
    """A listener that only sees to it that attention has derivatives: fused kernels have not."""

    def attend(
        self, module: nn.Module, arguments: tuple[Any, ...], options: dict[str, Any]
    ) -> tuple[Tensor, Tensor | None]:
        """The model's own eager attention."""
        return eager_function(module)(module, *arguments, **options)


@contextmanager
def differentiable(model: Any) -> Iterator[None]:
    """Run attention and experts eagerly, and no projection on the vocabulary.

    Raises:
        CaptureError: the model is being captured.
    """
    with interface_hook(model, Eager()), eager_experts(model), _without_logits(model):
        yield


@contextmanager
def eager_experts(model: nn.Module) -> Iterator[None]:
    """Experts one after the other: the fused product of many matrices has no forward derivative."""
    configs = {id(config): config for config in map(_config, model.modules()) if config is not None}
    before = {key: config._experts_implementation for key, config in configs.items()}
    try:
        for config in configs.values():
            config._experts_implementation = "eager"
        yield
    finally:
        for key, config in configs.items():
            config._experts_implementation = before[key]


def _config(module: nn.Module) -> Any:
    config = getattr(module, "config", None)
    return config if getattr(config, "_experts_implementation", None) is not None else None


@contextmanager
def _without_logits(model: Any) -> Iterator[None]:
    """Some models have the projection on the vocabulary in their base as well (T5, say)."""
    head = model.get_output_embeddings()

    def leave_out(_: nn.Module, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        return (arguments[0][:, :0], *arguments[1:])

    with hooked([] if head is None else [(head.register_forward_pre_hook, leave_out)]):
        yield


SquaredMoves = Float[Tensor, "layer change query"]
"""‖∂e_j/∂x_i z‖² of the change z of token i, for each hidden token j (query) of each block."""


def squared_moves(
    run: Run, changes: Float[Tensor, "change dimension"], keys: Int64[Tensor, " change"]
) -> SquaredMoves:
    """Compute the squared change of all hidden tokens per unit of each change.

    Args:
        run: a text in its model.
        changes: directions z.
        keys: the token i that each of them changes.
    """
    _load_rules()
    still = torch.zeros_like(run.embedded)
    tangents = still.expand(len(keys), *still.shape).clone()
    tangents[torch.arange(len(keys)), 0, keys] = changes

    def moved(tangent: Tensor) -> Tensor:
        moves = jvp(run.hidden, (still,), (tangent,))[1]
        return torch.stack([move.square().sum(-1) for move in moves])

    squares: Tensor = vmap(moved, out_dims=1)(tangents)
    return squares


@cache
def _load_rules() -> None:
    """Load the rules of forward mode, hiding torch's warning about its own use of TorchScript."""
    with warnings.catch_warnings(), forward_ad.dual_level():
        warnings.filterwarnings("ignore", message=".*torch.jit.script")
        forward_ad.make_dual(torch.zeros(1), torch.zeros(1))  # type: ignore[no-untyped-call]


def portions(run: Run, changes: int, memory: int) -> Iterator[slice]:
    """As many changes at a time as fit into `memory` bytes."""
    size = max(1, int(memory // bytes_of_a_change(run)))
    return (slice(start, start + size) for start in range(0, changes, size))


def bytes_of_a_change(run: Run) -> int:
    """Return the most bytes of a tangent: hidden states, and the widest values between them.

    At its widest place a block holds some eight tensors, of the width of its widest linear map or
    of a number for every head and pair of tokens.
    """
    tokens = max(run.tokens, *(shape[1] for shape in run.shapes))
    head = run.model.get_output_embeddings()  # cut off while the model runs
    widest = max(_width(module) for module in run.model.modules() if module is not head)
    heads = max(getattr(run.model.config, "num_attention_heads", 1), 1)
    numbers = sum(shape.numel() for shape in run.shapes) + 8 * tokens * max(widest, heads * tokens)
    return numbers * run.embedded.element_size()


def _width(module: nn.Module) -> int:
    if isinstance(module, nn.Linear):
        return max(module.out_features, module.in_features)
    return int(module.nf) if isinstance(module, Conv1D) else 1


@contextmanager
def refusing(name: str) -> Iterator[None]:
    """Say which operation of a model has no derivative in forward mode.

    Raises:
        UnsupportedModelError: there is one.
    """
    try:
        yield
    except (NotImplementedError, RuntimeError) as problem:
        match = re.search(r"forward AD with (\w+)", str(problem))
        if match is None and not re.search("^vmap:|functorch", str(problem)):
            raise
        operation = match[1] if match else str(problem).partition("\n")[0].rstrip(".")
        raise UnsupportedModelError(
            f"{name} uses an operation that PyTorch cannot differentiate in forward mode "
            f"({operation}), so contributions to its hidden tokens cannot be computed."
        ) from problem
