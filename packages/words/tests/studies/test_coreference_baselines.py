"""The baselines on a document whose answers were worked out by hand."""

import numpy as np
import pytest

from headlight.corpora import Sentence
from headlight_words.corpora import CoreferenceDocument, Mention
from headlight_words.studies.coreference import TaskSettings
from headlight_words.studies.coreference.sieves import (
    NOTHING,
    SIEVES,
    attributes,
    baseline_picks,
    is_correct,
    pick_nearest,
)
from studies.coreference_documents import EVALUATED, antecedent_tasks, bakery, random_document


def picked(name: str, *, tagged: bool = True, **choices) -> dict[str, str | None]:
    """What a baseline picks for each mention, as the words of the mention picked."""
    settings = TaskSettings(**choices)
    (task,) = antecedent_tasks(bakery(tagged=tagged), [(0, 33)], settings)
    picks = baseline_picks(task, settings)[name]
    return {
        form: None
        if pick == NOTHING
        else " ".join(task.words[task.mentions[pick].first : task.mentions[pick].last + 1])
        for form, pick in zip(EVALUATED.values(), picks, strict=True)
    }


def test_the_nearest_mention():
    assert picked("nearest") == {
        "She": "a bakery",
        "it": "She",
        "her": "it",
        "Mary": "her brother John",
        "he": "Mary",
        "bread": "the bread",
        "Brown": "neighbours",
        "them": "Mrs. Brown",
    }


def test_single_mentions_stand_in_the_way_of_the_nearest():
    assert picked("nearest", singletons=True)["bread"] == "They"


def test_the_same_head_word():
    nothing = dict.fromkeys(EVALUATED.values())
    assert picked("head match") == nothing | {"Mary": "Mary Brown", "bread": "the bread"}


def test_the_same_head_word_or_else_the_nearest():
    expected = picked("nearest") | {"Mary": "Mary Brown", "bread": "the bread"}
    assert picked("head match", head_match_otherwise="nearest") == expected


RULES = {
    "She": "Mary Brown",  # a first name; the bakery is neuter
    "it": "a bakery",
    "her": "She",
    "Mary": "Mary Brown",  # the second sieve
    "he": "her brother John",
    "bread": "the bread",  # the first sieve
    "Brown": "Mary",  # neighbours are plural, bread is neuter, he is masculine
    "them": "neighbours",
}


@pytest.mark.parametrize("tagged", [True, False])
def test_the_rules(tagged):
    assert picked("rule-based", tagged=tagged) == RULES


def test_a_sieve_left_out():
    assert picked("rule-based", sieves=("string", "head")) == picked("head match")
    assert picked("rule-based", sieves=("anything",)) == picked("nearest")
    without = picked("rule-based", sieves=("string", "head", "anything"))
    assert without == picked("nearest") | {"Mary": "Mary Brown", "bread": "the bread"}


def test_accuracy_by_hand():
    (task,) = antecedent_tasks(bakery(), [(0, 33)])
    picks = baseline_picks(task, TaskSettings())
    assert {name: is_correct(task, pick).sum() for name, pick in picks.items()} == {
        "nearest": 1,
        "head match": 2,
        "rule-based": 8,
    }


def test_nearest_is_what_a_loop_finds():
    generator = np.random.default_rng(3)
    compared = 0
    for number in range(50):
        words = tuple(map(str, generator.choice(list("abcd"), size=30)))
        document = random_document(generator, str(number), words)
        (task,) = antecedent_tasks(document, [(0, 30)])
        alike = SIEVES["head"](task.mentions, task.words, task.tags)[task.evaluated]
        for allowed in (None, alike):
            picks = pick_nearest(task, allowed)
            for row, pick in enumerate(picks):
                options = [
                    place
                    for place in range(len(task.mentions))
                    if task.earlier[row, place] and (allowed is None or allowed[row, place])
                ]
                best = max((task.heads[place] for place in options), default=None)
                if best is None:
                    assert pick == NOTHING
                else:
                    assert pick == [place for place in options if task.heads[place] == best][-1]
                    compared += 1
    assert compared > 100


def test_right_by_head_word():
    """A mention that shares its head word with an antecedent is as good as the antecedent."""
    document = bakery()
    twin = Mention("other", 0, 0, 0, "proper")
    also = Mention("other", 2, 2, 2, "nominal")
    made = type(document)("twins", document.sentences, (*document.mentions, twin, also))
    (task,) = antecedent_tasks(made, [(0, 33)])
    place = [mention.chain for mention in task.mentions].index("other")
    she = task.query.tolist().index(6)
    picks = np.full(len(task), NOTHING)
    assert not is_correct(task, picks).any()
    picks[she] = place
    assert is_correct(task, picks).tolist() == [row == she for row in range(len(task))]


@pytest.mark.parametrize(
    ("words", "head", "kind", "tags", "expected"),
    [
        ("Her", 0, "pronoun", "", ("singular", "feminine", 3)),
        ("we", 0, "pronoun", "", ("plural", None, 1)),
        ("you", 0, "pronoun", "", (None, None, 2)),
        ("Mr. Brown", 1, "proper", "NNP NNP", ("singular", "masculine", 3)),
        ("Miss Robert", 1, "proper", "", ("singular", "feminine", 3)),
        ("Ann and John", 0, "proper", "NNP CC NNP", ("plural", None, 3)),
        ("the Alps", 1, "proper", "DT NNPS", ("plural", None, 3)),
        ("Paris", 0, "proper", "", ("singular", None, 3)),
        ("the ladies", 1, "nominal", "DT NNS", ("plural", "feminine", 3)),
        ("the churches", 1, "nominal", "", ("plural", "neuter", 3)),
        ("the women", 1, "nominal", "", ("plural", "feminine", 3)),
        ("the glass", 1, "nominal", "", ("singular", "neuter", 3)),
        ("some teachers", 1, "nominal", "", ("plural", None, 3)),
        ("the team", 1, "nominal", "DT NN", (None, None, 3)),
        ("the means", 1, "nominal", "DT NN", ("singular", "neuter", 3)),
        ("mine", 0, "nominal", "NN", ("singular", "neuter", 3)),
    ],
)
def test_attributes(words, head, kind, tags, expected):
    split = words.split()
    mention = Mention("x", 0, len(split) - 1, head, kind)
    found = attributes(mention, split, tags.split() or [""] * len(split))
    assert (found.number, found.gender, found.person) == expected


def test_unknown_attributes_agree_with_everything():
    words = ["you", "he", "Paris", "she", "they"]
    kinds = ["pronoun", "pronoun", "proper", "pronoun", "pronoun"]
    mentions = [Mention(str(i), i, i, i, kind) for i, kind in enumerate(kinds)]
    alike = SIEVES["agreement"](mentions, words, [""] * 5)
    names = {(words[i], words[j]) for i, j in zip(*np.nonzero(alike), strict=True) if i < j}
    assert names == {("he", "Paris"), ("Paris", "she")}


def test_picking_nothing_is_wrong_also_where_the_last_mention_is_an_antecedent():
    inner, outer = Mention("x", 1, 1, 1, "pronoun"), Mention("x", 0, 2, 2, "nominal")
    document = CoreferenceDocument("x", (Sentence("x:1", ("of", "her", "own")),), (outer, inner))
    (task,) = antecedent_tasks(document, [(0, 3)])
    assert task.mentions[-1].head == 1
    assert not is_correct(task, np.array([NOTHING])).any()
    assert is_correct(task, np.array([1])).all()
