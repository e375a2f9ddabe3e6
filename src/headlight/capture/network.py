"""A model as a linear network: its sums, and what becomes of a part of a token in it.

Kobayashi et al. (2024) give each part of what leaves an attention block its share of what the
feed-forward network makes of the whole: integrated gradients of its activations, which are the
chord slopes of `headlight.capture.network_functions` in closed form.  With these, and with what
norms divide by held constant, the network is linear in the parts; so its tangent in the direction
of a part is what the part becomes.  Tangents begin where the attention block ends and are let go
behind the next sum with the residual, so that nothing else of the model is followed.

The tangent of the whole network in the direction of an embedding is what that embedding adds to a
hidden token (DecompX, Modarressi et al. 2023, without the sharing of biases).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.autograd import forward_ad
from torch.func import jvp, vmap
from transformers import PreTrainedModel

from headlight.capture.attention import eager_function
from headlight.capture.attribution_run import Run, eager_experts, portions
from headlight.capture.backward import check_differentiable, frozen
from headlight.capture.captured_model import CapturedModel
from headlight.capture.network_functions import Addend, AddendKind, Still
from headlight.capture.network_rules import LinearRules
from headlight.capture.own_products import own_projections
from headlight.capture.record import AttentionSite
from headlight.capture.residual_stream import Place, Registration, ResidualSite, followed, hooked
from headlight.capture.session import interface_hook
from headlight.errors import UnsupportedModelError, UsageError
from headlight.settings.flow import Slope
from headlight.tensors import Value, Weight


@dataclass(frozen=True, eq=False)
class Attended:
    """One run of an attention module in a linear network.

    Attributes:
        site: which one.
        weight: α, a constant.
        value: v(x), of this run.
        context: what the heads put out, in the graph: ``batch query head head_dim``.
        block: the number of the run of the block in which it was.
    """

    site: AttentionSite
    weight: Weight
    value: Value
    context: Tensor
    block: int


@dataclass
class LinearPass:
    """One pass of a model, in which its output is linear in `addends`.

    Attributes:
        output: what the model put out, with its graph; None where the pass ended before.
        reached: what the attention was given at which it ended, and its options.
        addends: everything that was added.
        attention: what each attention module did, in order.
        suspects: functions that may have lost a part of what they were given.
    """

    output: Any = None
    reached: tuple[tuple[Any, ...], dict[str, Any]] | None = None
    addends: list[Addend] = field(default_factory=list)
    attention: list[Attended] = field(default_factory=list)
    linear: list[Tensor] = field(default_factory=list)
    """Outputs of linear maps in blocks, but for those that heads are projected by; where the
    network is cut these are addends, in the same order."""
    suspects: list[str] = field(default_factory=list)


class _Keeper:
    """Listens to the attention of a model, and gives out addends.

    Args:
        model: what runs.
        cut: whether the network ends behind linear maps in blocks, and behind the heads.
        last: the number of the site whose queries and keys are all that is asked for.
    """

    tangents = False

    def __init__(
        self, model: CapturedModel, linear_run: LinearPass, *, cut: bool, last: int | None = None
    ) -> None:
        network: Any = model.transformer
        self._found = linear_run
        self._sites = model.sites
        self._cut = cut
        self._last = last
        self._open: list[tuple[str, nn.Module]] = []
        self._names = {id(each): name for name, each in network.named_parameters()}
        self._names |= {id(each): name for name, each in network.named_buffers()}
        self._tables = _tables_of_tokens(network)
        self._projections = {site.projection.module for site in self._sites}
        self._blocks = blocks_of(network, self._sites)
        self._depth, self._block = 0, -1

    def hooks(self, network: nn.Module) -> list[Registration]:
        """Return the hooks that track which module runs."""
        own = ((each.name, each) for each in own_projections(network))
        return [
            hook
            for name, module in (*network.named_modules(), *own)
            for hook in (
                (module.register_forward_pre_hook, partial(self._begin, name)),
                (module.register_forward_hook, self._end),
            )
        ]

    def _begin(self, name: str, module: nn.Module, _: object) -> None:
        self._open.append((name, module))
        if module in self._blocks:
            self._block += self._depth == 0
            self._depth += 1

    def _end(self, module: nn.Module, *_: Any) -> None:
        self._open.pop()
        self._depth -= module in self._blocks

    def place(self) -> str:
        """The module that runs."""
        return self._open[-1][0] if self._open else ""

    def behind(self, value: Tensor) -> Tensor:
        """In blocks, behind all linear maps but those that heads are projected by."""
        if not self._depth or self._open[-1][1] in self._projections or self._in_last():
            return value
        if self._cut:
            return self.addend(value, "linear", self.place())
        self._found.linear.append(value)
        return value

    def _in_last(self) -> bool:
        """Whether queries and keys of the last site are being made."""
        if self._last is None or len(self._found.attention) != self._last:
            return False
        return any(module is self._sites[self._last].module for _, module in self._open)

    def name(self, value: Tensor) -> str | None:
        """Return the name of a parameter."""
        return self._names.get(id(value))

    def addend(self, value: Tensor, kind: AddendKind, name: str) -> Tensor:
        """Keep what is added, as a tensor by which can be differentiated."""
        leaf = value.detach().requires_grad_()
        block = self._block if self._depth else -1
        self._found.addends.append(Addend(name, kind, leaf, self.place(), block))
        return leaf

    def given(self, name: str, value: Any) -> Any:
        """Return an input of the model; numbers that are no ids become addends."""
        if not isinstance(value, Tensor) or not value.is_floating_point():
            return value
        return self.addend(value, "input", name).clone()

    def embedded(self, ids: Tensor, table: Tensor, value: Tensor) -> Tensor:
        """Rows of a table, which the model may write into."""
        kind: AddendKind = "token" if id(table) in self._tables else "embedding"
        name = self._names.get(id(table)) or self.place()
        return self.addend(value, kind, name).clone()

    def attend(
        self, module: nn.Module, arguments: tuple[Any, ...], options: dict[str, Any]
    ) -> tuple[Tensor, Tensor | None]:
        """The model's own eager attention."""
        number = len(self._found.attention)
        if number >= len(self._sites) or self._sites[number].module is not module:
            raise UnsupportedModelError(
                f"{type(module).__name__} ran where the traced pass had another module, so its "
                "heads cannot be told apart."
            )
        if number == self._last:
            self._found.reached = arguments, options
            raise _ReachedError
        context, weight = eager_function(module)(module, *arguments, **options)
        assert weight is not None  # noqa: S101 - tracing has seen it
        if self._cut:
            context = self.addend(context, "attention", self._sites[number].name)
        value = arguments[2].detach()
        block = self._block if self._depth else -1
        attended = Attended(self._sites[number], weight.detach(), value, context, block)
        self._found.attention.append(attended)
        return context, weight


class _ReachedError(Exception):
    """The queries and keys that alone are asked for are there."""


def _tables_of_tokens(network: Any) -> frozenset[int]:
    """The input embeddings of the model, and of its encoder and decoder."""
    tables = set()
    for part in network.modules():
        if isinstance(part, PreTrainedModel):
            try:
                table = getattr(part.get_input_embeddings(), "weight", None)
            except NotImplementedError:  # of a part that reads no tokens
                continue
            if isinstance(table, Tensor) and table.ndim == 2:
                tables.add(id(table))
    return frozenset(tables)


def blocks_of(network: nn.Module, sites: Sequence[AttentionSite]) -> frozenset[nn.Module]:
    """The modules of the outermost lists of modules that hold attention."""
    modules = dict(network.named_modules())
    names = {module: name for name, module in modules.items()}
    blocks: set[nn.Module] = set()
    for site in sites:
        parts = names[site.module].split(".")
        above = (".".join(parts[:length]) for length in range(len(parts)))
        lists = (modules[name] for name in above if isinstance(modules[name], nn.ModuleList))
        blocks.update(next(lists, nn.ModuleList()))
    return frozenset(blocks)


def linear_pass(
    model: CapturedModel,
    arguments: Mapping[str, Any],
    *,
    slope: Slope = "zero_origin",
    cut: bool = False,
    last: int | None = None,
) -> LinearPass:
    """Run a model once as a linear network.

    Args:
        model: in float32 or float64.
        arguments: of its forward pass; one text without padding, or other input.
        slope: of activations.
        cut: let everything that heads and other linear maps in the blocks put out be an addend, so
            that the output depends on it only directly: through sums, norms and what comes after
            the last block.
        last: the number of a site, with whose queries and keys the pass ends.

    Raises:
        UsageError: the model is in half precision, or nothing of it can be differentiated.
        UnsupportedModelError: it runs otherwise than when traced, or writes into what it is given.
        CaptureError: it is being captured.
    """
    network: Any = model.transformer
    if network.dtype not in (torch.float32, torch.float64):
        raise UsageError(
            f"{str(network.dtype).removeprefix('torch.')} is too coarse for the parts of a "
            f"prediction of {model}; load it in float32."
        )
    check_differentiable(network, model.name)
    run = LinearPass()
    keeper = _Keeper(model, run, cut=cut, last=last)
    wrapped = {name: keeper.given(name, value) for name, value in arguments.items()}
    rules = LinearRules(keeper, slope)
    with (
        frozen(network),
        eager_experts(network),
        hooked([*keeper.hooks(network), *_activations(network, rules)]),
        torch.inference_mode(mode=False),
        torch.enable_grad(),
        rules,
        interface_hook(network, keeper),  # which sees functions before rules change them
        suppress(_ReachedError),
    ):
        run.output = network(**wrapped)
    run.suspects = rules.suspects
    return run


def _activations(network: nn.Module, rules: LinearRules) -> list[Registration]:
    """Activations that are made of several functions are one function where slopes differ."""
    if rules.slope == "zero_origin":  # the slopes of the parts are then those of the whole
        return []

    def bend(module: nn.Module, inputs: tuple[Any, ...], output: Tensor) -> Tensor | None:
        if len(inputs) != 1 or not rules.moves(inputs[0]):
            return None
        with torch._C.DisableTorchFunction():
            return rules.line(module.forward, inputs[0])

    return [
        (module.register_forward_hook, bend)
        for module in network.modules()
        if type(module).__module__ == "transformers.activations"
    ]


def token_parts(
    run: Run, memory: int, slope: Slope = "zero_origin"
) -> Iterator[tuple[slice, Float[Tensor, "key layer query d_model"]]]:
    """Yield what each token's embedding adds to each hidden token, at the output of each block.

    Args:
        run: a text in its model.
        memory: bytes for the tangents that run side by side.
        slope: of activations that are functions of torch.

    Returns:
        Some keys at a time, and their parts; the last layer is after the final norm.
    """
    still = torch.zeros_like(run.embedded)
    keys = run.embedded.shape[1]
    own = torch.eye(keys, dtype=still.dtype, device=still.device)[:, None, :, None] * run.embedded

    def hidden(change: Tensor) -> tuple[Tensor, ...]:
        with LinearRules(Still(), slope):  # within, so that it does not see what jvp does
            return run.hidden(change)

    def moved(tangent: Tensor) -> Tensor:
        return torch.stack(jvp(hidden, (still,), (tangent,))[1])

    for some in portions(run, keys, memory):
        yield some, vmap(moved)(own[some])


Parts = Float[Tensor, "batch token d_model"]

See = Callable[[AttentionSite, Parts], object]
"""Is told what parts are in the sum behind the feed-forward network, residual included."""


@contextmanager
def through_feed_forward(
    model: CapturedModel, sites: Sequence[AttentionSite], see: See, slope: Slope = "chord"
) -> Iterator[Callable[[AttentionSite, Parts], None]]:
    """Within the block, what becomes of a part of each token behind the feed-forward network.

    The model must not run in inference mode, in which there are no tangents.

    Args:
        model: that runs.
        sites: whose feed-forward networks are followed.
        see: is told what a part has become.
        slope: of activations.

    Returns:
        What is to be told of a part of what leaves an attention block, once its W^O has put out.

    Raises:
        UnsupportedModelError: a layer has no feed-forward network of its own behind the attention,
            or could not be followed.

    Source: Kobayashi et al. (2024).
    """
    follower = _Follower({site: followed(model.residuals[site]) for site in sites}, see, slope)
    with eager_experts(model.transformer), hooked(follower.hooks()):
        try:
            yield follower.give
        finally:
            follower.stop()


class _Follower:
    """Waits for the end of an attention block, and then for the next sum."""

    def __init__(
        self, residuals: dict[AttentionSite, ResidualSite], see: See, slope: Slope
    ) -> None:
        self._ends = {site: _ends(site, each) for site, each in residuals.items()}
        self._see = see
        self._slope: Slope = slope
        self._given: tuple[AttentionSite, Parts] | None = None
        self._inside: AttentionSite | None = None
        self._rules: LinearRules | None = None
        self._level: forward_ad.dual_level | None = None

    def hooks(self) -> list[Any]:
        """Return the hooks on the ends of attention blocks, and on the sums that follow them."""
        begins = dict.fromkeys(each[0] for each in self._ends.values())
        ends = dict.fromkeys(each[1] for each in self._ends.values())
        # A sum may be seen where the next block begins to end: it is looked at first.
        return [
            *(place.watch(partial(self._leave, place)) for place in ends),
            *(place.watch(partial(self._enter, place)) for place in begins),
        ]

    def give(self, site: AttentionSite, parts: Parts) -> None:
        """Parts of what leaves the attention block, which ends soon."""
        self._given = site, parts

    def stop(self) -> None:
        """Let go of tangents."""
        self._given = self._inside = None
        self._end_rules()
        if self._level is not None:
            self._level.__exit__(None, None, None)
            self._level = None

    def _end_rules(self) -> list[str]:
        """No rules any more; functions that may have lost a part of what they were given."""
        rules, self._rules = self._rules, None
        if rules is None:
            return []
        rules.__exit__(None, None, None)  # type: ignore[no-untyped-call]
        return rules.suspects

    def _enter(self, place: Place, tensor: Tensor) -> None:
        """The very tensor is given its tangent, so that all that read it later see that."""
        if self._given is None or self._ends[self._given[0]][0] != place:
            return
        (self._inside, parts), self._given = self._given, None
        self._level = forward_ad.dual_level()
        self._level.__enter__()  # type: ignore[no-untyped-call]
        direction = parts.reshape(tensor.shape).to(tensor)
        nothing = torch.zeros_like(tensor)
        tensor.add_(forward_ad.make_dual(nothing, direction))  # type: ignore[no-untyped-call]
        self._rules = LinearRules(Still(), self._slope)
        self._rules.__enter__()  # type: ignore[no-untyped-call]

    def _leave(self, place: Place, tensor: Tensor) -> None:
        site = self._inside
        if site is None or self._ends[site][1] != place:
            return
        suspects = self._end_rules()  # which would see the next line
        parts = forward_ad.unpack_dual(tensor)[1]  # type: ignore[no-untyped-call]
        parts = torch.zeros_like(tensor) if parts is None else parts.clone()
        self.stop()
        if suspects:
            raise UnsupportedModelError(
                f"{site.name}: {suspects[0]} loses a part of what the feed-forward network is "
                "given, so that its parts cannot be told apart."
            )
        self._see(site, parts)


def _ends(site: AttentionSite, residual: ResidualSite) -> tuple[Place, Place]:
    """Return the end of the attention block, and the sum behind the feed-forward network."""
    behind = residual.feed_forward
    if residual.output is None or behind is None or behind.sum is None:
        why = (
            "its feed-forward network reads what the attention reads, beside it"
            if residual.parallel
            else "no feed-forward network is added right behind it, or no module shows the sum"
        )
        raise UnsupportedModelError(
            f"{site.name}: {why}, so that nothing can be followed through one; leave the "
            "feed-forward network out."
        )
    return residual.output, behind.sum
