"""Tokens of a batch: those that are set, or what suits the device of the model."""

import json
from pathlib import Path

import pytest

import headlight
from claimed_devices import claimed_devices, place
from headlight.capture import CapturedModel
from headlight.engine.batch_size import SCORE_BYTES, batch_tokens
from headlight.errors import RunError
from headlight.studies.survey import SurveySettings
from studies.models import model, texts

LONG = SurveySettings(max_length=32, measures=("weight", "norm"))


def on_gpu(family: str = "bert") -> CapturedModel:
    network = model(family)
    place(network.transformer, "cuda")
    return CapturedModel(network.transformer, network.tokenizer, network.name, network.revision)


def survey(network: CapturedModel, **options: object) -> dict[str, object]:
    """Return the settings that the result of a few texts keeps."""
    result = headlight.survey(
        texts(4), model=network, measures="weight", max_length=32, progress=False, **options
    )
    return json.loads(result.attrs["settings"])


def test_on_a_cpu_a_batch_has_2048_tokens() -> None:
    assert batch_tokens(model("bert"), LONG) == 2048


@pytest.mark.slow
def test_on_a_gpu_the_measures_of_a_layer_fill_a_gigabyte() -> None:
    with claimed_devices():
        network = on_gpu()
        heads = max(site.heads for site in network.sites)
        tokens = batch_tokens(network, LONG)
        assert tokens == SCORE_BYTES // (4 * heads * 2 * 32)
        assert tokens // 32 * heads * 32**2 * 4 * 2 <= SCORE_BYTES
        assert batch_tokens(network, LONG.replace(measures=("weight",))) == 2 * tokens
        assert batch_tokens(network, LONG.replace(max_length=16)) == 2 * tokens


def test_what_is_set_wins_on_a_gpu() -> None:
    with claimed_devices():
        assert batch_tokens(on_gpu(), LONG.replace(batch_tokens=7)) == 7


def test_predictions_of_words_keep_to_small_batches_on_a_gpu() -> None:
    with claimed_devices():
        assert batch_tokens(on_gpu(), LONG.replace(measures=("weight", "gradient"))) == 2048


@pytest.mark.slow
@pytest.mark.parametrize("tokens", [None, 60])
def test_the_result_of_a_gpu_keeps_its_batch_tokens(tokens: int | None) -> None:
    with claimed_devices():
        network = on_gpu()
        expected = tokens or batch_tokens(network, LONG.replace(measures=("weight",)))
        assert survey(network, batch_tokens=tokens)["batch_tokens"] == expected


@pytest.mark.slow
def test_a_run_of_other_batches_is_not_resumed(tmp_path: Path) -> None:
    network = model("bert")
    assert survey(network, out=tmp_path)["batch_tokens"] == 2048
    assert survey(network, out=tmp_path, resume=True, batch_tokens=2048)["batch_tokens"] == 2048
    with pytest.raises(RunError, match="batch_tokens"):
        survey(network, out=tmp_path, resume=True, batch_tokens=60)
