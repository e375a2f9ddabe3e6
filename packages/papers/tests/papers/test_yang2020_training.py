"""Yang's tagger: its losses against loops in float64, its attention, its seeds and its files."""

import math
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.func import functional_call, grad, stack_module_state, vmap

from definitions import adversarial_loss, attention_distance
from headlight.corpora import TaggedSentence
from headlight_papers.papers.teacher_training import TrainingConfig
from headlight_papers.papers.yang2020.tagger import Dropout, Tagger
from headlight_papers.papers.yang2020.tagger_training import BETAS, PEAK, Job, TaggerTrainer
from headlight_papers.papers.yang2020.tagging_data import UNKNOWN, normal, prepare_data
from headlight_papers.training.learning_rates import rate
from headlight_papers.training.losses import AdversarialObjective
from headlight_papers.training.model_outputs import Outputs, outputs_of
from headlight_papers.training.text_encoders import timing_signal
from headlight_papers.training.trainer import TrainingBatch, TrainingTask, loss_of
from headlight_words.corpora import WordVectors
from headlight_words.training.jobs import run_all

WORDS = ["the", "Old", "mill", "grinds", "grain", "for", "42", "villages"]
TAGS = ["B-NP", "I-NP", "I-NP", "B-VP", "B-NP", "B-PP", "B-NP", "I-NP"]
CONFIG = TrainingConfig(2, AdversarialObjective())


def sentences(count=60, seed=0):
    """Pieces of one sentence, so that there is something to learn."""
    generator = np.random.default_rng(seed)
    made = []
    for number in range(count):
        first = int(generator.integers(0, 5))
        last = int(generator.integers(first + 1, 9))
        made.append(
            TaggedSentence(f"{number}", tuple(WORDS[first:last]), tags=tuple(TAGS[first:last]))
        )
    return made


@pytest.fixture(scope="module")
def data():
    vectors = WordVectors({"mill": 0, "grain": 1}, np.eye(2, 3, dtype=np.float32))
    return prepare_data(sentences(), vectors)


@pytest.fixture(scope="module")
def trainer(data, tmp_path_factory):
    made = TaggerTrainer(data, CONFIG, tmp_path_factory.mktemp("trainer"))
    for stage in (
        [Job("base", 0), Job("base", 1)],
        [Job("adversary", 0, 0.0), Job("adversary", 0, 0.1)],
    ):
        run_all(made, stage, 1, lambda job: None)
    return made


def new(data, seed=0, dropout=0.0):
    torch.manual_seed(seed)
    return Tagger.from_data(data, dropout)


def plain_attention(data, batch, guide):
    return TaggerTrainer(data, CONFIG, Path("nothing is kept")).plain(batch, guide)


# What is read


def test_the_split_is_by_sentence_and_the_same_for_a_seed(data):
    assert [data.sentences(part) for part in ("train", "dev", "test")] == [48, 6, 6]
    again = prepare_data(sentences(), None)
    for part in ("train", "dev", "test"):
        for one, other in zip(data.parts[part], again.parts[part], strict=True):
            assert torch.equal(one.words, other.words)
            assert torch.equal(one.tags, other.tags)
    other = prepare_data(sentences(), None, seed=1)
    assert not torch.equal(other.parts["dev"][0].words, data.parts["dev"][0].words)


def test_words_are_in_small_letters_and_numbers_are_zero(data):
    assert [normal(word) for word in ("Old", "42", "4.2", "II")] == ["old", "0", "4.2", "ii"]
    batch = data.parts["train"][-1]
    assert data.tag_names(batch, batch.tags)[-1] == TAGS
    assert len(data.types.rows) == len(WORDS)


def test_what_training_does_not_have_is_unknown():
    some = sentences()
    strange = TaggedSentence("x", ("qqq",), tags=("O",))
    data = prepare_data([*some, strange], None)
    place = len(data.types.rows) - 1
    part = next(p for p in data.parts if any((b.words == place).any() for b in data.parts[p]))
    if part != "train":  # else it is rare, which is the same
        assert data.types.rows[place] == UNKNOWN
    assert (data.types.suffixes[place] == UNKNOWN).all()
    assert data.types.vectors.shape[1] == 0


def test_the_mean_length_of_a_row(data):
    lengths = [int(n) for batch in data.parts["train"] for n in batch.real.sum(-1)]
    assert data.row_length == pytest.approx(sum(n * n for n in lengths) / sum(lengths))


# The tagger


def test_padding_is_no_key_and_changes_nothing(data):
    model = new(data).eval()
    batch = data.parts["train"][0]
    logits, weight = model(batch.words, batch.real)
    assert not weight.masked_select(~batch.real[:, None, None]).any()
    torch.testing.assert_close(weight.sum(-1), torch.ones(weight.shape[:-1]))
    row = int(batch.real.sum(-1).argmin())
    length = int(batch.real[row].sum())
    alone, own = model(batch.words[row : row + 1, :length], torch.ones(1, length).bool())
    torch.testing.assert_close(logits[row, :length], alone[0])
    torch.testing.assert_close(weight[row, :, :length, :length], own[0])


def test_attention_is_handed_out_before_dropout(data):
    model = new(data, dropout=0.5)
    batch = data.parts["train"][0]
    model.train()
    _, weight = model(batch.words, batch.real)
    torch.testing.assert_close(weight.sum(-1), torch.ones(weight.shape[:-1]))


def trained(model, batches, task, epochs, data):
    """The model itself, having seen these batches so many times."""
    trainer = TaggerTrainer(data, replace(CONFIG, epochs=epochs), Path())

    def shuffled(orders):
        return [batches[number] for number in orders.permutation(len(batches))]

    for _ in trainer.epochs(model, task, epochs, shuffled):
        pass
    return model


def test_attention_that_is_given_is_frozen(data):
    """Training moves neither what was given nor queries and keys, and these change nothing."""
    model = new(data)
    batch = data.parts["train"][0]
    given = plain_attention(data, batch, "uniform")
    kept, query = given.clone(), model.query.weight.detach().clone()
    other = model.value.weight.detach().clone()
    trained(model, [TrainingBatch(batch, None, given)], TrainingTask((0, 2)), 3, data)
    assert torch.equal(given, kept)
    assert torch.equal(model.query.weight, query)
    assert not torch.equal(model.value.weight, other)
    logits, weight = model(batch.words, batch.real, given)
    assert torch.equal(weight, kept)
    with torch.no_grad():
        model.query.weight.normal_()
        model.key.weight.normal_()
    assert torch.equal(model(batch.words, batch.real, given)[0], logits)
    assert not torch.allclose(model(batch.words, batch.real)[0], logits)


def test_guides_that_come_from_no_model(data):
    batch = data.parts["train"][0]
    even, itself = (plain_attention(data, batch, guide) for guide in ("uniform", "identity"))
    for row, length in enumerate(batch.real.sum(-1).tolist()):
        expected = torch.full((4, length, length), 1 / length)
        torch.testing.assert_close(even[row, :, :length, :length], expected)
        assert not even[row, :, :, length:].any()
        assert torch.equal(itself[row, 0], torch.eye(batch.words.shape[1]))


def test_the_timing_signal():
    found = timing_signal(5, 8)
    for word in range(5):
        for part in range(4):
            angle = word / 10_000 ** (part / 3)
            assert float(found[word, part]) == pytest.approx(math.sin(angle), abs=1e-6)
            assert float(found[word, part + 4]) == pytest.approx(math.cos(angle), abs=1e-6)


def test_dropout_leaves_out_its_share_and_keeps_the_mean():
    torch.manual_seed(0)
    dropout, state = Dropout(0.2), torch.ones(1000, 201)
    found = dropout.train()(state)
    assert float((found == 0).float().mean()) == pytest.approx(51 / 256, abs=0.003)
    assert float(found.mean()) == pytest.approx(1, abs=0.004)
    assert set(found.unique().tolist()) == {0.0, float(torch.tensor(256 / 205))}
    assert not torch.equal(dropout(state), found)
    assert torch.equal(dropout.eval()(state), state)
    assert torch.equal(Dropout(0.0).train()(state), state)


# Losses, by loops


@pytest.mark.parametrize("prediction", ["labels", "tvd"])
@pytest.mark.parametrize("distance", ["kl", "jsd"])
def test_the_loss_of_an_adversary(data, prediction, distance):
    goal = AdversarialObjective(prediction, distance)
    batch = data.parts["train"][0]
    model, base = (new(data, seed).double().eval() for seed in (1, 2))
    with torch.no_grad():
        outputs, (taught, attention) = (each.run(batch) for each in (model, base))
    taught = taught.softmax(-1)
    task = TrainingTask((0,), goal, 0.3)
    taught_batch = TrainingBatch(batch, Outputs(taught, attention))
    found = loss_of(outputs, taught_batch, task)
    lengths = batch.real.sum(-1).tolist()
    numbers = [each.numpy() for each in (*outputs, taught, attention)]
    expected = adversarial_loss(*numbers, lengths, 0.3, goal)
    assert float(found.detach()) == pytest.approx(expected, rel=1e-6)


def test_differences_and_quality_by_loops(data, trainer):
    batches = data.parts["test"]
    one, other = (outputs_of(new(data, seed), batches) for seed in (1, 2))
    difference = trainer.difference(batches, one, other)
    words, agree, tvd, kl, jsd, cells = 0, 0, 0.0, np.zeros(4), np.zeros(4), 0
    right, nll = 0, 0.0
    for batch, a, b in zip(batches, one, other, strict=True):
        for row, length in enumerate(batch.real.sum(-1).tolist()):
            words, cells = words + length, cells + length**2
            for word in range(length):
                p, q = (each.probability[row, word].double().numpy() for each in (a, b))
                agree += p.argmax() == q.argmax()
                tvd += np.abs(p - q).sum() / 2
                gold = int(batch.tags[row, word])
                right += p.argmax() == gold
                nll -= math.log(p[gold])
                for head in range(4):
                    x, y = (
                        each.attention[row, head, word, :length].double().tolist()
                        for each in (a, b)
                    )
                    kl[head] += attention_distance(x, y, "kl")
                    jsd[head] += attention_distance(x, y, "jsd")
    assert difference["agreement"] == pytest.approx(agree / words)
    assert difference["tvd"] == pytest.approx(tvd / words, rel=1e-5)
    np.testing.assert_allclose(difference["kl"], kl / words, rtol=1e-3, atol=1e-7)
    np.testing.assert_allclose(difference["jsd"], jsd / words, rtol=1e-3, atol=1e-7)
    assert difference["kl_cell"] == pytest.approx(kl.mean() / cells, rel=1e-3)
    numbers = trainer.quality(batches, one)
    assert numbers["accuracy"] == pytest.approx(right / words)
    assert numbers["nll"] == pytest.approx(nll / words, rel=1e-5)


def test_a_loss_with_exact_zeros_has_a_gradient(data):
    """The base attends to one word only, and the adversary to another."""
    batch = data.parts["train"][0]
    model = new(data)
    itself = plain_attention(data, batch, "identity")
    taught = torch.nn.functional.one_hot(batch.tags, len(data.tags)).float()
    for distance in ("kl", "jsd"):
        training_batch = TrainingBatch(batch, Outputs(taught, itself))
        task = TrainingTask((0,), AdversarialObjective("labels", distance), 1.0)
        loss = loss_of(model.run(batch), training_batch, task)
        gradients = torch.autograd.grad(loss, list(model.parameters()))
        assert torch.isfinite(loss)
        assert all(torch.isfinite(each).all() for each in gradients)


# Training


def test_a_rate_rises_and_falls_to_nothing():
    rates = [rate(step, 100) for step in range(100)]
    assert max(rates) == pytest.approx(1, abs=0.02)
    assert rates.index(max(rates)) in (9, 10)
    assert rates[0] == pytest.approx(0.1)
    assert 0 < rates[-1] < 0.02


@pytest.mark.slow
def test_stacked_training_equals_the_loop(data):
    """Adversaries of one seed that differ in λ, by torch.func on stacked parameters.

    In float64, since the first steps of Adam go by the signs of gradients, however small they are.
    """
    weights = [0.0, 0.01, 0.1]
    base = new(data, 5).double()
    batches = data.parts["train"]
    training_batches = [
        TrainingBatch(batch, each)
        for batch, each in zip(batches, outputs_of(base, batches), strict=True)
    ]
    task = TrainingTask((0, 1))
    alone = []
    for weight in weights:
        model = new(data, 7).double()
        alone.append(trained(model, training_batches, replace(task, weight=weight), 3, data))
    template = new(data, 7).double().train()
    stacked, _ = stack_module_state([new(data, 7).double() for _ in weights])
    stacked = {name: each.detach().requires_grad_() for name, each in stacked.items()}
    optimizer = torch.optim.Adam(stacked.values(), lr=0, betas=BETAS, fused=True)
    steps = 3 * len(training_batches)
    orders = np.random.default_rng(list(task.seed))
    for epoch in range(3):
        for place, number in enumerate(orders.permutation(len(training_batches))):
            at = epoch * len(training_batches) + place
            optimizer.param_groups[0]["lr"] = PEAK * rate(at, steps)
            slope = grad(partial(_loss, template, training_batches[number], task))
            found = vmap(slope, randomness="different")(stacked, torch.tensor(weights).double())
            for name, each in stacked.items():
                each.grad = found[name].contiguous()  # as the fused optimiser takes for granted
            optimizer.step()
    for name, together in stacked.items():
        for place, model in enumerate(alone):
            expected = model.get_parameter(name)
            torch.testing.assert_close(together[place], expected, rtol=1e-5, atol=1e-5)


def _loss(template, training_batch, task, parameters, weight):
    batch = training_batch.batch
    outputs = functional_call(template, parameters, (batch.words, batch.real))
    return loss_of(outputs, training_batch, replace(task, weight=weight))


def test_the_same_seed_gives_the_same_bits(data, trainer, tmp_path):
    again = TaggerTrainer(data, CONFIG, tmp_path)
    before = torch.random.get_rng_state()
    run_all(again, [Job("base", 0)], 1, lambda job: None)
    run_all(again, [Job("adversary", 0, 0.1)], 1, lambda job: None)
    assert torch.equal(torch.random.get_rng_state(), before)
    for job in (Job("base", 0), Job("adversary", 0, 0.1)):
        assert again.path(job).read_bytes() == trainer.path(job).read_bytes()
    one, other = (trainer.model(Job("base", seed)).state_dict() for seed in (0, 1))
    assert any(not torch.equal(one[name], other[name]) for name in one)


def test_what_is_measured_is_that_of_the_model_in_the_file(data, trainer):
    job = Job("adversary", 0, 0.1)
    found, base = trainer.outputs(job)["test"], trainer.outputs(Job("base", 0))["test"]
    batches = data.parts["test"]
    expected = trainer.quality(batches, found) | trainer.difference(batches, found, base)
    assert trainer.measured(job)["test"] == expected


def test_the_best_epoch_is_kept(trainer):
    measured = trainer.measured(Job("base", 0))
    assert len(measured["curve"]["f1"]) == CONFIG.epochs
    assert measured["dev"]["f1"] == max(measured["curve"]["f1"])


def test_a_larger_lambda_moves_attention_further(trainer):
    far = [np.mean(trainer.measured(Job("adversary", 0, one))["test"]["kl"]) for one in (0.0, 0.1)]
    assert far[1] > far[0]


def test_a_guided_model_has_the_attention_of_its_guide(data, trainer, monkeypatch):
    seen = []

    difference = TaggerTrainer.difference

    def judged(trainer, batches, outputs, taught):
        seen.append([output.attention for output in outputs])
        return difference(trainer, batches, outputs, taught)

    monkeypatch.setattr(TaggerTrainer, "difference", judged)
    trainer.run(Job("guided", 0, 0.1, "adversary"))
    guide = trainer.outputs(Job("adversary", 0, 0.1))
    for one, other in zip(seen[-1], guide["test"], strict=True):
        assert torch.equal(one, other.attention)
    assert trainer.measured(Job("guided", 0, 0.1, "adversary"))["test"]["kl_cell"] == pytest.approx(
        trainer.measured(Job("adversary", 0, 0.1))["test"]["kl_cell"], rel=1e-6
    )


def test_finished_models_are_not_trained_again_and_damaged_ones_are(data, tmp_path, trainer):
    again = TaggerTrainer(data, CONFIG, tmp_path)
    job = Job("base", 0)
    again.path(job).write_bytes(trainer.path(job).read_bytes())
    done = []
    run_all(again, [job], 1, done.append)
    assert not done
    again.path(job).write_bytes(trainer.path(job).read_bytes()[:-7])
    run_all(again, [job], 1, done.append)
    assert done == [job]
    assert again.path(job).read_bytes() == trainer.path(job).read_bytes()


@pytest.mark.long
def test_processes_make_the_same_models(data, tmp_path, trainer):
    again = TaggerTrainer(data, CONFIG, tmp_path)
    done = []
    run_all(again, [Job("base", 0), Job("base", 1)], 2, done.append)
    assert sorted(job.seed for job in done) == [0, 1]
    for seed in (0, 1):
        path = again.path(Job("base", seed))
        assert path.read_bytes() == trainer.path(Job("base", seed)).read_bytes()


def test_selection_on_the_test_part_is_by_its_f1(data, trainer, tmp_path):
    as_run = TaggerTrainer(data, replace(CONFIG, selection="test"), tmp_path)
    run_all(as_run, [Job("base", 0)], 1, lambda job: None)
    measured = as_run.measured(Job("base", 0))
    assert measured["test"]["f1"] == max(measured["curve"]["f1"])


def test_outputs_are_what_the_model_gives(data):
    model = new(data, 3, dropout=0.5).train()
    batch = data.parts["test"][0]
    (found,) = outputs_of(model, [batch])
    assert isinstance(found, Outputs)
    torch.testing.assert_close(found.probability.sum(-1), torch.ones(batch.words.shape))
