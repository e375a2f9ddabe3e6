"""A document of our own, whose answers were worked out by hand, and random ones."""

from typing import Any

import numpy as np

from headlight.corpora import Sentence
from headlight_words.corpora import CoreferenceDocument, Mention
from headlight_words.encode.spans import EncodedSpan, documents
from headlight_words.studies.coreference import TaskSettings
from headlight_words.studies.coreference.task import MentionTable

TEXT = """Mary Brown owns a bakery .
She opened it with her brother John .
Mary says he bakes the bread .
They sell the bread to neighbours .
Mrs. Brown likes them ."""
TAGS = """NNP NNP VBZ DT NN .
PRP VBD PRP IN PRP$ NN NNP .
NNP VBZ PRP VBZ DT NN .
PRP VBP DT NN IN NNS .
NNP NNP VBZ PRP ."""

MENTIONS = (
    Mention("mary", 0, 1, 0, "proper"),
    Mention("bakery", 3, 4, 4, "nominal"),
    Mention("mary", 6, 6, 6, "pronoun"),
    Mention("bakery", 8, 8, 8, "pronoun"),
    Mention("john", 10, 12, 11, "nominal"),  # her brother John
    Mention("mary", 10, 10, 10, "pronoun"),  # her
    Mention("mary", 14, 14, 14, "proper"),
    Mention("john", 16, 16, 16, "pronoun"),
    Mention("bread", 18, 19, 19, "nominal"),
    Mention("both", 21, 21, 21, "pronoun"),  # They, alone in its chain
    Mention("bread", 23, 24, 24, "nominal"),
    Mention("neighbours", 26, 26, 26, "nominal"),
    Mention("mary", 28, 29, 29, "proper"),  # Mrs. Brown
    Mention("neighbours", 31, 31, 31, "pronoun"),
)

EVALUATED = {
    6: "She",
    8: "it",
    10: "her",
    14: "Mary",
    16: "he",
    24: "bread",
    29: "Brown",
    31: "them",
}
"""Head word and form of every mention with an antecedent."""


def bakery(*, tagged: bool = True) -> CoreferenceDocument:
    sentences = tuple(
        Sentence(
            f"bakery:{number}",
            tuple(line.split()),
            xpos=tuple(tags.split()) if tagged else (),
        )
        for number, (line, tags) in enumerate(
            zip(TEXT.splitlines(), TAGS.splitlines(), strict=True)
        )
    )
    return CoreferenceDocument("bakery", sentences, MENTIONS)


def random_document(
    generator: np.random.Generator, name: str, words: tuple[str, ...]
) -> CoreferenceDocument:
    """Mentions anywhere, nested and crossing, of a few chains."""
    count = int(generator.integers(1, 12))
    mentions = set()
    for _ in range(count):
        first = int(generator.integers(len(words)))
        last = min(len(words) - 1, first + int(generator.integers(3)))
        mentions.add((first, last))
    made = [
        Mention(
            str(generator.integers(4)),
            first,
            last,
            int(generator.integers(first, last + 1)),
            str(generator.choice(["pronoun", "proper", "nominal"])),  # type: ignore[arg-type]
        )
        for first, last in sorted(mentions, key=lambda span: (span[0], -span[1]))
    ]
    sentence = Sentence(f"{name}:1", words)
    return CoreferenceDocument(name, (sentence,), tuple(made))


def antecedent_tasks(document, windows, choices=None):
    """The question for each window of a document."""
    table = MentionTable.from_document(document, choices or TaskSettings())
    ends = [0, *(stop for _, stop in windows)]
    return [
        table.task(first, stop, done=done)
        for (first, stop), done in zip(windows, ends[:-1], strict=True)
    ]


def windows(document: CoreferenceDocument, tokenizer: Any, **limits: Any) -> list[EncodedSpan]:
    """The examples of one document."""
    return list(documents([document], tokenizer, **limits))
