"""What is not finite is refused: with its text and layer, or as the fault of the weights."""

import re
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st

from claimed_devices import claimed_devices
from headlight.capture import CapturedModel, OwnObjective
from headlight.capture.deferred_checks import all_hold, answered_later
from headlight.capture.finite_numbers import (
    NotFiniteError,
    require_finite,
    require_finite_attention,
)
from headlight.catalogue import studies
from headlight.errors import CaptureError, ModelError
from headlight.reading import read
from headlight.reduce import Moments, Ratio
from headlight.settings import Settings
from studies.models import model
from studies.test_gradient import with_head

TEXTS = ["the sea", "the old river", "a valley widens", "sand builds", "mud keeps the snow"]
BAD = "a bridge knows the town"
"""The one text with the word `town`, of which a model may be made to compute too much."""


def overflowing(found: CapturedModel, layer: int = 1) -> CapturedModel:
    """A model in float16 for which one word, wherever it stands, is too much in one layer."""
    network: Any = found.transformer.half()
    embeddings = network.get_input_embeddings()
    ids = [int(found.tokenizer.convert_tokens_to_ids("town"))]
    source = found.base().transformer.encoder.layer[layer].attention.self.value

    def many(module: Any, inputs: Any, output: torch.Tensor) -> torch.Tensor:
        seen = read_ids[-1] == ids[0]
        return output * torch.where(seen, 60_000.0, 1.0)[..., None].to(output)

    read_ids: list[torch.Tensor] = []
    embeddings.register_forward_pre_hook(lambda _, given: read_ids.append(given[0]))
    source.register_forward_hook(many)
    return found


def model_for(numbers: str) -> CapturedModel:
    return with_head("bert") if numbers == "importance" else model("bert")


LOGITS = OwnObjective(lambda output, batch: output.logits.float().mean((1, 2)), "logits")
ARGUMENTS: dict[str, dict[str, Any]] = {
    "survey": {"measures": ["weight"]},
    "ranks": {"measures": ["weight", "norm"], "numbers": ["ranks"], "sample": 5},
    "distances": {"measures": ["weight"]},
    "importance": {"measures": ["weight"], "numbers": ["importance"]},
    "null_space": {"measures": ["effective"], "numbers": ["null_space"], "sample": 5},
    "token_identity": {"maps": ["naive"]},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ARGUMENTS)
def test_a_study_of_a_model_that_overflows_says_at_which_layer_and_text(name: str) -> None:
    found = overflowing(model_for(name))
    study = studies()[name if name in studies() else "survey"]
    settings: Settings = study.settings.from_mapping(ARGUMENTS[name])
    given = {"objective": LOGITS} if name == "importance" else {}
    with pytest.raises(CaptureError) as refused:
        study.run([*TEXTS, BAD], found, settings, progress=False, **given)
    message = str(refused.value)
    assert re.match(r"text 5: .* (encoder layer 1|after 2 layers) is not finite", message)
    assert message.endswith("load the model in bfloat16 or float32 (dtype=).")
    study.run(TEXTS, overflowing(model_for(name)), settings, progress=False, **given)


def test_a_reading_of_it_is_refused() -> None:
    with pytest.raises(CaptureError, match="the attention of encoder layer 1 is not finite"):
        read(overflowing(model("bert")), BAD)


def test_the_first_text_of_a_run_may_be_the_one() -> None:
    """It is traced before it is observed."""
    settings = studies()["survey"].settings.from_mapping(ARGUMENTS["survey"])
    with pytest.raises(CaptureError, match="encoder layer 0 is not finite"):
        studies()["survey"].run(
            [BAD, *TEXTS], overflowing(model("bert"), layer=0), settings, progress=False
        )


@pytest.mark.parametrize("number", [torch.nan, torch.inf])
def test_weights_that_are_not_finite_are_named(number: float) -> None:
    found = model("bert")
    with torch.no_grad():
        found.transformer.encoder.layer[1].attention.self.query.weight[3, 3] = number
    with pytest.raises(ModelError, match=r"weights of bert .*layer\.1\.attention\.self\.query"):
        _ = found.sites


def test_no_precision_is_wider_than_float64() -> None:
    for dtype in (torch.float32, torch.float64):
        sentence = str(NotFiniteError("the attention", dtype, 0))
        assert ("wider precision" in sentence) == (dtype == torch.float32)


def test_weights_that_are_too_large_are_not_blamed_on_the_architecture() -> None:
    """Attention is finite, and what is made of it is not."""
    found = model("bert")
    with torch.no_grad():
        found.transformer.encoder.layer[1].attention.self.value.weight[0, 0] = 1e38
    with pytest.raises(CaptureError, match="comes out of the last layer is not finite"):
        _ = found.sites


def test_a_position_that_sees_nothing_may_be_anything() -> None:
    """Some models fill the rows of padding with what they like."""
    weight, value, context = torch.rand(2, 1, 3, 3), torch.rand(2, 1, 3, 4), torch.rand(2, 3, 1, 4)
    weight[1, :, 2], context[1, 2] = torch.nan, torch.nan
    visible = torch.ones(2, 3, 3, dtype=torch.bool).tril()
    visible[1, 2] = False
    require_finite_attention(("decoder", 0), context, weight, value, visible)
    visible[1, 2, 2] = True
    with pytest.raises(CaptureError, match=r"^sequence 2 of the batch: .* decoder layer 0"):
        require_finite_attention(("decoder", 0), context, weight, value, visible)


@settings(max_examples=60, deadline=None)
@given(
    numbers=st.lists(
        st.sampled_from([0.0, 1.0, -2.5, 6e4, -6e4, torch.inf, -torch.inf, torch.nan]),
        min_size=1,
        max_size=8,
    ),
    dtype=st.sampled_from([torch.float16, torch.bfloat16, torch.float32, torch.float64]),
    largest=st.booleans(),
)
def test_numbers_are_refused_only_if_some_are_not_finite(numbers, dtype, largest):
    """Sums of large numbers overflow, and those of infinities of both signs are NaN."""
    values = torch.tensor(numbers, dtype=dtype)[:, None].expand(-1, 3)
    if largest:
        values = torch.where(values > 1, torch.finfo(dtype).max, values)
    finite = values.isfinite().all(1)
    if bool(finite.all()):
        require_finite("a number", values)
        require_finite_attention(("encoder", 0), values, values, values, None)
    else:
        with pytest.raises(NotFiniteError) as refused:
            require_finite("a number", values)
        assert refused.value.row == int((~finite).nonzero()[0])


def test_sums_that_overflow_are_looked_at_on_a_device_too():
    """A device is not waited for; what overflows is read again, and then looked at closely."""
    with claimed_devices():
        large = torch.full((2, 3), 3e38, device="cuda")
        with answered_later() as answers:
            require_finite("a number", large)
            require_finite("a number", large * torch.inf)
        assert not any(all_hold([each], large.device) for each in answers)
        assert len(answers) == 2
        require_finite("a number", large)
        with pytest.raises(NotFiniteError):
            require_finite("a number", large * torch.inf)


def with_large_projection(number: float) -> CapturedModel:
    """The norm behind its last layer divides by the length, so that its output stays finite."""
    found = model("llama")
    with torch.no_grad():
        found.transformer.layers[1].self_attn.o_proj.weight[0, 0] = number
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", ["survey", "distances"])
def test_sums_of_norms_that_overflow_are_refused(name: str) -> None:
    settings: Settings = studies()[name].settings.from_mapping({"measures": ["norm"]})
    with pytest.raises(CaptureError, match=r"^text 0: the sum of ‖f\(x\)‖ in decoder layer 1"):
        studies()[name].run(TEXTS, with_large_projection(1e38), settings, progress=False)
    studies()[name].run(TEXTS, with_large_projection(1e30), settings, progress=False)


def test_a_reading_of_such_norms_is_refused() -> None:
    with pytest.raises(CaptureError, match="in decoder layer 1 is not finite"):
        read(with_large_projection(3e38), "the old river falls down near the full lake")


@pytest.mark.parametrize("number", [np.inf, -np.inf])
def test_no_accumulator_takes_infinity(number: float) -> None:
    with pytest.raises(CaptureError, match="infinite"):
        Moments((2,)).update(np.array([[1.0, number]]))
    with pytest.raises(CaptureError, match="infinite"):
        Ratio((1,)).update(np.array([[number]]), np.array([[1.0]]))
