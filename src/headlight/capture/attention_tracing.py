"""Tracing of attention modules: where their values come from, and where their outputs go.

Nothing about architectures is listed here.  One tiny forward pass shows which modules call the
interface hook, and in which order; the linear map that receives a context unchanged, or times a
gate, is its output projection W^O; the linear map in whose output the values lie is their source.
Whether that is right is then checked by Kobayashi's Eq. 3, and a model that breaks it is refused.
"""

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from headlight.capture.attention_coverage import AttentionBesideError, ModulesRun, check_all_found
from headlight.capture.attention_interface import suspend_replacements
from headlight.capture.attention_site import AttentionSite, Gate
from headlight.capture.custom_attention.products import rows_above_one
from headlight.capture.custom_attention.projection import own_projections, routes
from headlight.capture.custom_attention.route_tracing import find_own_code
from headlight.capture.finite_numbers import require_finite, require_finite_attention
from headlight.capture.hooks import hooked
from headlight.capture.output_projection import TOLERANCE, Projection
from headlight.capture.recorder import home_of, interface_hook
from headlight.capture.self_check import check_nothing_beside, check_replaced, check_returned
from headlight.capture.tensor_parallel import check_split_by_heads, gathered
from headlight.capture.traced_passes import (
    Call,
    Silenced,
    Tracer,
    linear_maps,
    nearly,
    output_of,
    run_substituted,
)
from headlight.errors import UnsupportedModelError
from headlight.vocabulary import Kind


def trace(model: nn.Module, inputs: Mapping[str, Any]) -> list[AttentionSite]:
    """Return the attention sites of `model` in the order in which they run on `inputs`.

    Args:
        model: Model of transformers in evaluation mode.
        inputs: Keyword arguments of its forward pass, at least three positions long.

    Raises:
        UnsupportedModelError: no attention passes the interface, fewer modules than the
            configuration promises, or one whose context does not reach a linear map unchanged.
    """
    check_split_by_heads(model)
    with suspend_replacements(model):
        try:
            return _trace(model, inputs)
        except AttentionBesideError as refusal:
            problems = find_own_code(model, inputs, refusal.passed)
            if not any(module in routes for module in model.modules()):
                raise _add_reasons(refusal, problems) from None
        try:
            return _trace(model, inputs)
        except AttentionBesideError as refusal:
            raise _add_reasons(refusal, problems) from None


def _add_reasons(
    refusal: UnsupportedModelError, problems: Mapping[nn.Module, str]
) -> UnsupportedModelError:
    """Add to a refusal why the heads of each class with code of its own cannot be told apart."""
    reasons = sorted({f"in {type(module).__name__} {why}" for module, why in problems.items()})
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
    # Stand-ins of parameters are not among the modules of the model.
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
    return _add_value_biases(model, inputs, sites)


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


def _attend_alike(first: Call, second: Call) -> bool:
    # With the same weights these are contexts of the same tokens, which the model combines.
    return first.weight.shape == second.weight.shape and torch.equal(first.weight, second.weight)


def _site(
    call: Call, names: Mapping[nn.Module, str], counts: Mapping[Kind, int], home: torch.device
) -> AttentionSite:
    name = names[call.module]
    projection = _projection(call, name, names, home)
    kind = _kind(call)
    error = _equation_3(call, projection)
    allowed = TOLERANCE.get(call.context.dtype, 1e-1)
    if not error <= allowed:  # true of NaN as well
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
        raise _quantised_error(f"{place} ({str(weight.dtype).removeprefix('torch.')})")
    return Projection(call.projection, place, call.weight.shape[1], home)


def _check_not_quantised(config: Any, name: str) -> None:
    # Its linear maps may be of classes that tracing does not look for.
    if getattr(config, "quantization_config", None) is not None:
        raise _quantised_error(name)


def _quantised_error(what: str) -> UnsupportedModelError:
    return UnsupportedModelError(
        f"{what} is quantised, so W^O cannot be read as numbers; load the model without "
        "quantisation, or undo it first (dequantize of transformers)."
    )


def _kind(call: Call) -> Kind:
    """Return the kind shown by the weights: other keys than queries, or no weight ahead."""
    queries, keys = call.weight.shape[2:]
    if queries != keys:
        return "cross"
    causal = queries > 1 and not call.weight.triu(1).any()
    return "decoder" if causal else "encoder"


def _equation_3(call: Call, projection: Projection) -> float:
    """Return the relative error of Σ_h Σ_j α f(x) + b^O against the output of the projection."""
    assert call.projected is not None  # noqa: S101 - found together with the projection
    # In float64, so that the error is that of the model alone.
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
    # Another number at each place, so that mixing positions or components would show.
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


def _add_value_biases(
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
