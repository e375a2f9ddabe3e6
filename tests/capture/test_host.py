"""What the program around Headlight may do to a model, and to the process."""

import os
import pickle  # noqa: TID251 - as processes pass exceptions on
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import torch
import xarray
from torch import nn

from headlight.capture import CapturedModel, OwnObjective, attribute, load_model
from headlight.capture.attention_interface import _listeners, _lock
from headlight.capture.one_text import out_of_memory
from headlight.catalogue import studies
from headlight.encode import Encoded
from headlight.encode.batch import Batch, collate
from headlight.errors import CaptureError, UnknownNameError, UsageError
from headlight.reading import read
from headlight.settings.attribution import AttributionSettings
from studies.models import model, texts
from studies.test_gradient import with_head

TEXT = Encoded("text", (7, 8, 9, 10, 11), (0,) * 5, (3,) * 5, (0, 1, 2, 3, 4))


def batch() -> Batch:
    return collate([TEXT], pad_id=0)


# Autocast


def measured(found: CapturedModel) -> list[Any]:
    """What a study, a reading and contributions say."""
    chosen = {"measures": ["weight", "norm", "effective"]}
    settings = studies()["survey"].settings.from_mapping(chosen)
    survey = studies()["survey"].run(texts(3), found, settings, progress=False)
    reading = read(found, "the sea keeps a river").dataset
    exact = attribute(found, batch(), AttributionSettings(method="exact"))
    arrays = [*survey.data_vars.values(), *reading.data_vars.values(), exact.contribution.numpy()]
    return [np.asarray(values) for values in arrays]


@pytest.mark.slow
def test_the_autocast_of_a_host_changes_nothing() -> None:
    wanted = measured(model("bert"))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = measured(model("bert"))
        assert torch.is_autocast_enabled("cpu")
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, other)


# Inference mode


LOGITS = OwnObjective(lambda output, batch: output.logits.float().mean((1, 2)), "logits")


def gradient(found: CapturedModel) -> float:
    records: list[Any] = []
    with found.capture() as recorder:
        recorder.visit = records.append
        found.run_backward(batch(), LOGITS)
    return float(records[0].gradient.abs().sum())


@pytest.mark.slow
def test_a_model_that_is_loaded_in_inference_mode_has_gradients() -> None:
    with torch.inference_mode():
        found = load_model(device="cpu", head="language_model")
        assert gradient(found) > 0
        attribute(found.base(), batch(), AttributionSettings(method="exact"))


def test_weights_made_in_inference_mode_have_none() -> None:
    with torch.inference_mode():
        found = with_head("bert")
        made = {name: weight.clone() for name, weight in found.transformer.state_dict().items()}
        found.transformer.load_state_dict(made, assign=True)
    with pytest.raises(UsageError, match=r"made under torch\.inference_mode"):
        gradient(found)
    with pytest.raises(UsageError, match=r"made under torch\.inference_mode"):
        attribute(found.base(), batch(), AttributionSettings(method="exact"))


# Wrapped models


@pytest.mark.slow
def test_a_model_that_is_wrapped_is_unwrapped() -> None:
    plain = model("bert").transformer
    for wrapped in (
        torch.compile(plain),
        nn.DataParallel(plain),
        torch.compile(nn.DataParallel(plain)),
    ):
        assert load_model(wrapped).transformer is plain


@pytest.mark.slow
def test_a_model_whose_parts_are_compiled_is_refused() -> None:
    whole, part = model("bert").transformer, model("bert").transformer
    whole.compile()
    part.encoder.layer[1] = torch.compile(part.encoder.layer[1])
    with pytest.raises(UsageError, match=r"the model is compiled, .* before torch.compile"):
        load_model(whole)
    with pytest.raises(UsageError, match=r"encoder\.layer\.1 is compiled"):
        load_model(part)


def test_what_is_no_model_of_transformers_is_refused() -> None:
    with pytest.raises(UsageError, match=r"^a Linear is no model of transformers; "):
        load_model(nn.Linear(2, 2))


# Memory


@pytest.mark.parametrize(
    "message",
    [
        "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: "
        "you tried to allocate 40000000000000 bytes. Error code 12 (Cannot allocate memory)",
        "[enforce fail at alloc_cpu.cpp:115] data. DefaultCPUAllocator: not enough memory: you "
        "tried to allocate 800000000000000 bytes.",
        "MPS backend out of memory (MPS allocated: 1.00 GB)",
        "could not create a primitive",
        "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
    ],
)
def test_memory_that_runs_out_is_recognised(message: str) -> None:
    assert out_of_memory(RuntimeError(message))
    assert not out_of_memory(RuntimeError("mat1 and mat2 shapes cannot be multiplied"))
    assert not out_of_memory(ValueError(message))


def test_what_this_machine_says_is_recognised() -> None:
    with pytest.raises(RuntimeError) as raised:
        torch.empty(10**15)
    assert out_of_memory(raised.value)


@pytest.mark.slow
def test_a_batch_for_which_memory_does_not_suffice_is_halved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def run(found: CapturedModel, some: Batch, **options: Any) -> Any:
        if len(some.lengths) > 1:
            torch.empty(10**15)
        sizes.append(len(some.lengths))
        return normal(found, some, **options)

    sizes: list[int] = []
    normal = CapturedModel.run
    settings = studies()["survey"].settings.from_mapping(
        {"measures": ["weight"], "passages": False}  # each text is read once, then
    )
    wanted = studies()["survey"].run(texts(4), model("bert"), settings, progress=False)
    monkeypatch.setattr(CapturedModel, "run", run)
    found = studies()["survey"].run(texts(4), model("bert"), settings, progress=False)
    assert sizes == [1, 1, 1, 1]
    # Shares of 0 are rounding, and so is what is left of the difference of two means.
    xarray.testing.assert_allclose(found, wanted, atol=1e-6)


def test_a_reading_for_which_memory_does_not_suffice_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(CapturedModel, "run", lambda *_, **__: torch.empty(10**15))
    with pytest.raises(CaptureError, match="memory does not suffice for this text of 7 tokens"):
        read(model("bert"), "the sea keeps a river")


# Processes


@contextmanager
def held_by_another_thread() -> Iterator[None]:
    """The lock of the interface hook, for as long as a fork waits for it."""
    taken, free = threading.Event(), threading.Event()

    def hold() -> None:
        with _lock:
            taken.set()
            free.wait(timeout=0.2)

    thread = threading.Thread(target=hold)
    thread.start()
    assert taken.wait(timeout=60)
    yield
    free.set()
    thread.join(timeout=60)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:This process.*multi-threaded:DeprecationWarning")
def test_a_process_may_be_forked_while_another_thread_opens_a_capture() -> None:
    found = model("bert")
    assert found.sites
    opened, close = threading.Event(), threading.Event()

    def capture() -> None:
        with found.capture():
            opened.set()
            close.wait(timeout=60)

    thread = threading.Thread(target=capture)
    thread.start()
    assert opened.wait(timeout=60)
    with held_by_another_thread():
        child = os.fork()
    if not child:  # nothing of pytest may run here
        status = 1
        try:
            if _lock.acquire(timeout=10):
                _lock.release()
                with found.capture():
                    status = 0
        finally:
            os._exit(status)
    close.set()
    thread.join(timeout=60)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert not _listeners


def test_refusals_pass_between_processes() -> None:
    problem = UnknownNameError("measure", "norn", ["weight", "norm"])
    again = pickle.loads(pickle.dumps(problem))
    assert (type(again), str(again)) == (UnknownNameError, str(problem))
