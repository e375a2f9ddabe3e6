"""Attention modules and their output projections W^O: found by tracing, checked by Eq. 3.

Find the attention modules of a model, and where their values come from and their outputs go.
Nothing about architectures is listed here.  One tiny forward pass shows which modules call the
interface hook, and in which order; the linear map that receives a context unchanged, or times a
gate, is its output projection; the linear map in whose output the values lie is their source.
Whether that is right is then checked by Kobayashi's Eq. 3, and a model that breaks it is refused.

Whether all attention of a model passes the interface, or only a part of it.
A part of a model may attend in code of its own, beside the interface, and would be missing in every
result without a word.  Such a module shows itself while the traced pass runs: it is named after
attention, has linear maps, and computes a softmax over keys for several queries.  Linear attention
and state spaces compute none, routers of experts have other names, and what pools a whole text or
picture into one vector has one query.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from transformers.pytorch_utils import Conv1D

from headlight.capture.attention import unreplaced
from headlight.capture.backward import require_finite, require_finite_attention
from headlight.capture.own_code import find_own_code
from headlight.capture.own_products import own_projections, routes, rows_above_one
from headlight.capture.record import (
    TOLERANCE,
    AttentionSite,
    Gate,
    Projection,
    check_split_by_heads,
    gathered,
)
from headlight.capture.residual_stream import Registration, hooked
from headlight.capture.session import home_of, interface_hook
from headlight.capture.tracer import (
    Call,
    Silenced,
    Tracer,
    check_nothing_beside,
    check_replaced,
    check_returned,
    linear_maps,
    nearly,
    output_of,
    run_substituted,
)
from headlight.errors import UnsupportedModelError
from headlight.vocabulary import Kind

_NAMED = re.compile(r"att(?:n|ention)", re.IGNORECASE)
"""In the name of a class, of every architecture that there is."""
_LINEAR = nn.Linear | Conv1D | nn.Conv1d | nn.Conv2d


class ModulesRun(TorchFunctionMode):
    """The modules that run in a pass, and those that make weights of the scores of queries."""

    def __init__(self) -> None:
        super().__init__()
        self._ran: dict[nn.Module, None] = {}
        self._attending: dict[tuple[nn.Module, ...], None] = {}
        """For each softmax the modules that it is within, outermost first."""
        self._within: list[nn.Module] = []

    @contextmanager
    def watching(self, model: nn.Module) -> Iterator[None]:
        """Within the block, passes of `model` are watched."""
        hooks: list[Registration] = []
        for module in model.modules():
            hooks += [
                (module.register_forward_pre_hook, self._enter),
                (module.register_forward_hook, self._leave),
            ]
        with hooked(hooks), self:
            yield

    def beside(self, passed: Iterable[nn.Module]) -> list[nn.Module]:
        """Return the attention modules that ran without calling the interface.

        Args:
            passed: the modules that called it.
        """
        interface_modules = set(passed)
        classes = {type(module) for module in interface_modules}
        others = {module: None for module in self._ran if type(module) in classes}
        for within in self._attending:
            if interface_modules.isdisjoint(within):
                named = [module for module in within if _is_attention(module)]
                others |= dict.fromkeys(named[-1:])
        return [module for module in others if interface_modules.isdisjoint(module.modules())]

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        queries = _QUERIES.get(getattr(func, "__name__", ""))
        if queries is not None and queries(result) > 1:
            self._attending[tuple(self._within)] = None
        return result

    def _enter(self, module: nn.Module, *_: Any) -> None:
        self._ran[module] = None
        self._within.append(module)

    def _leave(self, *_: Any) -> None:
        self._within.pop()


def _is_attention(module: nn.Module) -> bool:
    named = _NAMED.search(type(module).__name__)
    return bool(named) and any(isinstance(each, _LINEAR) for each in module.modules())


def _rows(result: Tensor) -> int:
    return result.shape[-2] if result.ndim > 1 else 1


_QUERIES: Mapping[str, Callable[[Any], int]] = {
    "softmax": _rows,
    "scaled_dot_product_attention": _rows,
    "multi_head_attention_forward": lambda result: len(result[0]),
}
"""Functions of torch that turn scores into weights, and how many queries their results are of."""


class AttentionBesideError(UnsupportedModelError):
    """Attention of a model does not pass the interface; `passed` are the modules that do."""

    def __init__(self, message: str, passed: Iterable[nn.Module]) -> None:
        super().__init__(message)
        self.passed = frozenset(passed)


def check_all_found(
    model: nn.Module,
    counts: Mapping[Kind, int],
    passed: Iterable[nn.Module],
    run: ModulesRun,
    *,
    both_sides: bool,
) -> None:
    """Refuse a model of which no attention, or only a part, calls the interface."""
    name, passed = type(model).__name__, set(passed)
    if not sum(counts.values()):
        raise AttentionBesideError(
            f"{name} is not supported, because no attention of it goes through transformers' "
            "attention interface: nothing was captured.",
            passed,
        )
    missing = [kind for kind, count in counts.items() if not count]
    if missing and both_sides:
        raise AttentionBesideError(
            f"{name} is not supported, because its {missing[0]} attention does not go through "
            "transformers' attention interface, though other attention of the model does.",
            passed,
        )
    expected = _promised(model)
    layers = max(counts["encoder"], counts["decoder"])
    if expected is not None and layers < expected:
        raise AttentionBesideError(
            f"{name} is not supported, because only {layers} of its {expected} attention layers go "
            "through transformers' attention interface.",
            passed,
        )
    if others := run.beside(passed):
        classes = ", ".join(sorted({type(module).__name__ for module in others}))
        raise AttentionBesideError(
            f"{name} is not supported, because only {len(passed)} of its "
            f"{len(passed) + len(others)} attention modules go through transformers' attention "
            f"interface; the others ({classes}) attend in code of their own.",
            passed,
        )


def _promised(model: nn.Module) -> int | None:
    """Return the number of self-attention layers in the configuration, if it names one."""
    config: Any = getattr(model, "config", None)
    kinds = getattr(config, "layer_types", None) or getattr(config, "layers_block_type", None)
    if kinds:
        return sum("attention" in kind and "linear" not in kind for kind in kinds)
    layers = getattr(config, "num_hidden_layers", None)
    return layers if isinstance(layers, int) else None


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
    return UnsupportedModelError(f"{refusal.marked().rstrip('.')}; code of its own {why}.")


def _trace(model: nn.Module, inputs: Mapping[str, Any]) -> list[AttentionSite]:
    tracer = Tracer()
    hooks = [(module.register_forward_hook, tracer.linear) for module in linear_maps(model)]
    run = ModulesRun()
    with hooked(hooks), torch.no_grad(), interface_hook(model, tracer), run.watching(model):
        output = output_of(model, inputs)
    _check_finite(tracer.calls)
    require_finite("what comes out of the last layer", output)
    _find_gates(model, inputs, tracer.calls)
    names = {module: name for name, module in model.named_modules()}
    names |= {module: module.name for module in own_projections(model)}
    _check_whole(tracer.calls, names)
    counts: dict[Kind, int] = {"encoder": 0, "decoder": 0, "cross": 0}
    sites = []
    for call in tracer.calls:
        site = _site(call, names, counts, home_of(model))
        counts[site.kind] += 1
        sites.append(site)
    passed = [call.module for call in tracer.calls]
    check_all_found(model, counts, passed, run, both_sides="decoder_input_ids" in inputs)
    check_nothing_beside(model, inputs, tracer.calls, sites, output)
    check_replaced(model, inputs, tracer.calls, sites, output)
    check_returned(model, inputs, tracer.calls, sites)
    return _with_value_biases(model, inputs, sites)


def _check_whole(calls: list[Call], names: Mapping[nn.Module, str]) -> None:
    """Refuse a module that attends to its input in parts and puts their contexts together."""
    for call, following in pairwise(calls):
        is_joined = call.module is following.module and call.projection is following.projection
        if is_joined and call.projection is None and not _attend_alike(call, following):
            raise UnsupportedModelError(
                f"{names[call.module]}: this attention looks at parts of its input one after the "
                "other (windows, or pictures), and what the heads compute of them is joined before "
                "it is projected, so that no part has a projection of its own; give an input of "
                "one part."
            )


def _attend_alike(one: Call, other: Call) -> bool:
    """Whether two calls have the same weights: contexts of the same tokens are then combined."""
    return one.weight.shape == other.weight.shape and torch.equal(one.weight, other.weight)


def _site(
    call: Call, names: Mapping[nn.Module, str], counts: Mapping[Kind, int], home: torch.device
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
    if call.projected_twice:
        raise UnsupportedModelError(
            f"{name}: {projection.name} is given what it has put out once more, so f(x) of one "
            "projection is not what this attention adds."
        )
    excess = rows_above_one(call.weight)
    if excess is not None:
        raise UnsupportedModelError(f"{name}: {excess}")
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
            f"{place.removesuffix('.base_layer')} carries an adapter; give what merge_and_unload "
            "of the PeftModel around it returns (an adapter that was added by transformers is "
            "saved with save_pretrained, and becomes one by PeftModel.from_pretrained)."
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
    run_substituted(model, inputs, calls, ones)
    for call in calls:
        call.after.clear()
    usable = [number for number in unknown if calls[number].projection is not None]
    others = {
        number: 16 * ones[number].cumsum(1) - 4 * ones[number].cumsum(-1) for number in usable
    }
    received = run_substituted(model, inputs, calls, others)[0].received
    for number, context in others.items():
        call = calls[number]
        assert call.gate is not None  # noqa: S101 - found together with the projection
        if not nearly(context * call.gate, received[number].reshape(context.shape)):
            call.projection = None


def _form(gate: Tensor | None) -> Gate | None:
    if gate is None:
        return None
    return "head" if torch.equal(gate, gate[..., :1].expand_as(gate)) else "element"


def _check_finite(calls: list[Call]) -> None:
    """Refuse attention that is not finite: NaN equals nothing, and nothing could be found."""
    counts: dict[Kind, int] = {"encoder": 0, "decoder": 0, "cross": 0}
    for call in calls:
        kind = _kind(call)
        require_finite_attention(
            (kind, counts[kind]), call.all_contexts, call.weight, call.value, call.visible
        )
        counts[kind] += 1


def _with_value_biases(
    model: nn.Module, inputs: Mapping[str, Any], sites: list[AttentionSite]
) -> list[AttentionSite]:
    """Read b^V off a second pass in which every source of values is given zeros."""
    sources = {site.source for site in sites if site.source is not None}
    tracer = Silenced(sources)
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
