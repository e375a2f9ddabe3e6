"""Gradients of attention weights against a model that is changed by hand, and what must stay."""

import gc
import sys
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForSeq2SeqLM,
)

from architectures import ARCHITECTURES, BART, GPT2, GROUPED, T5, WIDE
from headlight.capture import (
    AttentionSite,
    CapturedModel,
    CausalLanguageModel,
    LayerRecord,
    MaskedLanguageModel,
    Objective,
    OwnObjective,
    Prepared,
    SequenceToSequence,
)
from headlight.capture.attention_interface import _listeners, _patched
from headlight.capture.objectives import NOTHING
from headlight.encode import Encoded
from headlight.encode.batch import Batch, collate
from headlight.errors import CaptureError, UsageError
from headlight.measures import Scores
from headlight.tensors import Score
from tiny_models import randomise

MASK = 4
MASKED = MaskedLanguageModel(mask_id=MASK, vocabulary=99, special_ids=frozenset(range(5)), rate=0.3)
PAIRED = ("T5", "BART", "Marian")


def direction(output: Any, batch: Prepared) -> Tensor:
    """A loss that depends on every real position, and on nothing of other sequences."""
    hidden = output.last_hidden_state
    mask = batch.attention_mask if batch.target_mask is None else batch.target_mask
    along = torch.linspace(-1, 1, hidden.shape[-1], dtype=hidden.dtype).cos()
    return (2 * (hidden @ along).tanh() * mask).sum(-1)


OWN = OwnObjective(direction, "direction")


def architecture(name: str, dtype: torch.dtype = torch.float64) -> CapturedModel:
    row = next(row for row in ARCHITECTURES if row.name == name)
    return CapturedModel(row.build().to(dtype), name=name)


def with_head(kind: Any, model_type: str, settings: dict[str, Any]) -> CapturedModel:
    tokens = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
    model = kind.from_config(AutoConfig.for_model(model_type, **tokens, **settings))
    randomise(model, torch.Generator().manual_seed(1))
    return CapturedModel(model.double().eval(), name=model_type)


HEADS: dict[str, tuple[Callable[[], CapturedModel], Objective]] = {
    "bert": (lambda: with_head(AutoModelForMaskedLM, "bert", WIDE), MASKED),
    "roberta": (lambda: with_head(AutoModelForMaskedLM, "roberta", WIDE), MASKED),
    "gpt2": (lambda: with_head(AutoModelForCausalLM, "gpt2", GPT2), CausalLanguageModel()),
    "llama": (
        lambda: with_head(AutoModelForCausalLM, "llama", GROUPED),
        CausalLanguageModel(reduction="mean"),
    ),
    "t5": (lambda: with_head(AutoModelForSeq2SeqLM, "t5", T5), SequenceToSequence()),
    "bart": (lambda: with_head(AutoModelForSeq2SeqLM, "bart", BART), SequenceToSequence()),
}


def texts(pairs: bool, lengths: tuple[int, ...] = (9, 5, 7)) -> list[Encoded]:
    generator = torch.Generator().manual_seed(2)
    made = []
    for number, length in enumerate(lengths):
        ids = (1, *torch.randint(5, 99, (length - 1,), generator=generator).tolist())
        target = (1, *torch.randint(5, 99, (length - 3,), generator=generator).tolist())
        made.append(
            Encoded(
                f"text {number}", ids, (0,) * length, (0,) + (3,) * (length - 1),
                (-1, *range(length - 1)),
            )
        )  # fmt: skip
        if pairs:
            made[-1] = replace(
                made[-1],
                target=target,
                target_categories=(3,) * len(target),
                target_words=tuple(range(len(target))),
            )
    return made


def batched(name: str, side: str = "right") -> Batch:
    return collate(texts(name in PAIRED or name in ("t5", "bart")), pad_id=0, side=side)


def gradients(
    model: CapturedModel,
    batch: Batch,
    objective: Objective,
    sites: list[AttentionSite] | None = None,
    side: str = "right",
) -> dict[int, LayerRecord]:
    """The records by the number of the site, in the order in which they came."""
    found: dict[int, LayerRecord] = {}
    number = {site: index for index, site in enumerate(model.sites)}
    with model.capture(sites) as recorder:
        recorder.visit = lambda record: found.__setitem__(number[record.site], record)
        model.run_backward(batch, objective, side=side)
    return found


# The definition: a model whose eager attention adds something to its weights


@contextmanager
def disturbed(model: CapturedModel, changes: dict[int, Tensor]) -> Iterator[None]:
    """The model in eager mode; `changes` are added to the weights of the calls so numbered."""
    files = {sys.modules[type(site.module).__module__] for site in model.sites}
    originals = {file: file.eager_attention_forward for file in files}
    calls = iter(range(10**6))

    def changed(
        original: Callable[..., tuple[Tensor, Tensor]],
        module: nn.Module,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        *others: Any,
        **options: Any,
    ) -> tuple[Tensor, Tensor]:
        weight = original(module, query, key, value, *others, **options)[1]
        number = next(calls)
        if number in changes:
            weight = weight + changes[number]
        values = value.repeat_interleave(weight.shape[1] // value.shape[1], dim=1)
        return torch.einsum("bhqk,bhkd->bqhd", weight, values), weight

    transformer = model.transformer
    before = transformer.config._attn_implementation
    transformer.set_attn_implementation("eager")
    for file, original in originals.items():
        file.eager_attention_forward = lambda *a, original=original, **o: changed(original, *a, **o)
    try:
        yield
    finally:
        for file, original in originals.items():
            file.eager_attention_forward = original
        transformer.set_attn_implementation(before)


def total_loss(model: CapturedModel, batch: Prepared, objective: Objective, side: str) -> Tensor:
    return objective.loss(model.transformer(**model.inputs(batch, side=side)), batch).sum()


def by_autograd(
    model: CapturedModel, batch: Prepared, objective: Objective, shapes: dict[int, Any], side: str
) -> dict[int, Tensor]:
    """∂L/∂δ at δ = 0, where δ is added to the weights."""
    changes = {
        number: torch.zeros(shape, dtype=model.transformer.dtype, requires_grad=True)
        for number, shape in shapes.items()
    }
    with disturbed(model, changes):
        total_loss(model, batch, objective, side).backward()
    model.transformer.zero_grad()
    return {number: change.grad for number, change in changes.items() if change.grad is not None}


def seen(record: LayerRecord) -> Tensor:
    """Where a weight is a variable, over padding too."""
    if record.visible is None:
        return torch.ones_like(record.weight, dtype=torch.bool)
    return record.visible[:, None].expand_as(record.weight)


def agrees(model: CapturedModel, batch: Batch, objective: Objective, side: str = "right") -> None:
    """To rounding; some models compute their norms and softmax in float32, whatever they are."""
    tolerance = 1e-10 if model.transformer.dtype == torch.float64 else 2e-5
    if model.transformer.config.model_type in ("t5", "llama"):
        tolerance = 2e-5
    found = gradients(model, batch, objective, side=side)
    shapes = {number: record.weight.shape for number, record in found.items()}
    prepared = objective.prepare(batch)
    wanted = by_autograd(model, prepared, objective, shapes, side)
    assert set(found) == set(wanted) == set(range(len(model.sites)))
    for number, record in found.items():
        expected = wanted[number].where(seen(record), 0.0)
        assert expected.abs().max() > 1e-6
        scale = float(expected.abs().max())
        torch.testing.assert_close(record.gradient, expected, rtol=0, atol=tolerance * scale)


FLOAT32 = {"ModernBERT", "Llama", "Mistral", "Gemma 2", "GPT-OSS", "DeepSeek-V3"}
"""These do not take padding, or do not run at all, in float64."""
SEVERAL = (
    "BERT", "ALBERT", "DistilBERT", "MobileBERT", "ModernBERT", "GPT-2", "Llama", "Mistral",
    "Gemma 2", "GPT-OSS", "DeepSeek-V3", "T5", "BART", "Marian",
)  # fmt: skip


@pytest.mark.parametrize("name", SEVERAL)
def test_as_autograd_has_it_for_a_model_changed_by_hand(name: str) -> None:
    model = architecture(name, torch.float32 if name in FLOAT32 else torch.float64)
    agrees(model, batched(name), OWN)
    if model.kinds == ("decoder",):
        agrees(model, batched(name, "left"), OWN, "left")


@pytest.mark.parametrize("name", HEADS)
def test_the_loss_of_a_head(name: str) -> None:
    make, objective = HEADS[name]
    agrees(make(), batched(name), objective)


@pytest.mark.parametrize("name", ["bert", "roberta"])
def test_a_masked_language_model_projects_predicted_positions_only(name: str) -> None:
    """Gradients and losses are those of a loss that reads all logits."""
    build, objective = HEADS[name]
    model, batch = build(), batched("BERT")
    prepared = objective.prepare(batch)
    whole = OwnObjective(lambda output, _: objective.loss(output, prepared), "all positions")
    assert model.sites  # traced, with a pass that is not counted
    rows: list[int] = []
    head = model.transformer.get_output_embeddings()
    head.register_forward_hook(lambda _, __, output: rows.append(output[..., 0].numel()))
    one, other = (gradients(model, prepared, each) for each in (objective, whole))
    assert rows == [int((prepared.labels != NOTHING).sum()), prepared.input_ids.numel()]
    for number, record in one.items():
        torch.testing.assert_close(record.gradient, other[number].gradient)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bert", "gpt2", "bart"])
def test_as_finite_differences_have_it(name: str) -> None:
    """[L(α + ε) − L(α − ε)] / 2ε for single weights, one at a time."""
    make, objective = HEADS[name]
    model, prepared = make(), objective.prepare(batched(name))
    step, generator = 1e-5, torch.Generator().manual_seed(0)
    for number, record in gradients(model, prepared, objective).items():
        cells = seen(record).nonzero()
        for cell in cells[torch.randperm(len(cells), generator=generator)[:6]].tolist():
            change = torch.zeros_like(record.weight)
            change[tuple(cell)] = step
            losses = []
            for sign in (1, -1):
                with disturbed(model, {number: sign * change}), torch.no_grad():
                    losses.append(float(total_loss(model, prepared, objective, "right")))
            assert record.gradient is not None
            found = float(record.gradient[tuple(cell)])
            assert found == pytest.approx((losses[0] - losses[1]) / (2 * step), rel=1e-4, abs=1e-7)


def test_records_are_those_of_the_forward_pass_from_the_last_layer_to_the_first() -> None:
    model, batch = architecture("BART", torch.float32), batched("BART")
    forward: list[LayerRecord] = []
    with model.capture() as recorder:
        recorder.visit = forward.append
        model.run(batch)
    backward = gradients(model, batch, OWN)
    assert list(backward) == list(range(len(model.sites)))[::-1]
    for number, record in enumerate(forward):
        other = backward[number]
        assert torch.equal(record.weight, other.weight)
        assert torch.equal(record.value, other.value)
        for one, two in ((record.input, other.input), (record.visible, other.visible)):
            assert (one is None) == (two is None)
            assert one is None or two is None or torch.equal(one, two)
        assert record.gradient is None
        for tensor in (other.weight, other.value, other.input, other.gradient):
            assert tensor is not None
            assert not tensor.requires_grad
            assert tensor.grad_fn is None


def test_layers_left_out_change_nothing_and_need_no_graph() -> None:
    model, batch = architecture("BERT"), batched("BERT")
    every = gradients(model, batch, OWN)
    for number, site in enumerate(model.sites):
        alone = gradients(model, batch, OWN, [site])
        assert list(alone) == [number]
        torch.testing.assert_close(alone[number].gradient, every[number].gradient)
    graph: list[bool] = []
    layers = model.transformer.encoder.layer
    hook = layers[0].register_forward_hook(
        lambda _, __, out: graph.append(_first(out).requires_grad)
    )
    gradients(model, batch, OWN, model.sites[1:])
    hook.remove()
    assert graph == [False]


def _first(output: Any) -> Tensor:
    found: Tensor = output[0] if isinstance(output, tuple) else output
    return found


@pytest.mark.parametrize("name", ["bert", "gpt2", "t5"])
def test_neither_the_batch_nor_its_padding_changes_the_gradients_of_a_text(name: str) -> None:
    make, objective = HEADS[name]
    model, examples = make(), texts(name == "t5")
    sides = ("right", "left") if name == "gpt2" else ("right",)
    for side in sides:
        together = gradients(model, collate(examples, 0, side), objective, side=side)
        for row, example in enumerate(examples):
            alone = gradients(model, collate([example], 0), objective)
            for number, record in alone.items():
                wanted = Scores(record).gradient[0]
                queries, keys = wanted.shape[1:]
                found = Scores(together[number]).gradient[row]
                if side == "left":
                    found = found[:, -queries:, -keys:]
                else:
                    padding = found[:, queries:].abs().sum() + found[:, :, keys:].abs().sum()
                    assert float(padding) == 0
                    found = found[:, :queries, :keys]
                torch.testing.assert_close(found, wanted, rtol=1e-8, atol=1e-10)


def test_the_losses_of_the_sequences_are_given_back() -> None:
    make, objective = HEADS["gpt2"]
    model, batch = make(), batched("gpt2")
    with model.capture() as recorder:
        recorder.visit = lambda _: None
        losses = model.run_backward(batch, objective)
    prepared = objective.prepare(batch)
    with torch.no_grad():
        logits = model.transformer(**model.inputs(batch)).logits.log_softmax(-1)
    for row, length in enumerate(prepared.lengths.tolist()):
        ids = batch.input_ids[row].tolist()
        wanted = -sum(float(logits[row, i, ids[i + 1]]) for i in range(length - 1))
        assert float(losses[row]) == pytest.approx(wanted, rel=1e-9)
    assert not losses.requires_grad


# What must stay as it was


class Trouble(Exception):  # noqa: N818 - not an error of anyone's
    """Raised on purpose."""


def raising(*_: Any) -> Tensor:
    raise Trouble


def as_asked(model: CapturedModel, batch: Batch) -> None:
    gradients(model, batch, OWN)


def with_trouble_in_the_visit(model: CapturedModel, batch: Batch) -> None:
    def block() -> None:
        with model.capture() as recorder:
            recorder.visit = raising
            model.run_backward(batch, OWN)

    with pytest.raises(Trouble):
        block()


def with_trouble_in_the_loss(model: CapturedModel, batch: Batch) -> None:
    with pytest.raises(Trouble):
        gradients(model, batch, OwnObjective(raising, "trouble"))


def with_trouble_in_the_model(model: CapturedModel, batch: Batch) -> None:
    hook = model.sites[-1].module.register_forward_pre_hook(raising)
    with pytest.raises(Trouble):
        gradients(model, batch, OWN)
    hook.remove()


ENDINGS = (
    as_asked,
    with_trouble_in_the_visit,
    with_trouble_in_the_loss,
    with_trouble_in_the_model,
)


@pytest.mark.parametrize("ending", ENDINGS, ids=lambda ending: ending.__name__)
def test_parameters_are_left_as_they_were(ending: Callable[[CapturedModel, Batch], None]) -> None:
    model, batch = architecture("BERT", torch.float32), batched("BERT")
    transformer = model.transformer
    parameters = dict(transformer.named_parameters())
    for number, parameter in enumerate(parameters.values()):
        parameter.requires_grad_(number % 3 != 0)
        if number % 2 and parameter.requires_grad:
            parameter.grad = torch.full_like(parameter, 0.5)
    before = {name: (p.requires_grad, p.grad, p.detach().clone()) for name, p in parameters.items()}
    ending(model, batch)
    for name, parameter in transformer.named_parameters():
        wants, gradient, value = before[name]
        assert parameter.requires_grad == wants
        assert parameter.grad is gradient
        assert gradient is None or bool((gradient == 0.5).all())
        assert torch.equal(parameter, value)
    assert not any(
        module._forward_hooks or module._forward_pre_hooks for module in transformer.modules()
    )
    assert not any(module in _listeners for module in transformer.modules())
    assert not _patched
    # The recorder of a next capture knows nothing of it either.
    assert list(gradients(model, batch, OWN)) == [1, 0]


def test_a_forward_pass_after_a_failed_backward_pass_gives_records_at_once() -> None:
    model, batch = architecture("BERT"), batched("BERT")
    records: list[LayerRecord] = []
    with model.capture() as recorder:
        recorder.visit = records.append
        with pytest.raises(Trouble):
            model.run_backward(batch, OwnObjective(raising, "trouble"))
        assert not records
        model.run(batch)
        assert [record.gradient for record in records] == [None, None]
        model.run_backward(batch, OWN)
        assert [record.site.layer for record in records] == [0, 1, 1, 0]


@pytest.mark.parametrize("outer", [torch.no_grad, torch.inference_mode, torch.enable_grad])
def test_it_does_not_matter_whether_gradients_are_switched_on(outer: Any) -> None:
    model, batch = architecture("BERT"), batched("BERT")
    wanted = gradients(model, batch, OWN)
    with outer():
        found = gradients(model, batch, OWN)
        assert torch.is_grad_enabled() == (outer is torch.enable_grad)
    for number, record in found.items():
        assert torch.equal(record.gradient, wanted[number].gradient)


# Nothing is kept


@pytest.mark.slow
def test_no_graph_survives_the_batch_and_records_die_as_they_are_visited() -> None:
    """Without the help of the collector of cycles: what is left must die by itself."""
    model, batch = architecture("BART", torch.float32), batched("BART")
    assert model.sites
    alive: list[weakref.ref[Any]] = []
    at_the_last: list[int] = []

    def visit(record: LayerRecord) -> None:
        if len(alive) == 5 * 4:  # the last of six layers: those before it are gone
            at_the_last.append(sum(reference() is not None for reference in alive))
        kept = (record, record.weight, record.value, record.gradient)
        alive.extend(weakref.ref(each) for each in kept)

    context: list[weakref.ref[Tensor]] = []

    def notice(module: nn.Module, inputs: Any, output: Any) -> None:
        assert _first(output).grad_fn is not None
        context.append(weakref.ref(_first(output)))

    hook = model.sites[-1].module.register_forward_hook(notice)
    gc.collect()
    gc.disable()
    try:
        with model.capture() as recorder:
            recorder.visit = visit
            model.run_backward(batch, OWN)
            assert len(alive) == 6 * 4
            assert len(context) == 1
            assert not any(reference() is not None for reference in (*alive, *context))
    finally:
        gc.enable()
        hook.remove()
    assert at_the_last == [0]


def test_no_parameter_is_differentiated() -> None:
    """Autograd is not even asked for it: the linear maps do not keep their inputs."""
    model, batch = architecture("BERT", torch.float32), batched("BERT")
    wanted: list[bool] = []

    def loss(output: Any, batch: Prepared) -> Tensor:
        wanted.extend(p.requires_grad for p in model.transformer.parameters())
        return direction(output, batch)

    gradients(model, batch, OwnObjective(loss, "curious"))
    assert wanted
    assert not any(wanted)


# Refused


def test_a_loss_that_does_not_depend_on_a_layer_is_refused_by_its_name() -> None:
    model, batch = architecture("BERT"), batched("BERT")
    kept: list[Tensor] = []
    hook = model.transformer.encoder.layer[0].register_forward_hook(
        lambda _, __, output: kept.append(_first(output))
    )
    early = OwnObjective(lambda _, __: kept.pop().tanh().sum((1, 2)), "of the first layer")
    with pytest.raises(CaptureError, match=r"^encoder\.layer\.1\.attention\.self: the loss does"):
        gradients(model, batch, early)
    assert list(gradients(model, batch, early, model.sites[:1])) == [0]
    hook.remove()
    constant = OwnObjective(lambda _, batch: torch.ones(len(batch.lengths)), "constant")
    with pytest.raises(CaptureError, match=r"^encoder\.layer\.1\.attention\.self: .* out\.$"):
        gradients(model, batch, constant)


def test_weights_that_are_only_a_copy_of_those_used_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An eager function that returns weights which its context does not depend on."""
    model, batch = architecture("BERT"), batched("BERT")
    file = sys.modules[type(model.sites[0].module).__module__]
    original = file.eager_attention_forward

    def copied(*arguments: Any, **options: Any) -> tuple[Tensor, Tensor]:
        context, weight = original(*arguments, **options)
        return context, weight.clone()

    def detached(*arguments: Any, **options: Any) -> tuple[Tensor, Tensor]:
        context, weight = original(*arguments, **options)
        return context, weight.detach()

    for function in (copied, detached):
        monkeypatch.setattr(file, "eager_attention_forward", function)
        with pytest.raises(CaptureError, match="weights that this attention returned"):
            gradients(model, batch, OWN)


@pytest.mark.parametrize("value", [torch.nan, torch.inf])
def test_a_loss_that_is_no_number_is_refused(value: float) -> None:
    model, batch = architecture("BERT"), batched("BERT")
    broken = OwnObjective(lambda output, batch: direction(output, batch) * value, "broken")
    with pytest.raises(CaptureError, match="the loss is not finite"):
        gradients(model, batch, broken)


@pytest.mark.parametrize(
    "function", [lambda o, b: direction(o, b).sum(), lambda o, b: o[0], lambda o, b: 1.0]
)
def test_a_loss_of_your_own_must_be_one_number_per_sequence(function: Any) -> None:
    with pytest.raises(UsageError, match=r"^the loss 'mine' gave .* one loss per sequence, \(3,\)"):
        gradients(architecture("BERT"), batched("BERT"), OwnObjective(function, "mine"))


def test_a_model_without_a_head_has_no_language_model_loss() -> None:
    with pytest.raises(UsageError, match="has no language-model head"):
        gradients(architecture("BERT"), batched("BERT"), MASKED)


def test_running_backward_needs_an_open_capture() -> None:
    model, batch = architecture("BERT"), batched("BERT")
    with pytest.raises(UsageError, match=r"is not being captured; run it backward within"):
        model.run_backward(batch, OWN)


def test_the_gradient_is_a_measure() -> None:
    model, batch = architecture("BERT", torch.bfloat16), batched("BERT")
    for record in gradients(model, batch, OWN).values():
        scores = Scores(record)
        score: Score = scores.of("gradient")
        assert record.gradient is not None
        assert record.gradient.dtype == torch.bfloat16
        assert torch.equal(score, record.gradient.float().abs())


def test_a_base_shares_the_weights_and_gives_the_same_attention() -> None:
    make, _ = HEADS["bert"]
    whole, batch = make(), batched("bert")
    base = whole.base()
    weights = {id(parameter) for parameter in whole.transformer.parameters()}
    assert all(id(parameter) in weights for parameter in base.transformer.parameters())
    assert (base.name, base.revision) == (whole.name, whole.revision)
    records: list[LayerRecord] = []
    for model in (whole, base):
        with model.capture() as recorder:
            recorder.visit = records.append
            model.run(batch)
    assert [record.site.name for record in records[2:]] == [site.name for site in base.sites]
    for one, two in zip(records[:2], records[2:], strict=True):
        assert torch.equal(one.weight, two.weight)


def test_a_model_without_a_separate_base_stays_what_it_is() -> None:
    make, _ = HEADS["t5"]
    model = make()
    assert model.base().transformer is model.transformer
