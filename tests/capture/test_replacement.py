"""Attention matrices of one's own in the forward pass, on every architecture of the table."""

import threading
from typing import Any

import pytest
import torch
from torch import Tensor

import architectures
from architectures import ARCHITECTURES
from headlight.capture import CapturedModel, LayerRecord, OwnObjective, attention_replaced
from headlight.encode import Encoded
from headlight.encode.batch import collate
from headlight.errors import CaptureError, UsageError
from tiny_models import Architecture, Inputs

KINDS = ("encoder", "decoder", "cross")


class Trouble(Exception):  # noqa: N818 - not an error of anyone's
    """Raised on purpose."""


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(11)


def made(name: str) -> tuple[CapturedModel, Inputs]:
    row: Architecture = next(row for row in ARCHITECTURES if row.name == name)
    return CapturedModel(row.build(), name=name), row.inputs(generator(), "none")


def run(model: CapturedModel, inputs: Inputs) -> Tensor:
    with torch.no_grad():
        output: Tensor = model.transformer(**inputs).last_hidden_state
    return output


def records(model: CapturedModel, inputs: Inputs, kind: str) -> list[LayerRecord]:
    seen: list[LayerRecord] = []
    with model.capture(model.sites_of(kind)) as recorder:
        recorder.visit = seen.append
        run(model, inputs)
    return seen


def settings(model: CapturedModel) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, module in model.transformer.named_modules():
        found[name] = [dict(value) for key, value in vars(module).items() if "_hooks" in key]
        config = getattr(module, "config", None)
        found[f"{name}: implementation"] = getattr(config, "_attn_implementation_internal", None)
    return found


@pytest.mark.parametrize("row", [architectures.case(row) for row in ARCHITECTURES])
def test_weights_in_the_place_of_themselves_change_nothing(row: Architecture) -> None:
    model, inputs = made(row.name)
    output, before = run(model, inputs), settings(model)
    for kind in model.kinds:
        weights = {each.site.layer: each.weight for each in records(model, inputs, kind)}
        with attention_replaced(model, weights, kind=kind):
            again = run(model, inputs)
        torch.testing.assert_close(again, output, rtol=1e-4, atol=2e-5)
    assert settings(model) == before
    assert torch.equal(run(model, inputs), output)


@pytest.mark.parametrize("row", [architectures.case(row) for row in ARCHITECTURES])
def test_what_is_projected_is_the_new_weights_times_the_values_of_the_model(
    row: Architecture,
) -> None:
    """By loops over heads, groups and all; and a head left alone has its own weights."""
    model, inputs = made(row.name)
    kind = model.kinds[-1]
    before = records(model, inputs, kind)[0]
    site = before.site
    shape = before.weight.shape
    wanted = torch.rand(shape[2:], generator=generator())
    given: list[Tensor] = []
    hook = site.projection.module.register_forward_pre_hook(
        lambda _, inputs: given.append(inputs[0])
    )
    with attention_replaced(model, {(site.layer, 1): wanted}, kind=kind):
        run(model, inputs)
    hook.remove()
    number = [each for each in model.sites if each.projection.module is site.projection.module]
    context = given[number.index(site)].reshape(shape[0], shape[2], site.heads, site.head_dim)
    for head in range(site.heads):
        value = before.value[:, head * site.kv_heads // site.heads]
        weight = wanted.expand(shape[0], -1, -1) if head == 1 else before.weight[:, head]
        expected = weight @ value
        if before.gate is not None:
            expected = expected * before.gate[:, head]
        torch.testing.assert_close(context[:, :, head], expected, rtol=1e-4, atol=1e-5)


def test_a_function_is_given_the_weights_of_the_layer_or_of_the_head_and_where_they_are() -> None:
    model, inputs = made("Llama")
    before = records(model, inputs, "decoder")
    given: list[tuple[Tensor, int]] = []

    def same(weight: Tensor, site: Any) -> Tensor:
        given.append((weight, site.layer))
        return weight

    with attention_replaced(model, {(1, 2): same, 0: same}):
        run(model, inputs)
    assert [layer for _, layer in given] == [0, 1]
    assert torch.equal(given[0][0], before[0].weight)
    torch.testing.assert_close(given[1][0], before[1].weight[:, 2])


@pytest.mark.parametrize("name", ["BERT", "Llama", "T5", "BART", "ALBERT"])
def test_gradients_flow_to_what_the_weights_were_made_from(name: str) -> None:
    model, inputs = made(name)
    model = CapturedModel(model.transformer.double(), name=name)
    kind = model.kinds[-1]
    shape = records(model, inputs, kind)[1].weight.shape
    logits = torch.randn(shape[1:], generator=generator(), dtype=torch.float64)

    def output_of(given: Tensor) -> Tensor:
        with attention_replaced(model, {1: given.softmax(-1)}, kind=kind):
            output: Tensor = model.transformer(**inputs).last_hidden_state
        return output.sum(-1).square().sum()

    leaf = logits.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(output_of(leaf), leaf)
    assert gradient.abs().min() > 0
    # These normalise in float32 whatever they are asked for.
    size, tolerance = (1e-2, 2e-2) if name in ("Llama", "T5") else (1e-5, 1e-5)
    step = torch.zeros_like(logits)
    step[1, 2, 1] = size
    with torch.no_grad():
        slope = (output_of(logits + step) - output_of(logits - step)) / (2 * size)
    torch.testing.assert_close(gradient[1, 2, 1], slope, rtol=tolerance, atol=tolerance**2)


def test_a_shared_module_is_replaced_in_the_layer_asked_for_only() -> None:
    model, inputs = made("ALBERT")
    assert model.sites[0].module is model.sites[1].module
    with attention_replaced(model, {1: lambda weight, _: weight.flip(-1)}):
        run(model, inputs)  # a second pass begins from the first layer again
        first, second = records(model, inputs, "encoder")
    before = records(model, inputs, "encoder")
    assert torch.equal(first.weight, before[0].weight)
    torch.testing.assert_close(second.weight, before[1].weight.flip(-1))


@pytest.mark.parametrize("name", ["BERT", "T5"])
def test_a_capture_inside_sees_the_new_weights_of_all_sites(name: str) -> None:
    """Also those whose attention it does not record, which keep their fast function."""
    model, inputs = made(name)
    with attention_replaced(model, {0: lambda weight, _: weight.flip(2)}):
        output = run(model, inputs)
        (record,) = (
            each for each in records(model, inputs, model.kinds[0]) if each.site.layer == 0
        )
        with model.capture(model.sites[1:2]) as recorder:
            recorder.visit = lambda _: None
            captured = run(model, inputs)
    plain = records(model, inputs, model.kinds[0])[0]
    torch.testing.assert_close(record.weight, plain.weight.flip(2))
    torch.testing.assert_close(captured, output)
    assert not torch.allclose(captured, run(model, inputs), atol=1e-3)


def test_blocks_can_be_nested_and_the_inner_one_is_given_what_the_outer_one_made() -> None:
    model, inputs = made("T5")
    even = {0: lambda weight, _: torch.full_like(weight, 1 / weight.shape[-1])}
    given: list[Tensor] = []

    def seen(weight: Tensor, _: Any) -> Tensor:
        given.append(weight)
        return weight

    with (
        attention_replaced(model, even, kind="encoder"),
        attention_replaced(model, {0: seen}, kind="encoder"),
        attention_replaced(model, even, kind="cross"),
    ):
        run(model, inputs)
        cross = records(model, inputs, "cross")[0]
    assert (given[0] == 1 / 12).all()
    assert (cross.weight == 1 / 12).all()


def test_the_gradient_of_weights_that_replace_others_can_be_captured() -> None:
    model, _ = made("BERT")
    batch = collate([Encoded("text", (5, 6, 7, 8), (0,) * 4, (3,) * 4, (0, 1, 2, 3))], pad_id=0)
    objective = OwnObjective(lambda output, _: output.last_hidden_state[:, 0, 0], name="first")
    seen: dict[int, LayerRecord] = {}
    fixed = torch.eye(4)
    with attention_replaced(model, {0: fixed}), model.capture() as recorder:
        recorder.visit = lambda record: seen.update({record.site.layer: record})
        model.run_backward(batch, objective)
    found = seen[0].gradient
    assert found is not None
    assert torch.equal(seen[0].weight, fixed.expand(1, 4, 4, 4))

    def loss(step: float) -> float:
        changed = fixed.expand(4, 4, 4).clone()
        changed[2, 1, 3] += step
        with attention_replaced(model, {0: changed}), torch.no_grad():
            output = model.transformer(**model.inputs(batch)).last_hidden_state
        return float(output[0, 0, 0])

    slope = (loss(1e-2) - loss(-1e-2)) / 2e-2
    assert float(found[0, 2, 1, 3]) == pytest.approx(slope, rel=2e-2, abs=1e-4)


def test_other_threads_are_not_touched() -> None:
    model, inputs = made("BERT")
    output = run(model, inputs)
    found: list[Tensor] = []
    with attention_replaced(model, {0: lambda weight, _: weight.flip(2)}):
        thread = threading.Thread(target=lambda: found.append(run(model, inputs)))
        thread.start()
        thread.join()
        assert not torch.allclose(run(model, inputs), output, atol=1e-3)
    torch.testing.assert_close(found[0], output)


def test_the_model_is_as_it_was_after_an_exception() -> None:
    model, inputs = made("ALBERT")
    output, before = run(model, inputs), settings(model)

    def raising(*_: Any) -> Tensor:
        raise Trouble

    def block() -> None:
        with attention_replaced(model, {1: raising}):
            run(model, inputs)

    with pytest.raises(Trouble):
        block()
    assert settings(model) == before
    assert torch.equal(run(model, inputs), output)


def test_a_pass_after_a_failed_one_counts_from_the_first_layer() -> None:
    model, inputs = made("ALBERT")
    failing = [True]

    def sometimes(weight: Tensor, _: Any) -> Tensor:
        if failing:
            raise Trouble
        return weight.flip(-1)

    with attention_replaced(model, {0: sometimes}):
        with pytest.raises(Trouble):
            run(model, inputs)
        failing.clear()
        seen = records(model, inputs, "encoder")
    before = records(model, inputs, "encoder")
    torch.testing.assert_close(seen[0].weight, before[0].weight.flip(-1))


@pytest.mark.parametrize(
    ("replacements", "message"),
    [
        ({7: torch.eye(12)}, "no encoder layer 7"),
        ({-1: torch.eye(12)}, "no encoder layer -1"),
        ({(0, 4): torch.eye(12)}, "no head 4: its heads are 0 to 3"),
        ({0: torch.eye(3)}, r"layer 0 has the shape \(3, 3\), and that .* \(2, 4, 12, 12\)"),
        ({0: torch.ones(3, 12, 12)}, "broadcasts"),
        ({0: torch.ones(1, 1, 1, 12, 12)}, "broadcasts"),
        ({(0, 1): torch.ones(4, 12, 12)}, r"layer 0, head 1 has the shape \(4, 12, 12\)"),
        ({0: torch.ones(12)}, "broadcasts"),
    ],
)
def test_what_does_not_fit_is_refused_in_a_sentence(replacements: Any, message: str) -> None:
    model, inputs = made("BERT")
    before = settings(model)

    def block() -> None:
        with attention_replaced(model, replacements):
            run(model, inputs)

    with pytest.raises(UsageError, match=message):
        block()
    assert settings(model) == before


def test_attention_is_not_replaced_under_a_capture_that_is_open() -> None:
    model, _ = made("BERT")

    def block() -> None:
        with model.capture(), attention_replaced(model, {0: torch.eye(12)}):
            pass

    with pytest.raises(CaptureError, match="replace its attention first"):
        block()


def test_a_layer_that_was_never_run_is_not_passed_over() -> None:
    model, inputs = made("T5")

    def block() -> None:
        with (
            attention_replaced(model, {0: lambda weight, _: weight}, kind="cross"),
            torch.no_grad(),
        ):
            model.transformer.get_encoder()(input_ids=inputs["input_ids"])

    with pytest.raises(CaptureError, match="its cross layer 0 was not"):
        block()


def test_a_part_of_the_model_may_be_used_through_another_object() -> None:
    """Its sites are traced within the block, by the model's own attention."""
    model, inputs = made("T5")
    with attention_replaced(model, {0: torch.eye(12)}):
        encoder = model.encoder()
        seen: list[LayerRecord] = []
        with encoder.capture() as recorder, torch.no_grad():
            recorder.visit = seen.append
            encoder.transformer(input_ids=inputs["input_ids"])
    assert torch.equal(seen[0].weight, torch.eye(12).expand(2, 4, 12, 12))
