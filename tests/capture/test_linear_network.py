"""Models as linear networks: their addends add up, on every architecture and by every slope."""

from typing import Any, get_args

import pytest
import torch
from torch import Tensor, nn
from torch.func import jvp, vmap

import architectures
from architectures import ARCHITECTURES
from headlight.capture import CapturedModel
from headlight.capture.attention_interface import _listeners, _patched
from headlight.capture.embedding_changes import prepared
from headlight.capture.linear_network.activation_slopes import line
from headlight.capture.linear_network.addends import share, slopes_of
from headlight.capture.linear_network.linear_pass import linear_pass
from headlight.capture.linear_network.token_parts import token_parts
from headlight.encode import Encoded
from headlight.errors import UnsupportedModelError, UsageError
from headlight.settings.attribution import Slope
from tiny_models import Architecture

BY_NAME = {row.name: row for row in ARCHITECTURES}
EXACT = ("BERT", "GPT-2", "BART", "ViT", "DistilBERT", "OPT")
"""Models that compute nothing in float32 when they are in float64."""


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(7)


def one(row: Architecture) -> dict[str, Tensor]:
    return {name: value[:1] for name, value in row.inputs(generator(), "none").items()}


def sum_of_parts(
    model: CapturedModel, inputs: dict[str, Tensor], slope: Slope, *, cut: bool
) -> tuple[float, float, float]:
    """What addends add to a random sum over the output, that sum, and the size of the output."""
    found = linear_pass(model, inputs, slope=slope, cut=cut)
    output = found.output[0]
    with torch.no_grad():
        own = model.transformer(**inputs)[0]
    torch.testing.assert_close(output.detach(), own, rtol=0, atol=1e-5 * float(own.abs().max()))
    weights = torch.randn(output.shape, generator=generator()).to(output)
    value = (output * weights).sum()
    slopes = slopes_of(value, found.addends, found.suspects, "model")
    parts = [
        float(share(slope, each.value).double().sum())
        for each, slope in zip(found.addends, slopes, strict=True)
        if slope is not None
    ]
    assert len([part for part in parts if part]) >= 1
    return sum(parts), float(value.detach()), float((output * weights).detach().norm())


@pytest.mark.parametrize("cut", [False, True])
@pytest.mark.parametrize("row", [architectures.case(row) for row in ARCHITECTURES])
def test_addends_add_up_on_every_architecture(row: Architecture, *, cut: bool) -> None:
    model = CapturedModel(row.build())
    parts, value, size = sum_of_parts(model, one(row), "zero_origin", cut=cut)
    assert abs(parts - value) < 1e-5 * size


@pytest.mark.parametrize("name", EXACT)
def test_they_do_in_float64(name: str) -> None:
    model = CapturedModel(BY_NAME[name].build())
    model.transformer.double()
    inputs = {
        name: value.double() if value.is_floating_point() else value
        for name, value in one(BY_NAME[name]).items()
    }
    for slope in get_args(Slope):
        parts, value, size = sum_of_parts(model, inputs, slope, cut=False)
        assert abs(parts - value) < 1e-10 * size


@pytest.mark.parametrize("slope", get_args(Slope))
@pytest.mark.parametrize("name", ["BERT", "GPT-2", "Llama", "T5"])
def test_they_do_by_every_slope(name: str, slope: Slope) -> None:
    model = CapturedModel(BY_NAME[name].build())
    parts, value, size = sum_of_parts(model, one(BY_NAME[name]), slope, cut=False)
    assert abs(parts - value) < 1e-5 * size


@pytest.mark.parametrize("function", [nn.functional.gelu, nn.functional.silu, torch.tanh])
def test_slopes_are_those_of_their_definitions(function: Any) -> None:
    x = torch.randn(50, generator=generator(), dtype=torch.float64)
    x[0] = 0.0
    origin = 0.3 * torch.randn(50, generator=generator(), dtype=torch.float64)
    origin[1] = x[1]
    value = function(x)
    through = line(function, x, "zero_origin", origin)
    assert through.offset is None
    torch.testing.assert_close(through.slope[1:] * x[1:], value[1:])
    leaf = x.clone().requires_grad_()
    (derivative,) = torch.autograd.grad(function(leaf).sum(), leaf)
    torch.testing.assert_close(through.slope[0], derivative[0])
    tangent = line(function, x, "derivative", None)
    torch.testing.assert_close(tangent.slope, derivative)
    chord = line(function, x, "chord", origin)
    assert chord.offset is not None
    torch.testing.assert_close(chord.slope * x + chord.offset, value)
    torch.testing.assert_close(chord.slope * origin + chord.offset, function(origin))
    # Integrated gradients from the bias, by many steps (Sundararajan et al. 2017, Eq. 1).
    steps = (torch.arange(20000, dtype=torch.float64) + 0.5) / 20000
    way = (origin + steps[:, None] * (x - origin)).requires_grad_()
    (slopes,) = torch.autograd.grad(function(way).sum(), way)
    torch.testing.assert_close(chord.slope, slopes.mean(0), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", ["BERT", "GPT-2"])
def test_tangents_and_one_backward_pass_say_the_same(name: str) -> None:
    model = CapturedModel(BY_NAME[name].build())
    model.transformer.double()
    ids = tuple(one(BY_NAME[name])["input_ids"][0].tolist())
    example = Encoded("text", ids, (0,) * len(ids), (3,) * len(ids), (0,) * len(ids))
    batch = model.collate([example])
    with prepared(model, batch, model.kinds[0]) as run:
        found = torch.cat([parts for _, parts in token_parts(run, memory=2**18)])
    assert found.shape[:3] == (len(ids), 2, len(ids))
    whole = linear_pass(model, model.inputs(batch))
    output = whole.output[0][0]
    weights = torch.randn(output.shape, generator=generator()).to(output)
    slopes = slopes_of((output * weights).sum(), whole.addends, whole.suspects, "model")
    (tokens,) = (
        share(slope, each.value)[0].sum(-1)
        for each, slope in zip(whole.addends, slopes, strict=True)
        if each.kind == "token" and slope is not None
    )
    torch.testing.assert_close((found[:, -1] * weights).sum((-1, -2)), tokens)


def test_tangents_where_an_activation_is_given_nothing() -> None:
    """act(0)/0 is the derivative, which is taken while tangents run side by side."""
    row = BY_NAME["Mistral"]
    model = CapturedModel(row.build())
    network: Any = model.transformer
    network.get_input_embeddings().weight.data[:, 3] = 0  # the norm squares what enters it
    example = Encoded("text", (7, 9), (0, 0), (3, 3), (0, 1))
    with prepared(model, model.collate([example]), "decoder", "output") as run:
        found = torch.cat([parts for _, parts in token_parts(run, memory=2**18)])
        whole = run.hidden()
    # without biases the tokens are all that is added
    torch.testing.assert_close(found.sum(0), torch.stack(whole), rtol=1e-4, atol=1e-4)


def test_the_model_stays_as_it_was() -> None:
    model = CapturedModel(BY_NAME["BERT"].build())
    network: Any = model.transformer
    inputs = one(BY_NAME["BERT"])
    with torch.no_grad():
        before = network(**inputs)[0]
    named = network.config._attn_implementation
    linear_pass(model, inputs)
    assert not _listeners
    assert not _patched
    assert network.config._attn_implementation == named
    assert all(each.requires_grad and each.grad is None for each in network.parameters())
    assert not any(
        module._forward_hooks or module._forward_pre_hooks for module in network.modules()
    )
    with torch.no_grad():
        assert torch.equal(network(**inputs)[0], before)


class Odd(nn.Module):
    """Adds what no rule knows."""

    def forward(self, x: Tensor) -> Tensor:
        return x + torch.sigmoid(x)


def test_what_has_no_rule_is_refused_by_name() -> None:
    model = CapturedModel(BY_NAME["BERT"].build())
    network: Any = model.transformer
    network.encoder.layer[1].output.dropout = Odd().eval()
    found = linear_pass(model, one(BY_NAME["BERT"]))
    with pytest.raises(
        UnsupportedModelError, match=r"sigmoid in encoder\.layer\.1\.output\.dropout"
    ):
        slopes_of(found.output[0].sum(), found.addends, found.suspects, "it")


class InPlace(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.sigmoid_()


def test_what_is_changed_in_place_without_a_rule_is_refused() -> None:
    model = CapturedModel(BY_NAME["BERT"].build())
    network: Any = model.transformer
    network.encoder.layer[1].output.dropout = InPlace().eval()
    with pytest.raises(UnsupportedModelError, match="in place by sigmoid"):
        linear_pass(model, one(BY_NAME["BERT"]))
    assert not _listeners


def test_half_precision_is_refused() -> None:
    model = CapturedModel(BY_NAME["BERT"].build())
    model.transformer.bfloat16()
    with pytest.raises(UsageError, match="bfloat16 is too coarse"):
        linear_pass(model, one(BY_NAME["BERT"]))


@pytest.mark.parametrize("slope", ["zero_origin", "derivative"])
def test_slopes_where_a_chord_has_no_length_and_tangents_are_taken(slope: Slope) -> None:
    """At 0 the chord of SiLU from the origin is its derivative, ½, within transforms as without."""
    given = torch.tensor([0.0, 2.0], dtype=torch.float64)

    def straight(x: torch.Tensor) -> torch.Tensor:
        return line(torch.nn.functional.silu, x.detach(), slope, None).slope * x

    _, tangents = vmap(lambda way: jvp(straight, (given,), (way,)))(torch.eye(2).double())
    tangents = torch.as_tensor(tangents)
    near = torch.sigmoid(given) * (
        1 if slope == "zero_origin" else 1 + given * torch.sigmoid(-given)
    )
    torch.testing.assert_close(tangents, torch.diag(near))
    torch.testing.assert_close(near[0], torch.tensor(0.5, dtype=torch.float64))
