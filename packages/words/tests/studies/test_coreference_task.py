"""Which mentions are asked about, and what may be picked, against loops and by hand."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from headlight.errors import UnknownNameError
from headlight_words.studies.coreference import TaskSettings
from headlight_words.studies.coreference.task import KINDS, AntecedentTask
from studies.coreference_documents import EVALUATED, antecedent_tasks, bakery, random_document

ALL = [(0, 33)]


def only(windows=None, **choices) -> AntecedentTask:
    (task,) = antecedent_tasks(bakery(), windows or ALL, TaskSettings(**choices))
    return task


def forms(words: tuple[str, ...], row: np.ndarray) -> list[str]:
    return [words[number] for number in np.flatnonzero(row)]


def test_mentions_with_an_antecedent_are_evaluated_and_no_others():
    task = only()
    assert task.query.tolist() == list(EVALUATED)
    assert [KINDS[kind] for kind in task.kind] == [
        "pronoun", "pronoun", "pronoun", "proper", "pronoun", "nominal", "proper", "pronoun",
    ]  # fmt: skip


def test_antecedents_and_candidates_by_hand():
    task = only()
    mary = task.query.tolist().index(14)
    assert forms(task.words, task.antecedent_words()[mary]) == ["Mary", "She", "her"]
    before = task.candidate_words("mentions", preceding=True)[mary]
    assert np.flatnonzero(before).tolist() == [0, 4, 6, 8, 10, 11]
    everywhere = task.candidate_words("mentions", preceding=False)[mary]
    assert np.flatnonzero(everywhere).tolist() == [0, 4, 6, 8, 10, 11, 16, 19, 24, 26, 29, 31]
    assert task.candidate_words("words", preceding=True)[mary].sum() == 14
    assert task.candidate_words("words", preceding=False)[mary].sum() == 32


def test_single_mentions_may_be_picked_where_asked_for_and_are_never_evaluated():
    task = only(singletons=True)
    assert task.query.tolist() == list(EVALUATED)
    bread = task.query.tolist().index(24)
    assert 21 in np.flatnonzero(task.candidate_words("mentions", preceding=True)[bread])
    plain = only()
    assert 21 not in np.flatnonzero(plain.candidate_words("mentions", preceding=True)[bread])


def test_nested_mentions():
    nested = only(nested="include").candidate_words("mentions", preceding=False)
    apart = only(nested="exclude").candidate_words("mentions", preceding=False)
    her = list(EVALUATED).index(10)
    assert np.flatnonzero(nested[her] & ~apart[her]).tolist() == [11]  # her brother John
    assert (np.delete(nested, her, 0) == np.delete(apart, her, 0)).all()


def test_the_last_word_as_head():
    task = only(head_word="last")
    assert task.query.tolist() == [6, 8, 10, 14, 16, 24, 29, 31]
    assert 1 in np.flatnonzero(task.antecedent_words()[0])  # She: Brown instead of Mary


WINDOWS = [(0, 14), (10, 28), (20, 33)]


def test_each_mention_is_evaluated_once_with_most_of_the_text_before_it():
    tasks = antecedent_tasks(bakery(), WINDOWS)
    found = [[task.words[word] for word in task.query] for task in tasks]
    # "her" lies in the first two windows; "Mrs. Brown" has no antecedent in the third.
    assert found == [["She", "it", "her"], ["Mary", "he", "bread"], ["them"]]
    mary = tasks[1].antecedent_words()[0]
    assert forms(tasks[1].words, mary) == ["her"]


def test_mentions_out_of_reach_count_as_wrong_where_asked_for():
    third = antecedent_tasks(bakery(), WINDOWS, TaskSettings(evaluated="all"))[2]
    assert [third.words[word] for word in third.query] == ["Brown", "them"]
    assert third.antecedent_words().any(1).tolist() == [False, True]


def test_a_window_without_mentions():
    task = only([(1, 3)])
    assert len(task) == 0
    assert task.candidate_words("mentions", preceding=True).shape == (0, 2)
    assert task.antecedent_words().shape == (0, 2)


@pytest.mark.parametrize(
    ("name", "value"),
    [("nested", "maybe"), ("evaluated", "none"), ("head_word", "first"),
     ("head_match_otherwise", "x"), ("sieves", ("strin",))],
)  # fmt: skip
def test_unknown_choices_are_refused(name, value):
    settings = TaskSettings()
    object.__setattr__(settings, name, value)  # the types of the tests would refuse it
    with pytest.raises(UnknownNameError, match="Known:"):
        settings.__post_init__()


@st.composite
def windows(draw, length):
    """Windows that cover a document, with any overlap."""
    made, first, stop = [], 0, 0
    while stop < length:
        stop = draw(st.integers(max(stop, first) + 1, length))
        made.append((first, stop))
        first = draw(st.integers(first + 1, stop)) if stop < length else first
    return made


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_tasks_are_what_loops_find(data):
    seed = data.draw(st.integers(0, 2**32 - 1))
    generator = np.random.default_rng(seed)
    words = tuple(generator.choice(list("abcdef"), size=int(generator.integers(1, 25))))
    document = random_document(generator, "random", tuple(map(str, words)))
    spans = data.draw(windows(len(words)))
    choices = TaskSettings(
        singletons=data.draw(st.booleans()),
        nested=data.draw(st.sampled_from(["include", "exclude"])),
        evaluated=data.draw(st.sampled_from(["resolvable", "all"])),
    )
    tasks = antecedent_tasks(document, spans, choices)
    expected = naive(document, spans, choices)
    found = [
        (number, int(task.query[row]) + first, kept(task.antecedent_words()[row], first),
         kept(task.candidate_words("mentions", preceding=True)[row], first),
         kept(task.candidate_words("mentions", preceding=False)[row], first))
        for number, (task, (first, _)) in enumerate(zip(tasks, spans, strict=True))
        for row in range(len(task))
    ]  # fmt: skip
    assert found == expected


def kept(row: np.ndarray, first: int) -> list[int]:
    return (np.flatnonzero(row) + first).tolist()


def naive(document, spans, choices):
    """Everything again, mention by mention: (window, head word, antecedents, before, anywhere)."""
    sizes = {m.chain: sum(n.chain == m.chain for n in document.mentions) for m in document.mentions}
    mentions = [m for m in document.mentions if choices.singletons or sizes[m.chain] > 1]

    def allowed(one, two):
        nested = (one.first <= two.first and two.last <= one.last) or (
            two.first <= one.first and one.last <= two.last
        )
        return one.head != two.head and not (choices.nested == "exclude" and nested)

    found = []
    seen = set()
    for number, (first, stop) in enumerate(spans):
        inside = [m for m in mentions if first <= m.first and m.last < stop]
        for mention in inside:
            if mention in seen:
                continue
            seen.add(mention)
            before = [m for m in inside if allowed(m, mention) and m.head < mention.head]
            reach = mentions if choices.evaluated == "all" else inside
            if not any(
                m.chain == mention.chain and allowed(m, mention) and m.head < mention.head
                for m in reach
            ):
                continue
            found.append((
                number, mention.head,
                sorted({m.head for m in before if m.chain == mention.chain}),
                sorted({m.head for m in before}),
                sorted({m.head for m in inside if allowed(m, mention)}),
            ))  # fmt: skip
    return found
