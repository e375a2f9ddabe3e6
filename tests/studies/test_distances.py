"""Distances between heads, against loops over texts, pairs of heads and queries in float64."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
import xarray

from headlight.capture import CapturedModel
from headlight.corpora import Corpus
from headlight.encode import Encoded
from headlight.engine.folder import RunFolder
from headlight.errors import CaptureError, MissingHeadError, RunError, UsageError
from headlight.result import load, save_csv
from headlight.studies.distances import DistanceSettings
from headlight.studies.distances.study import run as run_head_distances
from open_folders import opening
from studies import naive
from studies.models import documents, model, texts, uneven
from studies.test_numbers import examples_of

head_distances = opening(run_head_distances)

SMOOTHING = 0.001
MEASURES = ("weight", "norm", "effective")


def by_definition(
    found: object, family: str, kind: str, examples: Sequence[Encoded], **given: object
) -> np.ndarray:
    """Mean over all queries of JS = (KL(p, m) + KL(q, m)) / 2, [measure, first, second]."""
    smoothing = given.pop("smoothing", SMOOTHING)
    total, queries = 0.0, 0
    for example in examples:
        seen = naive.layers_of(
            found.transformer, family, kind, example, given.get("layers", (0, 1))
        )
        scores = [layer.scores("include") for layer in seen]
        maps = [np.concatenate([score[name] for score in scores]) for name in MEASURES]
        total = total + np.array([summed(one, smoothing) for one in maps])
        queries += maps[0].shape[1]
    return total / queries


def summed(maps: np.ndarray, smoothing: float) -> np.ndarray:
    size = np.abs(maps)
    rows = size / size.sum(-1, keepdims=True)
    rows = (1 - smoothing) * rows + smoothing / rows.shape[-1]
    found = np.zeros((len(rows), len(rows)))
    for one, first in enumerate(rows):
        for other, second in enumerate(rows):
            mean = (first + second) / 2
            found[one, other] = (first * np.log(first / mean)).sum() / 2
            found[one, other] += (second * np.log(second / mean)).sum() / 2
    return found


def agrees(result: xarray.Dataset, expected: np.ndarray) -> None:
    assert list(result["measure"].values) == list(MEASURES)
    assert result["distance"].dims == ("measure", "first", "second")
    np.testing.assert_allclose(result["distance"], expected, rtol=2e-4, atol=2e-6)
    np.testing.assert_array_equal(
        result["distance"], result["distance"].transpose("measure", "second", "first").values
    )
    assert float(result["distance"].max()) < math.log(2)
    assert (np.diagonal(result["distance"], axis1=1, axis2=2) == 0).all()
    assert float(result["distance"].max()) > 0.02


def places(result: xarray.Dataset) -> list[tuple[int, int]]:
    first = [(int(a), int(b)) for a, b in zip(result["layer"], result["head"], strict=True)]
    second = zip(result["second_layer"], result["second_head"], strict=True)
    assert first == [(int(a), int(b)) for a, b in second]
    return first


@pytest.mark.slow
@pytest.mark.parametrize("smoothing", [0.0, SMOOTHING, 0.2])
def test_an_encoder(smoothing):
    found, corpus = model("bert"), texts(5)
    result = head_distances(corpus, found, DistanceSettings(smoothing=smoothing), progress=False)
    examples = examples_of(found, corpus)
    assert len({len(example.ids) for example in examples}) > 2  # so there is padding
    agrees(result, by_definition(found, "bert", "encoder", examples, smoothing=smoothing))
    assert places(result) == [(layer, head) for layer in (0, 1) for head in range(4)]
    assert result.attrs["stage"] == "distances"
    assert result.attrs["smoothing"] == smoothing
    assert result.attrs["examples"] == 5


def test_a_decoder():
    found, corpus = model("llama"), texts(3, longest=14, seed=1)
    result = head_distances(corpus, found, progress=False)
    agrees(result, by_definition(found, "llama", "decoder", examples_of(found, corpus)))


@pytest.mark.parametrize("kind", ["cross", "decoder"])
def test_an_encoder_decoder(kind):
    found, corpus = model("bart"), documents(3)
    settings = DistanceSettings(pairs=True, kind=kind, max_length=32)
    result = head_distances(
        Corpus("memory", lambda _: iter(corpus)), found, settings, progress=False
    )
    examples = examples_of(found, corpus, settings)
    agrees(result, by_definition(found, "bart", kind, examples))


def test_layers_with_different_numbers_of_heads():
    found, corpus = uneven(), texts(3, seed=2)
    result = head_distances(corpus, found, progress=False)
    assert places(result) == [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0), (1, 1)]
    agrees(result, by_definition(found, "bert", "encoder", examples_of(found, corpus)))


def test_some_layers_and_measures_have_what_they_have_among_all():
    found, corpus = model("bert"), texts(4, seed=3)
    everything = head_distances(corpus, found, progress=False)
    settings = DistanceSettings(layers=(1,), measures=("norm",))
    one = head_distances(corpus, found, settings, progress=False)
    assert one["distance"].shape == (1, 4, 4)
    assert places(one) == [(1, head) for head in range(4)]
    among = everything["distance"].sel(measure=["norm"]).isel(first=slice(4, 8), second=slice(4, 8))
    np.testing.assert_allclose(one["distance"], among, rtol=1e-4, atol=1e-7)


def test_neither_batches_nor_the_order_of_texts_matter():
    found, corpus = model("bert"), texts(6, seed=4)
    alone = head_distances(corpus, found, DistanceSettings(batch_tokens=1), progress=False)
    together = head_distances(corpus[::-1], found, progress=False)
    np.testing.assert_allclose(together["distance"], alone["distance"], rtol=1e-4, atol=1e-6)


def test_long_texts_count_by_their_queries():
    """The sum over all queries of the corpus, up to a scale, as the authors have it."""
    found = model("bert")
    short, long = "the sea", "the old mill is near the river , and the town is full of snow ."
    one, other, both = (
        head_distances(corpus, found, DistanceSettings(measures=("weight",)), progress=False)
        for corpus in ([short], [long], [short, long])
    )
    tokens = [each.attrs["tokens"] for each in (one, other)]
    assert tokens[0] < tokens[1] / 3
    expected = (tokens[0] * one["distance"] + tokens[1] * other["distance"]) / sum(tokens)
    np.testing.assert_allclose(both["distance"], expected, rtol=1e-4, atol=1e-7)


@pytest.mark.slow
def test_a_finished_run_is_not_run_again_and_other_settings_are_refused(tmp_path, monkeypatch):
    found, corpus = model("bert"), texts(3)
    place = tmp_path / "run"
    result = head_distances(corpus, found, folder=RunFolder(path=place), progress=False)
    kept = load(place / "result.nc", stage="distances")
    xarray.testing.assert_identical(kept["distance"], result["distance"])
    again = RunFolder(path=place, resume=True)
    with monkeypatch.context() as idle:
        idle.setattr(CapturedModel, "run", None)
        second = head_distances(corpus, model("bert"), folder=again, progress=False)
    xarray.testing.assert_identical(second["distance"], result["distance"])
    with pytest.raises(RunError, match=r"other settings \(smoothing\)"):
        head_distances(corpus, found, DistanceSettings(smoothing=0.5), folder=again, progress=False)
    table = next(path for path in save_csv(result, tmp_path) if "first" in path.name).read_text()
    assert table.splitlines()[0].startswith("measure,first,second,layer,head,second_layer")


def test_what_cannot_be_compared_is_refused():
    found = model("bert")
    with pytest.raises(UsageError, match="smoothing must be at least 0 and below 1, not 2"):
        DistanceSettings(smoothing=2.0)
    with pytest.raises(MissingHeadError, match="no language-model head"):
        head_distances(["the sea"], found, DistanceSettings(measures=("gradient",)), progress=False)


def test_attention_that_is_not_finite_is_refused(monkeypatch):
    found = model("bert")
    monkeypatch.setattr(
        "headlight.studies.distances.study.distributions", lambda rows: rows * math.nan
    )
    with pytest.raises(CaptureError, match="not finite"):
        head_distances(["the sea"], found, progress=False)
