"""What a head answers, on maps built by hand and against loops."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st

from headlight_words.studies.coreference import TaskSettings
from headlight_words.studies.coreference.study import (
    DIRECTIONS,
    AntecedentQueries,
    is_antecedent,
    picked_words,
)
from studies.coreference_documents import EVALUATED, antecedent_tasks, bakery, random_document

MENTION, ANTECEDENT = range(len(DIRECTIONS))


def asked(
    candidates="mentions", *, preceding=True, windows=((0, 33),), **choices
) -> AntecedentQueries:
    tasks = antecedent_tasks(bakery(), windows, TaskSettings(**choices))
    return AntecedentQueries.from_tasks(tasks, candidates, preceding=preceding)


def answers_correctly(score: torch.Tensor, questions: AntecedentQueries) -> torch.Tensor:
    return is_antecedent(picked_words(score, questions), questions)


def score_of(links: dict[int, int], words: int = 33) -> torch.Tensor:
    """One head that looks nearly everywhere alike, and a little more along the links."""
    score = torch.full((1, 1, words, words), 0.01)
    for query, key in links.items():
        score[0, 0, query, key] = 0.02
    return score


PREVIOUS = {6: 0, 8: 4, 10: 6, 14: 10, 16: 11, 24: 19, 29: 14, 31: 26}
"""From the head word of each mention to that of the one before it in its chain."""


@pytest.mark.parametrize("candidates", ["mentions", "words"])
@pytest.mark.parametrize("preceding", [True, False])
def test_a_head_that_looks_at_the_mention_before_is_always_right(candidates, preceding):
    questions = asked(candidates, preceding=preceding)
    right = answers_correctly(score_of(PREVIOUS), questions)
    assert right[..., MENTION].all()
    backwards = {key: query for query, key in PREVIOUS.items()}
    right = answers_correctly(score_of(PREVIOUS).mT, questions)
    assert right[..., ANTECEDENT].all()
    assert not right[..., MENTION].all()
    assert answers_correctly(score_of(backwards), questions)[..., ANTECEDENT].sum() == 8


def test_any_antecedent_is_right_and_others_are_not():
    links = {**PREVIOUS, 14: 0, 29: 6, 16: 14}  # Mary → Mary, Brown → She; he → Mary
    right = answers_correctly(score_of(links), asked())[:, 0, MENTION]
    assert right.tolist() == [place != 16 for place in EVALUATED]


def test_what_lies_outside_the_candidates_is_not_picked():
    score = score_of(PREVIOUS)
    score[..., 2] = score[..., 32] = 0.9  # "owns" and a full stop are no mentions
    score[..., torch.arange(33), torch.arange(33)] = 0.9
    assert answers_correctly(score, asked())[..., MENTION].all()
    assert not answers_correctly(score, asked("words"))[..., MENTION].any()
    after = score_of({**PREVIOUS})
    after[..., :30, 31] = 0.9  # "them" comes after all others
    assert answers_correctly(after, asked())[..., MENTION].all()
    assert answers_correctly(after, asked(preceding=False))[:, 0, MENTION].tolist() == [
        place == 31 for place in EVALUATED
    ]


def test_of_equal_scores_the_first_word_wins():
    right = answers_correctly(torch.ones(1, 1, 33, 33), asked())[:, 0, MENTION]
    # The first mention of all is Mary Brown.
    assert right.tolist() == [
        word in ("She", "her", "Mary", "Brown") for word in EVALUATED.values()
    ]


def test_a_word_that_gets_nothing_cannot_be_picked():
    assert not answers_correctly(torch.zeros(1, 1, 33, 33), asked()).any()
    causal = torch.rand(1, 3, 33, 33).tril() + 0.1
    right = answers_correctly(causal.tril(), asked())
    assert not right[..., ANTECEDENT].any()
    assert right[..., MENTION].any()
    negative = -score_of({**PREVIOUS}).reciprocal()  # 0 is more than these, and yet nothing
    negative[..., 4] = 0
    expected = [place != 8 for place in EVALUATED]  # it → bakery, which is hidden
    assert answers_correctly(negative, asked())[:, 0, MENTION].tolist() == expected


def test_a_mention_whose_antecedents_are_out_of_reach_is_wrong():
    questions = asked(windows=((0, 14), (10, 28), (20, 33)), evaluated="all")
    assert questions.example.tolist() == [0, 0, 0, 1, 1, 1, 2, 2]
    right = answers_correctly(torch.ones(3, 1, 18, 18), questions)[:, 0, MENTION]
    assert not right[6]


def test_no_mentions_at_all():
    tasks = antecedent_tasks(bakery(), [(1, 3)])
    questions = AntecedentQueries.from_tasks(tasks, "mentions", preceding=True)
    assert answers_correctly(torch.ones(1, 2, 2, 2), questions).shape == (0, 2, 2)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    candidates=st.sampled_from(["mentions", "words"]),
    preceding=st.booleans(),
)
def test_answers_are_what_loops_find(seed, candidates, preceding):
    generator = np.random.default_rng(seed)
    documents = [
        random_document(generator, str(number), tuple("abcdefghijkl"[:length]))
        for number, length in enumerate([3, 12, 8])
    ]
    tasks = [antecedent_tasks(each, [(0, len(each.words))])[0] for each in documents]
    score = generator.integers(-2, 4, size=(3, 2, 13, 13)) / 8
    questions = AntecedentQueries.from_tasks(tasks, candidates, preceding=preceding)
    found = answers_correctly(torch.from_numpy(score), questions)
    assert found.tolist() == naive(documents, score, candidates, preceding)


def naive(documents, score, candidates, preceding):
    """Mention by mention, head by head, in both directions."""
    answers = []
    for document, maps in zip(documents, score, strict=True):
        chains = [mention.chain for mention in document.mentions]
        mentions = [m for m in document.mentions if chains.count(m.chain) > 1]
        for mention in mentions:
            right = {m.head for m in mentions if m.chain == mention.chain and m.head < mention.head}
            if not right:
                continue
            words = (
                {m.head for m in mentions}
                if candidates == "mentions"
                else set(range(len(document.words)))
            ) - {mention.head}
            if preceding:
                words = {word for word in words if word < mention.head}
            answers.append([
                [best(row, words) in right for row in (one[mention.head], one[:, mention.head])]
                for one in maps
            ])  # fmt: skip
    return answers


def best(row, words):
    picked, highest = None, None
    for word in sorted(words):
        if row[word] != 0 and (highest is None or row[word] > highest):
            picked, highest = word, row[word]
    return picked
