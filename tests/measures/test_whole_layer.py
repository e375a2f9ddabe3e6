"""Norms with the residual, and behind the norm that follows, are those of the definition."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies
from torch import Tensor, nn

import definitions
from definitions import Array
from headlight.capture import FrozenMap, Place, Residual, ResidualSite
from headlight.errors import CaptureError
from headlight.measures import Scores
from headlight.measures.mixing_ratio import mixing_ratios
from measures.layers import MASKS, Layer, Sizes, random_layer, wide

NORMS = ("none", "layer norm", "root mean square", "scale")


def random_norm(kind: str, width: int, generator: torch.Generator) -> FrozenMap | None:
    if kind == "none":
        return None
    gain, offset = torch.randn(2, width, generator=generator, dtype=torch.float64)
    return FrozenMap(kind, gain, offset, kind == "layer norm", None if kind == "scale" else 1e-3)


@dataclass(frozen=True)
class Whole:
    """A layer with what follows its attention."""

    layer: Layer
    bias: Tensor
    residual: Tensor
    branch: FrozenMap | None
    norm: FrozenMap | None

    @property
    def scores(self) -> Scores:
        layer = self.layer
        context = layer.weight @ layer.value.repeat_interleave(
            layer.weight.shape[1] // layer.value.shape[1], dim=1
        )
        written = torch.einsum("bhqd,hdm->bqm", context, layer.output) + self.bias
        site = ResidualSite(
            branch=() if self.branch is None else (self.branch,),
            residual=Place(nn.Identity(), "layer.0", 0),
            norm=self.norm,
            parallel=False,
            output=None,
            feed_forward=None,
            error=0.0,
        )
        return layer.scores(residual=Residual(site, self.residual, written), bias=self.bias)

    def defined(self, *, norm: bool) -> Array:
        layer, last = self.layer, self.norm if norm else None
        rows = [
            definitions.layer_norms(
                wide(weight),
                wide(value),
                wide(layer.output),
                wide(self.bias),
                wide(residual),
                *(
                    each and (each.centred, wide(each.gain), wide(each.offset), each.eps)
                    for each in (self.branch, last)
                ),
            )
            for weight, value, residual in zip(
                layer.weight, layer.value, self.residual, strict=True
            )
        ]
        return np.stack(rows)


def whole(sizes: Sizes, seed: int, mask: str, branch: str, norm: str) -> Whole:
    generator = torch.Generator().manual_seed(seed + 1)
    layer = random_layer(sizes, seed=seed, mask=mask, dtype=torch.float64)
    shape = sizes.batch, sizes.queries, sizes.width
    return Whole(
        layer,
        torch.randn(sizes.width, generator=generator, dtype=torch.float64),
        torch.randn(*shape, generator=generator, dtype=torch.float64),
        random_norm(branch, sizes.width, generator),
        random_norm(norm, sizes.width, generator),
    )


def square(batch: int, sharing: int, tokens: int, head_dim: int, width: int) -> Sizes:
    return Sizes(batch, 4, sharing, tokens, tokens, head_dim, width)


layers = strategies.builds(
    whole,
    strategies.builds(
        square,
        strategies.integers(1, 2),
        strategies.sampled_from([1, 2, 4]),
        strategies.integers(1, 6),
        strategies.integers(1, 4),
        strategies.integers(5, 20),
    ),
    strategies.integers(0, 2**31),
    strategies.sampled_from(MASKS),
    strategies.sampled_from(NORMS),
    strategies.sampled_from(NORMS),
)


def equal(found: Tensor, wanted: Array) -> None:
    scale = np.abs(wanted).max(initial=1e-300)
    np.testing.assert_allclose(wide(found), wanted, rtol=1e-12, atol=1e-12 * scale)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(layers)
def test_both_norms_are_as_defined(one: Whole) -> None:
    scores = one.scores
    equal(scores.block_norm, one.defined(norm=False))
    equal(scores.layer_norm, one.defined(norm=True))


@pytest.mark.parametrize("norm", NORMS)
def test_in_float32_they_keep_their_digits(norm: str) -> None:
    one = whole(square(2, 2, 6, 4, 16), 3, "causal", "root mean square", norm)
    wanted = one.defined(norm=True)
    exact = one.scores.record.residual
    assert exact is not None
    layer = one.layer.to(torch.float32)
    scores = layer.scores(residual=exact.to(torch.float32), bias=one.bias.float())
    assert scores.layer_norm.dtype == torch.float32
    np.testing.assert_allclose(wide(scores.layer_norm), wanted, rtol=1e-5, atol=1e-6)


def test_a_gate_of_each_head_scales_its_part() -> None:
    one = whole(square(2, 1, 5, 3, 12), 5, "none", "none", "layer norm")
    gate = torch.rand(2, 4, 5, 1, dtype=torch.float64)
    gated = replace(one, layer=replace(one.layer, weight=one.layer.weight * gate))
    record = gated.scores.record
    site = replace(record.site, gate="head")
    given = replace(record, site=site, weight=one.layer.weight, gate=gate)
    equal(Scores(given).layer_norm, gated.defined(norm=True))


def test_what_was_not_captured_is_refused_in_a_sentence() -> None:
    scores = random_layer(Sizes()).scores()
    with pytest.raises(CaptureError, match=r"^layer\.0\.attention: .* before the model runs\.$"):
        _ = scores.block_norm


def test_gates_of_components_are_refused_behind_a_norm() -> None:
    record = whole(square(1, 1, 3, 3, 12), 5, "none", "none", "layer norm").scores.record
    gated = replace(record, site=replace(record.site, gate="element"), gate=torch.ones(1, 4, 3, 3))
    with pytest.raises(CaptureError, match=r"^layer\.0\.attention: a gate .* out\.$"):
        _ = Scores(gated).layer_norm
    assert Scores(gated).block_norm.shape == (1, 3, 3)


def test_the_example_of_the_documentation() -> None:
    alpha, x = torch.tensor([0.5, 0.25, 0.25]), torch.tensor([4.0, 4, -4, -2])
    layer = Layer(
        weight=alpha.double().expand(1, 1, 3, 3),
        value=torch.diag(torch.tensor([4.0, 8, 8, 0]))[:3].double()[None, None],
        output=torch.eye(4).double()[None],
    )
    norm = FrozenMap("norm", torch.ones(4).double(), torch.zeros(4).double(), True, 0.0)
    residual = x.double().expand(1, 3, 4)
    one = Whole(layer, torch.zeros(4).double(), residual, None, norm)
    scores = one.scores
    found = [
        scores.merged_norm[0, 2],
        scores.block_norm[0, 2],
        scores.layer_norm[0, 2],
        100 * mixing_ratios(scores.record)[:, 0, 2],
    ]
    wanted = [[2, 2, 2], [2, 2, 6.325], [0.433, 0.433, 1.5], [75, 58.6, 37.5, 30.9, 25]]
    for numbers, expected in zip(found, wanted, strict=True):
        assert [round(each, 3 if each < 10 else 1) for each in numbers.tolist()] == expected
    page = (Path(__file__).resolve().parents[2] / "docs" / "whole-layer.md").read_text("utf-8")
    for row in (
        "| `merged_norm` ‖F‖ | 2 | 2 | 2 |",
        "| `block_norm` | 2 | 2 | 6.325 |",
        "| `layer_norm` | 0.433 | 0.433 | 1.5 |",
        *("= 75%", "= 58.6%", "= 37.5%", "= 30.9%", "= 25%"),
    ):
        assert row in page
