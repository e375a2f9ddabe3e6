"""Predicted governors on maps made by hand, and against the definition."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies

from headlight.corpora import Sentence
from headlight.errors import CorpusError
from headlight_words.studies.dependency.gold import (
    NOTHING,
    Gold,
    candidates,
    count_by_relation,
    gold_of,
    is_correct,
    predict,
    predict_by_offset,
    predict_right_branching,
    summarize,
)
from studies import dependency_naive as naive
from studies.dependency_naive import TREES, sentence

NAMES = summarize(TREES, "full").relations
DIRECTIONS = ("dependent", "head")


def gold(trees: list[Sentence], kept: list[int] | None = None, **options: str) -> Gold:
    names = summarize(trees, options.get("naming", "full")).relations
    codes = {name: number for number, name in enumerate(names)}
    return gold_of(trees, kept or [len(tree) for tree in trees], codes, **options)


def looks_at_its_governor(trees: list[Sentence]) -> torch.Tensor:
    """One head; the root looks at itself. Shape [sentence, 1, word, word]."""
    width = max(map(len, trees))
    score = torch.zeros(len(trees), 1, width, width)
    for number, tree in enumerate(trees):
        for word, head in enumerate(tree.heads):
            score[number, 0, word, head - 1 if head else word] = 1.0
    return score


def shares(score: torch.Tensor, trees: list[Sentence], **options: str) -> dict[str, list[float]]:
    """For each relation its accuracy by either direction, of the first head."""
    made = gold(trees, **options)
    found = count_by_relation(is_correct(predict(score, candidates(made.present)), made), made).sum(
        0
    )[0]
    names = summarize(trees, options.get("naming", "full")).relations
    accuracy = (found / made.members.sum((0, 1))).T.tolist()
    return dict(zip(names, accuracy, strict=True))


def test_a_head_that_always_looks_at_the_governor_is_always_right() -> None:
    found = shares(looks_at_its_governor(TREES), TREES, possessive="strict")
    assert found.pop("root") == [0.0, 0.0]  # nothing can point at it
    assert {name: accuracy[0] for name, accuracy in found.items()} == dict.fromkeys(found, 1.0)


def test_a_head_that_always_looks_at_its_dependents_is_right_the_other_way() -> None:
    found = shares(looks_at_its_governor(TREES).mT, TREES, possessive="strict")
    assert found.pop("root") == [0.0, 0.0]
    assert {name: accuracy[1] for name, accuracy in found.items()} == dict.fromkeys(found, 1.0)


def test_padding_and_the_word_itself_are_no_candidates() -> None:
    made = gold(TREES)
    score = torch.full((4, 1, 6, 6), -5.0)
    score += 10 * torch.eye(6)
    for number, tree in enumerate(TREES):
        score[number, :, :, len(tree) :] = 7.0
        score[number, :, len(tree) :, :] = 7.0
    found = predict(score, candidates(made.present))
    for number, tree in enumerate(TREES):
        for word in range(len(tree)):
            expected = NOTHING if len(tree) == 1 else int(word == 0)  # the first other word
            assert found[number, 0, :, word].tolist() == [expected, expected]


def test_of_equal_scores_the_first_counts_and_signs_are_kept() -> None:
    made = gold([TREES[3]])
    score = torch.tensor([[[0, -1, -1, -2, -3, -1], *[[-9, -9, -9, 2, 2, 2]] * 5]]).float()[None]
    found = predict(score, candidates(made.present))
    assert found[0, 0, 0].tolist() == [1, 3, 3, 4, 3, 3]
    assert found[0, 0, 1].tolist() == [1, 0, 0, 1, 1, 1]


def test_a_sentence_of_one_word_counts_and_is_wrong() -> None:
    made = gold([TREES[2]])
    found = predict(torch.ones(1, 3, 1, 1), candidates(made.present))
    assert (found == NOTHING).all()
    assert count_by_relation(is_correct(found, made), made).sum() == 0
    assert made.members.sum() == 1


def test_words_whose_governor_was_cut_off_are_left_out_of_everything() -> None:
    made = gold([TREES[3]], [5])  # without "dog", which governs "a" and "old"
    assert made.cut.tolist() == [2]
    assert made.lost.tolist() == [1]
    assert made.present.tolist() == [[True] * 5]
    kept = made.members.sum((0, 1))
    names = summarize([TREES[3]], "full").relations
    assert dict(zip(names, kept.tolist(), strict=True)) == {
        "advmod": 1.0, "amod": 0.0, "det": 0.0, "dobj": 0.0, "nsubj": 1.0, "root": 1.0,
    }  # fmt: skip
    everything = torch.ones(1, 1, 2, 5, dtype=torch.bool)
    assert count_by_relation(everything, made).sum(-1).tolist() == [[[3.0, 3.0]]]


def test_a_sentence_of_which_no_word_is_left() -> None:
    made = gold([TREES[0]], [0])
    found = predict(torch.ones(1, 2, 1, 1), candidates(made.present))
    assert count_by_relation(is_correct(found, made), made).sum() == 0
    assert made.members.sum() == 0


class TestPossessors:
    """*Ann 's dog sleeps*: 'Ann' is governed by 'dog', the third of four words."""

    @pytest.fixture
    def score(self) -> torch.Tensor:
        """'Ann' looks at the clitic, which looks at 'dog'."""
        score = torch.zeros(1, 1, 4, 4)
        score[0, 0, 0, 1] = score[0, 0, 1, 2] = 1.0
        return score

    def test_the_prediction_of_the_clitic_counts(self, score: torch.Tensor) -> None:
        assert shares(score, [TREES[1]])["poss"][0] == 1.0
        assert shares(score, [TREES[1]])["possessive"][0] == 0.0

    def test_but_not_strictly(self, score: torch.Tensor) -> None:
        assert shares(score, [TREES[1]], possessive="strict")["poss"][0] == 0.0

    def test_nor_where_the_last_word_is_predicted(self, score: torch.Tensor) -> None:
        score[0, 0, 0, 3] = 2.0
        assert shares(score, [TREES[1]])["poss"][0] == 0.0

    def test_of_universal_dependencies(self, score: torch.Tensor) -> None:
        tree = sentence("Ann/3/nmod:poss ’s/1/case dog/4/nsubj sleeps/0/root")
        assert shares(score, [tree])["nmod:poss"][0] == 1.0
        assert shares(score, [tree], naming="base")["nmod"][0] == 1.0

    def test_without_a_clitic_its_own_prediction_counts(self, score: torch.Tensor) -> None:
        tree = sentence("her/3/poss old/3/amod dog/4/nsubj sleeps/0/root")
        assert shares(score, [tree])["poss"][0] == 0.0

    def test_at_the_end_of_a_sentence(self) -> None:
        tree = sentence("dog/0/root of/1/prep hers/2/poss")
        assert shares(looks_at_its_governor([tree]), [tree])["poss"][0] == 1.0

    def test_whose_clitic_was_cut_off(self) -> None:
        tree = sentence("dog/0/root Ann/1/poss 's/2/possessive")
        made = gold([tree], [2])
        score = looks_at_its_governor([tree])[..., :2, :2]
        found = is_correct(predict(score, candidates(made.present)), made)
        assert found[0, 0, 0].tolist() == [False, True]


class TestBaselines:
    """By hand, on *the dog barked loudly .* and *stop*."""

    trees = (TREES[0], TREES[2])

    def test_offsets_of_the_notebook(self) -> None:
        made = gold(list(self.trees))
        predicted = predict_by_offset(made, "notebook")
        assert predicted[0].tolist() == [
            [-1, -1, -1, 0, 1],
            [-1, -1, 0, 1, 2],
            [-1, 0, 1, 2, 3],
            [0, 1, 2, 3, 4],
            [1, 2, 3, 4, 4],
            [2, 3, 4, 4, 4],
        ]
        assert predicted[1, :, 0].tolist() == [-1, -1, -1, 0, 0, 0]
        found = count_by_relation(is_correct(predicted, made), made).sum((0, 2))
        # -3: both roots; -2: 'stop' and the period; -1: 'stop' and 'loudly'; +1: 'the' and 'dog'
        assert found.tolist() == [2.0, 2.0, 2.0, 0.0, 2.0, 0.0]

    def test_strict_offsets(self) -> None:
        made = gold(list(self.trees))
        predicted = predict_by_offset(made, "strict")
        assert predicted.shape == (2, 10, 5)
        assert predicted[0, 4].tolist() == [NOTHING, 0, 1, 2, 3]
        assert predicted[0, 6].tolist() == [2, 3, 4, NOTHING, NOTHING]
        assert (predicted[1, :, 0] == NOTHING).all()
        found = count_by_relation(is_correct(predicted, made), made).sum((0, 2))
        assert found.tolist() == [0, 0, 0, 1, 1, 2, 0, 0, 0, 0]

    def test_right_branching(self) -> None:
        made = gold(list(self.trees))
        predicted = predict_right_branching(made)
        assert predicted[:, 0].tolist() == [[1, 2, 3, 4, -1], [-1] * 5]
        assert is_correct(predicted, made)[:, 0].tolist() == [
            [True, True, False, False, False],
            [True, *[False] * 4],
        ]


words = strategies.sampled_from(["dog", "'s", "s'", "the"])
names = strategies.sampled_from(["poss", "nmod:poss", "det", "punct", "nsubj:pass"])


@strategies.composite
def trees(draw: strategies.DrawFn) -> str:
    """Any governors at all; they need not be trees to be counted."""
    length = draw(strategies.integers(1, 6))
    heads = [draw(strategies.integers(0, length)) for _ in range(length)]
    rows = [(draw(words), head, draw(names)) for head in heads]
    return " ".join("/".join(map(str, row)) for row in rows)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    texts=strategies.lists(trees(), min_size=1, max_size=4),
    data=strategies.data(),
    rule=strategies.booleans(),
)
def test_counts_are_those_of_the_definition(
    texts: list[str], data: strategies.DataObject, rule: bool
) -> None:
    given_trees = [sentence(text) for text in texts]
    kept = [data.draw(strategies.integers(0, len(tree))) for tree in given_trees]
    made = gold(given_trees, kept, possessive="clark" if rule else "strict")
    generator = np.random.default_rng(data.draw(strategies.integers(0, 2**32)))
    width = max(*kept, 1)
    score = generator.integers(-2, 3, (len(given_trees), 2, width, width))  # with many ties
    found = count_by_relation(
        is_correct(predict(torch.tensor(score).float(), candidates(made.present)), made), made
    ).sum(0)
    all_names = summarize(given_trees, "full").relations
    for head in range(2):
        for at, direction in enumerate(DIRECTIONS):
            predicted = [
                [
                    naive.governor(rows[head, :length, :length], word, direction)
                    for word in range(length)
                ]
                for rows, length in zip(score, kept, strict=True)
            ]
            expected = naive.counts(given_trees, kept, predicted, rule)
            for number, name in enumerate(all_names):
                right_ones, whole = expected.get(name, (0, 0))
                assert found[head, at, number] == right_ones
                assert made.members.sum((0, 1))[number] == whole
    for offset, place in enumerate(range(-3, 3)):
        predicted = [
            [min(max(word + 1 + place, 0), length) for word in range(length)] for length in kept
        ]
        expected = naive.counts(given_trees, kept, predicted, rule)
        right = is_correct(predict_by_offset(made, "notebook"), made)
        by_place = count_by_relation(right, made).sum(0)[offset]
        assert by_place.sum() == sum(right_ones for right_ones, _ in expected.values())


class TestInventory:
    def test_relations_by_frequency_then_name(self) -> None:
        assert summarize(TREES, "full").relations == (
            "root", "nsubj", "advmod", "det", "amod", "dobj", "poss", "possessive", "punct",
        )  # fmt: skip

    def test_subtypes_are_cut_off(self) -> None:
        tree = sentence("a/2/nsubj:pass b/0/root c/2/nsubj")
        assert summarize([tree], "base").relations == ("nsubj", "root")

    def test_another_tree_is_another_digest(self) -> None:
        one = sentence("a/2/x b/0/root c/2/x")
        two = sentence("a/2/x b/0/root c/1/x")
        assert summarize([one], "full").digest != summarize([two], "full").digest
        assert summarize([one], "full").digest == summarize([one], "full").digest

    def test_without_relations_punctuation_is_told_by_its_characters(self) -> None:
        tree = Sentence("x:1", ("go", "!", "?!"), (0, 1, 1))
        assert summarize([tree], "full").relations == ("punct", "_")

    def test_without_heads_there_is_nothing_to_evaluate(self) -> None:
        with pytest.raises(CorpusError, match=r"x:1 has no heads; give a treebank with gold trees"):
            summarize([Sentence("x:1", ("go",))], "full")
