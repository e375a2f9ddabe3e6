"""Sentences about the passages that an answer rests on."""

from math import log

import numpy as np
import pytest

from headlight.findings.sources import factor, is_more_likely, of_answer, passages_rested_on


def naive(times: list[float]) -> list[int]:
    """Passages without which the answer is at least twice less likely, by less than twice apart."""
    most = max(times)
    used = [at for at, value in enumerate(times) if value >= 2 and value > most / 2]
    return sorted(used, key=lambda at: -times[at])


def test_passages_are_those_of_the_rule() -> None:
    draw = np.random.default_rng(0)
    for _ in range(200):
        times = np.exp(draw.normal(scale=1.5, size=draw.integers(1, 7)))
        assert passages_rested_on(np.log(times)) == naive(times.tolist())
    assert passages_rested_on([np.nan, log(8), np.nan]) == [1]
    assert passages_rested_on([]) == []


@pytest.mark.parametrize(
    ("times", "sentence"),
    [
        ([3, 2.4, 106], "The answer came from passage 3: it is 106 times less likely without it, "
                        "and 3.0 times without passage 1."),
        ([1.2, 1.1, 106], "The answer came from passage 3: it is 106 times less likely without "
                          "it."),
        ([5e7, 1], "The answer came from passage 1: it is more than a million times less likely "
                   "without it."),
        ([9, 1, 7.2], "The answer rests on passages 1 and 3: without one of them it is 7.2 to 9.0 "
                      "times less likely."),
        ([9, 8, 7, 6, 5], "The answer rests on passages 1, 2, 3 and 2 others: without one of them "
                          "it is 7.0 to 9.0 times less likely."),
        ([1.4, 0.9], "The answer rests on no single passage: without any one of them it is at "
                     "most 1.4 times less likely."),
        ([1.01, 0.2], "The answer rests on no single passage: without any one of them it is no "
                      "less likely."),
        ([20], "The answer came from the passage: it is 20 times less likely without it."),
        ([1.5], "The answer does not rest on the passage: without it it is 1.5 times less "
                "likely."),
    ],
)  # fmt: skip
def test_a_sentence_follows_its_numbers(times: list[float], sentence: str) -> None:
    assert of_answer(np.log(times)) == sentence


def test_factors_are_as_exact_as_they_are_said() -> None:
    written = {1.0: "1.0", 9.94: "9.9", 9.96: "10", 106.3: "106", 12345.0: "12,345", 2.4e7: ">10⁶"}
    assert {value: factor(log(value)) for value in written} == written
    assert factor(1e4) == ">10⁶"
    assert is_more_likely(log(0.9))
    assert not is_more_likely(log(0.97))
