"""Weights of heads, their map from hidden states to values, and gradients through it.

W^Q, W^K, W^V and W^O of every head, as matrices: what weights alone say about a circuit.
Which outputs of which linear map are the queries, keys and values of a head is found by running the
model with the outputs of all linear maps of its attention replaced by their own numbers, as
`headlight.capture.head_weights` does for values.  Rotary embeddings turn nothing at the first
position, and norms of queries and keys are passed by, so what arrives there says where it is from.

W^V and b^V of one attention module, cut into heads: the affine map from x to the values.
Which outputs of the source are the values (its only ones, or a part of what makes queries, keys and
values together) is found by running the model with the outputs replaced by their own numbers: what
then arrives as values says where they come from.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn

from headlight.capture.attention import eager_function
from headlight.capture.backward import check_differentiable, frozen
from headlight.capture.captured_model import CapturedModel
from headlight.capture.own_products import gives_weights
from headlight.capture.record import AttentionSite, LayerRecord, on_double, require_all_heads
from headlight.capture.residual_stream import Registration, hooked
from headlight.capture.session import interface_hook
from headlight.capture.tracer import Linear
from headlight.capture.trial_inputs import dummy_inputs
from headlight.encode.batch import Batch
from headlight.errors import UnsupportedModelError, UsageError

BASE = 128
"""Numbers are written in three digits of this base, which 16-bit precisions hold exactly."""
DIGITS = 3

Queries = Float[Tensor, "head d_model key_dim"]
Values = Float[Tensor, "head d_model head_dim"]


@dataclass(frozen=True, eq=False)
class HeadWeights:
    """The matrices of the heads of one attention module, float64; without biases.

    Heads that share keys and values have the same of them.  The rows of W^Q, W^K and W^V are
    multiplied by the gain of the norm that what they read comes from, where there is one.  Rotary
    embeddings, the norms of queries and keys, gates and what norms divide by are no part of them.

    Attributes:
        query: W^Q; None where queries, or keys, are no outputs of a linear map of the residual
            stream.
        key: W^K; as `query`.
        value: W^V; None where values are no such outputs.
        output: W^O.
    """

    query: Queries | None
    key: Queries | None
    value: Values | None
    output: Float[Tensor, "head head_dim d_model"]


class _Arrivals:
    """A listener that keeps what queries, keys and values are at the first position."""

    def __init__(self) -> None:
        self.calls: list[tuple[Tensor, Tensor, Tensor]] = []

    def attend(
        self, module: nn.Module, arguments: tuple[Any, ...], options: dict[str, Any]
    ) -> tuple[Tensor, Tensor | None]:
        """Compute the attention, and keep what it was given."""
        query, key, value = (each[0, :, 0].cpu().double() for each in arguments[:3])
        if gives_weights(options):
            query = key = torch.full((), torch.nan)
        self.calls.append((query, key, value))
        return eager_function(module)(module, *arguments, **options)


class _Gains:
    """Hooks that see which norm makes what a linear map reads."""

    def __init__(self) -> None:
        self.norms: dict[nn.Module, nn.Module] = {}
        self._made: dict[int, tuple[nn.Module, Tensor]] = {}

    def make(self, module: nn.Module, inputs: Any, output: Any) -> None:
        """A forward hook of norms; what they made is kept, so that no other tensor lies there."""
        if isinstance(output, Tensor):
            self._made[output.data_ptr()] = module, output

    def read(self, module: nn.Module, inputs: tuple[Any, ...]) -> None:
        """A forward pre-hook of linear maps."""
        if inputs and isinstance(inputs[0], Tensor) and inputs[0].data_ptr() in self._made:
            self.norms[module] = self._made[inputs[0].data_ptr()][0]


def norm_gains(
    model: CapturedModel, readers: Iterable[nn.Module]
) -> dict[nn.Module, Float[Tensor, " d_model"]]:
    """By what the norm before a linear map multiplies each of its inputs; those that have one.

    Args:
        model: the model.
        readers: linear maps of it.
    """
    gains = _Gains()
    network = _network(model)
    hooks: list[Registration] = [(each.register_forward_pre_hook, gains.read) for each in readers]
    for module in network.modules():
        stored = getattr(module, "weight", None)
        if isinstance(stored, Tensor) and stored.ndim == 1 and not list(module.children()):
            hooks.append((module.register_forward_hook, gains.make))
    with hooked(hooks), torch.inference_mode():
        network(**dummy_inputs(network))
    return {reader: _gain(norm) for reader, norm in gains.norms.items()}


def _gain(norm: nn.Module) -> Float[Tensor, " d_model"]:
    """Read off what it makes of numbers of mean 0 and length 1, and of their negatives."""
    stored: Any = norm.weight
    signs = torch.ones_like(stored)
    signs[1::2] = -1
    with torch.inference_mode():
        response = on_double((norm(signs[None]) - norm(-signs[None]))[0])
    return response * on_double(signs).to(response.device) / 2


def _network(model: CapturedModel) -> Any:
    return model.transformer.base_model if model.reads_twice else model.transformer


def head_weights(model: CapturedModel) -> dict[AttentionSite, HeadWeights]:
    """The matrices of all attention modules.

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
            of = scale[number][part]
            codes = sum(
                BASE**place * (calls[number][part] / of) for place, calls in enumerate(digits)
            )
            assert isinstance(codes, Tensor)  # noqa: S101 - there are digits
            parts.append(_matrices(site, sources[site], gains, codes))
        output = on_double(site.projection.weight)
        query, key, value = (None if each is None else each.to(output.device) for each in parts)
        if query is None or key is None or query.shape[2] != key.shape[2]:
            query = key = None
        weights[site] = HeadWeights(query, key, value, output)
    return weights


def _sources(site: AttentionSite) -> list[nn.Module]:
    """The linear maps that may make queries, keys and values."""
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
    """A forward hook that puts the same numbers out at every position."""

    def __init__(self, numbers: Tensor) -> None:
        self._numbers = numbers

    def __call__(self, module: nn.Module, inputs: Any, output: Tensor) -> Tensor:
        return self._numbers.to(output).repeat(*output.shape[:-1], 1)


def _pass_by(module: nn.Module, inputs: tuple[Any, ...], output: Any) -> Any:
    """A forward hook of norms: they put out what they are given."""
    same = inputs and isinstance(inputs[0], Tensor) and isinstance(output, Tensor)
    return inputs[0] if same and inputs[0].shape == output.shape else output


def _size(module: nn.Module) -> int:
    stored: Any = module.weight
    return int(stored.shape[0 if isinstance(module, nn.Linear) else 1])


def _matrices(
    site: AttentionSite, sources: list[nn.Module], gains: Mapping[nn.Module, Tensor], codes: Tensor
) -> Values | None:
    """The columns of the linear maps with these numbers, for each head; None if there are none."""
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


TOLERANCE = {torch.float64: 1e-9, torch.float32: 1e-4, torch.float16: 2e-2, torch.bfloat16: 5e-2}
"""Allowed relative difference between the map and the values, by the precision of the model."""


@dataclass(frozen=True, eq=False)
class ValueMap:
    """v(x) = x W^V + b^V of every head that has values of its own; float64.

    Attributes:
        weight: W^V.
        bias: b^V; zeros where the model has none.
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
        raise _refused(site, "it was not found where its values come from")
    stored: Any = site.source.weight
    if not stored.is_floating_point():
        raise _refused(site, "the weights that make its values are quantised")
    outputs = _outputs(model, site)
    weight, bias = _matrix(site.source)
    chosen = ValueMap(weight[:, outputs].permute(1, 0, 2).contiguous(), bias[outputs])
    _verify(model, site, chosen)
    return chosen


def _matrix(source: nn.Module) -> tuple[Tensor, Tensor]:
    """The weight as ``d_input output`` and the bias, in float64 on the CPU."""
    stored: Any = source
    weight = stored.weight.detach().cpu().double()
    weight = weight.T if isinstance(source, nn.Linear) else weight
    bias = getattr(stored, "bias", None)
    if bias is None:
        return weight, torch.zeros(weight.shape[1], dtype=torch.float64)
    return weight, bias.detach().cpu().double()


def _outputs(model: CapturedModel, site: AttentionSite) -> Int64[Tensor, "kv_head head_dim"]:
    """For every value, the number of the output of the source that it is."""
    assert site.source is not None  # noqa: S101 - the caller has asked
    size = _matrix(site.source)[0].shape[1]
    numbers = torch.arange(size)
    high, low = (_values_for(model, site, digit) for digit in (numbers // BASE, numbers % BASE))
    rows = (high * BASE + low).round().long()
    exact = bool(((high % 1 == 0) & (low % 1 == 0)).all())
    if not exact or not bool((rows == rows[:, :1]).all()) or int(rows.max()) >= size:
        raise _refused(site, "its values are not the outputs of a linear map as they are")
    return rows[:, 0]


def _values_for(
    model: CapturedModel, site: AttentionSite, digits: Int64[Tensor, " output"]
) -> Float[Tensor, "kv_head key head_dim"]:
    """The values of a text, when every position of the source puts out these numbers."""

    def replace(module: nn.Module, inputs: Any, output: Tensor) -> Tensor:
        return digits.to(output).expand_as(output)

    assert site.source is not None  # noqa: S101 - the caller has asked
    with hooked([(site.source.register_forward_hook, replace)]):
        return _captured(model, site).value[0].cpu().double()


def _verify(model: CapturedModel, site: AttentionSite, recovered: ValueMap) -> None:
    record = _captured(model, site)
    if record.input is None:
        raise _refused(site, "what its values are made from is not seen")
    value = record.value[0].cpu().double()
    x = record.input[0].cpu().double()
    rebuilt = x @ recovered.weight + recovered.bias[:, None]
    error = float((rebuilt - value).norm() / value.norm().clamp_min(1e-300))
    if not error <= TOLERANCE.get(record.value.dtype, 5e-2):
        raise _refused(site, f"x W^V + b^V misses its values by {error:.1e} of their norm")


def _captured(model: CapturedModel, site: AttentionSite) -> LayerRecord:
    records: list[LayerRecord] = []
    with model.capture([site]) as recorder, torch.inference_mode():
        recorder.visit = records.append
        model.transformer(**dummy_inputs(model.transformer))
    return records[0]


def _refused(site: AttentionSite, reason: str) -> UnsupportedModelError:
    return UnsupportedModelError(
        f"{site.name}: {reason}, so W^V cannot be read off and f has no matrix here."
    )


def input_times_gradient(
    model: CapturedModel, batch: Batch, score: Callable[[Any], Float[Tensor, " batch"]]
) -> Float[Tensor, "batch token"]:
    """Σ_d x_d ∂s/∂x_d, where x is the embedding of a token as it leaves its table.

    Args:
        model: the model.
        batch: what it reads.
        score: of each text, from the output of the model; it depends on that text alone.

    Raises:
        UsageError: the model has no table of embeddings, or nothing of it can be differentiated.
    """
    network: Any = model.transformer
    reader = network.get_encoder() if model.reads_twice else network
    table = reader.get_input_embeddings()
    if table is None:
        raise UsageError(
            f"{model} has no input embeddings by which its prediction could be "
            "differentiated; "
            "leave gradient_input out of the measures."
        )
    check_differentiable(network, model.name)
    leaves: list[Tensor] = []

    def root(_: object, __: object, embedded: Tensor) -> Tensor:
        leaves.append(embedded.detach().requires_grad_())
        return leaves[-1]

    handle = table.register_forward_hook(root)
    try:
        with (
            model.running(batch.names),
            frozen(network),
            torch.inference_mode(mode=False),
            torch.enable_grad(),
        ):
            scores = score(network(**model.inputs(batch)))
            (gradient,) = torch.autograd.grad(scores.sum(), leaves[:1])
    finally:
        handle.remove()
    products: Float[Tensor, "batch token"] = (gradient * leaves[0].detach()).sum(-1)
    return products
