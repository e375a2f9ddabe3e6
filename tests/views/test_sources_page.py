"""Page of the sources of an answer: what it shows before anything is unfolded."""

from typing import Any

import numpy as np
import pytest
import xarray as xr

from headlight.observations.variables import with_slots
from headlight.reduce import Slots
from headlight.result.estimate import Estimate
from headlight.views.headline import BarList
from headlight.views.reading.sources import findings, headline
from headlight.views.result_page import result_page
from page_words import words_when_open

SENTENCE = "The curator counts the visitors of each room before the doors are closed at night."


def mean_of(name: str, dims: tuple[str, ...], numbers: Any) -> dict[str, Any]:
    """Mean over answers; with what intervals are computed from, as of real ones, if several."""
    slots = Slots.of(np.arange(len(numbers)), numbers).compute()
    if len(numbers) == 1:
        return {name: (dims, slots["mean"])}
    return {**with_slots(name, dims, slots["mean"], slots)}


def answers(
    falls: list[list[float]], texts: list[str], shares: list[list[float]] | None = None
) -> xr.Dataset:
    """Sources of answers with these falls of the log-probability and shares of attention."""
    signals = ["removal", "chosen heads by weight", "all heads by weight"]
    attention = falls if shares is None else shares
    values = np.array([[fall, share, share] for fall, share in zip(falls, attention, strict=True)])
    count, size = len(falls), len(falls[0])
    right = np.full((count, 3), np.nan)
    for row, fall, share in zip(right, falls, attention, strict=True):
        row[:] = float(np.argmax(fall) == np.argmax(share))
    variables: dict[str, Any] = {
        "value": (("answer", "signal", "passage"), values),
        **mean_of("mean", ("signal", "passage"), values),
        "rank": (("answer", "signal"), np.full((count, 3), np.nan)),
        **mean_of("agreement", ("signal",), np.full((count, 3), np.nan)),
        "right": (("answer", "signal"), right),
        **mean_of("right_share", ("signal",), right),
        "lookback": (("answer", "layer", "head", "token"), np.full((count, 1, 1, 1), np.nan)),
        "retrieval": (("layer", "head"), np.ones((1, 1))),
    }
    coordinates: dict[str, Any] = {
        "signal": signals,
        "measure": ["weight"],
        "layer": [0],
        "head": [0],
        "passage": range(1, size + 1),
        "question": ("answer", ["When is it closed?"] * count),
        "answer_text": ("answer", ["At night."] * count),
        "passage_text": (("answer", "passage"), [texts[:size]] * count),
        "chosen": (("layer", "head"), [[True]]),
    }
    about = {"stage": "sources", "model": "m", "named": 0, "notes": "", "orders": 1, "masks": 0}
    return xr.Dataset(variables, coordinates, about | {"written": count, "title": "t"})


def bars(result: xr.Dataset) -> list[tuple[str, str, float]]:
    (picture, *_) = [each for each in headline(result).pictures if isinstance(each, BarList)]
    return [(bar.label, bar.value, round(bar.share, 3)) for bar in picture.bars]


def test_a_page_begins_with_the_passage() -> None:
    result = answers([np.log([3, 0.5, 100]).tolist()], [SENTENCE] * 3)
    title = headline(result).title
    assert title.startswith("The answer came from passage 3: it is 100 times less likely")
    assert findings(result)[0] == title
    assert bars(result) == [
        ("passage 3", "100×", 1.0), ("passage 1", "3.0×", 0.03),
        ("passage 2, more likely", "2.0×", 0.0),
    ]  # fmt: skip
    page = result_page(result)
    assert page.index(title) < page.index("Passages, the one that mattered most first")
    assert "No number has an interval" not in page
    assert len(words_when_open(page)) <= 200


def test_little_looks_like_little() -> None:
    assert max(share for *_, share in bars(answers([[0.3, 0.2]], [SENTENCE] * 2))) < 0.14


@pytest.mark.parametrize("length", [20, 200])
def test_many_long_passages_are_shortened(length: int) -> None:
    texts = [" ".join(f"word{at}" for at in range(length)) + f" {place}" for place in range(20)]
    falls = np.random.default_rng(1).normal(size=20)
    page = result_page(answers([falls.tolist()], texts))
    words = words_when_open(page)
    assert len(words) <= 200
    assert f"word{length - 1}" not in words
    assert f"word{length - 1} {int(falls.argmax())}</p>" in page, "it opens as a whole"
    assert "15 more passages: at most" in page


@pytest.mark.parametrize(
    ("shares", "sentence"),
    [
        ([1, 1, 2], "on passage 3 (50% of that on all passages): it names the same passage"),
        ([3, 0, 1], "largest on passage 1 (75% of that on all passages, against 25% on passage 3): "
                    "it names another passage"),
    ],
)  # fmt: skip
def test_attention_is_held_against_removal(shares: list[float], sentence: str) -> None:
    result = answers([np.log([1, 1, 50]).tolist()], [SENTENCE] * 3, [shares])
    note = headline(result).pictures[1].note  # type: ignore[union-attr]
    assert sentence in note
    assert "would have been" not in " ".join(
        findings(answers([[0.1, 0.0, 0.0]], [SENTENCE] * 3, [shares]))
    )


def test_several_answers_say_how_often_attention_is_right(monkeypatch: Any) -> None:
    falls = [np.log([1, 50]).tolist()] * 3 + [[0.1, 0.0]]
    result = answers(falls, [SENTENCE] * 2, [[0, 1], [0, 1], [1, 0], [0, 1]])
    result["right"].values[3] = np.nan
    share = Estimate.with_ends(np.full(3, 2 / 3), np.full(3, 0.6), np.full(3, 0.8))
    monkeypatch.setattr("headlight.findings.sources.right_share", lambda _: share)
    title = headline(result).title
    assert title == (
        "Attention of the heads that copy names the passage that the answer rests on in 2 of 3 "
        "answers (67%, 95%: 60% to 80%), more than by chance (50%)."
    )
    assert findings(result)[0] == title
    share = Estimate.with_ends(np.full(3, 2 / 3))
    assert "whether that is more than by chance (50%) is inconclusive" in headline(result).title
    assert [picture.title for picture in headline(result).pictures] == [  # type: ignore[union-attr]
        "How often it names the passage that the answer rests on", "What the 4 answers rest on",
    ]  # fmt: skip
    assert len(words_when_open(result_page(result))) <= 200
