"""Feed-forward layers as matrices of tokens move as the functions that they are made of."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings, strategies as st
from torch import Tensor
from torch.func import jvp, vmap
from torch.nn import functional

from capture.test_attribution import EXACT, batch_of, known
from headlight.capture import attribute, attribution as methods
from headlight.capture.attribution_rules import ShortRules, TokenMaps
from headlight.capture.attribution_run import _load_rules

_load_rules()  # of which torch warns
SIZES = st.integers(1, 5)
MANY = 10**9
"""Changes for which matrices of tokens always pay."""


class Layers:
    """Linear maps of random weights."""

    def __init__(self, size: int, wide: int, seed: int) -> None:
        generator = torch.Generator().manual_seed(seed)

        def drawn(*shape: int) -> Tensor:
            return torch.randn(*shape, dtype=torch.float64, generator=generator)

        self.up, self.gate, self.down = drawn(wide, size), drawn(wide, size), drawn(size, wide)
        self.bias, self.drawn = drawn(wide), drawn

    def inner(self, x: Tensor) -> Tensor:
        return functional.linear(x, self.up, self.bias)

    def outer(self, x: Tensor) -> Tensor:
        return functional.linear(x, self.down)

    def plain(self, x: Tensor) -> Tensor:
        return self.outer(functional.gelu(self.inner(x), approximate="tanh"))

    def in_evaluation(self, x: Tensor) -> Tensor:
        return self.outer(functional.dropout(functional.relu(self.inner(x)), 0.5, training=False))

    def gated(self, x: Tensor) -> Tensor:
        return self.outer(functional.silu(self.inner(x)) * functional.linear(x, self.gate))

    def gated_from_elsewhere(self, x: Tensor) -> Tensor:
        return self.outer(functional.silu(self.inner(x)) * functional.linear(x * x, self.gate))

    def read_twice(self, x: Tensor) -> Tensor:
        active = torch.tanh(self.inner(x))
        return self.outer(active) + active.sum(-1, keepdim=True) * self.outer(active)

    def never_bent(self, x: Tensor) -> Tensor:
        inner = self.inner(x)
        return self.outer(inner) + inner.exp().sum(-1, keepdim=True) + self.outer(inner)

    def within_a_list(self, x: Tensor) -> Tensor:
        active = functional.gelu(self.inner(x))
        return self.outer(torch.cat([active, self.inner(x)], dim=-1).unflatten(-1, (2, -1)).sum(-2))

    def by_formula(self, x: Tensor) -> Tensor:
        inner = self.inner(x)
        cubed = inner + 0.044715 * torch.pow(inner, 3.0)
        return self.outer(0.5 * inner * (1.0 + torch.tanh(0.8 * cubed)))

    def as_convolution(self, x: Tensor) -> Tensor:
        inner = torch.addmm(self.bias, x.view(-1, x.shape[-1]), self.up.T)
        active = functional.gelu(inner.view(*x.shape[:-1], -1))
        outer = torch.addmm(x.new_ones(x.shape[-1]), active.view(len(inner), -1), self.down.T)
        return outer.view(x.shape)

    def in_place(self, x: Tensor) -> Tensor:
        inner = self.inner(x)
        inner.mul_(2.0)
        active = functional.gelu(inner)
        active += inner
        again = functional.relu(self.inner(x), inplace=True)
        return self.outer(active) + self.outer(again) + self.outer(inner)

    def by_keywords(self, x: Tensor) -> Tensor:
        return functional.linear(input=self.inner(x).tanh(), weight=self.down)

    def two_deep(self, x: Tensor) -> Tensor:
        return self.gated(x + self.plain(x))


FORMS = ("plain", "in_evaluation", "gated", "gated_from_elsewhere", "read_twice", "never_bent",
         "within_a_list", "by_formula", "as_convolution", "in_place", "by_keywords",
         "two_deep")  # fmt: skip
MAPPED = {"plain": 1, "in_evaluation": 1, "gated": 1, "read_twice": 2, "by_formula": 1,
          "as_convolution": 1, "two_deep": 2}  # fmt: skip
"""How many matrices for each token the forms are made of, where there are any."""


def moved(
    function: Callable[[Tensor], Tensor], x: Tensor, changes: Tensor, maps: TokenMaps | None
) -> Tensor:
    """How the function moves with every change."""

    def one(change: Tensor) -> Tensor:
        with ShortRules(maps):
            return jvp(function, (x,), (change,))[1]

    found: Tensor = vmap(one)(changes)
    return found


@pytest.mark.parametrize("form", FORMS)
@given(tokens=SIZES, size=SIZES, more=SIZES, changes=SIZES, seed=st.integers(0, 99))
@settings(max_examples=8, deadline=None)
def test_moves_are_those_of_the_functions(form, tokens, size, more, changes, seed):
    layers = Layers(size, size + more, seed)
    x, z = layers.drawn(1, tokens, size), layers.drawn(changes, 1, tokens, size)
    function = getattr(layers, form)
    expected = vmap(lambda change: jvp(function, (x,), (change,))[1])(z)
    maps = TokenMaps(MANY)
    for _ in range(2):  # the second time with the matrices that were kept
        torch.testing.assert_close(moved(function, x, z, maps), expected)
        assert len(maps._kept) == MAPPED.get(form, 0)
    torch.testing.assert_close(moved(function, x, z, None), expected)


def test_matrices_pay_where_they_take_fewer_products():
    weight = torch.zeros(40, 10)
    by_hand = [changes for changes in range(20) if changes * 2 * 400 > 10 * 400 + changes * 100]
    assert [changes for changes in range(20) if TokenMaps(changes).pay(weight)] == by_hand
    assert by_hand[0] == 6
    assert not TokenMaps(MANY).pay(weight.T)


class Own(torch.autograd.Function):
    """Twice its input."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor) -> Tensor:
        return 2 * x

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        pass

    @staticmethod
    def jvp(ctx: Any, x: Tensor) -> Tensor:
        return 2 * x


def test_functions_with_derivatives_of_their_own_see_inner_layers():
    layers = Layers(2, 4, 0)
    x = layers.drawn(1, 3, 2)

    def function(x: Tensor) -> Tensor:
        return layers.outer(Own.apply(layers.inner(x)))

    maps = TokenMaps(MANY)
    torch.testing.assert_close(
        moved(function, x, x[None], maps), jvp(function, (x,), (x,))[1][None]
    )
    assert not maps._kept


def test_what_comes_by_without_asking_gets_no_number_that_looks_right():
    layers = Layers(2, 4, 0)
    x = layers.drawn(1, 3, 2)

    def function(x: Tensor) -> Tensor:
        inner = layers.inner(x)
        with torch._C.DisableTorchFunction():
            return layers.outer(inner)

    assert moved(function, x, x[None], TokenMaps(MANY)).isnan().all()


@pytest.mark.parametrize(
    ("name", "kind"),
    [("BERT", "encoder"), ("Llama", "decoder"), ("GPT-2", "decoder"), ("ALBERT", "encoder")],
)
def test_the_feed_forward_layers_of_models_are_matrices(name, kind, monkeypatch):
    kept = []

    def recorded(*arguments: Any) -> tuple[TokenMaps | None, int]:
        kept.append(token_maps(*arguments))
        return kept[-1]

    token_maps = methods.token_maps
    monkeypatch.setattr(methods, "token_maps", recorded)
    model, batch = known(name), batch_of(name)
    found = attribute(model, batch, EXACT, kind=kind).contribution
    assert [len(maps._kept) for maps, _ in kept] == [len(found)] * len(kept)
    monkeypatch.setattr(methods, "token_maps", lambda run, changes, memory: (None, memory))
    expected = attribute(model, batch, EXACT, kind=kind).contribution
    torch.testing.assert_close(found, expected, equal_nan=True, rtol=1e-6, atol=1e-9)
