"""The residual connection and norm around an attention block.

The residual stream: what enters a block of a model, before anything normalises it.
Which modules are given it is found in a trial, by what the model itself calls its hidden states;
nothing about architectures is listed.

Hooks of modules that see the passes of one thread, for the time of a block.
A hook belongs to a module, and so sees what every thread does with it.  Other threads may run the
model while it is traced or captured, and must find it as it always was; so all hooks of Headlight
are set here.
"""

import copy
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from headlight.errors import UnsupportedModelError
from headlight.vocabulary import Kind

ROWS = 16
TOLERANCE = 1e-5
"""Some norms compute in float32, whatever they are given."""
SMALL, LARGE = 1e-8, 1e3
"""Lengths at which what is added to the variance is all that counts, or nothing."""

Vectors = Float[Tensor, "*tokens d_model"]


@dataclass(frozen=True, eq=False)
class FrozenMap:
    """A norm or a scale: v ↦ (v − mean of v) / s ∘ gain + offset.

    Without the offset, and with s of the vector that it was given in the run, it is linear, so that
    it can be applied to the parts of that vector.

    Attributes:
        name: of the module, or of what multiplies.
        gain: γ; of a Gemma norm 1 + γ.  float64.
        offset: β.  float64.
        centred: whether the mean is subtracted (LayerNorm).
        eps: what is added to the variance, or to the mean square; None where nothing is divided.
    """

    name: str
    gain: Float[Tensor, " d_model"]
    offset: Float[Tensor, " d_model"]
    centred: bool = False
    eps: float | None = None

    def scale(self, vectors: Vectors) -> Float[Tensor, "*tokens"]:
        """Return the divisor of each vector: s, or 1 for a scale."""
        if self.eps is None:
            return vectors.new_ones(vectors.shape[:-1])
        return (self._from_mean(vectors).square().mean(-1) + self.eps).sqrt()

    def linear(self, parts: Vectors) -> Vectors:
        """The parts times the matrix of the map, before they are divided by s."""
        return self._from_mean(parts) * self.gain.to(parts)

    def __call__(self, vectors: Vectors) -> Vectors:
        """Return the output of the module."""
        return self.linear(vectors) / self.scale(vectors)[..., None] + self.offset.to(vectors)

    def _from_mean(self, vectors: Vectors) -> Vectors:
        return vectors - vectors.mean(-1, keepdim=True) if self.centred else vectors


def frozen_map(module: nn.Module, size: int, name: str) -> FrozenMap | None:
    """The map that a module is, found by what it does to random vectors; None if it is none."""
    if sum(each.numel() for each in module.parameters()) > 4 * size:
        return None
    twin = copy.deepcopy(module).to("cpu", torch.float64)
    vectors = torch.randn(1, ROWS, size, generator=torch.Generator().manual_seed(0)).double()

    def run(values: Tensor) -> Tensor:
        with torch.no_grad():
            return twin(values).double()  # type: ignore[no-any-return]

    try:
        fitted = _fitted(run, vectors, name)
    except Exception:  # noqa: BLE001 - a module that takes something else can raise anything
        return None
    return fitted


def _fitted(run: Callable[[Tensor], Tensor], vectors: Tensor, name: str) -> FrozenMap | None:
    offset = ((run(vectors) + run(-vectors)) / 2).mean((0, 1))
    for centred in (True, False):
        deviations = vectors - vectors.mean(-1, keepdim=True) if centred else vectors
        unit = deviations / deviations.square().mean(-1, keepdim=True).sqrt()
        outputs = run(LARGE * vectors) - offset
        gain = (outputs * unit).sum((0, 1)) / unit.square().sum((0, 1))
        tiny = run(SMALL * vectors) - offset
        length = SMALL * (deviations * gain).norm() / tiny.norm()
        eps = float(length.square() - (SMALL * deviations).square().mean())
        fitted_map = FrozenMap(name, gain, offset, centred, max(eps, 0.0))
        if _agrees(fitted_map, run, vectors):
            return fitted_map
    outputs = run(vectors) - offset
    gain = (outputs * vectors).sum((0, 1)) / vectors.square().sum((0, 1))
    fitted_map = FrozenMap(name, gain, offset)
    return fitted_map if _agrees(fitted_map, run, vectors) else None


def _agrees(fitted: FrozenMap, run: Callable[[Tensor], Tensor], vectors: Tensor) -> bool:
    for size in (0.03, 1.0, 100.0):
        wanted = run(size * vectors)
        if wanted.shape != vectors.shape:
            return False
        if not float((fitted(size * vectors) - wanted).norm()) <= TOLERANCE * float(wanted.norm()):
            return False
    return True


Registration = tuple[Callable[[Callable[..., Any]], Any], Callable[..., Any]]
"""A method of a module, such as ``register_forward_hook``, and the hook that it is given."""


@contextmanager
def hooked(registrations: Iterable[Registration]) -> Iterator[None]:
    """Within the block, passes of this thread call these hooks."""
    with ExitStack() as handles:
        for register, hook in registrations:
            handles.callback(register(_in_this_thread(hook)).remove)
        yield


def _in_this_thread(hook: Callable[..., Any]) -> Callable[..., Any]:
    """Return the hook restricted to this thread; in others it does nothing."""
    own = threading.get_ident()

    def guarded(*arguments: Any) -> Any:
        return hook(*arguments) if threading.get_ident() == own else None

    return guarded


def first_tensor(output: Any) -> Tensor | None:
    """Return the output of a module, or the first of several."""
    if isinstance(output, tuple) and output:
        output = output[0]
    return output if isinstance(output, Tensor) else None


States = Float[Tensor, "*tokens d_model"]


@dataclass(frozen=True)
class Place:
    """Site of a tensor that can be seen while the model runs.

    Attributes:
        module: that is given it, or puts it out.
        name: of the module.
        slot: the position or the name of the argument; None for the output, or the first of it.
    """

    module: nn.Module
    name: str
    slot: int | str | None

    def watch(self, see: Callable[[Tensor], object]) -> Registration:
        """Return a hook for `hooked` that passes each tensor to `see`."""

        def tell_output(_: nn.Module, __: object, output: Any) -> None:
            tensor = first_tensor(output)
            if tensor is not None:
                see(tensor)

        def tell_argument(_: nn.Module, inputs: tuple[Any, ...], options: dict[str, Any]) -> None:
            by_slot: dict[Any, Any] = {**dict(enumerate(inputs)), **options}
            if isinstance(by_slot.get(self.slot), Tensor):
                see(by_slot[self.slot])

        if self.slot is None:
            return self.module.register_forward_hook, tell_output
        return partial(self.module.register_forward_pre_hook, with_kwargs=True), tell_argument


@dataclass(frozen=True, eq=False)
class FeedForwardSite:
    """Sum behind an attention block: in most models that of the feed-forward network.

    Attributes:
        sum: where the sum can be seen, after it was made: what left the attention block, plus this.
        norm: that follows the sum, and alone reads it: that of a post-LN layer; in the last layer
            of a pre-LN model the norm before its head.
    """

    sum: Place | None
    norm: FrozenMap | None


@dataclass(frozen=True, eq=False)
class ResidualSite:
    """Site where the output of one attention module enters the residual stream.

    sum = branch(W^O output) + residual, and norm(sum) goes on where a norm follows.  With what the
    norms divide by frozen, that is linear in the vectors α f(x), b^O and the residual.

    Attributes:
        branch: maps between W^O and the sum, in order: norms (Gemma 2, OLMo 2) or scales (DINOv2).
        residual: where that to which the output is added can be seen, before W^O has run.
        norm: that follows the sum, and alone reads it (post-LN); None where the sum goes on as it
            is (pre-LN), or where the feed-forward is added to the same sum.
        parallel: whether the feed-forward reads what the attention reads, and adds to the same sum.
        output: where what leaves the attention block can be seen: the sum, or what the norm makes
            of it; None where no module shows it.
        feed_forward: what is added next; None where that is another attention, or `parallel`.
        error: how far the parts are from what leaves, relative to its norm, in the traced pass.
    """

    branch: tuple[FrozenMap, ...]
    residual: Place
    norm: FrozenMap | None
    parallel: bool
    output: Place | None
    feed_forward: FeedForwardSite | None
    error: float


@dataclass(frozen=True, eq=False)
class NoResidualSite:
    """Reason why nothing is known of what follows an attention module.

    Attributes:
        problem: a sentence.
    """

    problem: str


def followed(site: ResidualSite | NoResidualSite) -> ResidualSite:
    """The site, where its layer could be followed.

    Raises:
        UnsupportedModelError: it could not.
    """
    if isinstance(site, NoResidualSite):
        raise UnsupportedModelError(site.problem)
    return site


@dataclass(frozen=True, eq=False)
class Residual:
    """Tensors of one batch at the residual sum behind one attention module.

    Attributes:
        site: where it is.
        given: x of each query, to which the output of the attention is added.
        written: what W^O put out, b^O included.
    """

    site: ResidualSite
    given: Float[Tensor, "batch query d_model"]
    written: Float[Tensor, "batch query d_model"]

    def to(self, form: torch.device | torch.dtype) -> "Residual":
        """Return the tensors on another device, or in another precision."""
        return replace(self, given=self.given.to(form), written=self.written.to(form))

    @cached_property
    def branched(self) -> Float[Tensor, "batch query d_model"]:
        """Return the addition to the residual: `written`, behind the maps of the branch."""
        written = self.written
        for each in self.site.branch:
            written = each(written)
        return written

    @cached_property
    def branch_scale(self) -> Float[Tensor, "batch query"]:
        """Return the divisor of the parts of the output on the branch."""
        written, product = self.written, self.written.new_ones(self.written.shape[:-1])
        for each in self.site.branch:
            product = product * each.scale(written)
            written = each(written)
        return product

    @property
    def total(self) -> Float[Tensor, "batch query d_model"]:
        """The sum with the residual, without a feed-forward that is added to it as well."""
        return self.branched + self.given

    @cached_property
    def norm_scale(self) -> Float[Tensor, "batch query"]:
        """Return the divisor of the norm behind the sum; 1 where there is none."""
        norm = self.site.norm
        return (
            self.given.new_ones(self.given.shape[:-1]) if norm is None else norm.scale(self.total)
        )

    @property
    def output(self) -> Float[Tensor, "batch query d_model"]:
        """Return the output of the attention block."""
        norm = self.site.norm
        return self.total if norm is None else norm(self.total)

    def detached(self) -> "Residual":
        """Return the tensors without a graph."""
        return replace(self, given=self.given.detach(), written=self.written.detach())


Stream = Float[Tensor, "batch token size"]

StreamPlaces = Mapping[nn.Module, Mapping[int, tuple[Kind, ...]]]
"""Modules that are given hidden states, in which of their calls, and for which attention."""

_STACKS: Mapping[str, tuple[Kind, ...]] = {
    "hidden_states": ("encoder", "decoder", "cross"),
    "encoder_hidden_states": ("encoder",),
    "decoder_hidden_states": ("decoder", "cross"),
}


def find_stream(model: nn.Module, inputs: Mapping[str, Any]) -> StreamPlaces:
    """Find the modules that receive hidden states: for each state, the first, which is the block.

    Args:
        model: a transformers model in evaluation mode.
        inputs: keyword arguments of its forward pass.

    Returns:
        Nothing for a model that does not give out its hidden states.
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
    """The first of what a module is given that has the form of hidden states."""
    tensors = (each for each in (*args, *options.values()) if isinstance(each, Tensor))
    return next((each for each in tensors if each.ndim == 3 and each.is_floating_point()), None)


class StreamKeeper:
    """Keeps the latest hidden states of a pass: those that enter the block that runs."""

    def __init__(self, places: StreamPlaces) -> None:
        self.places = places
        self._calls = dict.fromkeys(places, 0)
        self._latest: tuple[tuple[Kind, ...], Tensor] | None = None

    def begin(self) -> None:
        """A forward pass starts, or has ended."""
        self._calls = dict.fromkeys(self.places, 0)
        self._latest = None

    def keep(self, module: nn.Module, args: tuple[Any, ...], options: dict[str, Any]) -> None:
        """A forward pre-hook of the modules that are given hidden states."""
        self._calls[module] += 1
        kinds, states = self.places[module].get(self._calls[module]), _states(args, options)
        if kinds is not None and states is not None:
            self._latest = kinds, states.detach()

    def before(self, kind: Kind, batch: int, tokens: int) -> Stream | None:
        """Return the input of the block in which attention of a kind runs now, where that is known.

        Args:
            kind: of the attention.
            batch: texts.
            tokens: of each, on the side that attends.
        """
        if self._latest is None:
            return None
        kinds, stream = self._latest
        is_present = kind in kinds and stream.shape[:2] == (batch, tokens)
        return stream if is_present else None
