"""Check that captured attention is what a model works with, in traced passes."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from headlight.capture.attention_site import AttentionSite
from headlight.capture.custom_attention.projection import routes
from headlight.capture.hooks import hooked
from headlight.capture.output_projection import TOLERANCE
from headlight.capture.recorder import interface_hook
from headlight.capture.traced_passes import (
    Call,
    Reweighted,
    Tracer,
    linear_maps,
    output_of,
    run_substituted,
)
from headlight.errors import UnsupportedModelError
from headlight.tensors import Weight
from headlight.vocabulary import Kind


def check_nothing_beside(
    model: nn.Module,
    inputs: Mapping[str, Any],
    calls: list[Call],
    sites: list[AttentionSite],
    output: Tensor,
) -> None:
    """Check that nothing but the projection reads a context: no gate, and no adapter beside it.

    Raises:
        UnsupportedModelError: a gate or an adapter reads contexts.
    """
    if not _reads_contexts(model, inputs, calls, set(range(len(calls))), output):
        return
    for index, site in enumerate(sites):
        if _reads_contexts(model, inputs, calls, {index}, output):
            raise UnsupportedModelError(
                f"{site.name}: what the heads compute is also read beside {site.projection.name} "
                "(by a gate or an adapter, say), so f(x) does not exist for it."
            )


def check_replaced(
    model: nn.Module,
    inputs: Mapping[str, Any],
    calls: list[Call],
    sites: list[AttentionSite],
    output: Tensor,
) -> None:
    """Check that the model works with the weights: replacing them by themselves changes nothing.

    Raises:
        UnsupportedModelError: the weights are not those the model works with.
    """
    if any(site.processes is not None for site in sites):
        return
    error = _difference(_run(model, inputs, Reweighted(torch.clone)), output)
    if not error <= TOLERANCE.get(output.dtype, 1e-1):
        raise UnsupportedModelError(
            f"{type(model).__name__} puts out something else ({error:.1e} of its norm) when the "
            "weights of its attention are replaced by the same weights, so these are not what it "
            "works with."
        )
    uniform = Reweighted(_uniform)
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
    # Only over keys that have any weight: others may be hidden by the mask.
    return (weight != 0).to(weight) / (weight != 0).sum(-1, keepdim=True).clamp_min(1)


def _run(model: nn.Module, inputs: Mapping[str, Any], listener: Tracer) -> Tensor:
    hooks = [(module.register_forward_hook, listener.linear) for module in linear_maps(model)]
    with hooked(hooks), torch.no_grad(), interface_hook(model, listener):
        return output_of(model, inputs)


def check_returned(
    model: nn.Module, inputs: Mapping[str, Any], calls: list[Call], sites: list[AttentionSite]
) -> None:
    """Check that the weights are those that the model returns, if these have the same form.

    What a model that calls the interface returns comes from the hook, and shows nothing.
    """
    if not any(call.module in routes for call in calls):
        return
    try:
        with _as_before(model), torch.no_grad(), interface_hook(model, Tracer()):
            output = model(**inputs, output_attentions=True)
    except Exception:  # noqa: BLE001 - a model that returns none can raise anything
        return
    for name, kinds in _RETURNED.items():
        paired = [
            (call, site) for call, site in zip(calls, sites, strict=True) if site.kind in kinds
        ]
        returned = getattr(output, name, None)
        if isinstance(returned, tuple) and len(returned) == len(paired):
            for (call, site), weight in zip(paired, returned, strict=True):
                _compare(weight, call.weight, site.name)


def _compare(returned: Any, weight: Weight, name: str) -> None:
    """Refuse weights that differ from those that the model returns."""
    if not isinstance(returned, Tensor) or returned.shape != weight.shape:
        return
    wanted, recorded = returned.float(), weight.float()
    if torch.equal(wanted, wanted[:, :1].expand_as(wanted)):  # the mean of all heads
        recorded = recorded.mean(1, keepdim=True)
    error = float((wanted - recorded).abs().max())
    are_weights = torch.allclose(wanted.sum(-1), recorded.sum(-1), atol=1e-2)  # and no scores
    if are_weights and error > TOLERANCE.get(weight.dtype, 1e-1):
        raise UnsupportedModelError(
            f"{name}: its weights differ by up to {error:.1e} from those that the model returns "
            "(output_attentions), so one of the two is not what it works with."
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
"""Names of the attention weights that models return, with their kinds."""


def _reads_contexts(
    model: nn.Module,
    inputs: Mapping[str, Any],
    calls: list[Call],
    blanked: set[int],
    wanted: Tensor,
) -> bool:
    # Projections put out what they did before, so that a change comes by another way.
    zeros = {number: torch.zeros_like(calls[number].context) for number in blanked}
    _, substituted = run_substituted(model, inputs, calls, zeros)
    return not _difference(substituted, wanted) <= TOLERANCE.get(wanted.dtype, 1e-1) / 100


def _difference(actual: Tensor, wanted: Tensor) -> float:
    return float((actual - wanted).float().norm() / wanted.float().norm().clamp_min(1e-30))
