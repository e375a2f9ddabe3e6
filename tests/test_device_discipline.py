"""Every study on tensors that claim a GPU: nothing mixes devices, waits much, or wants float64.

Contributions and trained models are not in it: forward-mode derivatives hide the tensors that they
wrap, and optimisers look for a driver.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import xarray

from claimed_devices import Claimed, DeviceError, Devices, claimed_devices, place
from headlight.analysis.folder import RunFolder
from headlight.capture import CapturedModel
from headlight.capture.session import Recorder
from headlight.catalogue import studies
from studies.victims import VICTIMS, translations

HIDDEN = ("attribution", "token_identity", "adversary", "guided", "parser_probes")
QUICK = ("survey",)
FEW = 5
"""Texts, of lengths that differ: every operation of a study is met, many times more slowly."""


def measured(name: str, network: CapturedModel, folder: Path, **more: Any) -> xarray.Dataset:
    victim, study = VICTIMS[name], studies()[name]
    settings = study.settings.from_mapping({**study.smallest, **victim.changed, **more})
    if victim.translates:
        gold = folder / "gold.talp"
        gold.write_text("".join(f"{links}\n" for _, links in translations(FEW)))
        settings = settings.replace(gold=str(gold))
    options = {"folder": RunFolder(), "progress": False, **victim.options}
    return study.run(victim.source()[:FEW], network, settings, **options)


def again(network: CapturedModel) -> CapturedModel:
    """Without what was traced on another device."""
    return CapturedModel(network.transformer, network.tokenizer, network.name, network.revision)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        name if name in QUICK else pytest.param(name, marks=pytest.mark.slow)
        for name in VICTIMS
        if name not in HIDDEN
    ],
)
@pytest.mark.parametrize("device", ["cuda:1", "mps"])
def test_a_study_gives_the_same_numbers_on_a_device_and_never_leaves_it_by_accident(
    device: str, name: str, tmp_path: Path
) -> None:
    network = VICTIMS[name].model
    expected = measured(name, network, tmp_path)
    with claimed_devices():
        place(network.transformer, device)
        found = measured(name, again(network), tmp_path)
    for variable in set(expected.data_vars) - {"seconds"}:
        if expected[variable].dtype.kind == "f":
            np.testing.assert_allclose(found[variable], expected[variable], rtol=1e-4, atol=1e-5)
        else:
            xarray.testing.assert_equal(found[variable], expected[variable])


WAITS = {"survey": 5, "distances": 3, "coreference": 5}
NARROW = {"survey": {"measures": ["weight", "gradient"], "numbers": ["importance"]}}
"""How often the host may wait within one layer's visit, at most.

Three times to check what was captured (two masks, finite numbers), once more for a gradient and
for its importance, twice for the pairs that `coreference` asks for.  Ranks are the host's, and
effective attention asks after every repair of a basis: a survey is measured without either.
"""


@pytest.mark.parametrize("name", sorted({*WAITS} & {*VICTIMS}))
@pytest.mark.slow
def test_within_a_layer_the_host_waits_as_often_as_is_said(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    network, most = VICTIMS[name].model, [0]
    with claimed_devices() as devices:
        for method in ("attend", "_visit"):
            monkeypatch.setattr(Recorder, method, _counting(method, devices, most))
        place(network.transformer, "cuda")
        measured(name, again(network), tmp_path, **NARROW.get(name, {}))
    assert most[0] <= WAITS[name]


def _counting(method: str, devices: Devices, most: list[int]) -> Any:
    own = getattr(Recorder, method)

    def counted(*arguments: Any) -> Any:
        before = devices.waits.total()
        found = own(*arguments)
        most[0] = max(most[0], devices.waits.total() - before)
        return found

    return counted


# The mode itself


def test_mixing_devices_fails() -> None:
    with claimed_devices():
        there = torch.ones(2).to("cuda:0")
        with pytest.raises(
            DeviceError, match=r"aten.add.Tensor got tensors on \['cpu', 'cuda:0'\]"
        ):
            there + torch.ones(2)
        with pytest.raises(DeviceError, match="cuda:1"):
            there + torch.ones(2, device="cuda:1")
        assert (there + torch.tensor(1.0)).tolist() == [2, 2]


def test_float64_on_mps_fails() -> None:
    with claimed_devices():
        there = torch.ones(2, device="mps")
        with pytest.raises(DeviceError, match="float64"):
            there.double()
        assert there.cpu().double().dtype == torch.float64


def test_what_the_host_waits_for_is_counted() -> None:
    with claimed_devices() as devices:
        there = torch.tensor([1.0, -1.0], device="cuda:0")
        assert isinstance(there + 1, Claimed)
        assert not devices.waits
        assert there.sum().item() == 0
        assert len(there[there > 0]) == 1
        assert there.cpu().tolist() == [1, -1]
    assert devices.waits == {"item": 1, "nonzero": 1, "cpu": 1}
