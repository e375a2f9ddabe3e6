"""Probes learn what was planted, and training stops and starts where it says."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from headlight.errors import UsageError
from headlight_words.studies.parser_probes import AS_RELEASED, TrainingSettings
from headlight_words.studies.parser_probes.batches import LARGEST, ParserData
from headlight_words.studies.parser_probes.evaluation import evaluate, share
from headlight_words.studies.parser_probes.models import (
    Attention,
    AttentionAndWords,
    DistancesAndWords,
    loss,
    mean_loss,
    train,
)
from headlight_words.studies.parser_probes.word_map_store import NO_HEAD
from studies.parser_corpora import index_of_trees, planted, random_tree, stored

QUICK = TrainingSettings(learning_rate=0.1, sentences=8, epochs=15)
HEADS = 5


def uas(model, data):
    counts = evaluate(model, data)
    return share(*counts.select("uas"))


def corpus(folder, seed, sentences=60, **options):
    generator = np.random.default_rng(seed)
    trees = [random_tree(int(generator.integers(1, 9)), generator) for _ in range(sentences)]
    index = index_of_trees(trees)
    return index, stored(folder, index, planted(trees, HEADS, generator, **options))


@pytest.fixture(scope="module")
def corpora(tmp_path_factory):
    """One to train on and one to test on, in both of which two heads tell the tree."""
    return [corpus(tmp_path_factory.mktemp("word_maps"), seed) for seed in (0, 1)]


def place_vectors(index):
    """A one-hot vector for each place in a sentence."""
    return torch.eye(len(index.vocabulary))


def with_words(index, word_maps=None, dimensions=8):
    vectors = torch.zeros(len(index.vocabulary), dimensions)
    vectors[:, : len(index.vocabulary)] = place_vectors(index)
    return ParserData(index, word_maps, vectors)


def test_a_planted_combination_of_heads_is_found(corpora):
    learning, testing = (ParserData(*each) for each in corpora)
    torch.manual_seed(0)
    model = Attention(HEADS)
    before = uas(model, testing)
    train(model, learning, QUICK, seed=0)
    assert before < 0.6
    assert uas(model, testing) == 1
    strength = model.weight.detach()
    # In head 1 the dependent attends to its governor, in head 3 the governor to its dependent.
    assert strength[0, 1] > 1.5 * strength[0, [0, 2, 3, 4]].abs().max()
    assert strength[1, 3] > 1.5 * strength[1, [0, 1, 2, 4]].abs().max()


@pytest.mark.slow
def test_words_say_which_head_is_right(tmp_path):
    """Head 0 governs words in even places and misleads the others, head 1 the other way about."""
    generator = np.random.default_rng(0)
    trees = [random_tree(int(generator.integers(2, 9)), generator) for _ in range(80)]
    index = index_of_trees(trees)
    maps = []
    for tree in trees:
        found = np.zeros((len(tree) + 2, len(tree) + 2, 2))
        for word, head in enumerate(tree):
            wrong = (head + 1) % (len(tree) + 1)
            for teller, told in ((word % 2, head), (1 - word % 2, wrong)):
                found[word + 2, told + 1 if told else 0, teller] = 1
        maps.append(found)
    data = with_words(index, stored(tmp_path, index, maps))
    torch.manual_seed(0)
    blind, seeing = Attention(2), AttentionAndWords(2, 8)
    for model in (blind, seeing):
        train(model, data, replace(QUICK, epochs=30), seed=0)
    assert uas(blind, data) < 0.7
    assert uas(seeing, data) == 1


@pytest.mark.slow
def test_distances_learn_that_the_head_is_the_next_word():
    generator = np.random.default_rng(0)
    lengths = generator.integers(1, 12, size=80)
    index = index_of_trees([[*range(2, n + 1), 0] for n in lengths])
    data = ParserData(index, vectors=torch.zeros(len(index.vocabulary), 2))
    torch.manual_seed(0)
    model = DistancesAndWords(2)
    train(model, data, replace(QUICK, learning_rate=0.01), seed=0)
    assert uas(model, data) > 0.98


def test_the_released_alignment_sees_the_word_after_the_candidate():
    """The head is the word before the one that is marked: only a shifted view shows it."""
    trees = [[3, 3, 0, 3, 3, 3, 3]] * 20
    index = index_of_trees(trees)
    vectors = torch.zeros(7, 1)
    vectors[3] = 1
    data = ParserData(index, vectors=vectors)
    right = {}
    for alignment in ("fixed", "as_released"):
        torch.manual_seed(0)
        model = DistancesAndWords(1, alignment)
        with torch.no_grad():
            model.distances.zero_()
        model.distances.requires_grad_(False)
        train(model, data, replace(QUICK, epochs=10), seed=0)
        right[alignment] = uas(model, data)
    assert right["as_released"] > 0.8
    assert right["fixed"] < 0.5


def test_the_same_seed_gives_the_same_weights(corpora):
    found = []
    for seed in (0, 0, 1):
        torch.manual_seed(5)
        model = Attention(HEADS)
        course = train(model, ParserData(*corpora[0]), replace(QUICK, epochs=2), seed=seed)
        found.append((course, model.weight.detach()))
    assert found[0][0] == found[1][0]
    assert torch.equal(found[0][1], found[1][1])
    assert not torch.equal(found[0][1], found[2][1])


def test_stopping_early_goes_back_to_the_best_weights(tmp_path):
    """Attention that tells of other trees: what is learned of it does not last."""
    generator = np.random.default_rng(0)
    trees = [random_tree(int(generator.integers(2, 9)), generator) for _ in range(60)]
    others = [random_tree(len(tree), generator) for tree in trees]
    index = index_of_trees(trees)
    data = ParserData(index, stored(tmp_path, index, planted(others, HEADS, generator)))
    torch.manual_seed(0)
    model = Attention(HEADS)
    how = TrainingSettings(learning_rate=1.0, sentences=4, epochs=12, patience=2, held_out=0.3)
    course = train(model, data, how, seed=0)
    assert course.epochs == course.best + how.patience < how.epochs
    assert min(course.losses) == course.losses[course.best - 1] < course.losses[-1] - 0.005
    out = np.random.default_rng(0).choice(60, size=18, replace=False).tolist()
    assert mean_loss(model, data, sorted(out)) == pytest.approx(min(course.losses), rel=1e-5)


def test_what_is_held_out_is_not_learned_from():
    """Held-out sentences have heads of their own; a model that has seen them would know."""
    trees = [[0, 1, 1]] * 30
    index = index_of_trees(trees)
    out = np.random.default_rng(3).choice(30, size=9, replace=False)
    heads = index.heads.reshape(30, 3).copy()
    heads[out] = [3, 3, 0]
    index = replace(index, heads=heads.flatten())
    data = with_words(index)
    torch.manual_seed(0)
    model = DistancesAndWords(8)
    how = replace(QUICK, learning_rate=0.02, held_out=0.3, patience=20, epochs=6)
    course = train(model, data, how, seed=3)
    assert min(course.losses[1:]) > 6  # nats; whoever has seen both kinds loses about 1


def test_the_recipe_of_the_authors(corpora, monkeypatch):
    data = ParserData(*corpora[0])
    seen = []
    batch = data.batch
    monkeypatch.setattr(data, "batch", lambda numbers: seen.append(list(numbers)) or batch(numbers))
    course = train(Attention(HEADS), data, AS_RELEASED, seed=0)
    assert seen == [[number] for number in range(len(data))]
    assert course.epochs == course.best == 1
    assert AS_RELEASED.learning_rate == 0.002


def test_every_sentence_is_seen_once_in_an_epoch_and_in_another_order_in_the_next(
    corpora, monkeypatch
):
    data = ParserData(*corpora[0])
    seen = []
    batch = data.batch
    monkeypatch.setattr(data, "batch", lambda numbers: seen.extend(numbers) or batch(numbers))
    train(Attention(HEADS), data, TrainingSettings(epochs=2, held_out=0.0, sentences=7), seed=0)
    first, second = seen[: len(data)], seen[len(data) :]
    assert sorted(first) == sorted(second) == list(range(len(data)))
    assert first != second


def test_the_loss_is_a_sum_over_words_and_lost_heads_count_nothing(corpora):
    index, word_maps = corpora[0]
    lost = index.heads.copy()
    lost[::3] = NO_HEAD
    data = ParserData(replace(index, heads=lost), word_maps)
    model = Attention(HEADS)
    numbers = list(range(10))
    batch = data.batch(numbers)
    logits = model(batch).detach().double().log_softmax(-1).numpy()
    expected = 0.0
    for place, number in enumerate(numbers):
        for word in range(index.lengths[number]):
            head = lost[index.first_word[number] + word]
            if head != NO_HEAD:
                expected -= logits[place, word, head]
    assert loss(model(batch), batch).item() == pytest.approx(expected, rel=1e-5)
    counted = (lost[: index.first_word[10]] != NO_HEAD).sum()
    assert mean_loss(model, data, numbers) == pytest.approx(expected / counted, rel=1e-5)


def test_padding_and_unknown_words_have_zero_vectors():
    index = index_of_trees([[0], [2, 0, 2]])
    batch = ParserData(index, vectors=torch.tensor([[1.0], [0.0], [3.0]])).batch([0, 1])
    assert batch.vectors.tolist() == [[[1.0], [0.0], [0.0]], [[1.0], [0.0], [3.0]]]
    assert batch.heads.tolist() == [[0, NO_HEAD, NO_HEAD], [2, 0, 2]]
    assert batch.present.tolist() == [[True, False, False], [True] * 3]


def test_long_sentences_make_smaller_batches(corpora):
    index, word_maps = corpora[0]
    data = ParserData(replace(index, lengths=np.full(6, 2000)), word_maps)
    assert 5 * 2002**2 < LARGEST < 5 * 2002**2 * 4
    assert list(data.in_order(range(6), 16)) == [[0, 1, 2], [3, 4, 5]]
    assert list(ParserData(index).in_order(range(5), 2)) == [[0, 1], [2, 3], [4]]


@pytest.mark.parametrize(
    "wrong", [{"held_out": 1.0}, {"held_out": -0.1}, {"epochs": 0}, {"learning_rate": 0.0}]
)
def test_impossible_recipes_are_refused(wrong):
    with pytest.raises(UsageError):
        TrainingSettings(**wrong)


def test_one_sentence_is_too_few_to_hold_one_out():
    data = with_words(index_of_trees([[0]]))
    with pytest.raises(UsageError, match="too few"):
        train(DistancesAndWords(8), data, QUICK, seed=0)
