"""Capture and measures on every architecture of the table, and the refusal of the others."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache, partial
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from transformers import PreTrainedModel

import architectures
from architectures import ARCHITECTURES, REFUSED
from definitions import (
    Array,
    Mask,
    entropy,
    gated,
    input_norm,
    merged_norm,
    null,
    rank,
    reconstruction,
    vector_norm,
    weighted_norm,
    with_gate,
)
from headlight.capture import AttentionSite, CapturedModel, LayerRecord
from headlight.errors import UnsupportedModelError
from headlight.measures import Scores
from tiny_models import (
    Architecture,
    Expected,
    Inputs,
    Padding,
    Refused,
    eager_attention,
    real_tokens,
    visible,
)

PAGE = Path(__file__).resolve().parents[2] / "docs" / "models.md"
BATCH = 2


@dataclass(frozen=True)
class Observed:
    """One architecture, run plainly, in eager mode and captured, on the same inputs."""

    model: PreTrainedModel
    inputs: Inputs
    sites: list[AttentionSite]
    records: list[LayerRecord]
    given: list[Tensor]
    """What the values of each attention module are made from, in call order."""
    projected: list[Tensor]
    """What each W^O put out, in call order."""
    reference: list[Tensor]
    """The model's own eager attention weights."""
    output: Tensor
    output_eager: Tensor
    output_captured: Tensor
    implementation: str


@cache
def model_of(name: str) -> CapturedModel:
    architecture = next(row for row in ARCHITECTURES if row.name == name)
    return CapturedModel(architecture.build())


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(7)


@cache
def observed(architecture_name: str, padding: Padding) -> Observed:
    architecture = next(row for row in ARCHITECTURES if row.name == architecture_name)
    model = model_of(architecture_name)
    transformer = model.transformer
    inputs = architecture.inputs(generator(), padding)
    implementation = transformer.config._attn_implementation
    output = run(transformer, inputs)
    records: list[LayerRecord] = []
    given: list[Tensor] = []
    projected: list[Tensor] = []
    hooks = [
        module.register_forward_pre_hook(lambda *call: given.append(read(*call)), with_kwargs=True)
        for module in {site.module for site in model.sites}
    ]
    hooks += [
        module.register_forward_hook(lambda _, __, result: projected.append(result))
        for module in {site.projection.module for site in model.sites}
    ]
    with model.capture() as recorder:
        recorder.visit = records.append
        captured = run(transformer, inputs)
    for hook in hooks:
        hook.remove()
    reference = eager_attention(transformer, inputs)
    transformer.set_attn_implementation("eager")
    eager = run(transformer, inputs)
    transformer.set_attn_implementation(implementation)
    return Observed(
        transformer,
        inputs,
        model.sites,
        records,
        given,
        projected,
        reference,
        output,
        eager,
        captured,
        implementation,
    )


def read(module: Any, arguments: tuple[Any, ...], options: dict[str, Any]) -> Tensor:
    """What the values of `module` are made from, by the names of its arguments."""
    given = signature(module.forward).bind(*arguments, **options).arguments
    names = ("value_tensor", "key_value_states", "encoder_hidden_states", "hidden_states")
    found = [given[name] for name in names if given.get(name) is not None]
    state: Tensor = found[0] if found else next(iter(given.values()))
    if hasattr(module, "kv_a_proj_with_mqa"):  # values are made from a latent vector
        latent = module.kv_a_proj_with_mqa(state)[..., : module.kv_lora_rank]
        state = module.kv_a_layernorm(latent)
    return state


def run(model: PreTrainedModel, inputs: Inputs) -> Tensor:
    with torch.no_grad():
        result: Tensor = model(**inputs).last_hidden_state
    return result


def sides(kind: str, inputs: Inputs) -> tuple[str, str]:
    """On which side of the model queries and keys are."""
    if kind == "cross":
        return "target", "source"
    decoding = kind == "decoder" and "decoder_input_ids" in inputs
    return ("target", "target") if decoding else ("source", "source")


def seen(case: Observed, expected: Expected, weight: Tensor) -> Tensor:
    """Which keys each query may see, as the table has it; nothing for padding queries."""
    query_side, key_side = sides(expected.kind, case.inputs)
    queries = real_tokens(case.model, case.inputs, query_side, weight.shape[2])
    keys = real_tokens(case.model, case.inputs, key_side, weight.shape[3])
    return visible(expected, queries, keys)


def name_of(row: Architecture | Refused) -> str:
    return row.name


every_architecture = pytest.mark.parametrize(
    "architecture", [architectures.case(row) for row in ARCHITECTURES]
)
every_case = pytest.mark.parametrize(
    ("architecture", "padding"),
    [
        architectures.case(architecture, padding)
        for architecture in ARCHITECTURES
        for padding in architecture.paddings
    ],
)


def test_there_are_enough_architectures() -> None:
    assert len(ARCHITECTURES) >= 36
    assert max(Counter(row.name for row in [*ARCHITECTURES, *REFUSED]).values()) == 1


@every_architecture
def test_the_page_lists_every_architecture(architecture: Architecture) -> None:
    kinds = ", ".join(dict.fromkeys(site.kind for site in architecture.attentions))
    row = (
        f"| {architecture.name} | `{architecture.model_type}` | {kinds} | {architecture.special} |"
    )
    assert row in PAGE.read_text(encoding="utf-8").splitlines()


@every_case
def test_the_table_says_who_sees_whom(architecture: Architecture, padding: Padding) -> None:
    """The reference itself: what the rest of this file takes as visible is what the model does."""
    case = observed(architecture.name, padding)
    for expected, weight in zip(architecture.attentions, case.reference, strict=True):
        may_see = seen(case, expected, weight)
        real = may_see.any(-1)[:, None, :, None]
        assert torch.equal((weight > 0) & real, may_see[:, None].expand_as(weight))


@every_architecture
def test_modules_are_found_as_configured(architecture: Architecture) -> None:
    sites = model_of(architecture.name).sites
    found = [(site.kind, site.heads, site.kv_heads, site.head_dim) for site in sites]
    assert found == [
        (e.kind, e.heads, e.key_value_heads, e.head_dim) for e in architecture.attentions
    ]
    for kind in {site.kind for site in sites}:
        layers = [site.layer for site in sites if site.kind == kind]
        assert layers == list(range(len(layers)))
    assert all(site.error < 1e-5 for site in sites)


@every_case
def test_weights_are_those_of_the_model(architecture: Architecture, padding: Padding) -> None:
    case = observed(architecture.name, padding)
    assert [record.site for record in case.records] == case.sites
    for expected, record, weight in zip(
        architecture.attentions, case.records, case.reference, strict=True
    ):
        real = seen(case, expected, weight).any(-1)[:, None].expand(weight.shape[:3])
        assert torch.equal(record.weight[real], weight[real])


@every_case
def test_visible_keys_are_those_of_the_table(architecture: Architecture, padding: Padding) -> None:
    case = observed(architecture.name, padding)
    for expected, record in zip(architecture.attentions, case.records, strict=True):
        may_see = seen(case, expected, record.weight)
        real = may_see.any(-1)
        found = torch.ones_like(may_see) if record.visible is None else record.visible
        assert torch.equal(found.expand_as(may_see)[real], may_see[real])


@every_case
def test_capturing_changes_no_output(architecture: Architecture, padding: Padding) -> None:
    """Bit for bit what eager mode gives; and the model's own kernel but for its rounding.

    sdpa adds in another order, so float32 differs in the last digits; 1e-5 of the largest output.
    """
    case = observed(architecture.name, padding)
    side = "target" if "decoder_input_ids" in case.inputs else "source"
    real = torch.ones(case.output.shape[:2], dtype=torch.bool)
    if padding != "none":
        real = real_tokens(case.model, case.inputs, side, case.output.shape[1])
    assert torch.equal(case.output_captured[real], case.output_eager[real])
    scale = float(case.output[real].abs().max())
    torch.testing.assert_close(
        case.output_captured[real], case.output[real], rtol=0, atol=1e-5 * scale
    )
    assert case.model.config._attn_implementation == case.implementation
    assert torch.equal(run(case.model, case.inputs)[real], case.output[real])


def gate_of(record: LayerRecord, number: int) -> Array | None:
    """The gate of a sequence, a vector for each head and query."""
    if record.gate is None:
        return None
    gate: Array = record.gate[number].double().numpy()
    return np.broadcast_to(gate, (*gate.shape[:2], record.site.head_dim))


@every_architecture
def test_gates_are_found_as_configured(architecture: Architecture) -> None:
    case = observed(architecture.name, "none")
    for expected, record in zip(architecture.attentions, case.records, strict=True):
        assert record.site.gate == expected.gate
        if expected.gate is None:
            assert record.gate is None
            continue
        assert record.gate is not None
        size = 1 if expected.gate == "head" else expected.head_dim
        assert record.gate.shape == (*record.weight.shape[:3], size)
        assert float(record.gate.std()) > 0.01  # it differs, or nothing below would say much


@every_case
def test_heads_add_up_to_the_output(architecture: Architecture, padding: Padding) -> None:
    """Kobayashi et al. (2020), Eq. 3, to the rounding of float32."""
    case = observed(architecture.name, padding)
    for record, projected in zip(case.records, case.projected, strict=True):
        projection = record.site.projection
        bias = None if projection.bias is None else projection.bias.double().numpy()
        output = projected.reshape(*record.weight.shape[::2], -1).double()
        for number, wanted in enumerate(output):
            rebuilt = with_gate(
                partial(reconstruction, bias=bias),
                record.weight[number].double().numpy(),
                record.value[number].double().numpy(),
                projection.weight.double().numpy(),
                gate_of(record, number),
                axis=0,
            )
            error = torch.from_numpy(rebuilt) - wanted
            assert float(error.norm() / wanted.norm()) < 2e-6


def as_defined(found: Tensor, wanted: Array, name: str, scale: float | None = None) -> None:
    """Right to 1e-4 of every entry above 1e-6 of the largest; the others are that small, too."""
    assert tuple(found.shape) == wanted.shape, name
    if not wanted.size:
        return
    number = found.double().numpy()
    floor = 1e-6 * (np.abs(wanted).max() if scale is None else scale)
    error = np.abs(number - wanted)
    wrong = error > np.maximum(1e-4 * np.abs(wanted), np.where(np.abs(wanted) > floor, 0, floor))
    assert not wrong.any(), f"{name}: {number[wrong][:5]} and not {wanted[wrong][:5]}"


@dataclass(frozen=True)
class Sequence:
    """One sequence of one record in float64, without its padding queries."""

    weight: Array
    value: Array
    output: Array
    visible: Mask
    gate: Array | None = None
    """Of each query, where f depends on it; a number for each query and head is in `weight`."""

    @property
    def keys(self) -> Mask:
        """Keys that some query sees."""
        return np.asarray(self.visible.any(0))


def sequences(
    architecture: Architecture, padding: Padding
) -> Iterator[tuple[LayerRecord, int, Tensor, Sequence]]:
    """Every record, the number of the sequence, its real queries, and the sequence itself."""
    case = observed(architecture.name, padding)
    for expected, record in zip(architecture.attentions, case.records, strict=True):
        may_see = seen(case, expected, record.weight)
        for number in range(BATCH):
            real = may_see[number].any(1)
            weight, gate = record.weight[number][:, real], gate_of(record, number)
            gate = gate if gate is None else gate[:, real.numpy()]
            if record.gate is not None and expected.gate == "head":
                weight, gate = weight * record.gate[number][:, real], None
            yield (
                record,
                number,
                real,
                Sequence(
                    weight.double().numpy(),
                    record.value[number].double().numpy(),
                    record.site.projection.weight.double().numpy(),
                    may_see[number][real].numpy(),
                    gate,
                ),
            )


@every_case
def test_norms_and_entropy_are_as_defined(architecture: Architecture, padding: Padding) -> None:
    for record, number, real, one in sequences(architecture, padding):
        scores = Scores(record)
        norms = vector_norm(one.value, one.output)[:, one.keys]
        as_defined(scores.vector_norm[number][:, one.keys], norms, "‖f(x)‖")
        norms = with_gate(weighted_norm, one.weight, one.value, one.output, one.gate)
        as_defined(scores.norm[number][:, real], norms, "‖αf(x)‖")
        norms = with_gate(merged_norm, one.weight, one.value, one.output, one.gate, axis=0)
        as_defined(scores.merged_norm[number][real], norms, "‖Σ αf(x)‖")
        as_defined(scores.weight[number][:, real], one.weight, "α")
        as_defined(scores.entropy[number][:, real], entropy(one.weight), "entropy")


@every_case
def test_effective_attention_is_as_defined(architecture: Architecture, padding: Padding) -> None:
    for record, number, real, one in sequences(architecture, padding):
        effective_as_defined(Scores(record), number, real, one)


def effective_as_defined(scores: Scores, number: int, real: Tensor, one: Sequence) -> None:
    hidden = with_gate(null, one.weight, one.value, one.output, one.gate, one.visible)
    as_defined(scores.effective[number][:, real], one.weight - hidden, "A⊥", scale=1)
    as_defined(scores.null[number][:, real], hidden, "A∥", scale=1)
    ranks = scores.rank[number].expand(-1, len(real))[:, real]
    for query, keys in enumerate(one.visible):
        value = one.value if one.gate is None else gated(one.value, one.gate[:, query])
        assert ranks[:, query].tolist() == rank(value, one.output, keys).tolist()


@pytest.mark.slow
@every_architecture
def test_the_value_bias_can_be_left_out(architecture: Architecture) -> None:
    """Where values have a linear map of their own, its bias is b^V, and A⊥ that of v(x) - b^V."""
    for record, number, real, one in sequences(architecture, "none"):
        site = record.site
        source: Any = site.source
        size = site.kv_heads * site.head_dim
        if getattr(source, "out_features", None) != size:
            continue  # a matrix shared with queries and keys
        stored = source.bias
        bias = torch.zeros(size) if stored is None else stored.detach()
        assert site.value_bias is not None
        torch.testing.assert_close(site.value_bias.flatten(), bias)
        without = one.value - bias.double().numpy().reshape(site.kv_heads, 1, site.head_dim)
        effective_as_defined(
            Scores(record, value_bias="exclude"), number, real, replace(one, value=without)
        )


@every_case
def test_the_input_is_what_values_are_made_from(
    architecture: Architecture, padding: Padding
) -> None:
    case = observed(architecture.name, padding)
    for record, given in zip(case.records, case.given, strict=True):
        assert record.input is not None
        torch.testing.assert_close(record.input, given, rtol=0, atol=0)
        for number in range(BATCH):
            norms = input_norm(given[number].double().numpy())
            as_defined(Scores(record).input_norm[number], norms, "‖x‖")


texts = pytest.mark.parametrize(
    "architecture",
    [architectures.case(row) for row in ARCHITECTURES if "left" in row.paddings],
)


@texts
def test_padding_changes_nothing(architecture: Architecture) -> None:
    """The shorter sequence of a padded batch scores as it does alone."""
    padded = observed(architecture.name, "right")
    alone = {
        name: ids[1:, : int(padded.inputs[name.replace("input_ids", "attention_mask")][1].sum())]
        for name, ids in padded.inputs.items()
        if name.endswith("input_ids")
    }
    records: list[LayerRecord] = []
    with model_of(architecture.name).capture() as recorder:
        recorder.visit = records.append
        run(padded.model, alone)
    for batched, single in zip(padded.records, records, strict=True):
        ours, theirs = Scores(single), Scores(batched)
        queries, keys = single.weight.shape[2:]
        for name in ("weight", "norm", "merged_norm", "effective"):
            found, wanted = getattr(theirs, name)[1:, ..., :queries, :keys], getattr(ours, name)
            scale = float(wanted.abs().max())
            torch.testing.assert_close(found, wanted, rtol=0, atol=1e-5 * scale)
            assert not getattr(theirs, name)[1:, ..., :queries, keys:].any()


@pytest.mark.parametrize("name", ["Llama", "Mistral", "ModernBERT", "Gemma 2", "T5"])
def test_repeated_words_lower_the_rank(name: str) -> None:
    """Where positions enter after the values, a repeated word has the same f(x) in layer 0."""
    model = model_of(name)
    side = {"T5": {"decoder_input_ids": torch.tensor([[7, 8, 9]])}}.get(name, {})
    records: list[LayerRecord] = []
    with model.capture(model.sites[:1]) as recorder:
        recorder.visit = records.append
        run(model.transformer, {"input_ids": torch.tensor([[5, 6, 5, 5, 6, 6]]), **side})
    scores = Scores(records[0])
    assert int(scores.rank.max()) == 2
    visible = torch.ones(1, 6, 6) if records[0].visible is None else records[0].visible
    one = Sequence(
        records[0].weight[0].double().numpy(),
        records[0].value[0].double().numpy(),
        records[0].site.projection.weight.double().numpy(),
        visible.expand(1, 6, 6)[0].bool().numpy(),
    )
    effective_as_defined(scores, 0, torch.ones(6, dtype=torch.bool), one)
    assert float(scores.null.abs().max()) > 0.01


@pytest.mark.parametrize(
    "architecture",
    [row for row in ARCHITECTURES if any(site.kind == "cross" for site in row.attentions)],
    ids=name_of,
)
def test_an_encoder_can_be_taken_alone(architecture: Architecture) -> None:
    sites = model_of(architecture.name).encoder().sites
    wanted = [site for site in architecture.attentions if site.kind == "encoder"]
    assert [(site.kind, site.heads) for site in sites] == [(e.kind, e.heads) for e in wanted]


# Refused


@pytest.mark.parametrize("row", REFUSED, ids=name_of)
def test_other_models_are_refused_in_a_sentence(row: Refused) -> None:
    model = row.build()
    before = model.config._attn_implementation
    with pytest.raises(UnsupportedModelError) as refusal:
        CapturedModel(model).sites  # noqa: B018 - reading it traces the model
    sentence = str(refusal.value)
    assert sentence.endswith(".")
    assert "\n" not in sentence
    if row.cause == "changed":
        assert re.search(r"layers\.0\.self_att.*f\(x\)", sentence)
    else:
        assert f"{type(model).__name__} is not supported" in sentence
        assert "attention interface" in sentence
    assert model.config._attn_implementation == before
    with torch.no_grad():
        model(**row.inputs(generator()))
