"""Models of which the layers lie on several devices, are offloaded, or hold packed weights."""

from pathlib import Path

import accelerate
import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.parallel import ColwiseParallel, parallelize_module

from claimed_devices import claimed_devices, place
from headlight.capture import CapturedModel, load_model
from headlight.capture.value_map import value_map
from headlight.catalogue import studies
from headlight.engine.folder import RunFolder
from headlight.errors import UnsupportedModelError, UsageError
from long_cases import mostly_long
from open_folders import opening
from studies.models import model, saved, texts

STUDIED = {
    "survey": {"measures": ["weight", "norm", "merged_norm", "effective"]},
    "ranks": {"numbers": ["ranks"], "sample": 5},
    "distances": {"measures": ["weight"]},
    "null_space": {"numbers": ["null_space"], "sample": 5},
}


def dispatched(family: str = "llama") -> CapturedModel:
    """The second layer is on a device of its own; hooks of accelerate carry states across."""
    made = model(family)
    network = made.transformer
    place(network, "cuda:0")
    layer = network.layers[1] if family == "llama" else network.encoder.layer[1]
    place(layer, "cuda:1")
    hooks = accelerate.hooks
    hooks.add_hook_to_module(layer, hooks.AlignDevicesHook("cuda:1"))
    for name, after in (("norm", "cuda:0"),):
        if hasattr(network, name):
            hooks.add_hook_to_module(getattr(network, name), hooks.AlignDevicesHook(after))
    return CapturedModel(network, made.tokenizer, made.name, made.revision)


@pytest.mark.slow
@pytest.mark.parametrize("name", mostly_long(STUDIED, "distances"))
def test_layers_on_several_devices_give_the_numbers_of_the_whole_model(name: str) -> None:
    study = studies()[name if name in studies() else "survey"]
    settings = study.settings.from_mapping(STUDIED[name])
    options = {"folder": RunFolder(), "progress": False}
    expected = opening(study.run)(texts(6, longest=8), model("llama"), settings, **options)
    with claimed_devices():
        found = opening(study.run)(texts(6, longest=8), dispatched(), settings, **options)
    for variable in set(expected.data_vars) - {"seconds"}:
        if expected[variable].dtype.kind == "f":
            np.testing.assert_allclose(found[variable], expected[variable], rtol=1e-4, atol=1e-5)


def test_what_accelerate_dispatches_to_devices_that_hold_it_is_captured() -> None:
    whole = model("llama")
    network = model("llama").transformer
    parts = dict.fromkeys(["embed_tokens", "layers.0", "layers.1", "norm", "rotary_emb"], "cpu")
    accelerate.dispatch_model(network, parts, force_hooks=True)
    found = CapturedModel(network, whole.tokenizer)
    assert [site.error for site in found.sites] == [site.error for site in whole.sites]


def test_layers_that_are_offloaded_are_refused() -> None:
    network = accelerate.cpu_offload(model("llama").transformer)
    with pytest.raises(UsageError, match=r"is offloaded to the CPU or to disk.* devices that hold"):
        CapturedModel(network)


def test_what_is_loaded_balanced_is_captured_as_in_one_place(tmp_path: Path) -> None:
    folder = saved("llama", tmp_path)
    found, whole = load_model(folder, device="balanced"), load_model(folder, device="cpu")
    assert [site.error for site in found.sites] == [site.error for site in whole.sites]
    assert found.identity() == whole.identity()


def test_what_does_not_fit_on_the_devices_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """accelerate then offloads layers to disk, as where GPUs are too small."""
    memory = "transformers.integrations.accelerate.get_balanced_memory"
    monkeypatch.setattr(memory, lambda *_, **__: {"cpu": 60_000, "disk": 10**9})
    with pytest.raises(UsageError, match=r"layers.0.* is offloaded to the CPU or to disk"):
        load_model(saved("llama", tmp_path), device="balanced")


class Packed(nn.Linear):
    """Two numbers in a byte, as 4-bit libraries keep them."""

    def __init__(self, like: nn.Linear) -> None:
        super().__init__(like.in_features, like.out_features, bias=like.bias is not None)
        self.plain, self.bias = like.weight.detach(), like.bias
        packed = torch.zeros(like.weight.numel() // 2, 1, dtype=torch.uint8)
        self.weight = nn.Parameter(packed, requires_grad=False)

    def forward(self, given: Tensor) -> Tensor:
        return nn.functional.linear(given, self.plain, self.bias)


class Foreign(nn.Module):
    """A linear map that is none of torch's, as of GPTQ."""

    def __init__(self, like: nn.Linear) -> None:
        super().__init__()
        self.forward = like.forward


def trace_again(network: nn.Module) -> None:
    assert CapturedModel(network.eval()).sites


def test_packed_weights_are_refused() -> None:
    network = model("llama").transformer
    attention = network.layers[1].self_attn
    attention.o_proj = Packed(attention.o_proj)
    with pytest.raises(UnsupportedModelError, match=r"o_proj \(uint8\) is quantised.*\(dequantize"):
        trace_again(network)


def test_packed_weights_in_modules_of_other_libraries_are_refused() -> None:
    network = model("llama").transformer
    attention = network.layers[0].self_attn
    attention.o_proj = Foreign(attention.o_proj)
    network.config.quantization_config = {"quant_method": "gptq"}
    with pytest.raises(UnsupportedModelError, match=r"self_attn is quantised"):
        trace_again(network)


def test_values_of_packed_weights_have_no_map() -> None:
    network = model("llama").transformer
    attention = network.layers[0].self_attn
    attention.v_proj = Packed(attention.v_proj)
    found = CapturedModel(network.eval())
    with pytest.raises(UnsupportedModelError, match="weights that make its values are quantised"):
        value_map(found, found.sites[0])


def test_weights_that_only_look_right_fail_equation_3() -> None:
    """As of a scaled float8: numbers that can be read, and are not those that are used."""
    network = model("llama").transformer
    projection = network.layers[0].self_attn.o_proj
    own = projection.forward
    projection.forward = lambda given: 3 * own(given)
    with pytest.raises(UnsupportedModelError, match="misses the output of the attention"):
        trace_again(network)


def test_a_model_that_is_split_otherwise_than_by_heads_is_refused(tmp_path: Path) -> None:
    """Every process finds it before it would wait for another."""
    distributed = torch.distributed
    distributed.init_process_group("gloo", f"file://{tmp_path / 'meeting'}", rank=0, world_size=1)
    try:
        network = model("llama").transformer
        mesh = init_device_mesh("cpu", (1,))
        parallelize_module(network.layers[1].self_attn.o_proj, mesh, ColwiseParallel())
        with pytest.raises(
            UnsupportedModelError, match=r"o_proj.weight is split .* otherwise than by heads"
        ):
            trace_again(network)
    finally:
        distributed.destroy_process_group()


@pytest.mark.parametrize("kept", [True, False])
def test_the_overlap_of_heads_is_kept_only_of_narrow_models(
    kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headlight.capture.output_projection.KEPT_WIDTH", 32 if kept else 31)
    projection = model("bert").sites[0].projection
    assert torch.equal(projection.overlap, projection.overlap)
    assert (projection.overlap is projection.overlap) == kept
