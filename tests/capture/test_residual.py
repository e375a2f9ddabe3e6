"""What a layer does with the output of its attention, found by tracing."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from transformers import AutoConfig, AutoModelForCausalLM

import architectures
from architectures import ARCHITECTURES
from headlight.capture import (
    CapturedModel,
    CausalLanguageModel,
    LayerRecord,
    NoResidualSite,
    ResidualSite,
)
from headlight.capture.frozen_norms import frozen_map
from headlight.capture.residual_connection import followed
from headlight.capture.residual_tracing import ResidualCheck
from headlight.encode import Encoded
from headlight.errors import UnsupportedModelError
from tiny_models import Architecture, Padding, build

WIDTH = 32
REFUSED = ("MobileBERT",)
"""What is added to the output there is none of the vectors that the attention reads."""
POST_NORM = (
    *("BERT", "RoBERTa", "XLM-RoBERTa", "CamemBERT", "ELECTRA", "ALBERT", "DistilBERT", "ERNIE"),
    *("Nomic BERT", "GTE", "BART", "Marian", "PLBart", "Wav2Vec2", "HuBERT"),
)
"""The norm follows the sum."""
NORM_ON_BRANCH = ("Gemma 2", "Gemma 3", "OLMo 2", "AFMoE", "LFM3")
SCALE_ON_BRANCH = ("DINOv2", "DINOv3", "BEiT")
PARALLEL = ("GPT-NeoX", "Phi", "Cohere", "Cohere 2")


def case(architecture: Architecture) -> Any:
    return architectures.case(architecture)


followed_ones = pytest.mark.parametrize(
    "architecture", [case(row) for row in ARCHITECTURES if row.name not in REFUSED]
)


@cache
def model_of(name: str) -> CapturedModel:
    return CapturedModel(next(row for row in ARCHITECTURES if row.name == name).build())


def sites_of(name: str) -> list[ResidualSite]:
    return [followed(each) for each in model_of(name).residuals.values()]


def run(
    model: CapturedModel, architecture: Architecture, padding: Padding, query_block: int = 0
) -> list[LayerRecord]:
    """The records of one pass with residuals."""
    records: list[LayerRecord] = []
    generator = torch.Generator().manual_seed(7)
    with model.capture(residual=True) as recorder, torch.no_grad():
        recorder.visit = records.append
        recorder.query_block = query_block
        model.transformer(**architecture.inputs(generator, padding))
    return records


@followed_ones
def test_what_stands_around_the_sum_is_found(architecture: Architecture) -> None:
    name = architecture.name
    for site in sites_of(name):
        assert (site.norm is not None) == (name in POST_NORM)
        assert site.parallel == (name in PARALLEL)
        divides = [each.eps is not None for each in site.branch]
        wanted = [True] if name in NORM_ON_BRANCH else [False] if name in SCALE_ON_BRANCH else []
        assert divides == wanted
        assert site.error < 1e-6


def test_a_number_that_the_output_is_multiplied_by_is_found() -> None:
    row = next(row for row in ARCHITECTURES if row.name == "Granite")
    model = CapturedModel(build("granite", {**row.settings, "residual_multiplier": 0.3}, seed=3))
    for each in model.residuals.values():
        (scale,) = followed(each).branch
        torch.testing.assert_close(scale.gain, torch.full((WIDTH,), 0.3).double())
        assert scale.eps is None


@followed_ones
def test_parts_add_up_to_what_leaves_the_block(architecture: Architecture) -> None:
    """On other texts than the traced one, padded in every way; only modules say what leaves."""
    model = model_of(architecture.name)
    for padding in architecture.paddings:
        check = ResidualCheck()
        with check.watching(each.output for each in sites_of(architecture.name)):
            for record in _checked(model, architecture, padding, check):
                assert record.residual is not None
                queries = record.weight.shape[2]
                assert record.residual.given.shape == (len(record.weight), queries, WIDTH)
        assert check.error < 1e-6
        assert check.compared == (0 if architecture.name in PARALLEL else len(model.sites))


def _checked(
    model: CapturedModel, architecture: Architecture, padding: Padding, check: ResidualCheck
) -> list[LayerRecord]:
    records: list[LayerRecord] = []

    def visit(record: LayerRecord) -> None:
        records.append(record)
        check.visit(record)

    generator = torch.Generator().manual_seed(7)
    with model.capture(residual=True) as recorder, torch.no_grad():
        recorder.visit = visit
        model.transformer(**architecture.inputs(generator, padding))
    return records


@followed_ones
def test_blocks_of_queries_say_the_same(architecture: Architecture) -> None:
    model = model_of(architecture.name)
    whole = run(model, architecture, "none")
    by_site: dict[Any, list[LayerRecord]] = {}
    for record in run(model, architecture, "none", query_block=5):
        by_site.setdefault(record.site, []).append(record)
    for record in whole:
        assert record.residual is not None
        for name in ("given", "written"):
            parts = [getattr(each.residual, name) for each in by_site[record.site]]
            wanted = getattr(record.residual, name)
            torch.testing.assert_close(torch.cat(parts, 1), wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", REFUSED)
def test_others_are_refused_when_they_are_asked_for(name: str) -> None:
    model = model_of(name)
    assert all(isinstance(each, NoResidualSite) for each in model.residuals.values())
    with model.capture():
        pass
    with (
        pytest.raises(UnsupportedModelError, match=r"^encoder\.layer\.0\..*the attention reads\.$"),
        model.capture(residual=True),
    ):
        pass


@contextmanager
def hooked(module: nn.Module, seen: list[Tensor], place: int | None) -> Iterator[None]:
    """What a module is given at a place, or puts out."""

    def note(_: nn.Module, given: tuple[Any, ...], output: Any) -> None:
        found = output if place is None else given[place]
        seen.append(found[0] if isinstance(found, tuple) else found)

    handle = module.register_forward_hook(note)
    try:
        yield
    finally:
        handle.remove()


@pytest.mark.parametrize(
    ("name", "residual", "output"),
    [
        ("BERT", ("encoder.layer.1.attention.output", 1), ("encoder.layer.1.attention", None)),
        ("GPT-2", ("h.1.ln_1", 0), ("h.1.ln_2", 0)),
        (
            "Gemma 2",
            ("layers.1.input_layernorm", 0),
            ("layers.1.pre_feedforward_layernorm", 0),
        ),
        ("DINOv2", ("encoder.layer.1.norm1", 0), ("encoder.layer.1.norm2", 0)),
    ],
)
def test_the_modules_of_known_models_say_so_too(
    name: str, residual: tuple[str, int | None], output: tuple[str, int | None]
) -> None:
    model = model_of(name)
    modules = dict(model.transformer.named_modules())
    given: list[Tensor] = []
    left: list[Tensor] = []
    architecture = next(row for row in ARCHITECTURES if row.name == name)
    with (
        hooked(modules[residual[0]], given, residual[1]),
        hooked(modules[output[0]], left, output[1]),
    ):
        found = run(model, architecture, "none")[1].residual  # the first is a trace
    assert found is not None
    torch.testing.assert_close(found.given, given[-1], rtol=0, atol=0)
    torch.testing.assert_close(found.output, left[-1])


class RootMeanSquare(nn.Module):
    """As Gemma's: what it multiplies by is 1 + weight."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.linspace(-1, 1, WIDTH))

    def forward(self, given: Tensor) -> Tensor:
        wide = given.float()
        made = wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + 1e-5)
        return (made * (1 + self.weight.float())).to(given.dtype)


def layer_norm() -> nn.LayerNorm:
    found = nn.LayerNorm(WIDTH, eps=1e-3)
    nn.init.normal_(found.weight)
    nn.init.normal_(found.bias)
    return found


def test_norms_are_told_by_what_they_do() -> None:
    norm = layer_norm()
    found = frozen_map(norm, WIDTH, "norm")
    assert found is not None
    assert found.centred
    assert found.eps == pytest.approx(1e-3)
    torch.testing.assert_close(found.gain, norm.weight.detach().double())
    torch.testing.assert_close(found.offset, norm.bias.detach().double())
    found = frozen_map(RootMeanSquare(), WIDTH, "norm")
    assert found is not None
    assert not found.centred
    assert found.eps == pytest.approx(1e-5, rel=1e-3)
    torch.testing.assert_close(found.gain.float(), 1 + torch.linspace(-1, 1, WIDTH))
    assert found.offset.abs().max() < 1e-6
    plain = frozen_map(nn.LayerNorm(WIDTH, elementwise_affine=False), WIDTH, "norm")
    assert plain is not None
    torch.testing.assert_close(plain.gain, torch.ones(WIDTH).double())


class Mixing(nn.Module):
    """As a norm, but for the order of the components."""

    def forward(self, given: Tensor) -> Tensor:
        return nn.functional.layer_norm(given.roll(1, -1), (WIDTH,))


@pytest.mark.parametrize(
    "module",
    [nn.Linear(WIDTH, WIDTH), nn.GELU(), nn.Softmax(-1), nn.Tanh(), Mixing(), nn.Linear(WIDTH, 5)],
    ids=lambda module: type(module).__name__,
)
def test_nothing_else_is_taken_for_a_norm(module: nn.Module) -> None:
    assert frozen_map(module, WIDTH, "module") is None


def test_a_frozen_map_is_linear_in_parts() -> None:
    found = frozen_map(layer_norm(), WIDTH, "norm")
    assert found is not None
    parts = torch.randn(5, 3, WIDTH, generator=torch.Generator().manual_seed(1)).double()
    whole = parts.sum(0)
    together = found.linear(parts).sum(0) / found.scale(whole)[..., None] + found.offset
    torch.testing.assert_close(together, found(whole))


def batch_of(model: CapturedModel) -> Any:
    none = (0,) * 5
    return model.collate([Encoded("a", (5, 6, 7, 8, 9), none, none, none)])


@pytest.mark.parametrize("name", ["BERT", "Llama"])
def test_real_input_is_checked_and_what_does_not_add_up_is_refused(name: str) -> None:
    model = CapturedModel(next(row for row in ARCHITECTURES if row.name == name).build())
    model.verify_residuals(batch_of(model))
    site, good = next(iter(model.residuals.items()))
    assert isinstance(good, ResidualSite)
    norm = frozen_map(nn.LayerNorm(WIDTH), WIDTH, "norm")
    model.residuals[site] = replace(good, branch=(norm,))
    with pytest.raises(UnsupportedModelError, match=r"its parts miss what leaves the layer by"):
        model.verify_residuals(batch_of(model))


def test_a_backward_pass_keeps_residuals_and_no_graph() -> None:
    settings = next(row for row in ARCHITECTURES if row.name == "Llama").settings
    config = AutoConfig.for_model("llama", **settings)
    model = CapturedModel(AutoModelForCausalLM.from_config(config).eval())
    batch, records = batch_of(model), []
    with model.capture(residual=True) as recorder:
        recorder.visit = records.append
        model.run_backward(batch, CausalLanguageModel())
        backward, records = records, []
        recorder.visit = records.append
        model.run(batch)
    for record, plain in zip(backward, reversed(records), strict=True):
        assert record.gradient is not None
        assert record.residual is not None
        assert not record.residual.written.requires_grad
        for name in ("given", "written"):
            found, wanted = (getattr(each.residual, name) for each in (record, plain))
            torch.testing.assert_close(found, wanted)
