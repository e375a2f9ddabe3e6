"""A short soak: neither memory nor open files grow while a survey reads on and on."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from studies.models import model
from translators import FAMILIES

SCRIPT = Path(__file__).parents[2] / "scripts" / "soak.py"
pytestmark = [
    pytest.mark.words,
    pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is in /proc"),
    pytest.mark.skipif(not SCRIPT.exists(), reason="scripts are not here"),
]


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("soak", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_a_survey_of_many_texts_needs_no_more_than_one_of_few(script, monkeypatch):
    monkeypatch.setattr("headlight.engine.batch_runner.SHARD", 64)
    memory, descriptors = script.soak(2_000, model("bert"))
    assert len(memory) == 2_000 // 64 + 1
    assert script.growth(memory) < script.GROWTH
    assert len(set(descriptors)) == 1


@pytest.mark.slow
def test_alignment_of_many_pairs_needs_no_more_than_of_few(script):
    memory, descriptors = script.soak_alignment(2_000, FAMILIES["marian"].model())
    assert len(memory) == 2_000 // 256
    assert script.growth(memory) < script.GROWTH
    assert len(set(descriptors)) == 1


def test_growth_is_noticed_and_noise_is_not(script):
    noise = np.random.default_rng(0).normal(0, 1, 200)
    assert abs(script.growth([500 + each for each in noise])) < 2
    assert script.growth([500 + place * 0.2 + each for place, each in enumerate(noise)]) > 30
    assert script.growth([*np.linspace(0, 400, 20), *[400.0] * 180]) == pytest.approx(0, abs=1e-6)
