"""How often intervals hold the truth: the table of docs/numbers.md, from simulated corpora.

    python scripts/interval_coverage.py [CORPORA]

A text has a length and numbers of its own; texts of one document are alike.  Of each number the
truth is that of a corpus of a million texts.
"""

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

from headlight.reduce import Slots  # noqa: E402
from headlight.reduce.jackknife import deviations  # noqa: E402
from headlight.result.estimate import Estimate  # noqa: E402

Array = np.ndarray
TEXTS = (5, 10, 20, 30, 60, 100, 300, 1000)
PER_DOCUMENT = 10
"""Texts of a document, where they are alike."""

Draw = Callable[[np.random.Generator, Array, Array], tuple[Array, Array]]


def share_of_texts(
    generator: np.random.Generator, length: Array, topic: Array
) -> tuple[Array, Array]:
    """A share of a head's weight in each text, mean over texts."""
    logit = -0.5 + 0.8 * topic + 0.5 * generator.normal(size=length.shape)
    return 1 / (1 + np.exp(-logit)), np.ones(length.shape)


def accuracy(generator: np.random.Generator, length: Array, topic: Array) -> tuple[Array, Array]:
    """How many words are right, of all words."""
    right = 1 / (1 + np.exp(-0.8 - 0.6 * topic))
    return generator.binomial(length, right).astype(float), length.astype(float)


def rare(generator: np.random.Generator, length: Array, topic: Array) -> tuple[Array, Array]:
    """How many words are wrong, of which 2% are."""
    wrong = 0.02 * np.exp(0.5 * topic - 0.125)
    return generator.binomial(length, wrong).astype(float), length.astype(float)


def correlation(generator: np.random.Generator, length: Array, topic: Array) -> tuple[Array, Array]:
    """A correlation in each text, mean over texts."""
    return np.tanh(0.6 + 0.3 * topic + 0.3 * generator.normal(size=length.shape)), np.ones(
        length.shape
    )


def positive(generator: np.random.Generator, length: Array, topic: Array) -> tuple[Array, Array]:
    """A norm of tokens, mean over tokens."""
    return length * np.exp(0.4 * topic + 0.4 * generator.normal(size=length.shape)), length.astype(
        float
    )


def difference(generator: np.random.Generator, length: Array, topic: Array) -> tuple[Array, Array]:
    """What two heads differ by, mean over texts."""
    return 0.1 * topic + 0.2 * generator.normal(size=length.shape), np.ones(length.shape)


NUMBERS: dict[str, tuple[Draw, str]] = {
    "mean share": (share_of_texts, "share"),
    "accuracy per word": (accuracy, "share"),
    "2% of words": (rare, "share"),
    "mean correlation": (correlation, "correlation"),
    "norm per token": (positive, "positive"),
    "difference": (difference, "difference"),
}


def corpora(
    generator: np.random.Generator, count: int, texts: int, per: int
) -> tuple[Array, Array]:
    """Lengths, log-normal, and topics, of which half is of the document; ``[corpus, text]``."""
    length = 5 + np.exp(2.7 + 0.5 * generator.normal(size=(count, texts))).astype(int)
    documents = -(-texts // per)
    common = np.repeat(generator.normal(size=(count, documents)), per, 1)[:, :texts]
    own = generator.normal(size=(count, texts))
    return length, common if per == 1 else np.sqrt(0.5) * (common + own)


def held(draw: Draw, scale: str, texts: int, count: int, per: int = 1, known: bool = True) -> float:
    """The share of 95% intervals that hold the truth, of the corpora that have one."""
    truth_of = np.random.default_rng(1)
    part, whole = draw(truth_of, *corpora(truth_of, 1, 10**6, 1))
    truth = part.sum() / whole.sum()
    generator = np.random.default_rng(2)
    part, whole = draw(generator, *corpora(generator, count, texts, per))
    units = np.arange(texts) // (per if known else 1)
    sums = Slots.of(units, part.T, whole.T).compute()
    moved, _ = deviations(sums["mean"], sums["without"], sums["whole"])
    low, high = Estimate.of_slots(
        sums["mean"], moved, sums["whole"], sums["units"], scale
    ).interval()
    known_ends = np.isfinite(low)
    return (
        float(((low <= truth) & (truth <= high))[known_ends].mean()) if known_ends.any() else np.nan
    )


def table(title: str, rows: dict[str, list[float]], columns: tuple[object, ...]) -> None:
    """Print a table of percentages in Markdown."""
    print(f"\n| {title} | " + " | ".join(map(str, columns)) + " |")
    print("| --- |" + " ---: |" * len(columns))
    for name, numbers in rows.items():
        cells = ("–" if np.isnan(each) else f"{100 * each:.0f}" for each in numbers)
        print(f"| {name} | " + " | ".join(cells) + " |")


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    table(
        "texts",
        {
            name: [held(draw, scale, texts, count) for texts in TEXTS]
            for name, (draw, scale) in NUMBERS.items()
        },
        TEXTS,
    )
    sizes = (100, 300, 1000)
    table(
        "texts of documents of 10",
        {
            f"{name}{'' if known else ', documents unknown'}": [
                held(draw, scale, texts, count, PER_DOCUMENT, known) for texts in sizes
            ]
            for name, (draw, scale) in list(NUMBERS.items())[:2]
            for known in (True, False)
        },
        sizes,
    )


if __name__ == "__main__":
    main()
