"""Attention in code of a model's own, against what the model returns and against loops."""

import pkgutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings as hypothesis_settings, strategies as st
from torch import Tensor, nn
from torch.overrides import _get_current_function_mode_stack
from transformers import AutoConfig, AutoModelForCausalLM

import definitions
import headlight.capture.custom_attention.function_mode
from headlight.capture import (
    CapturedModel,
    LayerRecord,
    OwnObjective,
    attention_replaced,
    attention_with_graph,
    heads_removed,
)
from headlight.capture.batching_check import trial_example
from headlight.capture.custom_attention.layout import NoLayoutError, Notation, Step, derive
from headlight.encode import Encoded
from headlight.errors import HeadlightError, HeadlightWarning, UnsupportedModelError
from headlight.measures import Scores
from headlight.reading.edits import Edit
from headlight.reading.head_removal import each_head_removed
from headlight.reading.model import Model
from headlight.settings.flow import METHODS
from headlight.token_flow.followed_text import subject_of
from headlight.token_flow.value_zeroing import value_zeroing
from own_models import BY_HAND, HEADS, LAYERS, OF_TRANSFORMERS, WIDTH, Returning, own_model
from studies.models import VOCABULARY, tokenizer
from tiny_models import randomise

ALL = [*OF_TRANSFORMERS, *BY_HAND]
CAUSAL = [each for each in ("gpt_neo", "bloom", "gptj", "codegen") if each in OF_TRANSFORMERS]
LENGTH, SHORT = 11, 7


@cache
def subject(name: str) -> CapturedModel:
    return CapturedModel(own_model(name), name=name)


def inputs(*, padded: bool = True) -> dict[str, Tensor]:
    ids = torch.randint(5, 90, (2, LENGTH), generator=torch.Generator().manual_seed(3))
    mask = torch.ones_like(ids)
    if padded:
        mask[1, SHORT:] = 0
    return {"input_ids": ids, "attention_mask": mask}


def captured(model: CapturedModel, block: int | None = 0) -> tuple[Tensor, list[LayerRecord]]:
    records: list[LayerRecord] = []
    with model.capture() as recorder, torch.no_grad():
        recorder.visit, recorder.query_block = records.append, block
        output = model.transformer(**inputs())[0]
    return output, records


def plain(model: CapturedModel, **options: Any) -> Any:
    with torch.no_grad():
        return model.transformer(**inputs(), **options)


def real(output: Tensor) -> Tensor:
    """PyTorch's fast path, which a capture leaves, makes zeros of padding."""
    return output[inputs()["attention_mask"].bool()]


@pytest.mark.parametrize("name", ALL)
def test_weights_are_those_of_the_model(name: str) -> None:
    model = subject(name)
    assert [site.layer for site in model.sites] == list(range(LAYERS))
    assert {site.heads for site in model.sites} == {HEADS}
    _, records = captured(model)
    for record, wanted in zip(records, own_weights(model), strict=True):
        torch.testing.assert_close(record.weight, wanted, atol=1e-6, rtol=0)


def own_weights(model: CapturedModel) -> list[Tensor]:
    """What the model returns; of PyTorch's encoder, what its attention returns if asked."""
    returned = getattr(plain(model, output_attentions=True), "attentions", None)
    if returned:
        return list(returned)
    padding = inputs()["attention_mask"] == 0
    states: list[Tensor] = []
    layers: Any = model.transformer.encoder.layers
    hooks = [
        layer.self_attn.register_forward_pre_hook(lambda _, given: states.append(given[0]))
        for layer in layers
    ]
    torch.backends.mha.set_fastpath_enabled(False)  # which runs no module inside
    plain(model)
    torch.backends.mha.set_fastpath_enabled(True)
    for hook in hooks:
        hook.remove()
    with torch.no_grad():
        return [
            layer.self_attn(*(given,) * 3, key_padding_mask=padding, average_attn_weights=False)[1]
            for layer, given in zip(layers, states, strict=True)
        ]


@pytest.mark.parametrize("name", ALL)
def test_the_forward_pass_is_left_as_it_was(name: str) -> None:
    model = subject(name)
    before = plain(model)[0]
    output, _ = captured(model)
    if name in OF_TRANSFORMERS:
        assert torch.equal(output, before)
    torch.testing.assert_close(real(output), real(before), atol=1e-5, rtol=1e-5)
    with model.capture() as recorder:
        recorder.visit = failing
        with pytest.raises(RuntimeError, match="in a visit"):
            model.transformer(**inputs())
    assert torch.equal(plain(model)[0], before)
    assert not _get_current_function_mode_stack()
    modules = [*model.transformer.modules(), *(each.projection.module for each in model.sites)]
    assert not any(each._forward_pre_hooks for each in modules)


def failing(_: LayerRecord) -> None:
    message = "in a visit"
    raise RuntimeError(message)


@pytest.mark.parametrize("name", ALL)
def test_equation_3_and_the_measures(name: str) -> None:
    model = subject(name)
    assert max(site.error for site in model.sites) < 1e-6
    _, records = captured(model)
    record = records[0]
    output = record.site.projection.weight.double().numpy()
    scores = Scores(record)
    for text, tokens in enumerate((LENGTH, SHORT)):
        seen = record.visible
        seen = None if seen is None else seen[text].expand(LENGTH, LENGTH)[:tokens, :tokens]
        mask = np.ones((tokens, tokens), bool) if seen is None else seen.numpy()
        weight = record.weight[text, :, :tokens, :tokens].double().numpy()
        value = record.value[text, :, :tokens].double().numpy()
        value = value.repeat(HEADS // len(value), axis=0)
        for found, wanted in (
            (scores.norm, definitions.weighted_norm(weight, value, output)),
            (scores.effective, definitions.effective(weight, value, output, mask)),
        ):
            np.testing.assert_allclose(
                found[text, :, :tokens, :tokens].double().numpy(), wanted, atol=2e-5
            )


@pytest.mark.parametrize(("dtype", "error"), [(torch.bfloat16, 5e-3), (torch.float16, 7e-4)])
@pytest.mark.parametrize("name", ["gpt_neo", "deberta-v2", "encoder"])
def test_half_precision(name: str, dtype: torch.dtype, error: float) -> None:
    """The bound follows the precision, and weights are those that the model itself returns."""
    model = CapturedModel(own_model(name).to(dtype), name=name)
    assert max(site.error for site in model.sites) < error
    output, records = captured(model)
    assert {record.weight.dtype for record in records} == {dtype}
    if name in OF_TRANSFORMERS:
        assert torch.equal(output, plain(model)[0])
        for record, wanted in zip(records, own_weights(model), strict=True):
            assert torch.equal(record.weight, wanted)
    difference = model.verify_batching()
    assert difference is not None
    assert difference < 10 * error


@pytest.mark.parametrize("name", ALL)
def test_padding_has_no_weight_and_a_batch_is_read_as_its_texts_are(name: str) -> None:
    model = subject(name)
    error = model.verify_batching()
    assert error is not None
    assert error < 1e-5
    _, records = captured(model)
    for record in records:
        assert not record.weight[1, :, :SHORT, SHORT:].any()


@pytest.mark.parametrize("name", ALL)
def test_a_removed_head_has_weights_of_zero(name: str) -> None:
    model = subject(name)
    site = model.sites[1]
    with heads_removed(model, [[(site, 2)]]):
        removed = plain(model)[0]
    with attention_replaced(model, {(1, 2): torch.zeros(LENGTH, LENGTH)}):
        zeroed = plain(model)[0]
    torch.testing.assert_close(real(removed), real(zeroed), atol=1e-5, rtol=1e-5)
    assert not torch.allclose(real(removed), real(plain(model)[0]), atol=1e-2)


@pytest.mark.parametrize("name", OF_TRANSFORMERS)
def test_weights_replaced_by_themselves_change_no_bit(name: str) -> None:
    model = subject(name)
    before = plain(model)[0]
    same = {layer: lambda weight, _: weight.clone() for layer in range(LAYERS)}
    with attention_replaced(model, same):
        assert torch.equal(plain(model)[0], before)
        output, records = captured(model)  # a capture within sees the new weights
    assert torch.equal(output, before)
    assert len(records) == LAYERS


@pytest.mark.parametrize("name", ["gpt_neo", "mpnet", "xlnet", "bloom"])
def test_uniform_weights_are_those_of_a_patched_softmax(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = subject(name)
    _ = model.sites
    with attention_replaced(
        model, {layer: torch.full((LENGTH, LENGTH), 1 / LENGTH) for layer in range(LAYERS)}
    ):
        replaced = plain(model)[0]
    softmax = torch.softmax
    for owner in (nn.functional, torch):
        monkeypatch.setattr(
            owner, "softmax", lambda scores, *_, **__: softmax(torch.zeros_like(scores), -1)
        )
    assert torch.equal(plain(model)[0], replaced)


@pytest.mark.parametrize("name", ["deberta-v2", "mpnet", "xlnet", "encoder", "returning"])
def test_gradients_are_central_differences(name: str) -> None:
    model = CapturedModel(own_model(name).double(), name=name)
    along = torch.linspace(-1, 1, WIDTH, dtype=torch.float64).cos()
    loss = OwnObjective(
        lambda output, _: (2 * (output.last_hidden_state @ along).tanh()).sum(-1), "direction"
    )
    example = trial_example(model)
    assert example is not None
    batch = model.collate([example])
    records: list[LayerRecord] = []
    with model.capture() as recorder:
        recorder.visit = records.append
        model.run_backward(batch, loss)
    assert [record.site.layer for record in records] == [1, 0]
    for record in records:
        gradient = record.gradient
        assert gradient is not None
        for head, query, key in ((0, 3, 1), (2, 5, 5)):
            step = torch.zeros_like(gradient)
            step[0, head, query, key] = 1e-5
            values = []
            for sign in (1, -1):

                def moved(weight: Tensor, _: Any, change: Tensor = sign * step) -> Tensor:
                    return weight + change

                with attention_replaced(model, {record.site.layer: moved}), torch.no_grad():
                    output = model.transformer(**model.inputs(batch))
                values.append(float(loss.loss(output, loss.prepare(batch))[0]))
            slope = (values[0] - values[1]) / 2e-5
            assert abs(slope - float(gradient[0, head, query, key])) < 1e-6 + 1e-5 * abs(slope)


@pytest.mark.parametrize("name", ["gpt_neo", "encoder", "xlnet"])
def test_attention_in_training(name: str) -> None:
    """Weights are those before dropout, and what the model goes on with is dropped."""
    model = CapturedModel(own_model(name), name=name)
    _ = model.sites
    network: Any = model.transformer
    network.train()
    torch.manual_seed(5)
    wanted = network(**inputs(padded=False))[0]
    torch.manual_seed(5)
    with attention_with_graph(model) as attention:
        output = network(**inputs(padded=False))[0]
        weight = next(iter(attention.values())).weight
    torch.testing.assert_close(weight.sum(-1), torch.ones_like(weight.sum(-1)))
    torch.testing.assert_close(output, wanted, atol=1e-5, rtol=1e-5)
    weight.square().sum().backward()
    assert any(each.grad is not None and each.grad.any() for each in network.parameters())


@pytest.mark.parametrize("name", ALL)
def test_blocks_of_queries_are_parts_of_the_whole(name: str) -> None:
    model = subject(name)
    _, whole = captured(model)
    output, parts = captured(model, block=4)
    torch.testing.assert_close(real(output), real(plain(model)[0]), atol=1e-5, rtol=1e-5)
    for record in whole:
        blocks = [each for each in parts if each.site is record.site]
        assert [each.first for each in blocks] == [0, 4, 8]
        for each in blocks:
            rows = record.weight[:, :, each.first : each.first + each.weight.shape[2]]
            keys = each.weight.shape[3]
            torch.testing.assert_close(each.weight, rows[..., :keys], atol=1e-6, rtol=1e-5)
            assert not rows[..., keys:].any()


@cache
def speaking(name: str) -> Model:
    settings = OF_TRANSFORMERS[name] | {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
    config = AutoConfig.for_model(name, **settings, vocab_size=len(VOCABULARY))
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(config)
    randomise(model, torch.Generator().manual_seed(0))
    return Model(model.eval(), tokenizer("llama"), name, "1")


DERIVATIVES = ("decompx", "attribution", "gradient_hidden")
TEXT = "the old river keeps a town ."


@pytest.mark.slow
@pytest.mark.parametrize("name", CAUSAL)
def test_predictions_explanations_and_flow(name: str) -> None:
    """BLOOM hides its activation in a function with a derivative of its own."""
    model = speaking(name)
    if name == "bloom":
        with pytest.raises(UnsupportedModelError, match="do not add up"):
            model.predict(TEXT, target="mill")
    else:
        assert np.isfinite(model.predict(TEXT, target="mill").dataset["head_total"]).all()
    with pytest.raises(UnsupportedModelError, match="scores are made in code of its own"):
        model.explain(TEXT, layer=0, head=1)
    methods = [each for each in METHODS if name != "bloom" or each not in DERIVATIVES]
    shares = model.flow(TEXT, methods=methods).dataset["share"]
    assert np.isfinite(shares.values[..., -1, :]).all()
    assert next(each_head_removed(model, TEXT, layers=[1]))
    assert model.what_if(TEXT, edits=Edit(layer=0, head=1), top=3) is not None


# What cannot be captured


class Mixed(Returning):
    """Heads are mixed by an activation before they are projected."""

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.layers = nn.ModuleList(GatedBlock() for _ in range(LAYERS))


class SelfAttention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.proj = nn.Linear(WIDTH, WIDTH)

    def weighted(self, states: Tensor, padding: Tensor | None) -> tuple[Tensor, Tensor]:
        size = (*states.shape[:2], 3, HEADS, -1)
        query, key, value = self.qkv(states).view(size).permute(2, 0, 3, 1, 4)
        scores = query @ key.mT
        if padding is not None:
            scores = scores.masked_fill(padding[:, None, None], -1e4)
        return scores.softmax(-1), value


class GatedBlock(SelfAttention):
    def forward(self, states: Tensor, padding: Tensor | None) -> tuple[Tensor, Tensor]:
        weight, value = self.weighted(states, padding)
        context = (weight @ value).transpose(1, 2).flatten(2)
        return states + self.proj(torch.tanh(context)), weight


class ByLoop(SelfAttention):
    def forward(self, states: Tensor, padding: Tensor | None) -> tuple[Tensor, Tensor]:
        weight, value = self.weighted(states, padding)
        heads = [weight[:, head] @ value[:, head] for head in range(HEADS)]
        return states + self.proj(torch.cat(heads, -1)), weight


class Twice(SelfAttention):
    def forward(self, states: Tensor, padding: Tensor | None) -> tuple[Tensor, Tensor]:
        weight, value = self.weighted(states, padding)
        first = self.proj((weight @ value).transpose(1, 2).flatten(2))
        again = self.proj((weight @ value.flip(2)).transpose(1, 2).flatten(2))
        return states + first + again, weight


class Fused(SelfAttention):
    """Calls torch's fused attention, where two heads share keys and values."""

    def forward(self, states: Tensor, padding: Tensor | None) -> tuple[Tensor, Tensor]:
        size = (*states.shape[:2], 3, HEADS, -1)
        query, key, value = self.qkv(states).view(size).permute(2, 0, 3, 1, 4)
        context = nn.functional.scaled_dot_product_attention(
            query, key[:, :2], value[:, :2], is_causal=True, scale=0.7, enable_gqa=True
        )
        return states + self.proj(context.transpose(1, 2).flatten(2)), context


def with_blocks(block: type[nn.Module]) -> CapturedModel:
    model = own_model("returning")
    model.layers = nn.ModuleList(block() for _ in range(LAYERS))
    randomise(model, torch.Generator().manual_seed(1))
    return CapturedModel(model.eval())


@pytest.mark.parametrize(
    ("block", "reason"),
    [
        (GatedBlock, r"in GatedBlock what the heads compute is changed by tanh"),
        (ByLoop, r"in ByLoop the weights go into __getitem__"),
        (Twice, r"in Twice 2 products of weights and values are projected in 1 of its runs"),
    ],
)
def test_what_is_refused_with_its_reason(block: type[nn.Module], reason: str) -> None:
    with pytest.raises(UnsupportedModelError, match=f"nothing was captured.*{reason}"):
        _ = with_blocks(block).sites


@contextmanager
def visited(model: CapturedModel, query_block: int) -> Iterator[None]:
    with model.capture() as recorder:
        recorder.visit, recorder.query_block = (lambda _: None), query_block
        yield


class LongOtherwise(SelfAttention):
    """Goes another way in texts of more than 12 tokens, which no trial input has."""

    softmax, twice = (-1, -1), False

    def changed(self, context: Tensor, value: Tensor) -> Tensor:
        return context

    def forward(self, states: Tensor, padding: Tensor | None) -> tuple[Tensor, Tensor]:
        size, tokens = (*states.shape[:2], 3, HEADS, -1), states.shape[1]
        query, key, value = self.qkv(states).view(size).permute(2, 0, 3, 1, 4)
        weight = (query @ key.mT).softmax(self.softmax[tokens > 12])
        context = weight @ value
        if tokens > 12:
            context = self.changed(context, value)
        made = self.proj(context.transpose(1, 2).flatten(2))
        return states + (self.proj(made) if self.twice else made), weight


class Written(LongOtherwise):
    def changed(self, context: Tensor, value: Tensor) -> Tensor:
        context[:, :, 12:] = 0
        return context


class WrittenThroughAView(LongOtherwise):
    def changed(self, context: Tensor, value: Tensor) -> Tensor:
        context[:, :, 12:].zero_()
        return context


class GatedLate(LongOtherwise):
    def changed(self, context: Tensor, value: Tensor) -> Tensor:
        return context * torch.sigmoid(value)


class OverQueries(LongOtherwise):
    softmax = (-2, -2)


class OverQueriesLate(LongOtherwise):
    softmax = (-1, -2)


class ProjectedTwice(LongOtherwise):
    twice = True


@pytest.mark.parametrize(
    ("block", "reason"),
    [
        (Written, r"changed by __setitem__"),
        (WrittenThroughAView, r"in texts of 14 tokens weights times values miss"),
        (GatedLate, r"changed by mul"),
        (OverQueries, r"the weights of a query add up to"),
        (OverQueriesLate, r"in texts of 14 tokens the weights of a query add up to"),
        (ProjectedTwice, r"layers.0.proj is given what it has put out once more"),
    ],
)
@pytest.mark.parametrize("query_block", [0, 4])
def test_a_text_of_another_length_is_verified(
    block: type[nn.Module], reason: str, query_block: int
) -> None:
    """Eq. 3 is checked once for each length, and what is written in place is a change."""
    model = with_blocks(block)
    blank = (0,) * 14
    batch = model.collate([Encoded("text", tuple(range(5, 19)), blank, blank, blank)])
    with pytest.raises(UnsupportedModelError, match=reason), visited(model, query_block):
        model.run(batch)


def test_all_errors_of_a_capture_are_refusals() -> None:
    """Others are caught by who raises them, and private."""
    for found in pkgutil.iter_modules(headlight.capture.__path__):
        module = import_module(f"headlight.capture.{found.name}")
        for name, each in vars(module).items():
            if isinstance(each, type) and issubclass(each, Exception) and name[0] != "_":
                own = each.__module__.startswith("headlight.")
                assert not own or issubclass(each, HeadlightError | HeadlightWarning), each


def test_a_part_that_is_seen_is_refused() -> None:
    model = own_model("returning")
    layers: Any = model.layers
    layers[1] = ByLoop()
    with pytest.raises(UnsupportedModelError, match=r"only 1 of its 2 attention"):
        _ = CapturedModel(model.eval()).sites


def test_fused_attention_is_computed_step_by_step() -> None:
    model = with_blocks(Fused)
    before = plain(model)[0]
    assert [site.kind for site in model.sites] == ["decoder"] * LAYERS
    output, records = captured(model)
    torch.testing.assert_close(output, before, atol=1e-5, rtol=1e-5)
    weight = records[0].weight
    torch.testing.assert_close(weight.sum(-1), torch.ones_like(weight.sum(-1)))
    assert not weight.triu(1).any()
    with model.capture():  # of which nothing is wanted
        assert torch.equal(plain(model)[0], before)


class OtherWeights(SelfAttention):
    """Returns other weights than it works with."""

    def forward(self, states: Tensor, padding: Tensor | None) -> tuple[Tensor, Tensor]:
        weight, value = self.weighted(states, padding)
        context = (weight @ value).transpose(1, 2).flatten(2)
        return states + self.proj(context), weight.flip(2)


def test_weights_that_the_model_returns_otherwise() -> None:
    with pytest.raises(UnsupportedModelError, match=r"differ by up to .* model returns"):
        _ = with_blocks(OtherWeights).sites


# Layouts


def forms() -> Iterator[tuple[str, str, str]]:
    """Notations of a product, and of what is projected: rows, then features."""
    yield "bhqk", "bhkd", "bhqd"
    yield "hbqk", "hbkd", "hbqd"
    yield "qbhk", "kbhd", "qbhd"
    yield "bqhk", "bkhd", "bqhd"
    yield "bhqk", "bkd", "bqhd"
    yield "hqk", "bhkd", "bqhd"
    yield "bhqk", "bhkd", "dqbh"


@hypothesis_settings(max_examples=60, deadline=None)
@given(
    form=st.sampled_from(list(forms())),
    first=st.booleans(),
    sizes=st.tuples(*[st.integers(1, 4)] * 5),
)
def test_layouts(form: tuple[str, str, str], sizes: tuple[int, ...], *, first: bool) -> None:
    """Whatever the order of axes is, the record's is one, and the way back is exact."""
    size = dict(zip("bhqkd", sizes, strict=True))
    notation = Notation(*form)
    weight, value = (torch.rand([size[letter] for letter in letters]) for letters in form[:2])
    equation = f"{form[0]},{form[1]}->{form[2]}"
    result = torch.einsum(equation, weight, value)
    order = [form[2].index(letter) for letter in ("bqhd" if first else "qbhd")]
    rows = size["b"] * size["q"]
    steps = [
        Step(torch.permute, (result, order), {}, 0),
        Step(torch.reshape, (result, (rows, -1)), {}, 0),
    ]
    projected = result.permute(order).reshape(rows, -1)
    layout = derive(notation, result, steps, 1)
    canonical, values = layout.weight(weight), layout.value(value)
    heads = canonical.shape[1]
    context = canonical @ values.repeat_interleave(heads // values.shape[1], 1)
    torch.testing.assert_close(context.transpose(1, 2), layout.context(result))
    torch.testing.assert_close(layout.rows(projected), layout.context(result).flatten(2))
    assert torch.equal(layout.given(layout.rows(projected), projected.shape), projected)
    again = layout.weight_operand(canonical, weight)
    assert again is None or torch.equal(again, weight)
    if min(sizes) > 1:
        assert canonical.shape == (size["b"], size["h"], size["q"], size["k"])
        assert layout.query_first != first


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (torch.tanh, "changed by tanh"),
        (lambda numbers: numbers * 2, "changed by"),
        (lambda numbers: numbers.permute(0, 2, 3, 1).flatten(2), "heads cannot be told apart"),
    ],
)
def test_layouts_that_are_refused(step: Any, reason: str) -> None:
    result = torch.rand(2, 3, 4, 5)
    with pytest.raises(NoLayoutError, match=reason):
        derive(Notation("bhqk", "bhkd", "bhqd"), result, [Step(step, (result,), {}, 0)], 1)


def test_values_are_zeroed_where_w_o_is_a_module() -> None:
    for name, reason in (("xlnet", "its block does not put out"), ("encoder", "cannot be given")):
        model = subject(name)
        example = trial_example(model)
        assert example is not None
        with pytest.raises(UnsupportedModelError, match=reason):
            value_zeroing(subject_of(model, example))


def test_unsuitable_measures_say_why() -> None:
    """Where W^O, or what the values are made from, is no module of the model."""
    model = subject("xlnet")
    for site in model.sites:
        assert "token by token" in str(model.residuals[site])
        assert site.source is None
    assert issubclass(UnsupportedModelError, HeadlightError)
    assert len(list(product(model.sites))) == LAYERS
