"""The small classifiers of texts, and how they are trained."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st

from headlight_papers.papers.attention_comparison import distances
from headlight_papers.papers.model_tables import run_table
from headlight_papers.papers.teacher_training import TrainingConfig
from headlight_papers.papers.text_classifiers import PATIENCE, ClassifierJob, ClassifierTrainer
from headlight_papers.papers.text_data import TextData
from headlight_papers.training import one_thread
from headlight_papers.training.losses import AdversarialObjective
from headlight_papers.training.model_outputs import Outputs, outputs_of
from headlight_papers.training.text_classifier import TextBatch, TextClassifier, uniform_attention
from headlight_papers.training.text_encoders import ENCODERS, HIDDEN
from headlight_papers.training.trainer import TrainingBatch, TrainingTask, loss_of
from headlight_words.training.jobs import run_all

TYPES = 12
CONFIG = TrainingConfig(3, AdversarialObjective("tvd"), patience=PATIENCE)
BASE = ClassifierJob("base", "average", 0)


def batch_of(lengths, seed=0):
    """Texts with words of their class: those below 7 are in one, others in the other."""
    generator = np.random.default_rng(seed)
    words = torch.zeros(len(lengths), max(lengths), dtype=torch.int64)
    labels = torch.tensor([row % 2 for row in range(len(lengths))])
    for row, length in enumerate(lengths):
        low = 2 if row % 2 else 7
        words[row, :length] = torch.tensor(generator.integers(low, low + 5, length))
    real = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    return TextBatch(words, real, labels, torch.arange(len(lengths)))


@pytest.fixture(scope="module")
def data():
    parts = {
        part: [batch_of([3, 4, 5, 5], seed), batch_of([6, 6, 7, 9], seed + 1)]
        for part, seed in (("train", 0), ("dev", 10), ("test", 20))
    }
    vocabulary = tuple(map(str, range(TYPES)))
    return TextData("ours", ("no", "yes"), vocabulary, None, parts)


@pytest.fixture(scope="module")
def trainer(data, tmp_path_factory):
    found = ClassifierTrainer(data, CONFIG, tmp_path_factory.mktemp("models"))
    adversary = ClassifierJob("adversary", "average", 0, 0.1)
    run_all(found, [BASE, ClassifierJob("base", "lstm", 0)], 1, lambda job: None)
    run_all(found, [adversary, replace(adversary, weight=0.0)], 1, lambda job: None)
    return found


@pytest.fixture(autouse=True)
def _as_trained():
    """Models are trained on one thread, on which alone their bits are the same."""
    with one_thread():
        yield


def new(encoder, seed=0, vectors=None):
    torch.manual_seed(seed)
    return TextClassifier.from_sizes(encoder, TYPES, 2, vectors).eval()


# Models


@pytest.mark.parametrize("encoder", ENCODERS)
def test_padding_gets_no_attention_and_changes_nothing(encoder):
    model, batch = new(encoder), batch_of([3, 5, 8])
    logits, weight = model(batch.words, batch.real)
    assert (weight[~batch.real] == 0).all()
    torch.testing.assert_close(weight.sum(-1), torch.ones(3))
    other = torch.where(batch.real, batch.words, 9)
    torch.testing.assert_close(model(other, batch.real)[0], logits)
    for row, length in enumerate([3, 5, 8]):
        alone = slice(row, row + 1), slice(0, length)
        one, seen = model(batch.words[alone], batch.real[alone])
        torch.testing.assert_close(one[0], logits[row], rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(seen[0], weight[row, :length], rtol=1e-4, atol=1e-5)


@given(lengths=st.lists(st.integers(1, 7), min_size=1, max_size=4), seed=st.integers(0, 99))
@settings(max_examples=20, deadline=None)
def test_the_lstm_is_the_one_that_packed_sequences_give(lengths, seed):
    model = new("lstm", seed)
    both = torch.nn.LSTM(100, HIDDEN, batch_first=True, bidirectional=True)
    for name, direction in (("right", ""), ("left", "_reverse")):
        for key, value in getattr(model.encoder, name).named_parameters():
            getattr(both, key + direction).data.copy_(value)
    batch = batch_of(lengths, seed)
    embedded = model.embedding(batch.words)
    packed = torch.nn.utils.rnn.pack_padded_sequence(
        embedded, torch.tensor(lengths), batch_first=True, enforce_sorted=False
    )
    expected, _ = torch.nn.utils.rnn.pad_packed_sequence(both(packed)[0], batch_first=True)
    found = model.encode(embedded, batch.real)
    torch.testing.assert_close(found[batch.real], expected[batch.real], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("encoder", ENCODERS)
def test_only_average_knows_nothing_of_other_words(encoder):
    model, batch = new(encoder), batch_of([6, 6])
    changed = batch.words.clone()
    changed[:, 5] = 3 + (changed[:, 5] == 3)
    one, other = (
        model.encode(model.embedding(words), batch.real)[:, :5] for words in (batch.words, changed)
    )
    assert torch.equal(one, other) == (encoder == "average")


def test_attention_by_its_formula():
    model, batch = new("average", 3), batch_of([2, 4])
    states = model.encode(model.embedding(batch.words), batch.real)
    found = model.attend(states, batch.real)
    first, second = model.before_attention, model.attention
    for row, length in enumerate([2, 4]):
        scores = []
        for position in range(length):
            hidden = torch.tanh(first.weight @ states[row, position] + first.bias)
            scores.append(math.exp((second.weight[0] @ hidden).item()))
        expected = torch.tensor(scores) / sum(scores)
        torch.testing.assert_close(found[row, :length], expected)
    context = torch.stack([found[row] @ states[row] for row in range(2)])
    logits = context @ model.output.weight.T + model.output.bias
    torch.testing.assert_close(model(batch.words, batch.real)[0], logits)


def test_many_weights_at_once_give_the_logits_of_each():
    model, batch = new("average"), batch_of([3, 4])
    states = model.encode(model.embedding(batch.words), batch.real)
    weights = torch.rand(5, 2, 4)
    found = model.classify(states, weights)
    for copy in range(5):
        torch.testing.assert_close(found[copy], model.classify(states, weights[copy]))


def test_given_vectors_come_first():
    vectors = torch.arange(TYPES)[:, None] * torch.tensor([1.0, 0.0, 2.0])
    model = new("average", vectors=vectors)
    assert torch.equal(model.embedding.weight[1:, :3], vectors[1:])
    unknown = new("average", vectors=torch.zeros(TYPES, 3)).embedding.weight
    assert unknown.all()  # as random as the others
    assert model.embedding.weight.shape == (TYPES, 100)
    assert new("average", vectors=torch.ones(TYPES, 120)).embedding.embedding_dim == 120
    assert model.embedding.weight.requires_grad


# Losses


@pytest.mark.parametrize("prediction", ["tvd", "labels"])
@pytest.mark.parametrize("distance", ["kl", "jsd"])
def test_the_loss_of_an_adversary_by_loops(prediction, distance):
    model, other, batch = new("average", 1), new("average", 2), batch_of([2, 3, 5])
    taught = outputs_of(other, [batch])[0]
    training_batch = TrainingBatch(batch, taught)
    logits, weight = model(batch.words, batch.real)
    total = 0.0
    for row, length in enumerate([2, 3, 5]):
        p = logits[row].double().softmax(-1).tolist()
        q = taught.probability[row].double().tolist()
        near = abs(p[0] - q[0]) if prediction == "tvd" else -math.log(p[int(q[1] > q[0])])
        a, b = weight[row, :length].tolist(), taught.attention[row, 0, 0, :length].tolist()
        total += near - 0.3 * naive_distance(a, b, distance)
    task = TrainingTask((0,), AdversarialObjective(prediction, distance), 0.3)
    found = loss_of(model.run(batch), training_batch, task)
    assert found.item() == pytest.approx(total / 3, rel=1e-4)


def naive_distance(a, b, distance):
    if distance == "kl":
        return sum(x * math.log(x / y) for x, y in zip(a, b, strict=True) if x)
    middle = [(x + y) / 2 for x, y in zip(a, b, strict=True)]
    return (naive_distance(a, middle, "kl") + naive_distance(b, middle, "kl")) / 2


def test_a_loss_with_exact_zeros_has_a_gradient():
    """A base that looks at one word only."""
    model, batch = new("average"), batch_of([3, 4])
    one_word = torch.zeros(2, 1, 1, 4)
    one_word[..., 1] = 1
    teacher = Outputs(torch.tensor([[1.0, 0.0], [0.0, 1.0]]), one_word)
    task = TrainingTask((0,), AdversarialObjective("tvd"), 1.0)
    loss = loss_of(model.run(batch), TrainingBatch(batch, teacher), task)
    gradients = torch.autograd.grad(loss, [model.embedding.weight, model.attention.weight])
    assert torch.isfinite(loss)
    assert all(torch.isfinite(each).all() for each in gradients)


# Training


def trained(model, training_batch, epochs, folder, data):
    """A model that has seen one batch so many times."""
    trainer = ClassifierTrainer(data, CONFIG, folder)
    for _ in trainer.epochs(model, TrainingTask((0,)), epochs, lambda _: [training_batch]):
        pass


def test_given_attention_is_frozen(data, tmp_path):
    """Neither does a model's own attention matter, nor does training touch it."""
    model, batch = new("lstm"), batch_of([3, 5, 6, 6])
    uniform = uniform_attention(batch)
    logits, weight = model.run(batch, uniform)
    assert torch.equal(weight, uniform)
    before = {name: each.clone() for name, each in model.state_dict().items()}
    trained(model, TrainingBatch(batch, None, uniform), 2, tmp_path, data)
    after = model.state_dict()
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert not any("attention" in name for name in changed)
    assert changed == {name for name in before if "attention" not in name}
    with torch.no_grad():
        for module in (model.before_attention, model.attention):
            module.weight.add_(1)
    assert torch.equal(model.run(batch, uniform)[1], uniform)
    assert not torch.equal(model.run(batch, uniform)[0], logits)  # it did learn


def test_weight_decay_spares_attention(data, tmp_path):
    """With a loss that depends on nothing but the bias of the output."""
    model, batch = new("average"), batch_of([3, 3])
    nothing = TrainingBatch(batch, None, torch.zeros(2, 1, 1, 3))
    before = model.state_dict()["attention.weight"].clone()
    trained(model, nothing, 1, tmp_path, data)
    assert torch.equal(model.state_dict()["attention.weight"], before)


def test_models_learn(trainer):
    assert trainer.measured(BASE)["test"]["accuracy"] > 0.8


def test_the_loss_is_that_of_gold_labels():
    model, batch = new("average"), batch_of([3, 4])
    logits, _ = model(batch.words, batch.real)
    chosen = logits.log_softmax(-1)[torch.arange(2), batch.labels]
    found = loss_of(model.run(batch), TrainingBatch(batch), TrainingTask((0,)))
    torch.testing.assert_close(found, -chosen.mean())


def test_the_same_seed_gives_the_same_bits(data, trainer, tmp_path):
    again = ClassifierTrainer(data, CONFIG, tmp_path)
    before = torch.random.get_rng_state()
    jobs = [BASE, ClassifierJob("adversary", "average", 0, 0.1)]
    for job in jobs:
        again.run(job)
        assert again.path(job).read_bytes() == trainer.path(job).read_bytes()
    assert torch.equal(torch.random.get_rng_state(), before)
    again.run(replace(BASE, seed=1))
    one, other = (again.parameters(replace(BASE, seed=seed)) for seed in (0, 1))
    assert any(not torch.equal(one[name], other[name]) for name in one)


def test_what_is_measured_is_that_of_the_model_in_the_file(data, trainer):
    job = ClassifierJob("adversary", "average", 0, 0.1)
    found, base = (trainer.outputs(each, ["test"])["test"] for each in (job, BASE))
    batches = data.parts["test"]
    expected = trainer.quality(batches, found) | trainer.difference(batches, found, base)
    assert trainer.measured(job)["test"] == expected


def test_a_larger_lambda_moves_attention_further(trainer):
    job = ClassifierJob("adversary", "average", 0, 0.1)
    far = [trainer.measured(replace(job, weight=one))["test"]["kl"] for one in (0.0, 0.1)]
    assert far[1] > far[0]


@pytest.mark.parametrize("guide", ["base", "adversary", "uniform"])
def test_a_guided_model_has_the_attention_of_its_guide(data, trainer, guide):
    weight = 0.1 if guide == "adversary" else None
    job = ClassifierJob("guided", "average", 0, weight, guide, "average")
    trainer.run(job)
    found = trainer.outputs(job, ["test"])["test"]
    if guide == "uniform":
        expected = [uniform_attention(batch) for batch in data.parts["test"]]
    else:
        expected = [each.attention for each in trainer.outputs(job.source, ["test"])["test"]]
    for one, other in zip(found, expected, strict=True):
        assert torch.equal(one.attention, other)


def test_a_model_is_guided_by_one_with_another_encoder(trainer):
    job = ClassifierJob("guided", "average", 0, None, "base", "lstm")
    trainer.run(job)
    assert trainer.measured(job)["test"]["jsd"] == 0
    assert job.source == ClassifierJob("base", "lstm", 0)
    assert job.name == "guided-average-0-base-lstm"


def test_training_stops_when_nothing_gets_better(data, tmp_path, monkeypatch):
    impatient = ClassifierTrainer(data, replace(CONFIG, epochs=9, patience=2), tmp_path)
    scores = iter([0.5, 0.7, 0.7, 0.6, 0.9])
    monkeypatch.setattr(ClassifierTrainer, "score", lambda *_: next(scores))
    impatient.run(BASE)
    assert len(impatient.measured(BASE)["curve"]["auc"]) == 4


def test_selection_is_by_the_area_on_the_chosen_part(data, tmp_path):
    for part in ("dev", "test"):
        trainer = ClassifierTrainer(data, replace(CONFIG, selection=part), tmp_path)
        trainer.run(BASE)
        measured = trainer.measured(BASE)
        assert measured[part]["auc"] == max(measured["curve"]["auc"])


# Evaluation


def test_quality_by_hand(trainer):
    labels = torch.tensor([1, 1, 0, 0, 1])
    real = torch.ones(5, 1, dtype=torch.bool)
    batch = TextBatch(real.long(), real, labels, torch.arange(5))
    positive = torch.tensor([0.9, 0.4, 0.6, 0.2, 0.7])
    outputs = [Outputs(torch.stack([1 - positive, positive], -1), real.float()[:, None, None])]
    quality = trainer.quality([batch], outputs)
    assert quality["f1"] == pytest.approx(2 / 3)  # two of three found, and two of three are right
    assert quality["accuracy"] == pytest.approx(3 / 5)
    assert quality["auc"] == pytest.approx(5 / 6)  # of six pairs one is the wrong way round
    gold = [0.9, 0.4, 0.4, 0.8, 0.7]
    assert quality["nll"] == pytest.approx(-sum(map(math.log, gold)) / 5, rel=1e-6)
    alone = replace(batch, labels=torch.ones(5, dtype=torch.int64))
    assert np.isnan(trainer.quality([alone], outputs)["auc"])


def test_distances_by_loops(data, trainer):
    batches = data.parts["test"]
    one, other = (outputs_of(new("average", seed), batches) for seed in (1, 2))
    found = distances(batches, one, other)
    text = 0
    for batch, a, b in zip(batches, one, other, strict=True):
        for row, length in enumerate(batch.real.sum(-1).tolist()):
            p, q = (each.probability[row].double().tolist() for each in (a, b))
            x, y = (each.attention[row, 0, 0, :length].double().tolist() for each in (a, b))
            assert found["tvd"][text] == pytest.approx(abs(p[1] - q[1]), abs=1e-6)
            for name in ("kl", "jsd"):
                assert found[name][text] == pytest.approx(naive_distance(x, y, name), abs=1e-6)
            assert bool(found["agreement"][text]) == ((p[1] > p[0]) == (q[1] > q[0]))
            assert found["taught_nll"][text] == pytest.approx(-math.log(p[int(q[1] > q[0])]))
            text += 1
    assert (found["jsd"] <= math.log(2)).all()
    assert trainer.difference(batches, one, other)["tvd"] == pytest.approx(
        float(found["tvd"].mean())
    )


class Measured(ClassifierTrainer):
    """A base with one number of each head, and an adversary with a curve of two epochs."""

    def measured(self, job):
        number = {"auc": 0.5 + job.seed, "kl": [1.0, 2.0]} if job.weight else {"auc": 0.9}
        return {
            "dev": number,
            "test": number,
            **({"curve": {"auc": [0.1, 0.2]}} if job.seed else {}),
        }


def test_a_table_of_runs_says_what_each_model_is_and_leaves_out_what_it_has_not():
    jobs = [BASE, replace(BASE, kind="adversary", seed=1, weight=0.1)]
    numbers = {"auc": ("area", "1"), "kl": ("divergence", "nats")}
    found = run_table(
        Measured(None, CONFIG, Path()), jobs, [(vars(BASE), {"dev": {}, "test": {}})], numbers
    )
    assert dict(found.sizes) == {"run": 3, "part": 2, "head": 2, "epoch": 2}
    assert found["kind"].values.tolist() == ["base", "adversary", "base"]
    np.testing.assert_equal(found["weight"].values, [np.nan, 0.1, np.nan])
    np.testing.assert_equal(found["auc"].sel(part="dev").values, [0.9, 1.5, np.nan])
    np.testing.assert_equal(
        found["kl"].sel(part="test").values, [[np.nan] * 2, [1, 2], [np.nan] * 2]
    )
    np.testing.assert_equal(found["epochs"].values, [np.nan, 2, np.nan])
    np.testing.assert_equal(found["auc_by_epoch"].values[1], [0.1, 0.2])
    assert found["kl"].attrs == {"long_name": "divergence", "units": "nats"}
