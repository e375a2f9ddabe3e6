"""Attention with its graph: weights before dropout, with gradients; the model as it was."""

from typing import Any

import pytest
import torch
from torch import Tensor

from architectures import ARCHITECTURES
from headlight.capture import CapturedModel, LayerRecord, attention_replaced, attention_with_graph
from headlight.errors import CaptureError, UsageError
from tiny_models import Inputs, build

SHARES = (
    "attention_probs_dropout_prob", "attention_dropout", "attn_pdrop", "attn_dropout",
)  # fmt: skip
OTHERS = (
    "hidden_dropout_prob", "hidden_dropout", "resid_pdrop", "embd_pdrop", "dropout",
    "embedding_dropout", "mlp_dropout", "activation_dropout",
)  # fmt: skip
FAMILIES = (
    "BERT", "RoBERTa", "ELECTRA", "ALBERT", "DistilBERT", "ModernBERT", "GPT-2", "Llama", "Mistral",
    "Gemma 2", "OPT", "BART",
)  # fmt: skip


def made(name: str, share: float = 0.0) -> tuple[CapturedModel, Inputs]:
    """A model of which nothing but attention weights is dropped out, and its inputs."""
    row = next(row for row in ARCHITECTURES if row.name == name)
    model = row.build()
    known = model.config.to_dict()
    shares = {key: share for key in SHARES if key in known} | {k: 0.0 for k in OTHERS if k in known}
    if share:
        assert any(key in known for key in SHARES)
        again = build(row.model_type, {**row.settings, **shares}, seed=1)
        again.load_state_dict(model.state_dict())
        model = again
    captured = CapturedModel(model, name=name)
    assert captured.sites
    return captured, row.inputs(torch.Generator().manual_seed(5), "none")


def captured_weights(model: CapturedModel, inputs: Inputs) -> dict[Any, Tensor]:
    seen: list[LayerRecord] = []
    with model.capture() as recorder, torch.no_grad():
        recorder.visit = seen.append
        model.transformer(**inputs)
    return {record.site: record.weight for record in seen}


@pytest.mark.parametrize("name", FAMILIES)
def test_weights_are_those_of_the_softmax_also_in_training_with_dropout(name: str) -> None:
    """Those of the first layer, which sees the same inputs in both modes."""
    model, inputs = made(name, share=0.5)
    expected = captured_weights(model, inputs)
    first = next(iter(expected))
    model.transformer.train()
    with attention_with_graph(model) as attention:
        model.transformer(**inputs)
        assert list(attention) == model.sites
        weight = attention[first].weight
        torch.testing.assert_close(weight, expected[first])
        assert all(record.weight.requires_grad for record in attention.values())
        for record in attention.values():
            whole = record.weight.detach().sum(-1)
            torch.testing.assert_close(whole, torch.ones_like(whole))


@pytest.mark.parametrize("name", FAMILIES)
def test_the_model_goes_on_with_what_dropout_leaves_as_it_does_by_itself(name: str) -> None:
    model, inputs = made(name, share=0.5)
    network = model.transformer
    network.set_attn_implementation("eager")
    network.train()
    torch.manual_seed(3)
    expected = network(**inputs).last_hidden_state
    with attention_with_graph(model):
        torch.manual_seed(3)
        found = network(**inputs).last_hidden_state
        again = network(**inputs).last_hidden_state
    torch.testing.assert_close(found, expected)
    assert not torch.allclose(again, expected)  # so there was dropout
    assert all(module.training for module in network.modules())


@pytest.mark.parametrize("name", FAMILIES)
def test_in_evaluation_it_is_what_a_capture_sees(name: str) -> None:
    model, inputs = made(name)
    expected = captured_weights(model, inputs)
    with torch.no_grad():
        before = model.transformer(**inputs).last_hidden_state
    with attention_with_graph(model) as attention:
        output = model.transformer(**inputs).last_hidden_state
        torch.testing.assert_close(output, before, rtol=1e-4, atol=1e-5)
        for site, record in attention.items():
            assert torch.equal(record.weight, expected[site])
    with torch.no_grad():
        assert torch.equal(model.transformer(**inputs).last_hidden_state, before)


@pytest.mark.parametrize("name", FAMILIES)
def test_gradients_flow_through_the_weights_to_queries_and_keys(name: str) -> None:
    """A loss of the weights of the last layer alone moves its projections, and those below."""
    model, inputs = made(name, share=0.1)
    network = model.transformer.train()
    with attention_with_graph(model, model.sites[-1:]) as attention:
        network(**inputs)
        (record,) = attention.values()
        record.weight.square().sum().backward()
    moved = {each for each, at in network.named_parameters() if at.grad is not None}
    moved = {each for each in moved if network.get_parameter(each).grad.abs().max() > 0}
    marks = ("query", "q_lin", "q_proj", "Wqkv", "c_attn")
    assert any(mark in each for each in moved for mark in marks)
    assert any("embed" in each or "wte" in each for each in moved)


def test_a_gradient_is_that_of_the_definition() -> None:
    model, inputs = made("BERT")
    network = model.transformer.double()
    model = CapturedModel(network, name="BERT")
    parameter = network.get_parameter("encoder.layer.0.attention.self.query.weight")

    def loss() -> Tensor:
        with attention_with_graph(model) as attention:
            network(**inputs)
            return sum(record.weight.pow(3).sum() for record in attention.values())

    (gradient,) = torch.autograd.grad(loss(), parameter)
    with torch.no_grad():
        before = parameter[3, 4].clone()
        parameter[3, 4] = before + 1e-5
        above = loss()
        parameter[3, 4] = before - 1e-5
        below = loss()
        parameter[3, 4] = before
    torch.testing.assert_close(gradient[3, 4], (above - below) / 2e-5, rtol=1e-5, atol=1e-10)


def test_nothing_is_kept_of_the_pass_before() -> None:
    model, inputs = made("BERT")
    with attention_with_graph(model, [model.sites[1]]) as attention:
        assert not attention
        model.transformer(**inputs)
        first = attention[model.sites[1]].weight
        half = {name: each[:1] for name, each in inputs.items()}
        model.transformer(**half)
        assert list(attention) == [model.sites[1]]
        assert attention[model.sites[1]].weight.shape[0] == 1 < first.shape[0]


def test_attention_that_is_replaced_is_what_is_seen() -> None:
    model, inputs = made("BERT")
    even = lambda weight, _: torch.full_like(weight, 1 / weight.shape[-1])  # noqa: E731
    with attention_replaced(model, {0: even}), attention_with_graph(model) as attention:
        model.transformer(**inputs)
        assert attention[model.sites[0]].weight.unique().numel() == 1
        assert attention[model.sites[1]].weight.unique().numel() > 1


def test_refusals() -> None:
    model, _ = made("BERT")
    other, _ = made("BERT")
    foreign = attention_with_graph(model, other.sites)
    with pytest.raises(UsageError, match="another model or trace"), foreign:
        pass
    with attention_with_graph(model):
        second = attention_with_graph(model)
        with pytest.raises(CaptureError, match="captured already"), second:
            pass
    untraced = CapturedModel(model.transformer.train(), name="BERT")
    with pytest.raises(UsageError, match=r"eval\(\)"), attention_with_graph(untraced):
        pass
