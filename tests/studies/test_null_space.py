"""Null spaces of a survey against matrices that are written out, one text at a time."""

from typing import Any

import numpy as np
import pytest
import xarray

import definitions
from headlight.engine.folder import RunFolder
from headlight.engine.text_plan import plan_text_study
from headlight.errors import RunError, UsageError
from headlight.result import load
from studies.chosen_numbers import only, settings_for, survey_with
from studies.models import documents, model, texts, uneven
from studies.naive import layers_of

PAIRS = [" \n\n ".join(document.paragraphs) for document in documents(6)]
CASES = {
    "bert": ("bert", "encoder", "include"),
    "bert without the bias": ("bert", "encoder", "exclude"),
    "llama": ("llama", "decoder", "include"),
    "bart cross": ("bart", "cross", "include"),
    "t5": ("t5", "encoder", "include"),
}
NAMES = ("rank_by_length", "", "null_dimension", "null_dimension_with_ones")
"""Of the rank of [T, 1], a survey has nothing."""


def study(found: Any, corpus: Any = None, settings: Any = None, **more: Any) -> xarray.Dataset:
    corpus = texts(9, longest=24) if corpus is None else corpus
    return survey_with("null_space", corpus, found, settings, **more)


def naive(example: Any, made: Any, family: str, kind: str, bias: str) -> dict[str, np.ndarray]:
    """All numbers of one text, [layer, head]."""
    found: dict[str, list[Any]] = {name: [] for name in (*NAMES, "equal", "equal_with_ones", "r")}
    cells: list[list[np.ndarray]] = [[], []]
    for layer in layers_of(made, family, kind, example, range(2)):
        value = layer.value
        if bias == "exclude":
            assert layer.bias is not None
            value = value - layer.bias[:, None]
        vectors = definitions.transformed(value, layer.output)
        effective = definitions.effective(layer.weight, value, layer.output, layer.visible)
        size = value.shape[-1]
        row: dict[str, list[Any]] = {name: [] for name in found}
        for head, t in enumerate(vectors):
            numbers = []
            for seen in layer.visible:
                rows = t[seen]
                rank = np.linalg.matrix_rank(rows)
                ones = np.linalg.matrix_rank(np.hstack([rows, np.ones((len(rows), 1))]))
                numbers.append((rank, ones, len(rows) - rank, len(rows) - ones, len(rows)))
            every = np.array(numbers)
            for name, column in zip(NAMES, every.T, strict=False):
                row[name].append(column.max())
            row["equal"].append(np.all(every[:, 2] == np.maximum(every[:, 4] - size, 0)))
            row["equal_with_ones"].append(
                np.all(every[:, 3] == np.maximum(every[:, 4] - size - 1, 0))
            )
            pair = [each[head][layer.visible] for each in (layer.weight, effective)]
            row["r"].append(np.corrcoef(*pair)[0, 1])
            for part, values in zip(cells, pair, strict=True):
                part.append(values)
        for name in found:
            found[name].append(row[name])
    whole = np.corrcoef(*(np.concatenate(part) for part in cells))[0, 1]
    return {name: np.array(rows) for name, rows in found.items()} | {"whole": np.array(whole)}


@pytest.fixture(scope="module", params=CASES)
def case(request: Any) -> Any:
    family, kind, bias = CASES[request.param]
    found = model(family)
    corpus = PAIRS if family == "bart" else texts(9, longest=24)
    settings = settings_for(
        "null_space", pairs=family == "bart", kind=kind, value_bias=bias, batch_tokens=60
    )
    result = study(found, corpus, settings)
    examples = list(plan_text_study("survey", "", corpus, found, settings).examples)
    keys = [len(example.ids) for example in examples]
    each = [naive(example, found.transformer, family, kind, bias) for example in examples]
    return result, np.array(keys), each


def of(each: list[dict[str, np.ndarray]], name: str, chosen: np.ndarray) -> np.ndarray:
    return np.array([numbers[name] for numbers in each])[chosen]


@pytest.mark.slow
def test_ranks_and_null_spaces_by_length(case: Any) -> None:
    result, keys, each = case
    assert result["length"].values.tolist() == sorted(set(keys // 8 * 8))
    for length in result["length"].values:
        here, chosen = result.sel(length=length), keys // 8 * 8 == length
        assert here["text_count"] == chosen.sum()
        assert float(here["keys_mean"]) == pytest.approx(keys[chosen].mean())
        for name in filter(None, NAMES):
            np.testing.assert_allclose(here[name], of(each, name, chosen).mean(0))
        dimensions = of(each, "null_dimension", chosen)
        np.testing.assert_array_equal(here["null_dimension_min"], dimensions.min(0))
        np.testing.assert_array_equal(here["null_dimension_max"], dimensions.max(0))
        for name in ("equal", "equal_with_ones"):
            np.testing.assert_array_equal(here[f"{name}_count"], of(each, name, chosen).sum(0))
        np.testing.assert_allclose(here["bound"], np.maximum(keys[chosen] - 8, 0).mean())
        np.testing.assert_allclose(here["bound_with_ones"], np.maximum(keys[chosen] - 9, 0).mean())


@pytest.mark.slow
def test_correlations_by_length_and_their_points(case: Any) -> None:
    result, keys, each = case
    for length in result["length"].values:
        here, chosen = result.sel(length=length), keys // 8 * 8 == length
        np.testing.assert_allclose(
            here["effective_correlation"], of(each, "whole", chosen).mean(), atol=1e-5
        )
    by_head = np.array([one["r"] for one in each])
    defined = np.isfinite(by_head).all(0)
    np.testing.assert_allclose(
        result["effective_correlation_by_head"].values[defined],
        by_head.mean(0)[defined],
        atol=2e-5,
    )
    points = result["points"].values
    wanted = sorted(zip(keys, (float(one["whole"]) for one in each), strict=True))
    np.testing.assert_allclose(np.array(sorted(points.tolist())), wanted, atol=1e-5)


def test_no_more_points_are_kept_than_asked_for() -> None:
    result = study(model("bert"), settings=settings_for("null_space", sample=4))
    assert result["points"].shape == (4, 2)


def test_layers_may_have_different_numbers_of_heads() -> None:
    result = study(uneven())
    assert result["head_dim"].values.tolist() == [8, 16]
    assert np.isnan(result["rank_by_length"].sel(layer=1, head=[2, 3])).all()
    assert (result["rank_by_length"].sel(layer=1, head=[0, 1]) > 0).all()
    assert not result["equal_count"].sel(layer=1, head=[2, 3]).any()


@pytest.mark.slow
def test_batches_change_nothing() -> None:
    alone = study(model("bert"), settings=settings_for("null_space", batch_tokens=1))
    together = study(model("bert"), settings=settings_for("null_space", batch_tokens=4096))
    xarray.testing.assert_allclose(alone.drop_attrs(), together.drop_attrs(), rtol=1e-5, atol=1e-6)


@pytest.mark.slow
def test_a_result_is_kept_and_goes_on_only_with_the_same_options(tmp_path: Any) -> None:
    first = study(model("bert"), folder=RunFolder(path=tmp_path))
    again = study(model("bert"), folder=RunFolder(path=tmp_path, resume=True))
    xarray.testing.assert_identical(first, again)
    assert only("null_space", load(tmp_path / "result.nc", stage="survey")).equals(first)
    with pytest.raises(RunError, match=r"other settings \(value_bias\)"):
        study(
            model("bert"),
            settings=settings_for("null_space", value_bias="exclude"),
            folder=RunFolder(path=tmp_path, resume=True),
        )


def test_a_sample_of_nothing_is_refused() -> None:
    with pytest.raises(UsageError, match="sample must be at least 1"):
        settings_for("null_space", sample=0)
