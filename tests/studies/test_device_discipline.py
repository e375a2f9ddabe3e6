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
from headlight.capture import CapturedModel
from headlight.capture.recorder import Recorder
from headlight.catalogue import studies
from headlight.engine.batch_runner import BatchRunner
from headlight.engine.folder import RunFolder
from headlight.errors import HeadlightError
from headlight.measures import merged_norms
from headlight.measures.entropy import entropy_of_sizes
from headlight.studies.survey.observer import HeadsObserver
from long_cases import mostly_long
from open_folders import opening
from studies.models import model, texts
from studies.victims import VICTIMS, translations

HIDDEN = ("attribution", "token_identity", "adversary", "guided", "parser_probes")
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
    return opening(study.run)(victim.source()[:FEW], network, settings, **options)


def again(network: CapturedModel) -> CapturedModel:
    """Without what was traced on another device."""
    return CapturedModel(network.transformer, network.tokenizer, network.name, network.revision)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    mostly_long((name for name in VICTIMS if name not in HIDDEN), "survey", "distances"),
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


WAITS = {"survey": 2, "distances": 2, "coreference": 4}
NARROW = {"survey": {"measures": ["weight", "gradient"], "numbers": ["importance"]}}
"""How often the host may wait within one layer's visit, at most.

Once in a pass for a mask that all layers share, once for a gradient and its importance, twice for
the pairs that `coreference` asks for.  Ranks are the host's.
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


WEIGHT, NORM = ("weight",), ("weight", "norm")
WHOLE = (*NORM, "effective")
BUDGET = {
    ("bert", WEIGHT): (5, 123, 391),
    ("bert", NORM): (5, 209, 418),
    ("bert", WHOLE): (5, 262, 434),
    ("llama", WEIGHT): (6, 123, 552),
    ("llama", NORM): (6, 213, 578),
    ("llama", WHOLE): (10, 423, 818),
}
"""Waits for a batch, kernels for each layer, and kernels of the batch that are not for each layer,
of a survey with these measures, at most.

Numbers only fall; once those of a batch rose by ten, which ask all layers together whether padding
has weight, and once by ten, for constants by which each layer takes up to eleven fewer.  A batch
waits for its ids on the host, for masks (transformers' own and ours, or the place of the stream,
which texts of a new form are asked for), once for all checks of its layers together, and for its
sums; none is for each layer, but for the effective attention of a decoder, which asks once in each
which rows are distinct (and once for the condition of a projection).
The aims are one wait and 40 kernels for weights and norms, 90 for all.
"""


@pytest.mark.slow
@pytest.mark.parametrize(("family", "measures"), BUDGET)
def test_a_batch_of_a_survey_keeps_to_its_budget_of_waits_and_kernels(
    family: str, measures: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    network, study = model(family), studies()["survey"]
    batch, visit = BatchRunner.__call__, HeadsObserver.visit
    waits, kernels, beside = [0], [0], [0]
    with claimed_devices() as devices:

        def of_batch(runner: Any, examples: Any) -> Any:
            if not runner._verified:
                runner._verify(examples)
            before, launched = devices.waits.total(), devices.kernels
            kernels.clear()
            tally = batch(runner, examples)
            waits[0] = max(waits[0], devices.waits.total() - before)
            # Masks that all layers share are made in the visit of the first.
            beside[0] = devices.kernels - launched - kernels[-1] * len(kernels)
            return tally

        def of_layer(observer: Any, record: Any) -> None:
            before = devices.kernels
            visit(observer, record)
            kernels.append(devices.kernels - before)

        monkeypatch.setattr(BatchRunner, "__call__", of_batch)
        monkeypatch.setattr(HeadsObserver, "visit", of_layer)
        place(network.transformer, "cuda")
        settings = study.settings(measures=measures)
        source = texts(14, longest=30)[:FEW]
        opening(study.run)(source, again(network), settings, folder=RunFolder(), progress=False)
    counts = waits[0], kernels[-1], beside[0]
    within = [count <= most for count, most in zip(counts, BUDGET[family, measures], strict=True)]
    assert all(within), counts


@pytest.mark.parametrize("largest", [0.1, 0.9, 1 - 1e-5, 1 - 1e-9, 1])
def test_entropy_on_a_device_is_that_of_the_definition(largest: float) -> None:
    size = torch.rand(2, 3, 4, 90, generator=torch.Generator().manual_seed(0))
    size[..., 7:20] = 0
    size *= (1 - largest) / size.sum(-1, keepdim=True)
    size[..., 5] = largest
    size[0, 0, 0] = 0
    share = size.double() / size.double().sum(-1, keepdim=True).clamp_min(1e-30)
    with claimed_devices():
        result = entropy_of_sizes(size.to("cuda:0")).cpu()
    expected = torch.special.entr(share).sum(-1).float()
    torch.testing.assert_close(result, expected, rtol=2e-6, atol=1e-15)


@pytest.mark.slow
def test_a_batch_is_measured_again_where_an_answer_that_came_late_is_no(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    network, study, own = model("bert"), studies()["survey"], BatchRunner.__call__
    calls = []
    monkeypatch.setattr(
        merged_norms, "CANCELLATION", 1e9
    )  # all entries are computed again, too many
    monkeypatch.setattr(
        BatchRunner, "__call__", lambda *given: calls.append(given[0]._later) or own(*given)
    )
    settings = study.settings(measures=NORM, passages=False)
    source, options = texts(14, longest=30)[:FEW], {"folder": RunFolder(), "progress": False}
    expected = opening(study.run)(source, network, settings, **options)
    assert calls == [True]
    with claimed_devices():
        place(network.transformer, "cuda")
        result = opening(study.run)(source, again(network), settings, **options)
    assert calls == [True, True, False]
    np.testing.assert_allclose(result["merged_share"], expected["merged_share"], rtol=1e-4)


@pytest.mark.slow
def test_numbers_that_are_not_finite_are_refused_on_a_device_as_well() -> None:
    network, study = model("bert"), studies()["survey"]
    settings = study.settings(measures=NORM, passages=False)
    with claimed_devices():
        place(network.transformer, "cuda")
        changed = again(network)
        assert changed.sites
        values = changed.transformer.encoder.layer[1].attention.self.value.bias
        values[:] = torch.inf
        with pytest.raises(HeadlightError, match="NaN or infinity"):
            opening(study.run)(texts(14, longest=30)[:FEW], changed, settings, folder=RunFolder())


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
