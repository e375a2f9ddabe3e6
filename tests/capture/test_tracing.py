"""What tracing finds in a model, and the models that it refuses because it would be wrong."""

from collections import Counter
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers.models.llama import modeling_llama

from architectures import ARCHITECTURES
from headlight.capture import CapturedModel, LayerRecord, attention_replaced, heads_removed
from headlight.capture.differentiation import frozen
from headlight.errors import UnsupportedModelError, UsageError
from tiny_models import Inputs, build, eager_attention


def model_of(name: str) -> PreTrainedModel:
    return next(row for row in ARCHITECTURES if row.name == name).build()


IDS: Inputs = {"input_ids": torch.tensor([[5, 9, 6, 8, 7]])}


class Wrapped(nn.Module):
    """A linear map with something of its own around it."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.inner = linear
        self.extra = nn.Linear(linear.in_features, linear.in_features)


class Gated(Wrapped):
    def forward(self, context: Tensor) -> Tensor:
        found: Tensor = self.inner(context * self.extra(context).sigmoid())
        return found


class GatedAfterwards(Wrapped):
    def forward(self, context: Tensor) -> Tensor:
        gate: Tensor = self.extra(context).sigmoid()
        found: Tensor = self.inner(context) * gate
        return found


class Bypassed(Wrapped):
    def forward(self, context: Tensor) -> Tensor:
        found: Tensor = self.inner(context) + 0.1 * context.sin()
        return found


class GatedByOthers(Wrapped):
    def forward(self, context: Tensor) -> Tensor:
        found: Tensor = self.inner(context * self.extra(context.roll(1, dims=-1)).sigmoid())
        return found


class Twice(Wrapped):
    def forward(self, context: Tensor) -> Tensor:
        found: Tensor = self.inner(self.inner(context))
        return found


class Normalised(Wrapped):
    def forward(self, context: Tensor) -> Tensor:
        found: Tensor = self.inner(nn.functional.layer_norm(context, context.shape[-1:]))
        return found


class NoLinear(Wrapped):
    def forward(self, context: Tensor) -> Tensor:
        return context @ self.inner.weight.T


class Adapted(nn.Module):
    """As PEFT wraps a linear map, with a low-rank step beside it."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.base_layer = linear
        self.down = nn.Linear(linear.in_features, 2, bias=False)
        self.up = nn.Linear(2, linear.out_features, bias=False)

    def forward(self, context: Tensor) -> Tensor:
        found: Tensor = self.base_layer(context) + self.up(self.down(context))
        return found


class Doubling(nn.Linear):
    """A linear map that does more than its matrix says."""

    def forward(self, context: Tensor) -> Tensor:
        return 2 * super().forward(context)


def refusal(model: PreTrainedModel) -> str:
    before = model.eval().config._attn_implementation
    with pytest.raises(UnsupportedModelError) as refused:
        _ = CapturedModel(model).sites
    assert model.config._attn_implementation == before
    assert not any(module._forward_hooks for module in model.modules())
    sentence = str(refused.value)
    assert "\n" not in sentence
    assert sentence.endswith(".")
    return sentence


@pytest.mark.parametrize("wrapper", [GatedByOthers, Normalised, NoLinear])
@pytest.mark.parametrize("layer", [0, 1])
def test_a_context_that_is_changed_before_it_is_projected(wrapper: type, layer: int) -> None:
    model = model_of("Llama")
    attention: Any = model.layers[layer].self_attn
    attention.o_proj = wrapper(attention.o_proj)
    sentence = refusal(model)
    assert sentence.startswith(f"layers.{layer}.self_attn: what the heads compute is changed")
    assert "f(x) does not exist" in sentence


@pytest.mark.parametrize("wrapper", [Gated, GatedAfterwards, Bypassed])
def test_a_context_that_something_else_reads(wrapper: type) -> None:
    """The linear map that gets it unchanged need not be the projection, or all there is."""
    model = model_of("Llama")
    attention: Any = model.layers[1].self_attn
    attention.o_proj = wrapper(attention.o_proj)
    sentence = refusal(model)
    assert sentence.startswith("layers.1.self_attn: what the heads compute is also read beside")


def test_a_projection_that_is_applied_twice() -> None:
    model = model_of("Llama")
    attention: Any = model.layers[1].self_attn
    attention.o_proj = Twice(attention.o_proj)
    assert "layers.1.self_attn.o_proj.inner is given what it has put out once more" in refusal(
        model
    )


def test_weights_that_are_no_distribution_over_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    own = modeling_llama.eager_attention_forward

    def over_queries(*arguments: Any, **options: Any) -> tuple[Tensor, Tensor]:
        with monkeypatch.context() as patch:
            softmax = nn.functional.softmax
            patch.setattr(
                nn.functional, "softmax", lambda scores, dim, **_: softmax(scores, dim - 1)
            )
            found: tuple[Tensor, Tensor] = own(*arguments, **options)
            return found

    monkeypatch.setattr(modeling_llama, "eager_attention_forward", over_queries)
    assert "the weights of a query add up to" in refusal(model_of("Llama"))


def test_an_adapter_on_the_projection() -> None:
    model = model_of("Llama")
    attention: Any = model.layers[1].self_attn
    attention.o_proj = Adapted(attention.o_proj)
    sentence = refusal(model)
    assert sentence.startswith("layers.1.self_attn.o_proj carries an adapter; give what merge_")


def test_a_projection_that_breaks_the_equation() -> None:
    """Kobayashi's Eq. 3 is measured, not assumed."""
    model = model_of("Llama")
    attention: Any = model.layers[0].self_attn
    other = Doubling(attention.o_proj.in_features, attention.o_proj.out_features)
    other.load_state_dict(attention.o_proj.state_dict())
    attention.o_proj = other
    assert refusal(model).startswith("layers.0.self_attn: the sum of α f(x) misses the output")


def test_a_layer_that_computes_attention_by_itself() -> None:
    """One layer fewer than the configuration promises goes through the interface."""
    model = model_of("BERT")
    attention: Any = model.encoder.layer[1].attention.self

    def by_hand(hidden: Tensor, *_: Any, **__: Any) -> tuple[Tensor, None]:
        return attention.value(hidden), None

    attention.forward = by_hand
    assert "only 1 of its 2 attention layers" in refusal(model)


@pytest.mark.parametrize("part", [None, "encoder.layer.0.attention.self"])
def test_a_model_in_training_mode_is_refused(part: str | None) -> None:
    """Also if only a part of it is: dropout there would change attention at random."""
    transformer = model_of("BERT")
    model = CapturedModel(transformer, name="tiny")
    assert model.sites
    (transformer if part is None else transformer.get_submodule(part)).train()
    sentence = r"^tiny is in training mode, where .*; call model\.eval\(\) first\.$"
    with pytest.raises(UsageError, match=sentence):
        _ = CapturedModel(transformer, name="tiny").sites
    with pytest.raises(UsageError, match=sentence):
        model.trace(IDS)
    with pytest.raises(UsageError, match=sentence):
        model.capture().__enter__()
    transformer.eval()
    with model.capture():
        pass


def captured(model: CapturedModel, inputs: Inputs) -> list[LayerRecord]:
    records: list[LayerRecord] = []
    with model.capture() as recorder, torch.no_grad():
        recorder.visit = records.append
        model.transformer(**inputs)
    return records


class Openable(Wrapped):
    """A gate that does not depend on what the heads compute, for each head or each component."""

    def __init__(self, linear: nn.Linear, heads: int | None) -> None:
        super().__init__(linear)
        self.heads = heads
        generator = torch.Generator().manual_seed(3)
        self.logits = torch.randn(64, heads or linear.in_features, generator=generator)

    def forward(self, context: Tensor) -> Tensor:
        gate = self.logits[: context.shape[1]].to(context).sigmoid()
        if self.heads:
            gate = gate.repeat_interleave(context.shape[-1] // self.heads, dim=-1)
        found: Tensor = self.inner(context * gate)
        return found


@pytest.mark.parametrize(("heads", "form"), [(4, "head"), (None, "element")])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_a_gate_that_does_not_depend_on_the_context(
    heads: int | None, form: str, dtype: torch.dtype
) -> None:
    """In some layers; it is found, recorded, and changes nothing of what the model computes."""
    network = model_of("Llama").to(dtype)
    attention: Any = network.layers[1].self_attn
    attention.o_proj = Openable(attention.o_proj, heads)
    model = CapturedModel(network.eval())
    assert [site.gate for site in model.sites] == [None, form]
    assert model.sites[1].projection.name == "layers.1.self_attn.o_proj.inner"
    records = captured(model, IDS)
    gate = attention.o_proj.logits[:5].to(dtype).sigmoid()
    wanted = gate[None].unflatten(-1, (4, -1)).transpose(1, 2)
    assert records[0].gate is None
    assert records[1].gate is not None
    assert torch.equal(records[1].gate, wanted)
    network.set_attn_implementation("eager")
    with torch.no_grad():
        plain = network(**IDS).last_hidden_state
        with model.capture() as recorder:
            recorder.visit = lambda _: None
            assert torch.equal(network(**IDS).last_hidden_state, plain)
            recorder.query_block = 2
            blocks: list[LayerRecord] = []
            recorder.visit = blocks.append
            found = network(**IDS).last_hidden_state
    torch.testing.assert_close(found, plain)
    rows = [record.gate for record in blocks if record.site is model.sites[1]]
    assert torch.equal(torch.cat([row for row in rows if row is not None], 2), wanted)


def test_gates_stay_where_heads_are_removed_and_attention_is_replaced() -> None:
    """Both happen below the gate: what is captured is what the model then works with."""
    network = model_of("Qwen 3.5")
    model = CapturedModel(network)
    (site,) = model.sites
    with heads_removed(model, [[(site, 1)]]), torch.no_grad():
        removed = network(**IDS).last_hidden_state
    with attention_replaced(model, {(0, 1): lambda weight, _: torch.zeros_like(weight)}):
        (record,) = captured(model, IDS)
        with torch.no_grad():
            replaced = network(**IDS).last_hidden_state
    torch.testing.assert_close(replaced, removed)
    assert not record.weight[:, 1].any()
    (plain,) = captured(model, IDS)
    assert record.gate is not None
    assert torch.equal(record.gate, plain.gate)


def test_gradients_go_through_the_gate() -> None:
    """∂L/∂α is what autograd says of weights that are put in their place."""
    network = model_of("Qwen 3.5")
    model = CapturedModel(network)
    found: list[LayerRecord] = []
    with model.capture() as recorder, frozen(network), recorder.open_tape() as tape:
        recorder.visit = found.append
        tape.run(network(**IDS).last_hidden_state.square().sum()[None])
    (record,) = found
    assert record.gradient is not None
    assert record.visible is not None
    weight = record.weight.clone().requires_grad_()
    with attention_replaced(model, {0: weight}):
        network(**IDS).last_hidden_state.square().sum().backward()
    assert weight.grad is not None
    wanted = weight.grad.masked_fill(~record.visible[:, None], 0)
    torch.testing.assert_close(record.gradient, wanted, rtol=1e-4, atol=1e-5)


def test_a_model_of_other_inputs_is_traced_with_its_owners(monkeypatch: pytest.MonkeyPatch) -> None:
    transformer = model_of("BERT")
    model = CapturedModel(transformer)
    monkeypatch.setattr(type(transformer), "main_input_name", "smells")
    with pytest.raises(UnsupportedModelError, match=r"takes 'smells', .* inputs of your own\.$"):
        _ = model.sites
    given = model.trace(IDS) or model.sites
    records = captured(model, IDS)
    assert [record.site for record in records] == given == model.sites
    wanted = eager_attention(transformer, IDS)
    for record, weight in zip(records, wanted, strict=True):
        assert torch.equal(record.weight, weight)


def test_a_model_that_does_not_run_on_the_trial_input_is_refused_in_a_sentence() -> None:
    transformer = model_of("BERT")
    transformer.embeddings.word_embeddings = nn.Embedding(10, 32)
    model = CapturedModel(transformer.eval(), name="small words")
    with pytest.raises(UnsupportedModelError, match=r"^small words does not run on a trial input"):
        _ = model.sites
    model.trace(IDS)
    assert len(captured(model, IDS)) == 2


def test_what_was_traced_is_what_later_captures_expect() -> None:
    """Traced without its last layer, the model is captured without it; and the other way round."""
    transformer = model_of("Llama")
    transformer.config.num_hidden_layers = 1
    whole = transformer.layers
    transformer.layers = nn.ModuleList(list(whole)[:1])
    model = CapturedModel(transformer.eval())
    model.trace(IDS)
    assert len(captured(model, IDS)) == 1
    transformer.config.num_hidden_layers, transformer.layers = 2, whole
    model.trace(IDS)
    assert len(captured(model, IDS)) == 2


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", ["BERT", "GPT-2", "T5", "ViT"])
def test_models_of_every_precision_are_traced(name: str, dtype: torch.dtype) -> None:
    sites = CapturedModel(model_of(name).to(dtype)).sites
    error = max(site.error for site in sites)
    assert error < {torch.float64: 1e-12, torch.float32: 1e-5}.get(dtype, 5e-2)
    assert all(site.value_bias is not None and site.value_bias.dtype == dtype for site in sites)


def test_tracing_is_repeatable_and_leaves_no_trace() -> None:
    model = model_of("BART")
    before = {name: value.clone() for name, value in model.state_dict().items()}
    first, second = CapturedModel(model).sites, CapturedModel(model).sites
    assert [(site.name, site.kind, site.layer, site.error) for site in first] == [
        (site.name, site.kind, site.layer, site.error) for site in second
    ]
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())


def test_a_tower_that_takes_patches_in_rows_is_traced() -> None:
    """As the vision towers of Qwen-VL and GLM do: one row of numbers for each patch."""
    sizes = {"hidden_size": 32, "out_hidden_size": 32, "depth": 2, "num_heads": 4, "patch_size": 4}
    others = {"intermediate_size": 48, "deepstack_visual_indexes": [0]}
    sites = CapturedModel(build("qwen3_vl_vision", {**sizes, **others}, seed=1)).sites
    assert [(site.kind, site.heads, site.head_dim) for site in sites] == [("encoder", 4, 8)] * 2


def test_a_tower_that_attends_to_windows_one_by_one() -> None:
    """As that of Qwen2.5-VL; a picture of one window is traced."""
    sizes = {"hidden_size": 32, "out_hidden_size": 32, "depth": 2, "num_heads": 4, "patch_size": 4}
    others = {"intermediate_size": 48, "window_size": 16, "fullatt_block_indexes": [1]}
    tower = CapturedModel(build("qwen2_5_vl_vision", {**sizes, **others}, seed=1))
    assert len(tower.sites) == 2
    grid = torch.tensor([[1, 8, 8]])
    with pytest.raises(UnsupportedModelError, match=r"0.attn: .* parts of its input one after the"):
        tower.trace({"hidden_states": torch.randn(64, 96), "grid_thw": grid})


def test_a_model_of_pictures_of_any_size_is_tried() -> None:
    """Pictures of any size go in: the trial picture need not have that of the configuration."""
    model = build("resnet", {"embedding_size": 8, "hidden_sizes": [8, 8], "depths": [1, 1]}, seed=1)
    with pytest.raises(UnsupportedModelError, match="nothing was captured"):
        CapturedModel(model).sites  # noqa: B018 - reading it traces the model


class OwnAttention(nn.Module):
    """Attends in code of its own, and adds nothing."""

    def __init__(self, attend: Any) -> None:
        super().__init__()
        self.project = nn.Linear(32, 32)
        self.attend = attend

    def forward(self, states: Tensor) -> Tensor:
        return states + 0 * self.attend(self.project(states))


def by_hand(states: Tensor) -> Tensor:
    found: Tensor = (states @ states.mT).softmax(-1) @ states
    return found


def by_kernel(states: Tensor) -> Tensor:
    return nn.functional.scaled_dot_product_attention(states, states, states)


def beside_interface(own: nn.Module) -> PreTrainedModel:
    """A Llama that runs another module before its layers."""
    model = model_of("Llama")
    model.add_module("beside", own)
    model.embed_tokens.register_forward_hook(lambda _, __, states: own(states))
    return model.eval()


@pytest.mark.parametrize(
    "own",
    [OwnAttention(by_hand), OwnAttention(by_kernel)],
    ids=["by hand", "by a kernel"],
)
def test_a_part_that_attends_beside_the_interface(own: nn.Module) -> None:
    """The configuration speaks of two layers, and both are found; the third module is counted."""
    model = beside_interface(own)
    with pytest.raises(UnsupportedModelError) as refused:
        _ = CapturedModel(model).sites
    assert "only 2 of its 3 attention modules go through" in str(refused.value)
    assert f"the others ({type(own).__name__})" in str(refused.value)


def test_a_module_of_a_class_that_was_captured_is_counted_whatever_it_does() -> None:
    model = model_of("BERT")
    attention: Any = model.encoder.layer[1].attention.self
    attention.forward = lambda hidden_states, *_, **__: (hidden_states, None)
    model.config.num_hidden_layers = 1  # promises no more than there is
    with pytest.raises(UnsupportedModelError, match="only 1 of its 2 attention modules"):
        _ = CapturedModel(model).sites


class Router(nn.Module):
    """Chooses experts by a softmax."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(32, 4)

    def forward(self, states: Tensor) -> Tensor:
        return states + 0 * self.gate(states).softmax(-1).amax(-1, keepdim=True)


class AttentionPool(nn.Module):
    """Pools a text into one vector."""

    def __init__(self) -> None:
        super().__init__()
        self.query = nn.Linear(32, 1)

    def forward(self, states: Tensor) -> Tensor:
        return states + 0 * (self.query(states).mT.softmax(-1) @ states)


class LinearAttention(nn.Module):
    """Has no weights of pairs."""

    def __init__(self) -> None:
        super().__init__()
        self.query = nn.Linear(32, 32)

    def forward(self, states: Tensor) -> Tensor:
        query = self.query(states).relu()
        return states + 0 * (query @ (states.mT @ states))


@pytest.mark.parametrize("other", [Router(), AttentionPool(), LinearAttention()])
def test_what_is_no_attention_between_tokens_is_not_counted(other: nn.Module) -> None:
    assert len(CapturedModel(beside_interface(other)).sites) == 2


@pytest.mark.slow
def test_a_model_of_which_a_part_attends_in_its_own_code() -> None:
    stages = {"depths": [1, 1, 1, 1], "num_heads": [1, 1, 1, 1], "embed_dim": 8}
    backbone: dict[str, Any] = {
        "model_type": "maskformer-swin",
        "image_size": 64,
        "window_size": 2,
        **stages,
    }
    backbone["out_features"] = ["stage1", "stage2", "stage3", "stage4"]
    decoder = {
        "model_type": "detr",
        "d_model": 32,
        "decoder_layers": 2,
        "encoder_layers": 2,
        "num_queries": 3,
    }
    model = build(
        "maskformer",
        {"backbone_config": backbone, "decoder_config": decoder, "fpn_feature_size": 32}
        | {"mask_feature_size": 32},
        seed=1,
    )
    sites = CapturedModel(model.eval()).sites
    classes = Counter(type(site.module).__name__ for site in sites)
    assert classes == {
        "MaskFormerSwinSelfAttention": 4,
        "MaskFormerDetrSelfAttention": 2,
        "MaskFormerDetrCrossAttention": 2,
    }
