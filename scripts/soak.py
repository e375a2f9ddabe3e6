"""Read very many short texts, and fail if memory or open files grow with them.

python scripts/soak.py --examples 50000
python scripts/soak.py --examples 100000 --what alignment

A survey of texts, or the alignment of pairs, runs in this process, on an embedded model, with a
folder or a file, so that its state is kept as in any run. Each time that it is, the memory that
belongs to the process and the number of its open files are taken down; what the first tenth of the
run needs to warm up does not count.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from headlight.capture import CapturedModel, load_model
from headlight.corpora import Corpus, Document
from headlight.engine.checkpoint import Checkpoint
from headlight.engine.folder import RunFolder
from headlight.engine.state import State
from headlight.studies.survey import SurveySettings
from headlight.studies.survey.study import run
from headlight_words.corpora import TranslationPair
from headlight_words.sources import EMBEDDED_TRANSLATOR
from headlight_words.word_alignment import AlignerSettings
from headlight_words.word_alignment.directions import align_pairs
from headlight_words.word_alignment.output import EVERY, LinkFile

WORDS = ("sea", "river", "lake", "valley", "bridge", "town", "mill", "snow", "sand", "is", "was")
WARM = 0.1
"""The share of a run in which caches fill."""
GROWTH = 24.0
"""MiB that memory may be larger at the end; from shard to shard it moves by some 20 as it is."""


def main() -> None:
    if not Path("/proc/self/statm").exists():
        sys.exit("The soak reads /proc, which is on Linux only.")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=50_000)
    parser.add_argument("--what", choices=("survey", "alignment"), default="survey")
    asked = parser.parse_args()
    began = time.monotonic()
    if asked.what == "survey":
        memory, descriptors = soak(asked.examples, load_model())
    else:
        memory, descriptors = soak_alignment(asked.examples, load_model(EMBEDDED_TRANSLATOR))
    grown, more = growth(memory), int(growth(descriptors))
    print(
        f"{len(memory)} times in {time.monotonic() - began:.0f} s: memory {memory[0]:.0f} MiB "
        f"after the first, {memory[-1]:.0f} MiB after the last ({grown:+.1f} MiB along the line "
        f"through those behind the warm-up), {descriptors[-1]:.0f} open files ({more:+d})."
    )
    if grown > GROWTH or more > 0:
        sys.exit("Memory or open files grow with the corpus.")


def soak(examples: int, model: CapturedModel) -> tuple[list[float], list[float]]:
    """MiB of memory, and open files, after each shard."""
    memory: list[float] = []
    descriptors: list[float] = []
    save = Checkpoint.save

    def watched(checkpoint: Checkpoint, state: State) -> None:
        save(checkpoint, state)
        _take_down(memory, descriptors)

    settings = SurveySettings(max_length=16, measures=("weight", "norm"))
    Checkpoint.save = watched  # type: ignore[method-assign]
    try:
        with tempfile.TemporaryDirectory() as folder:
            corpus = Corpus("soak", lambda _: _texts(examples))
            with RunFolder(path=folder).opened() as opened:
                run(corpus, model, settings, folder=opened)
    finally:
        Checkpoint.save = save  # type: ignore[method-assign]
    return memory, descriptors


def soak_alignment(pairs: int, model: CapturedModel) -> tuple[list[float], list[float]]:
    """The same, of words that are linked in pairs of texts, and of the file that takes them."""
    memory: list[float] = []
    descriptors: list[float] = []
    corpus = (
        TranslationPair.of(each.name, each.paragraphs[0], each.paragraphs[0])
        for each in _texts(pairs)
    )
    with (
        tempfile.TemporaryDirectory() as folder,
        LinkFile(Path(folder) / "links", {}).opened() as to,
    ):
        for found in align_pairs(corpus, model, AlignerSettings(layer=1)):
            to.write(f"{len(found.links)}\n")
            if to.pairs % EVERY == 0:
                _take_down(memory, descriptors)
    return memory, descriptors


def _take_down(memory: list[float], descriptors: list[float]) -> None:
    memory.append(_resident())
    descriptors.append(float(len(os.listdir("/proc/self/fd"))))  # noqa: PTH208 - no Path closes


def growth(values: list[float]) -> float:
    """By how much the line through the values behind the warm-up rises."""
    steady = values[int(WARM * len(values)) :]
    if len(steady) < 2:
        return 0.0
    slope = np.polyfit(range(len(steady)), steady, 1)[0]
    return float(slope * (len(steady) - 1))


def _texts(number: int) -> Iterator[Document]:
    generator = np.random.default_rng(0)
    for place in range(number):
        words = generator.choice(WORDS, size=int(generator.integers(2, 12)))
        yield Document(f"soak:{place}", (" ".join(words),))


def _resident() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


if __name__ == "__main__":
    main()
