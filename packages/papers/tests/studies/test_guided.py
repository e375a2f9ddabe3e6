"""Models of single tokens with attention that is given: it is frozen, and that of its guide."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import xarray

import headlight
from headlight.engine.classifier_plan import plan_classifier_study
from headlight.errors import CorpusError, MissingHeadError, UsageError
from headlight.result.estimate import with_ends
from headlight_papers.studies.guided import GuidedSettings, page
from headlight_papers.studies.guided.guides import GuidedText, guided_texts, share
from headlight_papers.studies.guided.models import GuidedTrainer, Job, collate, token_classifier
from headlight_papers.studies.guided.study import Evaluation, dataset
from studies.classifiers import classifier, labelled, tagged
from studies.models import model

QUICK: dict[str, Any] = {
    "repeats": 1, "epochs": 2, "width": 8, "processes": 1, "progress": False,
    "measures": ["weight"],
}  # fmt: skip


def made_texts(count: int = 24) -> list[GuidedText]:
    """The class is that of one token, to which one guide gives everything and another nothing."""
    generator = np.random.default_rng(0)
    found = []
    for number in range(count):
        label = number % 2
        ids = generator.integers(2, 12, 5)
        place = int(generator.integers(0, 5))
        ids[place] = label
        right, wrong = np.eye(5, dtype=np.float32)[[place, (place + 1) % 5]]
        weights = {"uniform": share(np.ones(5)), "random": right, "weight": wrong}
        found.append(GuidedText(ids.astype(np.int64), label, number, weights))
    return found


def test_attention_that_is_given_is_frozen() -> None:
    """Training changes neither it nor what scores; what scores changes nothing."""
    texts = made_texts()
    kept = [text.weights["weight"].copy() for text in texts]
    batch = collate(texts, "weight")
    torch.manual_seed(0)
    network = token_classifier(12, 8, 2)
    before = {name: each.clone() for name, each in network.state_dict().items()}
    assert batch.given is not None
    given = batch.given.clone()
    optimiser = torch.optim.Adam(network.parameters(), lr=0.1)
    for _ in range(3):
        loss = network.run(batch.batch, batch.given)[0].square().sum()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    assert torch.equal(batch.given, given)
    for text, weight in zip(texts, kept, strict=True):
        assert np.array_equal(text.weights["weight"], weight)
    for name, each in network.state_dict().items():
        scores = "attention" in name
        assert torch.equal(each, before[name]) == scores
    logits = network.run(batch.batch, batch.given)[0]
    with torch.no_grad():
        network.attention.weight.normal_()
        network.before_attention.weight.normal_()
    assert torch.equal(network.run(batch.batch, batch.given)[0], logits)


def test_a_model_is_its_definition() -> None:
    texts = made_texts(3)
    network = token_classifier(12, 4, 2).double()
    weights = {name: each.numpy() for name, each in network.state_dict().items()}
    for guide in ("random", "own"):
        batch = collate(texts, guide)
        given = None if batch.given is None else batch.given.double()
        found = network.run(batch.batch, given)[0].detach().numpy()
        for row, text in enumerate(texts):
            states = []
            scores = []
            for token in text.ids:
                vector = weights["embedding.weight"][token]
                state = np.tanh(_affine(weights, "encoder.map", vector))
                hidden = np.tanh(_affine(weights, "before_attention", state))
                states.append(state)
                scores.append(float(weights["attention.weight"][0] @ hidden))
            learnt = np.exp(scores) / np.exp(scores).sum()
            chosen = learnt if guide == "own" else text.weights[guide]
            whole = sum(one * state for one, state in zip(chosen, states, strict=True))
            expected = weights["output.weight"] @ whole + weights["output.bias"]
            np.testing.assert_allclose(found[row], expected, rtol=1e-6)


def _affine(weights: dict[str, np.ndarray], name: str, vector: np.ndarray) -> np.ndarray:
    found: np.ndarray = weights[f"{name}.weight"] @ vector + weights[f"{name}.bias"]
    return found


def test_padding_is_nothing() -> None:
    texts = made_texts(2)
    short = GuidedText(texts[0].ids[:2], 0, 9, {"uniform": share([1, 1])})
    network = token_classifier(12, 4, 2)
    for guide in ("uniform", "own"):
        alone, beside = (
            network.run(each.batch, each.given)[0]
            for each in (collate([short], guide), collate([texts[1], short], guide))
        )
        torch.testing.assert_close(beside[1:], alone)


def test_a_guide_that_knows_the_token_is_worth_more_than_one_that_does_not(tmp_path: Path) -> None:
    settings = GuidedSettings(measures=("weight",), epochs=20, learning_rate=0.03, width=8)
    texts = made_texts(60)
    trainer = GuidedTrainer(texts[:40], texts[40:], 12, 2, settings, tmp_path)
    right = {}
    for number, guide in enumerate(trainer.guides):
        trainer.run(Job(number, 0))
        predictions = trainer.parameters(Job(number, 0))["probability"].argmax(-1).numpy()
        right[guide] = float(np.mean(predictions == [text.label for text in texts[40:]]))
    assert right["random"] == 1  # that to which everything was given
    assert right["weight"] < 0.9


def test_shares() -> None:
    np.testing.assert_allclose(share([-1, 3]), [0.25, 0.75])
    np.testing.assert_allclose(share([0, 0]), [0.5, 0.5])


def test_numbers_of_answers() -> None:
    evaluation = Evaluation(np.array([0, 1, 1]), np.arange(3), np.arange(3), GuidedSettings(), ())
    probability = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])
    found = evaluation.numbers(probability)
    assert found["accuracy"]["mean"] == pytest.approx(2 / 3)
    assert found["nll"]["mean"] == pytest.approx(-np.log([0.9, 0.8, 0.4]).mean())
    assert found["f1"]["mean"] == pytest.approx((2 / 3 + 2 / 3) / 2)


def test_weights_are_those_of_the_model_by_loops() -> None:
    made = classifier()
    settings = GuidedSettings(measures=("weight",))
    plan, _ = plan_classifier_study("guided", "", labelled(5), made, settings)
    examples = list(plan.examples)
    made.transformer.set_attn_implementation("eager")
    for text, example in zip(
        guided_texts(examples, made, plan.sites, settings), examples, strict=True
    ):
        with torch.no_grad():
            found = made.transformer(torch.tensor([example.ids]), output_attentions=True)
        size = np.mean([each[0].mean((0, 1)).numpy() for each in found.attentions], axis=0)
        inside = size[1:-1] / size[1:-1].sum()
        np.testing.assert_allclose(text.weights["weight"], inside, rtol=1e-4)
        assert text.ids.tolist() == list(example.ids[1:-1])


@pytest.mark.slow
def test_the_study_and_a_further_model(tmp_path: Path) -> None:
    made = classifier()
    place = tmp_path / "other"
    made.transformer.save_pretrained(place)
    made.tokenizer.save_pretrained(place)
    result = headlight.guided(labelled(15), model=made, also=[str(place)], **QUICK)
    assert list(result.guide.values) == ["uniform", "random", "own", "weight", f"weight of {place}"]
    same = (result.seed_nll.sel(guide=name) for name in ("weight", f"weight of {place}"))
    np.testing.assert_allclose(*same, rtol=1e-5)  # it is the same model
    for name in ("accuracy", "f1", "nll"):
        assert np.isfinite(result[name]).all()
    again = headlight.guided(labelled(15), model=made, also=[str(place)], **QUICK)
    xarray.testing.assert_identical(result.drop_attrs(), again.drop_attrs())
    result.headlight.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "faithful" not in page


@pytest.mark.parametrize(
    ("data", "settings", "kind", "says"),
    [
        ([("a sea", "good")] * 6, {}, CorpusError, "are of the class 'good'"),
        (labelled(6), {"also": ["nowhere/at/all"]}, headlight.HeadlightError, "no folder"),
    ],
)
def test_wrong_requests(data: Any, settings: dict[str, Any], kind: Any, says: str) -> None:
    with pytest.raises(kind, match=says):
        headlight.guided(data, model=classifier(), **QUICK | settings)


def test_other_models_are_refused() -> None:
    with pytest.raises(MissingHeadError, match="has no classification head"):
        headlight.guided(labelled(6), model=model("bert"), **QUICK)
    with pytest.raises(UsageError, match="has a row of its own; leave out rows"):
        headlight.guided(tagged(6), model=classifier(tokens=True), rows="first", **QUICK)


# Taggers


@pytest.mark.slow
def test_words_are_given_their_rows_by_loops() -> None:
    made = classifier(tokens=True)
    settings = GuidedSettings(measures=("weight", "gradient_input", "attribution"))
    plan, _ = plan_classifier_study("guided", "", tagged(5), made, settings)
    examples = list(plan.examples)
    found = iter(guided_texts(examples, made, plan.sites, settings, tagger=True))
    made.transformer.set_attn_implementation("eager")
    for example in examples:
        ids = torch.tensor([example.ids])
        with torch.no_grad():
            maps = made.transformer(ids, output_attentions=True).attentions
        size = np.mean([each[0].mean(0).numpy() for each in maps], axis=0)
        for word, place in enumerate(example.places):
            text = next(found)
            assert (text.label, text.ids.tolist()) == (example.labels[word], [*example.ids[1:-1]])
            inside = size[place, 1:-1] / size[place, 1:-1].sum()
            np.testing.assert_allclose(text.weights["weight"], inside, rtol=1e-4)
            assert text.weights["itself"].argmax() == place - 1
            assert text.weights["itself"].sum() == 1
            embedded = made.transformer.get_input_embeddings()(ids).detach().requires_grad_()
            logits = made.transformer(inputs_embeds=embedded).logits[0, place]
            logits.softmax(-1).amax().backward()
            slope = (embedded.grad * embedded).sum(-1).abs()[0, 1:-1].detach()
            expected = (slope / slope.sum()).numpy()
            np.testing.assert_allclose(text.weights["gradient_input"], expected, rtol=1e-3)
            assert text.weights["attribution"].sum() == pytest.approx(1, rel=1e-5)
    assert next(found, None) is None


@pytest.mark.slow
def test_a_tagger_guides_word_by_word(tmp_path: Path) -> None:
    made = classifier(tokens=True)
    result = headlight.guided(tagged(15), model=made, out=tmp_path / "run", keep=True, **QUICK)
    assert list(result.guide.values) == ["uniform", "random", "itself", "weight"]
    given = headlight.open(tmp_path / "run" / "kept" / "given.nc")
    held_out = given.isel(text=given.held_out.values)
    right = held_out.probability.argmax("class") == held_out.label
    np.testing.assert_allclose(right.mean("text"), result.seed_accuracy)
    words = sum(len(tags) for _, tags in tagged(15))
    assert given.sizes["text"] == words
    assert len(np.unique(given.text_id)) == 15


def test_spans_of_tags_are_counted_by_sentence() -> None:
    """Two of three spans that are found are there; a sentence ends the span of the one before."""
    tags = ("B-NP", "I-NP", "O")
    gold, found = np.array([0, 1, 2, 0, 1, 0]), np.array([0, 1, 2, 0, 2, 0])
    settings = GuidedSettings()
    streams, units = np.array([7, 7, 7, 8, 8, 9]), np.array([2, 2, 2, 2, 2, 5])
    evaluation = Evaluation(gold, streams, units, settings, settings.guides(tagger=True), tags)
    numbers = evaluation.numbers(np.eye(3)[found])
    assert numbers["f1"]["mean"] == pytest.approx(2 / 3)
    assert numbers["accuracy"]["mean"] == pytest.approx(5 / 6)
    assert numbers["f1"]["without"][1] == pytest.approx(1 / 2)  # the first two are of one document
    assert numbers["accuracy"]["without"][1] == pytest.approx(4 / 5)


def test_the_page_has_the_intervals_of_all_models() -> None:
    """Those of the model that reads whole texts are computed from its own sums."""
    generator = np.random.default_rng(0)
    labels = np.arange(40) % 2
    evaluation = Evaluation(
        labels, np.arange(40), np.arange(40), GuidedSettings(repeats=1, epochs=1), ("uniform",)
    )
    chances = generator.dirichlet([2, 2], (2, 40))
    result = dataset([[(chances[0], [0.5])]], chances[1], evaluation)
    (section,) = page.sections(result)
    for at, name in enumerate(("nll", "own_nll")):
        ends = with_ends(result, name)
        for end in ("low", "high"):
            expected = float(ends[f"{name}_{end}"].squeeze())
            shown = float(section.tables[0].frame[f"NLL {end}"][at])
            assert shown == pytest.approx(expected, rel=1e-12)
            assert np.isfinite(expected)
