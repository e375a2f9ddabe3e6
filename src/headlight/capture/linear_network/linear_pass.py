"""One pass of a model as a linear network: the addends of its output."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from headlight.capture.attention_interface import eager_function
from headlight.capture.attention_site import AttentionSite
from headlight.capture.captured_model import CapturedModel
from headlight.capture.custom_attention.projection import own_projections
from headlight.capture.differentiation import check_differentiable, eager_experts, frozen
from headlight.capture.hooks import Registration, hooked
from headlight.capture.linear_network.addends import Addend, AddendKind
from headlight.capture.linear_network.rules import LinearRules
from headlight.capture.recorder import interface_hook
from headlight.errors import UnsupportedModelError, UsageError
from headlight.settings.attribution import Slope
from headlight.tensors import Value, Weight


@dataclass(frozen=True, eq=False)
class Attended:
    """One run of an attention module in a linear network.

    Attributes:
        site: Attention site of the run.
        weight: Attention weights α, a constant.
        value: Values v(x) of this run.
        context: Output of the heads, in the graph: ``batch query head head_dim``.
        block: Number of the run of the block in which it was.
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
        output: Output of the model, with its graph; None where the pass ended before.
        reached: Arguments and options of the attention at which the pass ended.
        addends: Addends of the output, all of them.
        attention: Runs of attention modules, in order.
        suspects: Functions that may have lost a part of their input.
    """

    output: Any = None
    reached: tuple[tuple[Any, ...], dict[str, Any]] | None = None
    addends: list[Addend] = field(default_factory=list)
    attention: list[Attended] = field(default_factory=list)
    linear: list[Tensor] = field(default_factory=list)
    """Outputs of linear maps in blocks, except projections of heads; where the network is cut these
    are addends, in the same order."""
    suspects: list[str] = field(default_factory=list)


class _Keeper:
    """Listener to the attention of a model, and bookkeeper of its addends.

    Args:
        model: Model that runs.
        linear_run: Pass that is filled with addends and attention.
        cut: Whether the network ends behind linear maps in blocks, and behind the heads.
        last: Number of the site whose queries and keys are all that is requested.
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
        self._names = {id(tensor): name for name, tensor in network.named_parameters()}
        self._names |= {id(tensor): name for name, tensor in network.named_buffers()}
        self._tables = _tables_of_tokens(network)
        self._projections = {site.projection.module for site in self._sites}
        self._blocks = blocks_of(network, self._sites)
        self._depth, self._block = 0, -1

    def hooks(self, network: nn.Module) -> list[Registration]:
        """Return the hooks that track which module runs."""
        projections = ((projection.name, projection) for projection in own_projections(network))
        return [
            hook
            for name, module in (*network.named_modules(), *projections)
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
        """Return the name of the module that runs."""
        return self._open[-1][0] if self._open else ""

    def behind(self, value: Tensor) -> Tensor:
        """Keep the output of a linear map in a block, unless heads are projected by the map."""
        if not self._depth or self._open[-1][1] in self._projections or self._makes_last():
            return value
        if self._cut:
            return self.addend(value, "linear", self.place())
        self._found.linear.append(value)
        return value

    def _makes_last(self) -> bool:
        if self._last is None or len(self._found.attention) != self._last:
            return False
        return any(module is self._sites[self._last].module for _, module in self._open)

    def name(self, value: Tensor) -> str | None:
        """Return the name of a parameter."""
        return self._names.get(id(value))

    def addend(self, value: Tensor, kind: AddendKind, name: str) -> Tensor:
        """Keep an addend, as a tensor by which the output can be differentiated."""
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
        """Keep rows of a table as an addend; the model may write into the result."""
        kind: AddendKind = "token" if id(table) in self._tables else "embedding"
        name = self._names.get(id(table)) or self.place()
        return self.addend(value, kind, name).clone()

    def attend(
        self, module: nn.Module, arguments: tuple[Any, ...], options: dict[str, Any]
    ) -> tuple[Tensor, Tensor | None]:
        """Compute the model's own eager attention, and keep its run.

        Raises:
            UnsupportedModelError: another module runs here than when traced.
        """
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
    """Signal that the queries and keys, which alone are requested, are there."""


def _tables_of_tokens(network: Any) -> frozenset[int]:
    """Return the ids of the input embeddings of the model, and of its encoder and decoder."""
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
    """Return the modules of the outermost lists of modules that hold attention."""
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
        model: Model in float32 or float64.
        arguments: Arguments of its forward pass, for one text without padding or other input.
        slope: Slope of activations.
        cut: Whether all outputs of heads and of other linear maps in the blocks are addends, so
            that the output depends on them only directly: through sums, norms and what comes after
            the last block.
        last: Number of a site, with whose queries and keys the pass ends.

    Raises:
        UsageError: the model is in half precision, or nothing of it can be differentiated.
        UnsupportedModelError: the model runs otherwise than when traced, or writes into its inputs.
        CaptureError: the model is being captured.
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
    """Return hooks by which an activation made of several functions is one, where slopes differ."""
    if rules.slope == "zero_origin":  # its parts then have the slopes of the whole
        return []

    def bend(module: nn.Module, inputs: tuple[Any, ...], output: Tensor) -> Tensor | None:
        if len(inputs) != 1 or not rules.moves(inputs[0]):
            return None
        # The rules would bend each function within the activation; as a whole it is one line.
        with torch._C.DisableTorchFunction():
            return rules.line(module.forward, inputs[0])

    return [
        (module.register_forward_hook, bend)
        for module in network.modules()
        if type(module).__module__ == "transformers.activations"
    ]
