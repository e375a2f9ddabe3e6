"""Heads as parsers against capture alone: BERT-base shape, sentences as long as those of EWT."""

import statistics
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from benchmarks.survey import THREADS, subject
from benchmarks.timing import ratio, rounds
from headlight.capture import CapturedModel, LayerRecord
from headlight.corpora import Sentence
from headlight.encode import EncodedSentence, length_batches
from headlight.encode.batch import Batch, collate
from headlight.engine.batch_runner import BATCH_TOKENS
from headlight.processes import keep_freed_memory
from headlight.reduce import Tally
from headlight_words.studies.dependency import DependencySettings
from headlight_words.studies.dependency.observer import DependencyObserver

SENTENCES = 256
"""A shard."""
RELATIONS = tuple(f"relation{number}" for number in range(50))
SETTINGS = DependencySettings(measures=("weight",))
CODES = {name: number for number, name in enumerate(RELATIONS)}


def treebank() -> list[EncodedSentence]:
    """Random trees: 16 words on average, 1.25 pieces per word, as in EWT train."""
    generator = np.random.default_rng(0)
    lengths = np.exp(generator.normal(2.45, 0.94, SENTENCES)).round().clip(1, 159).astype(int)
    return [_sentence(number, int(length), generator) for number, length in enumerate(lengths)]


def _sentence(number: int, length: int, generator: np.random.Generator) -> EncodedSentence:
    order = generator.permutation(length)  # a word is governed by one before it in this order
    heads = np.zeros(length, dtype=int)
    for place, word in enumerate(order[1:], start=1):
        heads[word] = 1 + order[generator.integers(place)]
    frequency = 1 / np.arange(1, len(RELATIONS) + 1)
    relations = generator.choice(RELATIONS, length, p=frequency / frequency.sum())
    pieces = np.repeat(np.arange(length), 1 + generator.poisson(0.25, length))
    ids = generator.integers(1000, 30000, len(pieces))
    return EncodedSentence(
        name=f"treebank:{number}",
        ids=(101, *ids.tolist(), 102),
        segments=(0,) * (len(pieces) + 2),
        categories=(0, *(3,) * len(pieces), 1),
        words=(-1, *pieces.tolist(), -1),
        sentence=Sentence(
            f"treebank:{number}",
            tuple(f"word{word}" for word in range(length)),
            tuple(heads.tolist()),
            tuple(relations.tolist()),
        ),
        kept=length,
    )


Shard = list[tuple[Batch, list[EncodedSentence]]]


def shard(examples: Sequence[EncodedSentence]) -> Shard:
    """In batches, as a run makes them."""
    plan = length_batches(examples, BATCH_TOKENS)
    batches = [[examples[place] for place in places] for places in plan]
    return [(collate(batch, pad_id=0), batch) for batch in batches]


def forward(model: CapturedModel, parts: Shard) -> Callable[[], None]:
    """The plain pass."""

    def run() -> None:
        for batch, _ in parts:
            model.run(batch)

    return run


def captured(
    model: CapturedModel,
    parts: Shard,
    look: Callable[[LayerRecord, Batch, list[EncodedSentence]], Any],
) -> Callable[[], None]:
    """A pass with something that looks at every layer."""

    def run() -> None:
        with model.capture() as recorder:
            for batch, examples in parts:
                recorder.visit = lambda record, b=batch, e=examples: look(record, b, e)
                model.run(batch)

    return run


def evaluated(model: CapturedModel, parts: Shard) -> Callable[[], None]:
    """All heads, directions and relations, resampled, down to the state after a shard."""

    def run() -> None:
        seen = Tally()
        with model.capture() as recorder:
            for batch, examples in parts:
                observer = DependencyObserver(
                    batch, examples, model.sites, SETTINGS, ("weight",), CODES
                )
                recorder.visit = observer.visit
                model.run(batch)
                seen = seen.merge(observer.tally())
        Tally().merge(seen)

    return run


def naive(record: LayerRecord, batch: Batch, examples: list[EncodedSentence]) -> Any:
    """By the definition: per sentence and head a map between words, and then word by word."""
    found: Counter[tuple[int, str, str]] = Counter()
    for weight, example in zip(record.weight.numpy(), examples, strict=True):
        words = np.array(example.words)
        for head, full in enumerate(weight):
            size = len(words)
            columns = np.stack(
                [full[:size, :size][:, words == word].sum(1) for word in range(example.kept)], 1
            )
            score = np.stack([columns[words == word].mean(0) for word in range(example.kept)])
            np.fill_diagonal(score, 0)
            for name, oriented in (("dependent", score), ("head", score.T)):
                for word, row in enumerate(oriented):
                    if row.argmax() + 1 == example.sentence.heads[word]:
                        found[head, name, example.sentence.relations[word]] += 1
    return found


def main(count: int = 5) -> list[tuple[str, str, str, str]]:
    """Rows of the table: what, measured, target, remark."""
    torch.set_num_threads(THREADS)
    keep_freed_memory()
    model, examples = subject(), treebank()
    assert model.sites  # noqa: S101 - traced before the clock runs
    parts, few = shard(examples), shard(examples[:24])
    weights = captured(model, parts, lambda record, *_: record.weight)
    times = rounds(
        {
            "forward": forward(model, parts),
            "weights": weights,
            "evaluation": evaluated(model, parts),
        },
        count,
    )
    slow = rounds(
        {
            "weights": captured(model, few, lambda record, *_: record.weight),
            "naive": captured(model, few, naive),
        },
        1,
    )
    tokens = sum(len(example.ids) for example in examples)
    seconds = statistics.median(times["weights"])
    return [
        (
            "treebank: capture of the weights alone",
            f"{seconds:.2f} s",
            "",
            f"{SENTENCES} sentences, {tokens} tokens, lengths as in EWT; "
            f"{ratio(times, 'weights', 'forward'):.2f}× the plain pass",
        ),
        (
            "heads as parsers: 144 heads, both directions, 50 relations, 200 resamples",
            f"{ratio(times, 'evaluation', 'weights'):.2f}×",
            "≤ 1.3× the capture",
            "",
        ),
        (
            "the same, head by head and word by word",
            f"{ratio(slow, 'naive', 'weights'):.1f}×",
            "",
            "24 sentences, no resamples",
        ),
    ]


if __name__ == "__main__":
    for row in main():
        print(*row, sep="\t")
