"""Which measures agree on the words that matter, against single texts and pairs of words."""

import math
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import kendalltau
from transformers import BertConfig, BertForSequenceClassification

import headlight
from headlight.capture import CapturedModel, attention_replaced
from headlight.errors import MissingHeadError, UsageError
from studies.classifiers import classifier, labelled, tagged
from studies.models import model, tokenizer
from studies.test_faithfulness import importance, probabilities, texts_of_words
from tiny_models import randomise

QUICK = {"bootstrap": 0, "progress": False}
MEASURES = ("weight", "effective", "gradient_input", "leave_one_out")


@pytest.mark.slow
@pytest.mark.parametrize("signed", [False, True])
def test_numbers_are_those_of_single_texts(signed: bool) -> None:
    """By predicted class and over all; a text of one word has no τ."""
    made, data = classifier(), [*texts_of_words(6), ("cat", "good")]
    result = headlight.agreement(
        data, model=made, measures=MEASURES, signed=signed, top=0.3, **QUICK
    )
    predictions = []
    taus: dict[tuple[str, str], list[float]] = {pair: [] for pair in combinations(MEASURES, 2)}
    overlaps: dict[tuple[str, str], list[float]] = {pair: [] for pair in taus}
    for text, _ in data:
        words = set(range(len(text.split())))
        predictions.append(int(probabilities(made, text, words, "delete").argmax()))
        sizes = {}
        for name in MEASURES:
            found = importance(made, text, name, "delete", "mean")
            sizes[name] = found if signed else np.abs(found)
        number = math.ceil(round(0.3 * len(words), 6))
        for pair in taus:
            first, second = (sizes[name] for name in pair)
            taus[pair].append(kendalltau(first, second).statistic if len(words) > 1 else math.nan)
            tops = [
                set(sorted(words, key=lambda at: -each[at])[:number]) for each in (first, second)
            ]
            overlaps[pair].append(len(tops[0] & tops[1]) / number)
    assert int(result.texts) == 7
    assert result.predicted_class_texts.values.tolist() == [
        predictions.count(0),
        predictions.count(1),
    ]
    for pair, values in taus.items():
        cell = result.sel(measure=pair[0], other=pair[1])
        assert float(cell.tau) == pytest.approx(np.nanmean(values), abs=1e-6), pair
        assert float(cell.tau_deviation) == pytest.approx(np.nanstd(values), abs=1e-6)
        assert float(cell.overlap) == pytest.approx(np.mean(overlaps[pair]))
        assert float(cell.undefined) == np.isnan(values).sum() > 0
        assert int(cell.histogram.sum()) == np.isfinite(values).sum()
        for at, name in enumerate(("bad", "good")):
            own = [
                value
                for value, prediction in zip(values, predictions, strict=True)
                if prediction == at
            ]
            seen = [value for value in own if not math.isnan(value)]
            expected = np.mean(seen) if seen else math.nan
            found = float(cell.predicted_class_tau.sel(predicted_class=name))
            assert found == pytest.approx(expected, abs=1e-6, nan_ok=True)
            assert int(cell.predicted_class_histogram.sel(predicted_class=name).sum()) == len(seen)
    np.testing.assert_array_equal(result.tau, result.tau.values.T)
    assert np.isnan(np.diag(result.tau)).all()


def test_definitions_of_the_paper_can_be_asked_for() -> None:
    """Of three classes: attention is constant in gradients, and all classes count in distances."""
    config = BertConfig(**{**classifier().transformer.config.to_dict(), "num_labels": 3})
    network = BertForSequenceClassification(config).eval()
    with torch.no_grad():
        randomise(network, torch.Generator().manual_seed(4))
    made = CapturedModel(network, tokenizer("bert"), "three", "1")
    data = [(text, "0") for text, _ in texts_of_words(5)]
    options: dict[str, Any] = {"measures": ("gradient_input", "leave_one_out"), **QUICK}
    paper = headlight.agreement(
        data, model=made, layers=[1], attention_fixed=True, lost="tvd", class_names=list("012"),
        **options,
    )  # fmt: skip
    taus = []
    for text, _ in data:
        words = set(range(len(text.split())))
        whole = probabilities(made, text, words, "delete")
        without = [probabilities(made, text, words - {word}, "delete") for word in words]
        lost = [np.abs(whole - each).sum() / 2 for each in without]
        with made.capture(made.sites) as recorder, torch.no_grad():
            own: dict[int, torch.Tensor] = {}
            recorder.visit = lambda record, own=own: own.update(
                {record.site.layer: record.weight.clone()}
            )
            network(**made.tokenizer([text], return_tensors="pt"))
        with attention_replaced(made, dict(own)):
            gradient = importance(made, text, "gradient_input", "delete", "mean")
        taus.append(kendalltau(np.abs(gradient), lost).statistic)
    found = paper.tau.sel(measure="gradient_input", other="leave_one_out")
    assert float(found) == pytest.approx(np.nanmean(taus), abs=1e-6)
    here = headlight.agreement(data, model=made, class_names=list("012"), **options)
    assert not paper.tau.equals(here.tau)


def test_random_numbers_agree_with_nothing() -> None:
    made, data = classifier(), labelled(30)
    result = headlight.agreement(data, model=made, measures=("weight", "norm"), **QUICK)
    apart = result.sel(measure="weight")
    assert abs(float(apart.tau.sel(other="random"))) < 0.3 < float(apart.tau.sel(other="norm"))
    assert float(apart.significant.sel(other="random")) < 0.3


def test_nothing_depends_on_batches() -> None:
    made, data = classifier(), labelled(7)
    options = {"model": made, "bootstrap": 20, "progress": False}
    whole = headlight.agreement(data, **options)
    parts = headlight.agreement(data, batch_tokens=30, **options)
    for name in whole.data_vars:
        np.testing.assert_allclose(whole[name], parts[name], atol=1e-5, err_msg=str(name))
    there = np.isfinite(whole.tau)
    assert (whole.tau_low <= whole.tau).where(there, True).all()
    assert (whole.tau <= whole.tau_high).where(there, True).all()


@pytest.mark.slow
def test_a_run_is_kept_and_reported(tmp_path: Path) -> None:
    options: dict[str, Any] = {"model": classifier(), "measures": ["weight", "norm"], **QUICK}
    result = headlight.agreement(labelled(5), out=tmp_path, **options)
    again = headlight.agreement(labelled(5), out=tmp_path, resume=True, **options)
    assert result.identical(again)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "This describes measures and is no test of them" in page
    assert set(result.headlight.tables) == {"agreement", "predictions", "histograms"}
    assert list(result.headlight.table()["with"]) == ["norm", "random numbers", "random numbers"]


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"removal": "mask"}, "the tokenizer of classifier has no mask token"),
        ({"measures": ()}, "measures is"),
        ({"top": 0.0}, "top must be above 0"),
    ],
)
def test_wrong_requests(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        headlight.agreement(labelled(2), model=classifier(), progress=False, **settings)


def test_models_that_do_not_answer_once_are_refused() -> None:
    with pytest.raises(MissingHeadError, match="has no classification head"):
        headlight.agreement(labelled(2), model=model("bert"), progress=False)
    with pytest.raises(UsageError, match="predicts a class for every word"):
        headlight.agreement(tagged(2), model=classifier(tokens=True), progress=False)
