"""W^Q, W^K, W^V and W^O of every head, as matrices: the evidence of weights alone on a circuit.

Which outputs of which linear map are the queries, keys and values of a head is found by running the
model with the outputs of all linear maps of its attention replaced by their own numbers, as
`headlight.capture.value_map` does for values.  Rotary embeddings turn nothing at the first
position, and norms of queries and keys are passed by, so what arrives there says where it is from.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from headlight.capture.attention_interface import eager_function
from headlight.capture.attention_site import AttentionSite
from headlight.capture.captured_model import CapturedModel
from headlight.capture.custom_attention.products import gives_weights
from headlight.capture.hooks import Registration, hooked
from headlight.capture.output_projection import on_double
from headlight.capture.recorder import interface_hook
from headlight.capture.tensor_parallel import require_all_heads
from headlight.capture.traced_passes import Linear
from headlight.capture.trial_inputs import dummy_inputs

BASE = 128
"""Numbers are written in three digits of this base, which 16-bit precisions hold exactly."""
DIGITS = 3

Queries = Float[Tensor, "head d_model key_dim"]
Values = Float[Tensor, "head d_model head_dim"]


@dataclass(frozen=True, eq=False)
class HeadWeights:
    """Matrices of the heads of one attention module, float64; without biases.

    Heads that share keys and values have the same W^K and W^V.  The rows of W^Q, W^K and W^V are
    multiplied by the gain of the norm before them, where there is one.  Rotary embeddings, the
    norms of queries and keys, gates and the divisors of norms are no part of them.

    Attributes:
        query: W^Q; None where queries, or keys, are no outputs of a linear map of the residual
            stream.
        key: W^K; None where `query` is None.
        value: W^V; None where values are no such outputs.
        output: W^O.
    """

    query: Queries | None
    key: Queries | None
    value: Values | None
    output: Float[Tensor, "head head_dim d_model"]


class _Arrivals:
    """Listener that keeps the queries, keys and values at the first position."""

    def __init__(self) -> None:
        self.calls: list[tuple[Tensor, Tensor, Tensor]] = []

    def attend(
        self, module: nn.Module, arguments: tuple[Any, ...], options: dict[str, Any]
    ) -> tuple[Tensor, Tensor | None]:
        """Compute the attention, and keep its queries, keys and values."""
        query, key, value = (tensor[0, :, 0].cpu().double() for tensor in arguments[:3])
        if gives_weights(options):
            query = key = torch.full((), torch.nan)
        self.calls.append((query, key, value))
        return eager_function(module)(module, *arguments, **options)


class _Gains:
    """Hooks that note the norm whose output a linear map reads."""

    def __init__(self) -> None:
        self.norms: dict[nn.Module, nn.Module] = {}
        self._made: dict[int, tuple[nn.Module, Tensor]] = {}

    def make(self, module: nn.Module, inputs: Any, output: Any) -> None:
        """Note the output of a norm (a forward hook); kept, so that no other tensor lies there."""
        if isinstance(output, Tensor):
            self._made[output.data_ptr()] = module, output

    def read(self, module: nn.Module, inputs: tuple[Any, ...]) -> None:
        """Note the norm that a linear map reads (a forward pre-hook)."""
        if inputs and isinstance(inputs[0], Tensor) and inputs[0].data_ptr() in self._made:
            self.norms[module] = self._made[inputs[0].data_ptr()][0]


def norm_gains(
    model: CapturedModel, readers: Iterable[nn.Module]
) -> dict[nn.Module, Float[Tensor, " d_model"]]:
    """Return the gain of the norm before each linear map that has one.

    Args:
        model: Model of transformers.
        readers: Linear maps of the model.
    """
    gains = _Gains()
    network = _network(model)
    hooks: list[Registration] = [
        (reader.register_forward_pre_hook, gains.read) for reader in readers
    ]
    for module in network.modules():
        stored = getattr(module, "weight", None)
        if isinstance(stored, Tensor) and stored.ndim == 1 and not list(module.children()):
            hooks.append((module.register_forward_hook, gains.make))
    with hooked(hooks), torch.inference_mode():
        network(**dummy_inputs(network))
    return {reader: _gain(norm) for reader, norm in gains.norms.items()}


def _gain(norm: nn.Module) -> Float[Tensor, " d_model"]:
    """Return the gain of a norm, read off its outputs for ±1 in turn, and for their negatives."""
    stored: Any = norm.weight
    signs = torch.ones_like(stored)
    signs[1::2] = -1
    with torch.inference_mode():
        response = on_double((norm(signs[None]) - norm(-signs[None]))[0])
    return response * on_double(signs).to(response.device) / 2


def _network(model: CapturedModel) -> Any:
    return model.transformer.base_model if model.reads_twice else model.transformer


def head_weights(model: CapturedModel) -> dict[AttentionSite, HeadWeights]:
    """Return the matrices of all attention modules.

    Raises:
        UnsupportedModelError: several processes share the heads.
    """
    require_all_heads(model.transformer, "matrices of heads")
    sources = {site: _sources(site) for site in model.sites}
    scale = _arrivals(model, sources, None)
    digits = [_arrivals(model, sources, BASE**place) for place in range(DIGITS)]
    gains = norm_gains(model, {module for modules in sources.values() for module in modules})
    weights = {}
    for number, site in enumerate(model.sites):
        parts = []
        for part in range(3):
            unit = scale[number][part]
            codes = sum(
                BASE**place * (calls[number][part] / unit) for place, calls in enumerate(digits)
            )
            assert isinstance(codes, Tensor)  # noqa: S101 - there are digits
            parts.append(_matrices(site, sources[site], gains, codes))
        output = on_double(site.projection.weight)
        query, key, value = (
            None if matrix is None else matrix.to(output.device) for matrix in parts
        )
        if query is None or key is None or query.shape[2] != key.shape[2]:
            query = key = None
        weights[site] = HeadWeights(query, key, value, output)
    return weights


def _sources(site: AttentionSite) -> list[nn.Module]:
    inner = [module for module in site.module.modules() if isinstance(module, Linear)]
    outer = [site.source] if site.source is not None and site.source not in inner else []
    return [module for module in (*inner, *outer) if module is not site.projection.module]


def _arrivals(
    model: CapturedModel, sources: dict[AttentionSite, list[nn.Module]], place: int | None
) -> list[tuple[Tensor, Tensor, Tensor]]:
    """Return the arriving tensors when all sources put out a digit of their numbers, or ones."""
    hooks: list[Registration] = []
    for site, modules in sources.items():
        first = 0
        for module in modules:
            size = _size(module)
            numbers = torch.arange(first, first + size)
            put = torch.ones(size) if place is None else numbers // place % BASE
            hooks.append((module.register_forward_hook, _Replaced(put)))
            first += size
        hooks += [
            (module.register_forward_hook, _pass_by)
            for module in site.module.modules()
            if not isinstance(module, Linear) and not list(module.children())
        ]
    listener = _Arrivals()
    network = _network(model)
    with hooked(hooks), torch.inference_mode(), interface_hook(network, listener):
        network(**dummy_inputs(network))
    return listener.calls


class _Replaced:
    """Forward hook that puts out the same numbers at every position."""

    def __init__(self, numbers: Tensor) -> None:
        self._numbers = numbers

    def __call__(self, module: nn.Module, inputs: Any, output: Tensor) -> Tensor:
        return self._numbers.to(output).repeat(*output.shape[:-1], 1)


def _pass_by(module: nn.Module, inputs: tuple[Any, ...], output: Any) -> Any:
    # Norms of queries and keys would mix the numbers that tell where a component is from.
    same = inputs and isinstance(inputs[0], Tensor) and isinstance(output, Tensor)
    return inputs[0] if same and inputs[0].shape == output.shape else output


def _size(module: nn.Module) -> int:
    stored: Any = module.weight
    return int(stored.shape[0 if isinstance(module, nn.Linear) else 1])


def _matrices(
    site: AttentionSite, sources: list[nn.Module], gains: Mapping[nn.Module, Tensor], codes: Tensor
) -> Values | None:
    """Return the columns of a linear map with these numbers, by head; None if there are none."""
    rounded = codes.round()
    stored: list[Any] = [module.weight for module in sources]
    if not bool(((codes - rounded).abs() < 1e-2).all()) or bool((rounded < 0).any()):
        return None
    place, columns, first = rounded.long(), [], 0
    width = site.projection.weight.shape[2]
    for module, weight in zip(sources, stored, strict=True):
        size = _size(module)
        here = (place >= first) & (place < first + size)
        first += size
        if not bool(here.any()):
            continue
        matrix = weight.detach() if isinstance(module, nn.Linear) else weight.detach().T
        if not bool(here.all()) or matrix.shape[1] != width or not matrix.is_floating_point():
            return None
        rows = on_double(matrix)
        chosen = rows[(place - first + size).to(rows.device)].mT
        columns.append(chosen * gains[module][:, None] if module in gains else chosen)
    if len(columns) != 1:
        return None
    heads: Tensor = columns[0].repeat_interleave(site.heads // len(place), dim=0)
    return heads
