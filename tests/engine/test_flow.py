"""Input tokens in hidden tokens, by each method, against its definition read off the modules."""

import json
import math
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache, partial
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.optimize import linprog
from torch import Tensor, nn

import definitions
from architectures import GPT2, GROUPED, WIDE
from definitions import Array, wide
from headlight.capture import AttributionSettings, CapturedModel
from headlight.encode import Encoded
from headlight.errors import UnknownNameError, UsageError
from headlight.reading.flow import flow
from headlight.result import load
from headlight.settings.flow import METHODS
from headlight.token_flow.attention_flow import attention_flow
from headlight.token_flow.input_maps import input_maps
from headlight.token_flow.layer_maps import layer_maps
from headlight.token_flow.rollout import rollout
from studies.models import model as subject
from tiny_models import build, eager_attention

TOKENS = 6


@dataclass(frozen=True)
class Family:
    """Where a model has the parts of its layers."""

    model_type: str
    settings: dict[str, Any]
    block: str
    value: str
    projection: str
    form: str = "values"
    """Of what the module of the values puts out: these alone, or behind queries and keys."""
    branch: str | None = None
    norm: str | None = None
    second: str | None = None
    exact: bool = True
    """Whether it computes all in float64 if it is asked to; the others are tried in float32."""


BERT = Family(
    "bert",
    WIDE,
    "encoder.layer.{}",
    "attention.self.value",
    "attention.output.dense",
    norm="attention.output.LayerNorm",
    second="output.LayerNorm",
)
FAMILIES = {
    "bert": BERT,
    "roberta": Family(**{**vars(BERT), "model_type": "roberta"}),
    "gpt2": Family("gpt2", GPT2, "h.{}", "attn.c_attn", "attn.c_proj", "last third"),
    "llama": Family(
        "llama",
        {**GROUPED, "attention_bias": True},
        "layers.{}",
        "self_attn.v_proj",
        "self_attn.o_proj",
        exact=False,
    ),
    "gpt_neox": Family(
        "gpt_neox",
        WIDE,
        "layers.{}",
        "attention.query_key_value",
        "attention.dense",
        "last third of each head",
        exact=False,
    ),
    "olmo2": Family(
        "olmo2",
        GROUPED,
        "layers.{}",
        "self_attn.v_proj",
        "self_attn.o_proj",
        branch="post_attention_layernorm",
        exact=False,
    ),
}
"""BERT and RoBERTa put the norm behind the sum, OLMo 2 on the branch; GPT-NeoX is parallel."""
of_families = pytest.mark.parametrize("name", FAMILIES)


@cache
def model_of(name: str) -> CapturedModel:
    family = FAMILIES[name]
    network = build(family.model_type, family.settings, seed=11)
    return CapturedModel(network.double() if family.exact else network)


def example() -> Encoded:
    ids = (7, 30, 12, 30, 55, 81)
    return Encoded("text", ids, (0,) * TOKENS, (3,) * TOKENS, tuple(range(TOKENS)))


@dataclass
class Layer:
    """What one layer did, read off its modules."""

    weight: Array
    value: Array
    output: Array
    bias: Array | None
    given: Array
    branch: Any
    norm: Any
    second: Any
    left: Array
    """What left the attention block."""
    entered: Array
    """What the second norm was given."""

    @property
    def parts(self) -> Array:
        found: Array = definitions.parts_of_layer(
            self.weight, self.value, self.output, self.bias, self.given, self.branch, self.norm
        )
        return found


def norm_of(module: nn.Module | None) -> Any:
    if module is None:
        return None
    gain = wide(module.weight.detach())
    eps = getattr(module, "eps", None) or getattr(module, "variance_epsilon", None)
    bias = getattr(module, "bias", None)
    offset = np.zeros(len(gain)) if bias is None else wide(bias.detach())
    return isinstance(module, nn.LayerNorm), gain, offset, eps


def layers_of(name: str) -> list[Layer]:
    family, network = FAMILIES[name], model_of(name).transformer
    inputs = {"input_ids": torch.tensor([example().ids])}
    weights = eager_attention(network, inputs)
    seen: dict[tuple[int, str], Tensor] = {}

    def put_out(place: tuple[int, str], _: object, __: object, output: Any) -> None:
        found = output[0] if isinstance(output, tuple) else output
        seen[place] = found.detach().reshape(TOKENS, -1)

    def given(place: tuple[int, str], _: object, arguments: Any, options: Any) -> None:
        found = arguments[0] if arguments else options["hidden_states"]
        seen[place] = found.detach().reshape(TOKENS, -1)

    with ExitStack() as stack:
        for number in range(len(weights)):
            block = network.get_submodule(family.block.format(number))
            for place in filter(
                None, (family.value, family.projection, family.branch, family.norm)
            ):
                hook = partial(put_out, (number, place))
                stack.callback(block.get_submodule(place).register_forward_hook(hook).remove)
            places = {"": block}
            if family.second:
                places[family.second] = block.get_submodule(family.second)
            for place, module in places.items():
                hook = partial(given, (number, f"given {place}"))
                before = module.register_forward_pre_hook(hook, with_kwargs=True)
                stack.callback(before.remove)
        with torch.no_grad():
            network(**inputs)
    found = []
    for number, weight in enumerate(weights):
        block = network.get_submodule(family.block.format(number))
        part = lambda path, block=block: None if path is None else block.get_submodule(path)  # noqa: E731
        projection = part(family.projection)
        stored = projection.weight.detach()
        matrix = stored.T if isinstance(projection, nn.Linear) else stored
        heads, x = weight.shape[1], wide(seen[number, "given "])
        left = seen[number, family.norm or family.branch or family.projection]
        found.append(
            Layer(
                weight=wide(weight[0]),
                value=values(family.form, seen[number, family.value], heads, matrix.shape[0]),
                output=wide(matrix.reshape(heads, -1, matrix.shape[1])),
                bias=None if projection.bias is None else wide(projection.bias.detach()),
                given=x,
                branch=norm_of(part(family.branch)),
                norm=norm_of(part(family.norm)),
                second=norm_of(part(family.second)),
                left=wide(left) if family.norm else wide(left) + x,
                entered=wide(seen[number, f"given {family.second}"]) if family.second else x,
            )
        )
    return found


def values(form: str, made: Tensor, heads: int, width: int) -> Array:
    """[head, key, size]: grouped heads have the same."""
    if form == "last third":
        made = made[:, -width:]
    if form == "last third of each head":
        made = made.reshape(TOKENS, heads, 3, -1)[:, :, 2].flatten(1)
    size = width // heads
    own = made.reshape(TOKENS, -1, size).transpose(0, 1)
    return wide(own.repeat_interleave(heads // len(own), 0))


def alti_row(left: Array, parts: Array) -> Array:
    whole = np.abs(left).sum()
    missed = np.array([max(0.0, whole - np.abs(left - part).sum()) for part in parts])
    return missed / missed.sum()


def defined_layer(name: str, layer: Layer) -> dict[str, Array]:
    """The maps of one layer but those that need another pass."""
    before = Layer(**{**vars(layer), "norm": None})
    maps = {
        "weight": layer.weight.mean(0),
        "merged_norm": definitions.merged_norm(layer.weight, layer.value, layer.output),
        "block_norm": np.linalg.norm(before.parts, axis=-1),
        "layer_norm": np.linalg.norm(layer.parts, axis=-1),
        "alti": np.stack([alti_row(*row) for row in zip(layer.left, layer.parts, strict=True)]),
    }
    maps["encoder_norm"] = maps["layer_norm"]
    if layer.second is not None:
        behind = [
            [definitions.frozen(part, entered, layer.second) for part in row]
            for entered, row in zip(layer.entered, layer.parts, strict=True)
        ]
        maps["encoder_norm"] = np.linalg.norm(behind, axis=-1)
    return maps


@of_families
def test_maps_of_layers_are_as_defined(name: str) -> None:
    layers = layers_of(name)
    tolerance = 1e-9 if FAMILIES[name].exact else 1e-5
    wanted = [defined_layer(name, layer) for layer in layers]
    found = layer_maps(model_of(name), example(), list(wanted[0]))
    for measure, maps in found.items():
        assert maps.dtype == torch.float64
        for number, one in enumerate(maps):
            expected = wanted[number][measure]
            np.testing.assert_allclose(
                wide(one), expected, rtol=tolerance, atol=tolerance * expected.max()
            )


@of_families
def test_value_zeroing_is_as_defined(name: str) -> None:
    """The model runs again for each layer and token, its value taken away."""
    family, network = FAMILIES[name], model_of(name).transformer
    inputs = {"input_ids": torch.tensor([example().ids])}
    found = layer_maps(model_of(name), example(), ["value_zeroing"])["value_zeroing"]
    for number, one in enumerate(found):
        block = network.get_submodule(family.block.format(number))
        states: list[Tensor] = []

        def zeroed(key: int | None, _: object, __: object, output: Tensor) -> Tensor:
            changed = output.clone()
            if key is not None and family.form == "last third of each head":
                changed.reshape(1, TOKENS, 4, 3, -1)[0, key, :, 2] = 0
            elif key is not None:
                changed[0, key, -32 if family.form == "last third" else 0 :] = 0
            return changed

        def keep(_: object, __: object, output: Any, states: list[Tensor] = states) -> None:
            states.append((output[0] if isinstance(output, tuple) else output)[0])

        with block.register_forward_hook(keep), torch.no_grad():
            for key in (None, *range(TOKENS)):
                hook = partial(zeroed, key)
                with block.get_submodule(family.value).register_forward_hook(hook):
                    network(**inputs)
        similar = torch.stack(
            [torch.cosine_similarity(states[0], each, dim=-1) for each in states[1:]], dim=1
        )
        distance = 1 - similar
        wanted = distance / distance.sum(-1, keepdim=True)
        torch.testing.assert_close(
            one, wanted.double(), rtol=0, atol=1e-9 if family.exact else 1e-4
        )


@of_families
def test_shares_are_products_of_the_maps(name: str) -> None:
    model = model_of(name)
    methods = [method for method, row in METHODS.items() if row.layer_map]
    of_layers = layer_maps(model, example(), [METHODS[method].layer_map for method in methods])
    found = input_maps(model, example(), methods)
    for method, maps in found.items():
        row = METHODS[method]
        whole = np.eye(TOKENS)
        for one, layer in zip(maps, wide(of_layers[row.layer_map]), strict=True):
            if row.residual:
                layer = layer / layer.sum(-1, keepdims=True)
                layer = (1 - row.residual) * layer + row.residual * np.eye(TOKENS)
            whole = layer @ whole
            shares = whole / whole.sum(-1, keepdims=True)
            np.testing.assert_allclose(wide(one), shares, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", FAMILIES)
def test_every_row_sums_to_one_and_no_token_comes_from_later_ones(name: str) -> None:
    model = model_of(name)
    few = AttributionSettings(directions=2)
    for maps in input_maps(model, example(), list(METHODS), attribution=few).values():
        assert maps.shape == (2, TOKENS, TOKENS)
        assert bool((maps >= 0).all())
        torch.testing.assert_close(maps.sum(-1), torch.ones(2, TOKENS).double())
        if model.kinds == ("decoder",):
            assert not bool(maps.triu(1).any())


def jacobian(name: str) -> tuple[Tensor, Tensor]:
    """∂ of the last hidden tokens by what the first block is given, and that."""
    network = model_of(name).transformer
    block = network.get_submodule(FAMILIES[name].block.format(0))
    ids = torch.tensor([example().ids])
    kept: list[Tensor] = []

    def keep(_: object, arguments: Any, options: Any) -> None:
        kept.append(arguments[0] if arguments else options["hidden_states"])

    with block.register_forward_pre_hook(keep, with_kwargs=True), torch.no_grad():
        network(ids)

    def run(x: Tensor) -> Tensor:
        def change(_: object, arguments: Any, options: Any) -> Any:
            if arguments:
                return (x, *arguments[1:]), options
            return arguments, {**options, "hidden_states": x}

        with block.register_forward_pre_hook(change, with_kwargs=True):
            return network(ids).last_hidden_state[0]  # type: ignore[no-any-return]

    found = torch.autograd.functional.jacobian(run, kept[0])
    return found[:, :, 0], kept[0][0]


@pytest.mark.parametrize("name", ["bert", "gpt2", "llama"])
def test_derivatives_are_those_of_the_model(name: str) -> None:
    steep, x = jacobian(name)
    settings = AttributionSettings(method="exact", embeddings="output")
    methods = ["attribution", "gradient_hidden"]
    found = input_maps(model_of(name), example(), methods, attribution=settings)
    wanted = {
        "attribution": steep.square().sum((1, 3)).sqrt(),
        "gradient_hidden": torch.einsum("qdke,ke->qkd", steep, x).norm(dim=-1),
    }
    for method, sizes in wanted.items():
        shares = sizes / sizes.sum(-1, keepdim=True)
        torch.testing.assert_close(found[method][-1], shares.double(), rtol=0, atol=1e-6)


def gelu(x: float) -> float:
    return x * 0.5 * (1 + math.erf(x / math.sqrt(2)))


def test_decompx_is_as_defined() -> None:
    """With attention weights, norms and act(x)/x of the run, vector by vector, without biases."""
    name = "bert"
    network = model_of(name).transformer
    layers = layers_of(name)
    parts = np.zeros((TOKENS, TOKENS, 32))  # of token i, what comes from token k
    for token in range(TOKENS):
        parts[token, token] = layers[0].given[token]
    found = input_maps(model_of(name), example(), ["decompx"])["decompx"]
    for number, layer in enumerate(layers):
        block = network.get_submodule(FAMILIES[name].block.format(number))
        value = wide(block.attention.self.value.weight.detach())
        inner, outer = (
            wide(each.weight.detach()) for each in (block.intermediate.dense, block.output.dense)
        )
        moved = np.zeros_like(parts)
        for i, k in np.ndindex(TOKENS, TOKENS):
            attended = np.zeros(32)
            for head, j in np.ndindex(4, TOKENS):
                made = (value @ parts[j, k]).reshape(4, 8)[head]
                attended += layer.weight[head, i, j] * (made @ layer.output[head])
            before = attended + parts[i, k]
            moved[i, k] = definitions.frozen(before, summed(layer, i), layer.norm)
        for i in range(TOKENS):
            at = inner @ layer.left[i] + wide(block.intermediate.dense.bias.detach())
            slope = np.array([gelu(each) / each for each in at])
            for k in range(TOKENS):
                forward = outer @ (slope * (inner @ moved[i, k]))
                parts[i, k] = definitions.frozen(
                    forward + moved[i, k], layer.entered[i], layer.second
                )
        sizes = np.linalg.norm(parts, axis=-1)
        np.testing.assert_allclose(
            wide(found[number]), sizes / sizes.sum(-1, keepdims=True), rtol=0, atol=1e-9
        )


def summed(layer: Layer, token: int) -> Array:
    """What the norm behind the attention was given."""
    vectors = np.einsum("hj,hjd->d", layer.weight[:, token], layer.value @ layer.output)
    bias = 0 if layer.bias is None else layer.bias
    return vectors + bias + layer.given[token]


def test_rollout_by_hand() -> None:
    """Two layers of three tokens; half of each token stays."""
    first = [[1, 0, 0], [0.5, 0.5, 0], [0.5, 0.25, 0.25]]
    second = [[1, 0, 0], [1, 0, 0], [0, 1, 0]]
    found = rollout(torch.tensor([first, second]).double(), residual=0.5)
    wanted = [[1, 0, 0], [0.625, 0.375, 0], [0.25, 0.4375, 0.3125]]
    torch.testing.assert_close(found[1], torch.tensor(wanted).double())
    own = torch.tensor([[1, 0.5, 0.5], [1.0, 1, 0]]).double()
    by_token = rollout(torch.tensor([first, second]).double(), residual=own)
    torch.testing.assert_close(by_token[0, 2], torch.tensor([0.25, 0.125, 0.625]).double())
    torch.testing.assert_close(by_token[1, 2], by_token[0, 1])


def test_the_maximum_flow_is_that_of_a_linear_program() -> None:
    """What leaves the token, with as much into each node between as out of it."""
    layers, tokens, half = 3, 4, 0.5
    maps = torch.rand(layers, tokens, tokens, generator=torch.Generator().manual_seed(2)).double()
    maps = (maps * (maps > 0.4)).tril() + 0.1 * torch.eye(tokens)
    maps /= maps.sum(-1, keepdim=True)
    found = attention_flow(maps, 2)
    edges = [
        ((layer + 1, i), (layer, j), half * float(maps[layer, i, j]) + half * (i == j))
        for layer, i, j in np.ndindex(layers, tokens, tokens)
    ]
    for sink in range(tokens):
        ends = (layers, 2), (0, sink)
        between = [place for place in np.ndindex(layers + 1, tokens) if place not in ends]
        kept = [[(a == node) - (b == node) for a, b, _ in edges] for node in between]
        leaves = [-float(a == ends[0]) for a, _, _ in edges]
        limits = [(0, capacity) for _, _, capacity in edges]
        best = linprog(leaves, A_eq=kept, b_eq=[0] * len(kept), bounds=limits)
        assert abs(float(found[sink]) + best.fun) < 1e-7
    one = attention_flow(maps[:1], -1)
    torch.testing.assert_close(one, half * maps[0, 3] + half * torch.eye(4)[3], rtol=0, atol=1e-8)
    with pytest.raises(UsageError, match="no token 4"):
        attention_flow(maps, 4)


def test_layers_that_are_asked_for() -> None:
    model = model_of("bert")
    every = input_maps(model, example(), ["rollout"])["rollout"]
    assert torch.equal(input_maps(model, example(), ["rollout"], layers=[1])["rollout"], every[1:])


def test_shared_layers_have_their_own_sums() -> None:
    """ALBERT runs one block for all layers."""
    model = CapturedModel(build("albert", {**WIDE, "embedding_size": 16}, seed=3))
    for maps in input_maps(model, example(), ["globenc", "value_zeroing"]).values():
        torch.testing.assert_close(maps.sum(-1), torch.ones(2, TOKENS).double())


@pytest.mark.slow
def test_the_flow_of_a_text_is_its_maps_with_names(tmp_path: Path) -> None:
    model = subject("llama")
    found = flow(model, "the river is old", methods=["alti", "rollout"], layers=[1])
    maps = input_maps(model, "the river is old", ["alti", "rollout"], layers=[1])
    shares = found.dataset["share"]
    assert shares.dims == ("map", "layer", "query", "key")
    for name, one in maps.items():
        np.testing.assert_array_equal(shares.sel(map=name).values, one.numpy())
    said = json.loads(found.save(tmp_path / "flow.json").read_text(encoding="utf-8"))
    assert said["tokens"] == ["<s>", "the", "river", "is", "old"]
    assert said["share"]["rollout"] == maps["rollout"].tolist()
    assert load(found.save(tmp_path / "flow.nc"))["share"].equals(shares)
    page = found.save(tmp_path / "flow.html").read_text(encoding="utf-8")
    most = shares.sel(map="alti", layer=1).isel(query=-1)
    first = said["tokens"][int(most.values.argmax())]
    assert f"By ALTI, “old” after layer 1 has {float(most.max()):.1%} of “{first}”" in unescape(
        page
    )
    with pytest.raises(UsageError, match="choose one"):
        found.save(tmp_path / "flow.png")


def test_refusals() -> None:
    with pytest.raises(UnknownNameError, match="flux"):
        input_maps(model_of("bert"), example(), ["flux"])
    with pytest.raises(UsageError, match="layer 7"):
        input_maps(model_of("bert"), example(), ["rollout"], layers=[7])
