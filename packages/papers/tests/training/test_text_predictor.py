"""One protocol for captured models and small classifiers: both are asked alike."""

from typing import Any

import numpy as np
import pytest
import torch

from headlight.capture import attention_replaced
from headlight.capture.gradient_times_input import input_times_gradient
from headlight.engine.classifier_plan import plan_classifier_study
from headlight.engine.labelled_texts import Classified
from headlight.observations.classifier_outputs import LabelPositions
from headlight.study_settings.classifiers import ClassifierSettings
from headlight_papers.classifiers.attention_changes import median_change
from headlight_papers.classifiers.predictors import CapturedPredictor, Predictor
from headlight_papers.training.text_classifier import TextBatch, TextClassifier
from headlight_papers.training.text_predictor import TextPredictor, lost_words
from studies.classifiers import classifier, labelled


@pytest.fixture
def captured() -> tuple[CapturedPredictor, list[Classified]]:
    made = classifier()
    plan, _ = plan_classifier_study("", "", labelled(5), made, ClassifierSettings())
    examples: list[Classified] = list(plan.examples)
    batch, positions = made.collate(examples), LabelPositions(examples, "cpu")
    return CapturedPredictor(made, batch, positions, plan.sites), examples


def small(encoder: Any = "lstm") -> TextPredictor:
    torch.manual_seed(1)
    model = TextClassifier.from_sizes(encoder, 20, 2).eval()
    real = torch.arange(5) < torch.tensor([[5], [3]])
    words = torch.randint(2, 20, (2, 5)) * real
    return TextPredictor(model, TextBatch(words, real, torch.tensor([0, 1]), torch.arange(2)))


def test_both_are_predictors(captured: Any) -> None:
    assert isinstance(captured[0], Predictor)
    assert isinstance(small(), Predictor)


def test_with_its_own_attention_a_predictor_says_what_it_says(captured: Any) -> None:
    for predictor in (captured[0], small()):
        before = predictor.predictions()
        same = predictor.with_attention(lambda weight, _: weight)
        torch.testing.assert_close(same, before)
        other = predictor.with_attention(lambda weight, _: weight.flip(-1))
        assert not torch.allclose(other, before)
        assert (median_change(before, torch.stack([same, other, other])) > 0).any()


def test_candidates_at_once_say_what_each_says_alone(captured: Any) -> None:
    predictor = captured[0]
    own: dict[int, torch.Tensor] = {}
    with predictor.model.capture(predictor.sites) as recorder:
        recorder.visit = lambda record: own.update({record.site.layer: record.weight.clone()})
        predictor.predictions()
    rows = torch.cat([own[site.layer].flatten(1, 2) for site in predictor.sites], 1)
    candidates = torch.stack([rows, rows.flip(-1)])
    with predictor.replacing() as given:
        found = given(candidates)
    flipped = {layer: weight.flip(-1) for layer, weight in own.items()}
    for copy, weights in zip(found, (own, flipped), strict=True):
        with attention_replaced(predictor.model, weights):
            torch.testing.assert_close(copy, predictor.predictions(), atol=1e-6, rtol=1e-5)


def test_gradients_may_leave_attention_out(captured: Any) -> None:
    """Then they are those of a model in which attention is what it was, whatever it reads."""
    predictor = captured[0]
    own: dict[int, torch.Tensor] = {}
    with predictor.model.capture(predictor.sites) as recorder:
        recorder.visit = lambda record: own.update({record.site.layer: record.weight.clone()})
        predictor.predictions()

    def second(output: Any) -> torch.Tensor:
        found: torch.Tensor = output.logits.softmax(-1)[:, 1]
        return found

    with attention_replaced(predictor.model, {layer: each.clone() for layer, each in own.items()}):
        expected = input_times_gradient(predictor.model, predictor.batch, second)
    found = predictor.gradient_input(1, attention_fixed=True)
    torch.testing.assert_close(found, expected)
    assert not torch.allclose(found, predictor.gradient_input(1))
    text = small()
    assert not torch.allclose(text.gradient_input(1, attention_fixed=True), text.gradient_input(1))


@pytest.mark.parametrize("kind", ["lstm", "average"])
def test_of_two_classes_the_distance_is_the_size_of_what_the_chosen_one_loses(kind: str) -> None:
    predictor = small(kind)
    for text, moved in enumerate(lost_words(predictor)):
        whole = predictor.without(text, frozenset())[0]
        rest = [predictor.without(text, frozenset({word}))[0] for word in range(len(moved))]
        chosen = int(whole.argmax())
        lost = [whole[chosen] - each[chosen] for each in rest]
        np.testing.assert_allclose(np.abs(lost), moved, atol=1e-12)


def test_without_several_words_a_text_is_read_as_the_rest() -> None:
    predictor = small()
    gone, every = frozenset({0, 3}), frozenset({0, 1, 2})
    predictor.ask([(0, gone), (1, every)])
    rest = predictor.batch.words[0][[1, 2, 4]][None]
    with torch.no_grad():
        expected = predictor.model(rest, torch.ones(1, 3).bool())[0].double().softmax(-1)
    np.testing.assert_allclose(predictor.without(0, gone), expected.numpy(), rtol=1e-6)
    assert np.isnan(predictor.without(1, every)).all()  # of an empty text nothing can be said
