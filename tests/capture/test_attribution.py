"""Hidden token attribution against Jacobians that autograd makes, and what must not change it."""

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import pytest
import torch
from hypothesis import given, settings as hypothesis_settings, strategies as st
from torch import Tensor
from torch.autograd.functional import jacobian
from transformers import AutoConfig, AutoModelForMaskedLM, AutoModelForSeq2SeqLM

from architectures import ARCHITECTURES, T5, WIDE
from headlight.capture import AttributionSettings, CapturedModel, attribute, load_model
from headlight.capture.attention_interface import _listeners, _patched
from headlight.capture.attribution import random_frame
from headlight.capture.embedding_changes import prepared
from headlight.capture.forward_mode import portions
from headlight.encode import Encoded
from headlight.encode.batch import Batch, collate
from headlight.errors import CaptureError, UnsupportedModelError, UsageError
from studies.processes import start
from tiny_models import randomise

EXACT = AttributionSettings(method="exact")
WATCHFUL = """
import warnings

warnings.filterwarnings("error", message=".*torch.jit.script")
import torch
from torch.func import jvp

from headlight.capture.forward_mode import _load_rules

_load_rules()
jvp(torch.sin, (torch.zeros(1),), (torch.ones(1),))
"""
PAIRED = ("T5", "BART", "Marian")
PADDED = ("BERT", "RoBERTa", "GPT-2", "T5")


@pytest.mark.long
def test_what_torch_says_of_its_own_scripts_is_not_shown() -> None:
    process = start(program=WATCHFUL)
    _, complained = process.communicate(timeout=120)
    assert (process.returncode, complained) == (0, "")


@dataclass(frozen=True)
class Case:
    name: str
    kind: str
    tolerance: float = 1e-9
    """Wider where a model computes its norms in float32."""

    def __str__(self) -> str:
        return f"{self.name} {self.kind}"


CASES = [
    Case("BERT", "encoder"),
    Case("RoBERTa", "encoder"),
    Case("ALBERT", "encoder"),
    Case("ModernBERT", "encoder", 1e-5),
    Case("GPT-2", "decoder"),
    Case("Llama", "decoder", 1e-5),
    Case("Gemma 2", "decoder", 1e-5),
    Case("Mixtral", "decoder", 1e-4),
    Case("T5", "decoder", 1e-5),
    Case("T5", "cross", 1e-5),
    Case("BART", "encoder"),
    Case("BART", "cross"),
    Case("Marian", "cross"),
]
every_case = pytest.mark.parametrize("case", CASES, ids=str)


@cache
def known(name: str) -> CapturedModel:
    """A model that no test changes."""
    return architecture(name)


def architecture(name: str) -> CapturedModel:
    row = next(row for row in ARCHITECTURES if row.name == name)
    model = row.build()
    # The trial of a model with experts is run by a kernel that knows no float64.
    return CapturedModel(model if name == "Mixtral" else model.double(), name=name)


def encoded(ids: tuple[int, ...], target: tuple[int, ...] = ()) -> Encoded:
    def plain(length: int) -> tuple[int, ...]:
        return (3,) * length

    return Encoded(
        "text", ids, (0,) * len(ids), plain(len(ids)), tuple(range(len(ids))),
        target, plain(len(target)), tuple(range(len(target))),
    )  # fmt: skip


def texts(pairs: bool, lengths: tuple[int, ...] = (5, 3)) -> list[Encoded]:
    generator = torch.Generator().manual_seed(3)

    def ids(length: int) -> tuple[int, ...]:
        return tuple(torch.randint(5, 99, (length,), generator=generator).tolist())

    return [encoded(ids(length), ids(length - 1) if pairs else ()) for length in lengths]


def batch_of(name: str, side: str = "right", **options: Any) -> Batch:
    return collate(texts(name in PAIRED, **options), pad_id=0, side=side)


# The definitions


def hidden_of(model: Any, text: Encoded, kind: str) -> tuple[Tensor, Callable[..., Any]]:
    """x, and the function from x to the stacked outputs of all blocks, given as embeddings."""
    ids = torch.tensor([text.ids])
    cache = {"use_cache": False} if getattr(model.config, "use_cache", False) else {}
    if not text.target:
        embedded = model.get_input_embeddings()(ids)

        def states(x: Tensor) -> Any:
            return model(inputs_embeds=x, output_hidden_states=True, **cache).hidden_states

    elif kind == "encoder":
        embedded = model.encoder.get_input_embeddings()(ids)

        def states(x: Tensor) -> Any:
            return model.encoder(inputs_embeds=x, output_hidden_states=True).hidden_states

    else:
        source = model.encoder.get_input_embeddings()(ids)
        target = model.decoder.get_input_embeddings()(torch.tensor([text.target]))
        embedded = source if kind == "cross" else target

        def states(x: Tensor) -> Any:
            given = (x, target) if kind == "cross" else (source, x)
            output = model(
                inputs_embeds=given[0], decoder_inputs_embeds=given[1],
                output_hidden_states=True, **cache,
            )  # fmt: skip
            return output.decoder_hidden_states

    return embedded.detach(), lambda x: torch.stack(states(x)[1:])[:, 0]


def derivatives(model: CapturedModel, text: Encoded, kind: str) -> Tensor:
    """∂e_j/∂x_i as autograd has it: [layer, query, d_model, key, dimension]."""
    transformer = copy.deepcopy(model.transformer)
    transformer.set_attn_implementation("eager")
    transformer.set_experts_implementation("eager")
    embedded, hidden = hidden_of(transformer, text, kind)
    found = jacobian(hidden, embedded, vectorize=True)
    assert isinstance(found, Tensor)
    return found[:, :, :, 0]


def shares(size: Tensor) -> Tensor:
    return size / size.sum(-1, keepdim=True)


def contributions(derivative: Tensor) -> Tensor:
    return shares(derivative.square().sum((2, 4)).sqrt())


# Against them


@pytest.mark.slow
@every_case
def test_every_contribution_is_that_of_its_definition(case: Case) -> None:
    model, batch = known(case.name), batch_of(case.name)
    found = attribute(model, batch, EXACT, kind=case.kind)
    assert found.standard_error is None
    for row, text in enumerate(texts(case.name in PAIRED)):
        wanted = contributions(derivatives(model, text, case.kind))
        layers, queries, keys = wanted.shape
        torch.testing.assert_close(
            found.contribution[:, row, :queries, :keys],
            wanted.to(found.contribution),
            rtol=0,
            atol=case.tolerance,
        )
        assert found.contribution.shape[0] == layers == 2
        assert not found.contribution[:, row, queries:].any()
        assert not found.contribution[:, row, :, keys:].any()


def blocks_of_bert(model: Any) -> tuple[Callable[[Tensor], Tensor], list[Any]]:
    return lambda ids: model.embeddings(input_ids=ids), list(model.encoder.layer)


def blocks_of_albert(model: Any) -> tuple[Callable[[Tensor], Tensor], list[Any]]:
    layer = model.encoder.albert_layer_groups[0].albert_layers[0]
    mapped = model.encoder.embedding_hidden_mapping_in
    return lambda ids: mapped(model.embeddings(input_ids=ids)), [layer, layer]


def blocks_of_bart(model: Any) -> tuple[Callable[[Tensor], Tensor], list[Any]]:
    encoder = model.encoder

    def embeddings(ids: Tensor) -> Tensor:
        words = encoder.embed_tokens(ids)
        found: Tensor = encoder.layernorm_embedding(words + encoder.embed_positions(ids))
        return found

    return embeddings, [lambda x, layer=layer: layer(x, None) for layer in encoder.layers]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "taken_apart"),
    [("BERT", blocks_of_bert), ("ALBERT", blocks_of_albert), ("BART", blocks_of_bart)],
)
def test_the_output_of_the_embeddings_is_what_the_first_block_is_given(
    name: str, taken_apart: Callable[..., Any]
) -> None:
    model = architecture(name)
    settings = replace(EXACT, embeddings="output")
    found = attribute(model, batch_of(name), settings, kind="encoder").contribution
    model.transformer.set_attn_implementation("eager")
    embeddings, blocks = taken_apart(model.transformer)

    def hidden(x: Tensor) -> Tensor:
        states = []
        for block in blocks:
            x = block(x)
            x = x[0] if isinstance(x, tuple) else x
            states.append(x[0])
        return torch.stack(states)

    for row, text in enumerate(texts(name in PAIRED)):
        derivative = jacobian(hidden, embeddings(torch.tensor([text.ids])).detach())
        assert isinstance(derivative, Tensor)
        wanted, length = contributions(derivative[:, :, :, 0]), len(text.ids)
        torch.testing.assert_close(found[:, row, :length, :length], wanted, rtol=0, atol=1e-9)
    other = attribute(model, batch_of(name), EXACT, kind="encoder").contribution
    assert (other - found).abs().max() > 1e-3


@pytest.mark.slow
def test_a_first_block_without_attention_is_found() -> None:
    model = architecture("LFM2")
    output = attribute(model, batch_of("LFM2"), replace(EXACT, embeddings="output"))
    plain = attribute(model, batch_of("LFM2"), EXACT)  # nothing lies between the two in it
    torch.testing.assert_close(output.contribution, plain.contribution, rtol=0, atol=1e-6)


# The estimate


@pytest.mark.slow
def test_estimates_are_unbiased_within_their_own_errors() -> None:
    model, batch = known("BERT"), batch_of("BERT", lengths=(6,))
    truth = attribute(model, batch, EXACT).contribution
    runs = [
        attribute(model, batch, AttributionSettings(directions=12, seed=seed)) for seed in range(40)
    ]
    errors = torch.stack([run.contribution - truth for run in runs])
    told = torch.stack([run.standard_error for run in runs if run.standard_error is not None])
    assert len(told) == len(runs)
    spread = errors.std(0)
    # The root makes it a little too small, by about the square of the error.
    assert (errors.mean(0).abs() < 4 * spread / len(runs) ** 0.5 + spread.square() * 4).all()
    assert 0.8 < float((errors.square().mean() / told.square().mean()).sqrt()) < 1.25


@pytest.mark.slow
def test_a_lower_precision_of_products_is_small_beside_the_error_of_the_estimate() -> None:
    model, batch = load_model(), batch_of("BERT")
    highest, medium = (
        attribute(model, batch, AttributionSettings(directions=8, precision=name))
        for name in ("highest", "medium")
    )
    assert highest.standard_error is not None
    changed = (medium.contribution - highest.contribution).abs().mean()
    assert changed < 0.2 * highest.standard_error.mean()
    assert torch.get_float32_matmul_precision() == "highest"


@pytest.mark.slow
def test_with_as_many_probes_as_dimensions_an_estimate_is_exact() -> None:
    model, batch = known("BERT"), batch_of("BERT")
    for probes in (32, 40):  # there are 32 dimensions
        found = attribute(model, batch, AttributionSettings(directions=probes))
        truth = attribute(model, batch, EXACT).contribution
        torch.testing.assert_close(found.contribution, truth, rtol=0, atol=1e-12)
        assert found.standard_error is not None
        assert not found.standard_error.any()


@pytest.mark.slow
def test_the_seed_decides() -> None:
    model, batch = known("BERT"), batch_of("BERT")
    first, again = attribute(model, batch), attribute(model, batch)
    other = attribute(model, batch, AttributionSettings(seed=1))
    assert torch.equal(first.contribution, again.contribution)
    assert (first.contribution - other.contribution).abs().max() > 1e-4


@given(dimensions=st.integers(2, 40), share=st.floats(0, 1), seed=st.integers(0, 99))
@hypothesis_settings(max_examples=30, deadline=None)
def test_probes_are_orthogonal(dimensions: int, share: float, seed: int) -> None:
    import numpy as np

    probes = max(1, round(share * dimensions))
    frame = random_frame(dimensions, probes, np.random.default_rng(seed))
    wanted = dimensions * torch.eye(probes, dtype=frame.dtype)
    torch.testing.assert_close(frame @ frame.T, wanted, rtol=0, atol=1e-9)


def test_probes_have_no_preferred_direction() -> None:
    import numpy as np

    generator = np.random.default_rng(0)
    frames = torch.stack([random_frame(4, 2, generator) for _ in range(4000)])
    assert frames.mean(0).abs().max() < 0.07
    second = torch.einsum("npa,npb->ab", frames, frames) / 8000
    torch.testing.assert_close(second, torch.eye(4, dtype=second.dtype), rtol=0, atol=0.07)


# What changes nothing


@pytest.mark.parametrize("case", [case for case in CASES if case.name in PADDED], ids=str)
def test_rows_sum_to_one_and_padding_and_batching_change_nothing(
    case: Case,
) -> None:
    model, settings = known(case.name), AttributionSettings(directions=4)
    right = attribute(model, batch_of(case.name), settings, kind=case.kind)
    left = attribute(model, batch_of(case.name, side="left"), settings, kind=case.kind)
    for row, text in enumerate(texts(case.name in PAIRED)):
        alone = attribute(model, collate([text], pad_id=0), settings, kind=case.kind)
        one = alone.contribution[:, 0]
        torch.testing.assert_close(one.sum(-1), torch.ones_like(one[..., 0]))
        _, queries, keys = one.shape
        assert torch.equal(right.contribution[:, row, :queries, :keys], one)
        # Targets are always padded on the right.
        of_target = slice(queries), slice(keys)
        of_text = slice(-queries, None), slice(-keys, None)
        at_query = (of_target if text.target and case.kind != "encoder" else of_text)[0]
        at_key = (of_target if text.target and case.kind == "decoder" else of_text)[1]
        assert torch.equal(left.contribution[:, row, at_query, at_key], one)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("settings", "memory"),
    [(EXACT, 250_000), (AttributionSettings(directions=5), 1)],
    ids=["exact", "estimate"],
)
def test_memory_only_decides_how_much_is_done_at_once(
    settings: AttributionSettings, memory: int
) -> None:
    model, batch = known("BERT"), batch_of("BERT")
    with prepared(model, collate(texts(pairs=False)[:1], pad_id=0), "encoder") as run:
        assert len(list(portions(run, 5 * 5, memory))) > 1
    whole = attribute(model, batch, settings)
    parts = attribute(model, batch, replace(settings, memory=memory))
    torch.testing.assert_close(parts.contribution, whole.contribution, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["GPT-2", "Llama", "Mistral"])
def test_nothing_comes_from_later_tokens(name: str) -> None:
    found = attribute(known(name), batch_of(name), EXACT).contribution
    assert not found.triu(1).any()
    assert (found.diagonal(dim1=-2, dim2=-1)[:, 0] > 0).all()
    torch.testing.assert_close(found[..., 0, 0], torch.ones_like(found[..., 0, 0]))


@pytest.mark.slow
def test_a_model_with_a_head_is_its_base() -> None:
    for kind, model_type, options in (
        (AutoModelForMaskedLM, "bert", WIDE),
        (AutoModelForSeq2SeqLM, "t5", T5),
    ):
        config = AutoConfig.for_model(model_type, pad_token_id=0, **options)
        model = kind.from_config(config).double().eval()
        randomise(model, torch.Generator().manual_seed(0))
        base = copy.deepcopy(model)
        if model_type == "t5":
            base.lm_head = torch.nn.Identity().eval()
        one, other = CapturedModel(model, name="head"), CapturedModel(base.base_model, name="base")
        batch = batch_of("T5" if model_type == "t5" else "BERT")
        found = attribute(one, batch, EXACT).contribution
        torch.testing.assert_close(found, attribute(other, batch, EXACT).contribution)


# The model stays what it was, and what is refused


def warmed(name: str) -> tuple[CapturedModel, Batch]:
    """Transformers hangs hooks of its own on a model when hidden states are first asked for."""
    model, batch = architecture(name), batch_of(name)
    model.transformer(**model.inputs(batch), output_hidden_states=True)
    return model, batch


def state(model: CapturedModel) -> tuple[Any, ...]:
    transformer = model.transformer
    hooks = [
        (len(module._forward_hooks), len(module._forward_pre_hooks))
        for module in transformer.modules()
    ]
    wanted = [parameter.requires_grad for parameter in transformer.parameters()]
    grads = [parameter.grad for parameter in transformer.parameters()]
    config = transformer.config
    return hooks, wanted, grads, config._attn_implementation, config._experts_implementation


@pytest.mark.slow
@pytest.mark.parametrize("embeddings", ["sum", "output"])
@pytest.mark.parametrize("name", ["BERT", "T5", "Mixtral"])
def test_the_model_is_left_as_it_was(name: str, embeddings: Any) -> None:
    model, batch = warmed(name)
    before = state(model)
    for settings in (EXACT, AttributionSettings()):
        attribute(model, batch, replace(settings, embeddings=embeddings))
    assert state(model) == before
    assert not _patched
    assert not any(module in _listeners for module in model.transformer.modules())


def test_the_model_is_left_as_it_was_after_an_error() -> None:
    model, batch = warmed("BERT")
    before = state(model)

    def fail(*_: Any) -> None:
        raise ValueError("no")

    assert model.sites
    hook = model.transformer.encoder.layer[1].register_forward_hook(fail)
    with pytest.raises(ValueError, match="no"):
        attribute(model, batch)
    hook.remove()
    assert state(model) == before
    assert not _patched


def test_inference_mode_around_it_does_not_matter() -> None:
    model, batch = known("BERT"), batch_of("BERT")
    outside = attribute(model, batch, EXACT)
    with torch.inference_mode():
        inside = attribute(model, batch, EXACT)
    assert torch.equal(outside.contribution, inside.contribution)


def test_an_operation_without_forward_derivative_is_named() -> None:
    class Fused(torch.nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            heads = x[:, None]
            found: Tensor = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
                heads, heads, heads
            )[0][:, 0]
            return found

    model = architecture("BERT")
    assert model.sites
    model.transformer.encoder.layer[1].intermediate.intermediate_act_fn = Fused().eval()
    with pytest.raises(UnsupportedModelError, match=r"BERT uses an operation .*scaled_dot_product"):
        attribute(model, batch_of("BERT"))


def test_requests_that_do_not_fit_are_refused() -> None:
    model, batch = architecture("BERT"), batch_of("BERT")
    with pytest.raises(UsageError, match="no cross attention"):
        attribute(model, batch, kind="cross")
    with pytest.raises(UsageError, match="no text for the decoder"):
        attribute(architecture("T5"), batch, kind="cross")
    with pytest.raises(UsageError, match="bfloat16 is too coarse"):
        attribute(CapturedModel(architecture("BERT").transformer.bfloat16()), batch)
    with pytest.raises(UsageError, match="at least 2"):
        AttributionSettings(directions=1)
    with pytest.raises(UsageError, match="memory must be at least 1"):
        AttributionSettings(memory=0)
    assert model.sites
    model.transformer.train()
    with pytest.raises(UsageError, match="training mode"):
        attribute(model, batch)


def test_it_does_not_run_within_a_capture() -> None:
    model, batch = architecture("BERT"), batch_of("BERT")
    with model.capture(), pytest.raises(CaptureError, match="captured already"):
        attribute(model, batch)
