"""Batches: which examples go together, and how they become tensors."""

import pytest
import torch
from hypothesis import given, strategies as st

from headlight.encode import Encoded, length_batches
from headlight.encode.batch import collate
from headlight.errors import UsageError


def example(length, target=0):
    numbers = tuple(range(1, length + 1))
    return Encoded(
        "x", numbers, (1,) * length, (3,) * length, numbers,
        tuple(range(7, 7 + target)), (2,) * target, (0,) * target,
    )  # fmt: skip


def test_right_and_left_padding():
    batch = collate([example(3), example(1)], pad_id=9)
    assert batch.input_ids.tolist() == [[1, 2, 3], [1, 9, 9]]
    assert batch.attention_mask.tolist() == [[1, 1, 1], [1, 0, 0]]
    assert batch.token_type_ids.tolist() == [[1, 1, 1], [1, 0, 0]]
    assert batch.category.tolist() == [[3, 3, 3], [3, -1, -1]]
    assert batch.word.tolist() == [[1, 2, 3], [1, -2, -2]]
    assert batch.lengths.tolist() == [3, 1]
    assert batch.target_ids is None
    left = collate([example(3), example(1)], pad_id=9, side="left")
    assert left.input_ids.tolist() == [[1, 2, 3], [9, 9, 1]]
    assert left.attention_mask.tolist() == [[1, 1, 1], [0, 0, 1]]
    assert left.category.tolist() == [[3, 3, 3], [-1, -1, 3]]


def test_targets_are_padded_on_the_right():
    batch = collate([example(2, 1), example(1, 3)], pad_id=0, side="left")
    assert batch.target_ids.tolist() == [[7, 0, 0], [7, 8, 9]]
    assert batch.target_mask.tolist() == [[1, 0, 0], [1, 1, 1]]
    assert batch.target_category.tolist() == [[2, -1, -1], [2, 2, 2]]
    assert batch.target_word.tolist() == [[0, -2, -2], [0, 0, 0]]
    assert batch.target_lengths.tolist() == [1, 3]


def test_tensors_go_to_the_device():
    assert collate([example(2)], pad_id=0, device=torch.device("meta")).word.device.type == "meta"


@pytest.mark.parametrize(
    "examples", [[], [example(2, 1), example(2)]], ids=["none", "some with a target"]
)
def test_what_makes_no_batch(examples):
    with pytest.raises(UsageError, match="all of them with a target or none"):
        collate(examples, pad_id=0)


def test_a_wrong_side():
    with pytest.raises(UsageError, match="'middle'"):
        collate([example(1)], pad_id=0, side="middle")


sizes = st.lists(st.tuples(st.integers(1, 40), st.integers(0, 40)), max_size=30)


@pytest.mark.slow
@given(sizes, st.integers(1, 200))
def test_batches_hold_every_example_once_and_keep_the_budget(sizes, budget):
    examples = [example(*size) for size in sizes]
    batches = length_batches(examples, budget)
    assert sorted(index for batch in batches for index in batch) == list(range(len(examples)))
    assert all(batches)
    for batch in batches:
        widths = [max(sizes[index][side] for index in batch) for side in (0, 1)]
        assert len(batch) == 1 or len(batch) * sum(widths) <= budget
    order = [len(examples[index].ids) for batch in batches for index in batch]
    assert order == sorted(order)
    assert batches == length_batches(examples, budget)


def test_a_batch_is_as_full_as_it_can_be():
    assert length_batches([example(n) for n in (5, 2, 2, 5, 3, 9)], 9) == [[1, 2, 4], [0], [3], [5]]


def test_a_budget_of_nothing():
    with pytest.raises(UsageError, match="at least 1"):
        length_batches([], 0)
