"""Find the attention modules of a model, and where their values come from and their outputs go.

Nothing about architectures is listed here.  One tiny forward pass shows which modules call the
interface hook, and in which order; the linear map that receives a context unchanged, or times a
gate, is its output projection; the linear map in whose output the values lie is their source.
Whether that is right is then checked by Kobayashi's Eq. 3, and a model that breaks it is refused.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

from headlight.capture.attention import eager_function, unreplaced
from headlight.capture.completeness import AttentionBesideError, ModulesRun, check_all_found
from headlight.capture.finite import require_finite, require_finite_attention
from headlight.capture.hooks import hooked
from headlight.capture.own_code.finding import find_own_code
from headlight.capture.own_code.product import context_with
from headlight.capture.own_code.route import own_projections, routes
from headlight.capture.query_blocks import can_be_blocked
from headlight.capture.record import AttentionSite, Gate, Projection, as_context
from headlight.capture.session import home_of, interface_hook, visible_keys
from headlight.capture.tensor_parallel import (
    agreed,
    check_split_by_heads,
    gathered,
    sharing_heads,
)
from headlight.errors import UnsupportedModelError
from headlight.shapes import Visible, Weight
from headlight.vocabulary import Kind

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup

Linear = nn.Linear | Conv1D

TOLERANCE = {torch.float64: 1e-9, torch.float32: 1e-4, torch.float16: 2e-2, torch.bfloat16: 1e-1}
"""Allowed relative error of Eq. 3, by the precision of the model."""


@dataclass(eq=False)
class Call:
    """One call of the interface hook during the traced pass."""

    module: nn.Module
    context: Tensor
    """Of the heads of this process, where each has some; the others are of all."""
    all_contexts: Tensor
    weight: Tensor
    value: Tensor
    source: nn.Module | None
    visible: Visible | None
    processes: "ProcessGroup | None"
    blocks: bool
    projection: nn.Module | None = None
    projected: Tensor | None = None
    sequence_first: bool = False
    gate: Tensor | None = None
    """What the context is multiplied by before it is projected; of the heads of this process."""
    after: list[tuple[nn.Module, Tensor, Tensor]] = field(default_factory=list)
    """The linear maps that ran next, with input and output, while none was the projection."""


class Tracer:
    """A listener that records every call, and every linear map around it."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self._outputs: list[tuple[nn.Module, Tensor]] = []

    def attend(
        self, module: nn.Module, arguments: tuple[Any, ...], options: dict[str, Any]
    ) -> tuple[Tensor, Tensor | None]:
        """Compute the attention and record the call."""
        function, value = eager_function(module), arguments[2]
        context, weight = function(module, *arguments, **options)
        if weight is None:
            raise UnsupportedModelError(
                f"the eager attention of {type(module).__name__} returns no weights."
            )
        processes = sharing_heads(module, context)
        route = routes.get(module)
        blocks = can_be_blocked(function, module, arguments, options, (context, weight))
        call = Call(
            module=module,
            context=context,
            all_contexts=gathered(context, processes, 2),
            weight=gathered(weight, processes),
            value=gathered(value, processes),
            source=None if route and route.sequence_first else self._source_of(value),
            visible=visible_keys(arguments, options, weight),
            processes=processes,
            blocks=agreed(blocks, processes, value.device),
            projection=None if route is None else route.projection,
            sequence_first=route is not None and route.sequence_first,
        )
        self.calls.append(call)
        self._outputs.clear()
        return context, weight

    def linear(self, module: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        """A forward hook of every linear map."""
        self._outputs.append((module, output))
        if self.calls and self.calls[-1].projected is None and inputs:
            call = self.calls[-1]
            if call.projection is not None:
                call.projected = output if module is call.projection else None
                return
            call.after.append((module, inputs[0], output))
            if _same_numbers(inputs[0], call.context):
                call.projection, call.projected = module, output
                call.after.clear()

    def _source_of(self, value: Tensor) -> nn.Module | None:
        """The linear map whose output `value` is a view of, or holds the same numbers as."""
        for module, output in reversed(self._outputs):
            if output.untyped_storage().data_ptr() == value.untyped_storage().data_ptr():
                return module
        flat = value.transpose(1, 2)
        for module, output in reversed(self._outputs):
            if _same_numbers(output, flat):
                return module
        return None


class _Reweighted(Tracer):
    """Runs the model with other weights, made of its own."""

    def __init__(self, change: Callable[[Weight], Weight]) -> None:
        super().__init__()
        self._change = change

    def attend(
        self, module: nn.Module, arguments: tuple[Any, ...], options: dict[str, Any]
    ) -> tuple[Tensor, Tensor | None]:
        context, weight = super().attend(module, arguments, options)
        assert weight is not None  # noqa: S101 - others are refused
        made = context_with(self._change(weight), arguments, options)
        self.calls[-1].context = made.reshape(context.shape).contiguous()
        return self.calls[-1].context, weight


class _Silenced(Tracer):
    """Runs the model with x = 0 at every source, so that the values are the value biases."""

    def __init__(self, sources: set[nn.Module]) -> None:
        super().__init__()
        self._sources = sources

    def silence(self, module: nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...] | None:
        if module not in self._sources or not inputs:
            return None
        return (torch.zeros_like(inputs[0]), *inputs[1:])


class _Substituted:
    """Runs the model with other contexts, while their projections put out as before.

    A projection that is not known yet is looked for: of the linear maps that run next it is the
    first whose input was the context times what it is now.

    Args:
        calls: of the traced pass.
        contexts: what some of them put out instead, by number.
    """

    def __init__(self, calls: list[Call], contexts: Mapping[int, Tensor]) -> None:
        self.received: dict[int, Tensor] = {}
        """What their projections were given."""
        self._calls = calls
        self._contexts = contexts
        self._next = 0
        self._place = 0

    def attend(
        self, module: nn.Module, arguments: tuple[Any, ...], options: dict[str, Any]
    ) -> tuple[Tensor, Tensor | None]:
        call = self._calls[self._next]
        context = self._contexts.get(self._next, call.context)
        self._next += 1
        self._place = 0
        return context, call.weight

    def restore(self, module: nn.Module, inputs: tuple[Any, ...], output: Tensor) -> Tensor | None:
        """A forward hook of linear maps; other runs of a projection stay as they are."""
        if not self._next:
            return None
        number, call = self._next - 1, self._calls[self._next - 1]
        if call.projection is None and inputs:
            self._find(call, module, inputs[0])
        if call.projection is not module:
            return None
        if number not in self.received:
            self.received[number] = inputs[0]
        return call.projected

    def _find(self, call: Call, module: nn.Module, given: Tensor) -> None:
        if self._place >= len(call.after) or call.after[self._place][0] is not module:
            return
        _, before, output = call.after[self._place]
        self._place += 1
        if given.numel() != call.context.numel() or given.numel() != before.numel():
            return
        gate = as_context(given, call.context)
        if _nearly(call.context * gate, as_context(before, call.context)):
            call.projection, call.projected, call.gate = module, output, gate


def trace(model: nn.Module, inputs: Mapping[str, Any]) -> list[AttentionSite]:
    """The attention of `model` in the order in which it runs on `inputs`.

    Args:
        model: a transformers model in evaluation mode.
        inputs: keyword arguments of its forward pass, at least three positions long.

    Raises:
        UnsupportedModelError: no attention passes the interface, fewer modules than the
            configuration promises, or one whose context does not reach a linear map unchanged.
    """
    check_split_by_heads(model)
    with unreplaced(model):
        try:
            return _trace(model, inputs)
        except AttentionBesideError as refusal:
            problems = find_own_code(model, inputs, refusal.passed)
            if not any(module in routes for module in model.modules()):
                raise _with_reasons(refusal, problems) from None
        try:
            return _trace(model, inputs)
        except AttentionBesideError as refusal:
            raise _with_reasons(refusal, problems) from None


def _with_reasons(
    refusal: UnsupportedModelError, problems: Mapping[nn.Module, str]
) -> UnsupportedModelError:
    """Say of each class with code of its own why its heads cannot be told apart."""
    reasons = sorted({f"in {type(each).__name__} {why}" for each, why in problems.items()})
    why = f"could not be followed ({'; '.join(reasons)})"
    if not reasons:
        why = "has no softmax whose result is multiplied by values and then projected"
    return UnsupportedModelError(f"{str(refusal).rstrip('.')}; code of its own {why}.")


def _trace(model: nn.Module, inputs: Mapping[str, Any]) -> list[AttentionSite]:
    tracer = Tracer()
    hooks = [(module.register_forward_hook, tracer.linear) for module in _linear_maps(model)]
    run = ModulesRun()
    with hooked(hooks), torch.no_grad(), interface_hook(model, tracer), run.watching(model):
        output = _output(model, inputs)
    _check_finite(tracer.calls)
    require_finite("what comes out of the last layer", output)
    _find_gates(model, inputs, tracer.calls)
    names = {module: name for name, module in model.named_modules()}
    names |= {module: module.name for module in own_projections(model)}
    counts: dict[Kind, int] = {"encoder": 0, "decoder": 0, "cross": 0}
    sites = []
    for call in tracer.calls:
        site = _site(call, names, counts, home_of(model))
        counts[site.kind] += 1
        sites.append(site)
    passed = [call.module for call in tracer.calls]
    check_all_found(model, counts, passed, run, both_sides="decoder_input_ids" in inputs)
    _check_nothing_beside(model, inputs, tracer.calls, sites, output)
    _check_replaced(model, inputs, tracer.calls, sites, output)
    _check_returned(model, inputs, tracer.calls, sites)
    return _with_value_biases(model, inputs, sites)


def _linear_maps(model: nn.Module) -> list[nn.Module]:
    inside = [module for module in model.modules() if isinstance(module, Linear)]
    return [*inside, *own_projections(model)]


def _site(
    call: Call,
    names: Mapping[nn.Module, str],
    counts: Mapping[Kind, int],
    home: torch.device,
) -> AttentionSite:
    name = names[call.module]
    projection = _projection(call, name, names, home)
    kind = _kind(call)
    error = _equation_3(call, projection)
    allowed = TOLERANCE.get(call.context.dtype, 1e-1)
    if not error <= allowed:
        raise UnsupportedModelError(
            f"{name}: the sum of α f(x) misses the output of the attention by {error:.1e} of its "
            f"norm (allowed {allowed:.0e}), so its parts cannot be told apart exactly."
        )
    return AttentionSite(
        module=call.module,
        name=name,
        kind=kind,
        layer=counts[kind],
        heads=call.weight.shape[1],
        kv_heads=call.value.shape[1],
        head_dim=call.value.shape[3],
        projection=projection,
        gate=_form(call.gate),
        source=call.source,
        value_bias=None,
        error=error,
        blocks=call.blocks,
        processes=call.processes,
        sequence_first=call.sequence_first,
    )


def _projection(
    call: Call, name: str, names: Mapping[nn.Module, str], home: torch.device
) -> Projection:
    if call.projection is None:
        _check_not_quantised(getattr(call.module, "config", None), name)
        raise UnsupportedModelError(
            f"{name}: what the heads compute is changed before it is projected, by more than a "
            "gate that does not depend on it (it is normalised or mixed, say), or not projected by "
            "a linear map at all, so f(x) does not exist for it."
        )
    place = names[call.projection]
    if place.endswith(".base_layer"):
        raise UnsupportedModelError(
            f"{place.removesuffix('.base_layer')} carries an adapter; merge it into the model "
            "first (merge_and_unload in PEFT)."
        )
    weight: Any = call.projection.weight
    if not weight.is_floating_point():
        raise _quantised(f"{place} ({str(weight.dtype).removeprefix('torch.')})")
    return Projection(call.projection, place, call.weight.shape[1], home)


def _check_not_quantised(config: Any, name: str) -> None:
    """A linear map of a quantised model may be a module of another kind, and so not be found."""
    if getattr(config, "quantization_config", None) is not None:
        raise _quantised(name)


def _quantised(what: str) -> UnsupportedModelError:
    return UnsupportedModelError(
        f"{what} is quantised, so W^O cannot be read as numbers; load the model without "
        "quantisation, or undo it first (dequantize of transformers)."
    )


def _kind(call: Call) -> Kind:
    """By what the weights do: another length than the queries', or nothing ahead."""
    queries, keys = call.weight.shape[2:]
    if queries != keys:
        return "cross"
    causal = queries > 1 and not call.weight.triu(1).any()
    return "decoder" if causal else "encoder"


def _equation_3(call: Call, projection: Projection) -> float:
    """Relative error of Σ_h Σ_j α f(x) + b^O against what the projection put out."""
    assert call.projected is not None  # noqa: S101 - found together with the projection
    weight, value = call.weight.cpu().double(), call.value.cpu().double()
    value = value.repeat_interleave(weight.shape[1] // value.shape[1], dim=1)
    context = weight @ value
    if call.gate is not None:
        gate = gathered(call.gate, call.processes, 2)
        context = context * gate.cpu().double().transpose(1, 2)
    rebuilt = torch.einsum("bhqd,hdm->bqm", context, projection.weight.cpu().double())
    if projection.bias is not None:
        rebuilt = rebuilt + projection.bias.cpu().double()
    output = call.projected.cpu().double().reshape(rebuilt.shape)
    return float((rebuilt - output).norm() / output.norm().clamp_min(1e-300))


def _find_gates(model: nn.Module, inputs: Mapping[str, Any], calls: list[Call]) -> None:
    """Look for the projections of contexts that none received unchanged.

    The gate is what the projection is given where the attention puts out ones.  Where it puts out
    other, larger numbers, the projection must be given the gate times these: the gate does not
    depend on what the heads compute.
    """
    unknown = [number for number, call in enumerate(calls) if call.projection is None]
    if not unknown:
        return
    ones = {number: torch.ones_like(calls[number].context) for number in unknown}
    _substituted(model, inputs, calls, ones)
    for call in calls:
        call.after.clear()
    found = [number for number in unknown if calls[number].projection is not None]
    others = {number: 16 * ones[number].cumsum(1) - 4 * ones[number].cumsum(-1) for number in found}
    received = _substituted(model, inputs, calls, others)[0].received
    for number, context in others.items():
        call = calls[number]
        assert call.gate is not None  # noqa: S101 - found together with the projection
        if not _nearly(context * call.gate, as_context(received[number], context)):
            call.projection = None


def _form(gate: Tensor | None) -> Gate | None:
    if gate is None:
        return None
    return "head" if torch.equal(gate, gate[..., :1].expand_as(gate)) else "element"


def _nearly(found: Tensor, wanted: Tensor) -> bool:
    """Equal up to rounding, by their lengths."""
    exact = wanted.cpu().double()
    error = (found.cpu().double() - exact).norm() / exact.norm().clamp_min(1e-300)
    return float(error) <= TOLERANCE.get(wanted.dtype, 1e-1) / 10


def _check_finite(calls: list[Call]) -> None:
    """Numbers that are none equal nothing, and nothing could be found.

    Raises:
        NotFiniteError: attention is not finite.
    """
    counts: dict[Kind, int] = {"encoder": 0, "decoder": 0, "cross": 0}
    for call in calls:
        kind = _kind(call)
        require_finite_attention(
            (kind, counts[kind]), call.all_contexts, call.weight, call.value, call.visible
        )
        counts[kind] += 1


def _same_numbers(first: Tensor, second: Tensor) -> bool:
    if first.numel() != second.numel() or first.device != second.device:
        return False
    return torch.equal(first.flatten(), second.flatten())


def _check_nothing_beside(
    model: nn.Module,
    inputs: Mapping[str, Any],
    calls: list[Call],
    sites: list[AttentionSite],
    output: Tensor,
) -> None:
    """Nothing but the projection may read a context: no gate of it, and no adapter beside it."""
    if not _reads_contexts(model, inputs, calls, set(range(len(calls))), output):
        return
    for index, site in enumerate(sites):
        if _reads_contexts(model, inputs, calls, {index}, output):
            raise UnsupportedModelError(
                f"{site.name}: what the heads compute is also read beside {site.projection.name} "
                "(by a gate or an adapter, say), so f(x) does not exist for it."
            )


def _check_replaced(
    model: nn.Module,
    inputs: Mapping[str, Any],
    calls: list[Call],
    sites: list[AttentionSite],
    output: Tensor,
) -> None:
    """The weights are those that the model works with: their own numbers leave it as it is."""
    if any(site.processes is not None for site in sites):
        return
    error = _difference(_run(model, inputs, _Reweighted(torch.clone)), output)
    if not error <= TOLERANCE.get(output.dtype, 1e-1):
        raise UnsupportedModelError(
            f"{type(model).__name__} puts out something else ({error:.1e} of its norm) when the "
            "weights of its attention are replaced by the same weights, so these are not what it "
            "works with."
        )
    uniform = _Reweighted(_uniform)
    _run(model, inputs, uniform)
    for call, changed, site in zip(calls, uniform.calls, sites, strict=True):
        before, after = call.projected, changed.projected
        level = torch.allclose(_uniform(call.weight), call.weight)
        if not level and before is not None and after is not None and torch.equal(before, after):
            raise UnsupportedModelError(
                f"{site.name}: {site.projection.name} puts out the same when the weights are "
                "replaced by others, so these are not what the model works with."
            )


def _uniform(weight: Weight) -> Weight:
    """The same weight for every key that has any."""
    return (weight != 0).to(weight) / (weight != 0).sum(-1, keepdim=True).clamp_min(1)


def _run(model: nn.Module, inputs: Mapping[str, Any], listener: Tracer) -> Tensor:
    hooks = [(module.register_forward_hook, listener.linear) for module in _linear_maps(model)]
    with hooked(hooks), torch.no_grad(), interface_hook(model, listener):
        return _output(model, inputs)


def _check_returned(
    model: nn.Module, inputs: Mapping[str, Any], calls: list[Call], sites: list[AttentionSite]
) -> None:
    """The weights are those that the model returns, where it returns weights of their form.

    What a model returns of the interface is what the hook has given it, and shows nothing.
    """
    if not any(call.module in routes for call in calls):
        return
    try:
        with _as_before(model), torch.no_grad(), interface_hook(model, Tracer()):
            output = model(**inputs, output_attentions=True)
    except Exception:  # noqa: BLE001 - a model that returns none can raise anything
        return
    for name, kinds in _RETURNED.items():
        own = [(call, site) for call, site in zip(calls, sites, strict=True) if site.kind in kinds]
        returned = getattr(output, name, None) or ()
        if not isinstance(returned, tuple) or len(returned) != len(own):
            continue
        for (call, site), weight in zip(own, returned, strict=True):
            if not isinstance(weight, Tensor) or weight.shape != call.weight.shape:
                continue
            wanted, found = weight.float(), call.weight.float()
            if torch.equal(wanted, wanted[:, :1].expand_as(wanted)):  # the mean of all heads
                found = found.mean(1, keepdim=True)
            error = float((wanted - found).abs().max())
            # Some models return scores.
            are_weights = torch.allclose(wanted.sum(-1), found.sum(-1), atol=1e-2)
            if are_weights and error > TOLERANCE.get(weight.dtype, 1e-1):
                raise UnsupportedModelError(
                    f"{site.name}: its weights differ by up to {error:.1e} from those that the "
                    "model returns (output_attentions), so one of the two is not what it works "
                    "with."
                )


@contextmanager
def _as_before(model: nn.Module) -> Iterator[None]:
    """Take away the hooks that transformers leaves on a model whose attention it has returned."""
    attributes = {module: set(vars(module)) for module in model.modules()}
    hooks = {module: set(module._forward_hooks) for module in attributes}
    try:
        yield
    finally:
        for module, names in attributes.items():
            for key in set(module._forward_hooks) - hooks[module]:
                del module._forward_hooks[key]
            for name in set(vars(module)) - names:
                delattr(module, name)


_RETURNED: Mapping[str, tuple[Kind, ...]] = {
    "attentions": ("encoder", "decoder"),
    "encoder_attentions": ("encoder",),
    "decoder_attentions": ("decoder",),
    "cross_attentions": ("cross",),
}
"""Names of what models return, and the kinds of attention that are meant."""


def _reads_contexts(
    model: nn.Module,
    inputs: Mapping[str, Any],
    calls: list[Call],
    blanked: set[int],
    wanted: Tensor,
) -> bool:
    """Whether the output changes with the contexts of some calls, their projections apart."""
    zeros = {number: torch.zeros_like(calls[number].context) for number in blanked}
    _, found = _substituted(model, inputs, calls, zeros)
    return not _difference(found, wanted) <= TOLERANCE.get(wanted.dtype, 1e-1) / 100


def _difference(found: Tensor, wanted: Tensor) -> float:
    """The norm of the difference, relative to that of what is wanted."""
    return float((found - wanted).float().norm() / wanted.float().norm().clamp_min(1e-30))


def _substituted(
    model: nn.Module,
    inputs: Mapping[str, Any],
    calls: list[Call],
    contexts: Mapping[int, Tensor],
) -> tuple[_Substituted, Tensor]:
    """The model run with other contexts, and its output."""
    listener = _Substituted(calls, contexts)
    hooks = [(module.register_forward_hook, listener.restore) for module in _linear_maps(model)]
    with hooked(hooks), torch.no_grad(), interface_hook(model, listener):
        return listener, _output(model, inputs)


def _output(model: nn.Module, inputs: Mapping[str, Any]) -> Tensor:
    """What comes out of the last layer; of a backbone, which gives several layers, of the last."""
    output = model(**inputs)[0]
    last: Tensor = output[-1] if isinstance(output, tuple) else output
    return last


def _with_value_biases(
    model: nn.Module, inputs: Mapping[str, Any], sites: list[AttentionSite]
) -> list[AttentionSite]:
    """Read b^V off a second pass in which every source of values is given zeros."""
    sources = {site.source for site in sites if site.source is not None}
    tracer = _Silenced(sources)
    hooks = [(source.register_forward_pre_hook, tracer.silence) for source in sources]
    with hooked(hooks), torch.no_grad(), interface_hook(model, tracer):
        model(**inputs)
    home = home_of(model)
    return [
        site
        if site.source is None
        else replace(site, value_bias=call.value[0, :, 0].clone().to(home))
        for site, call in zip(sites, tracer.calls, strict=True)
    ]
