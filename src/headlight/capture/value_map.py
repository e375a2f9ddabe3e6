"""W^V and b^V of one attention module, cut into heads: the affine map from x to the values.

Which outputs of the source are the values (its only ones, or a part of what makes queries, keys and
values together) is found by running the model with the outputs replaced by their own numbers: what
then arrives as values says where they come from.
"""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn

from headlight.capture.attention_site import AttentionSite
from headlight.capture.captured_model import CapturedModel
from headlight.capture.head_weights import BASE
from headlight.capture.hooks import hooked
from headlight.capture.record import LayerRecord
from headlight.capture.tensor_parallel import require_all_heads
from headlight.capture.trial_inputs import dummy_inputs
from headlight.errors import UnsupportedModelError

TOLERANCE = {torch.float64: 1e-9, torch.float32: 1e-4, torch.float16: 2e-2, torch.bfloat16: 5e-2}
"""Allowed relative difference between the map and the values, by the precision of the model."""


@dataclass(frozen=True, eq=False)
class ValueMap:
    """Map v(x) = x W^V + b^V of every head that has values of its own; float64.

    Attributes:
        weight: Weight W^V.
        bias: Bias b^V; zeros where the model has none.
    """

    weight: Float[Tensor, "kv_head d_input head_dim"]
    bias: Float[Tensor, "kv_head head_dim"]


def value_map(model: CapturedModel, site: AttentionSite) -> ValueMap:
    """Read off the map from x to the values, and verify it.

    Raises:
        UnsupportedModelError: the values are not an affine map of x, as far as can be found.
    """
    require_all_heads(model.transformer, "maps from x to the values")
    if site.source is None:
        raise _refusal(site, "it was not found where its values come from")
    stored: Any = site.source.weight
    if not stored.is_floating_point():
        raise _refusal(site, "the weights that make its values are quantised")
    outputs = _outputs(model, site)
    weight, bias = _matrix(site.source)
    chosen = ValueMap(weight[:, outputs].permute(1, 0, 2).contiguous(), bias[outputs])
    _verify(model, site, chosen)
    return chosen


def _matrix(source: nn.Module) -> tuple[Tensor, Tensor]:
    """Return the weight as ``d_input output`` and the bias, in float64 on the CPU."""
    stored: Any = source
    weight = stored.weight.detach().cpu().double()
    weight = weight.T if isinstance(source, nn.Linear) else weight
    bias = getattr(stored, "bias", None)
    if bias is None:
        return weight, torch.zeros(weight.shape[1], dtype=torch.float64)
    return weight, bias.detach().cpu().double()


def _outputs(model: CapturedModel, site: AttentionSite) -> Int64[Tensor, "kv_head head_dim"]:
    """Return the number of the output of the source that every value is."""
    assert site.source is not None  # noqa: S101 - the caller has asked
    size = _matrix(site.source)[0].shape[1]
    numbers = torch.arange(size)
    high, low = (_values_for(model, site, digit) for digit in (numbers // BASE, numbers % BASE))
    rows = (high * BASE + low).round().long()
    exact = bool(((high % 1 == 0) & (low % 1 == 0)).all())
    if not exact or not bool((rows == rows[:, :1]).all()) or int(rows.max()) >= size:
        raise _refusal(site, "its values are not the outputs of a linear map as they are")
    return rows[:, 0]


def _values_for(
    model: CapturedModel, site: AttentionSite, digits: Int64[Tensor, " output"]
) -> Float[Tensor, "kv_head key head_dim"]:
    """Return the values of a text whose every position of the source puts out these numbers."""

    def replace(module: nn.Module, inputs: Any, output: Tensor) -> Tensor:
        return digits.to(output).expand_as(output)

    assert site.source is not None  # noqa: S101 - the caller has asked
    with hooked([(site.source.register_forward_hook, replace)]):
        return _capture(model, site).value[0].cpu().double()


def _verify(model: CapturedModel, site: AttentionSite, recovered: ValueMap) -> None:
    record = _capture(model, site)
    if record.input is None:
        raise _refusal(site, "what its values are made from is not seen")
    value = record.value[0].cpu().double()
    x = record.input[0].cpu().double()
    rebuilt = x @ recovered.weight + recovered.bias[:, None]
    error = float((rebuilt - value).norm() / value.norm().clamp_min(1e-300))
    if not error <= TOLERANCE.get(record.value.dtype, 5e-2):
        raise _refusal(site, f"x W^V + b^V misses its values by {error:.1e} of their norm")


def _capture(model: CapturedModel, site: AttentionSite) -> LayerRecord:
    records: list[LayerRecord] = []
    with model.capture([site]) as recorder, torch.inference_mode():
        recorder.visit = records.append
        model.transformer(**dummy_inputs(model.transformer))
    return records[0]


def _refusal(site: AttentionSite, reason: str) -> UnsupportedModelError:
    return UnsupportedModelError(
        f"{site.name}: {reason}, so W^V cannot be read off and f has no matrix here."
    )
