"""Which signal tells what an answer used: sixty built examples on a trained decoder.

Six sentences, a question about one of them, and its answer.  The sentences are of six people and
six facts, so that a name or a verb alone tells which sentence is meant.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import headlight
from headlight.findings.sources import right_share, signals
from headlight.result.estimate import Estimate, estimate_of
from headlight.views.reading.sources import findings
from real.models import MODELS, needs_models

pytestmark = needs_models

NAMES = (
    "Mara", "Tobias", "Ines", "Ruben", "Clara", "Jonas", "Petra", "Victor",
    "Nadia", "Oscar", "Lena", "Hugo", "Alma", "Felix", "Greta", "Simon",
)  # fmt: skip
FACTS = (
    (
        "{} keeps the spare key {}.",
        "Where does {} keep the spare key?",
        ("under the blue pot", "behind the mirror", "in the old drum", "inside a tin box"),
    ),
    (
        "{} travels to work {}.",
        "How does {} travel to work?",
        ("by night train", "on a red bicycle", "in a small boat", "by cable car"),
    ),
    (
        "{} has a pet {}.",
        "Which pet does {} have?",
        ("parrot", "tortoise", "hedgehog", "goldfish"),
    ),
    (
        "{} bakes bread with {}.",
        "What does {} bake bread with?",
        ("walnuts", "honey", "dried figs", "pumpkin seeds"),
    ),
    ("{} was born in {}.", "Where was {} born?", ("Lisbon", "Nairobi", "Quebec", "Kyoto")),
    (
        "{} plays the {} on Sundays.",
        "Which instrument does {} play on Sundays?",
        ("cello", "trumpet", "accordion", "banjo"),
    ),
)

PASSAGES = 6


def example(number: int) -> dict[str, Any]:
    """A question, six sentences in a random order, and the answer."""
    draw = np.random.default_rng([7, number])
    names = draw.choice(NAMES, PASSAGES, replace=False)
    facts = [FACTS[at] for at in draw.choice(len(FACTS), PASSAGES, replace=False)]
    values = [str(draw.choice(words)) for _, _, words in facts]
    sentences = [
        sentence.format(name, value)
        for name, value, (sentence, _, _) in zip(names, values, facts, strict=True)
    ]
    return {
        "question": facts[0][1].format(names[0]),
        "context": [sentences[at] for at in draw.permutation(PASSAGES)],
        "answer": f"{values[0]}.",
    }


@pytest.fixture(scope="module")
def answers() -> xr.Dataset:
    model = headlight.load(Path(str(MODELS)) / "smollm2", head="any")
    return model.sources(
        [example(number) for number in range(60)],
        measures=("weight", "norm"), orders=1, masks=0, predict=False, needles=6, haystack=100,
    ).dataset  # fmt: skip


def agreement(answers: xr.Dataset, signal: str) -> Estimate:
    estimate = estimate_of(answers, "agreement")
    assert estimate is not None
    return estimate.at(answers["signal"].values.tolist().index(signal))


def test_retrieval_heads_name_the_passage_more_often_than_all_heads(answers: xr.Dataset) -> None:
    names, share = signals(answers), right_share(answers)
    chosen, every = (
        share.at(names.index(f"{which} heads by weight")) for which in ("chosen", "all")
    )
    assert float(chosen.low) > 0.6
    assert float(every.value) < 0.4
    assert float(chosen.minus(every).low) > 0.3


def test_norms_of_the_chosen_heads_agree_no_better_than_weights(answers: xr.Dataset) -> None:
    weight, norm = (agreement(answers, f"chosen heads by {name}") for name in ("weight", "norm"))
    assert not float(norm.minus(weight).low) > 0


def test_removal_and_chosen_heads_name_the_right_sentence(answers: xr.Dataset) -> None:
    right = []
    for each in map(example, range(60)):
        (name,) = {*NAMES} & {*each["question"].split()}
        right.append([name in text for text in each["context"]].index(True))
    for signal, least in (("removal", 0.7), ("chosen heads by weight", 0.9)):
        first = answers["value"].sel(signal=signal).values.argmax(1)
        assert (first == np.array(right)).mean() > least


def test_the_sentences_say_so(answers: xr.Dataset) -> None:
    said = findings(answers)
    assert said[0].startswith("Attention of the heads that copy names the passage")
    assert "more than by chance (17%)" in said[0]
    assert "The chosen heads are L18H6" in " ".join(said)
