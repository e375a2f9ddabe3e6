"""Texts of the study: repeated random tokens, and facts in a haystack."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
from jaxtyping import Int64

from headlight.capture import CapturedModel
from headlight.corpora import SAMPLE_TEXT, Corpus, Document, Source, open_corpus
from headlight.encode import Encoded, Examples
from headlight.encode.examples import Counts, Recipe, annotate
from headlight.encode.pieces import Pieces, tokenise
from headlight.encode.special_tokens import Assembly
from headlight.engine.repeatable_corpus import check_repeatable
from headlight.errors import CorpusError, UsageError, setting
from headlight.studies.circuits import CircuitsSettings
from headlight.studies.circuits.facts import FACTS, Fact

CHARACTERS = 8
"""Number of characters read for each token of a haystack; most tokens have fewer."""
SENTENCE_END = re.compile(r"(?<=[.!?])\s+")


@dataclass(frozen=True, slots=True)
class Repeated(Encoded):
    """Sequence of random tokens, followed by itself.

    Attributes:
        begin: Position of the first random token.
        period: Number of random tokens before they are repeated.
    """

    begin: int = 0
    period: int = 0


@dataclass(frozen=True, slots=True)
class Hidden(Encoded):
    """Fact within a haystack, its question, and the beginning of the answer.

    Attributes:
        number: Number of the hidden fact, from 0.
        start: Position of the first token of the needle.
        stop: Position after its last token.
    """

    number: int = 0
    start: int = 0
    stop: int = 0


@dataclass(frozen=True, slots=True)
class _Item:
    """Parts of an example, which is a random sequence if it has no haystack."""

    number: int
    haystack: str | None = None


def probes(
    model: CapturedModel,
    settings: CircuitsSettings,
    parts: Sequence[str],
    source: Source | Corpus | None,
) -> Examples[Encoded]:
    """Return the texts of the requested parts; haystacks are read during iteration.

    Raises:
        UsageError: there is no tokenizer, or a text is too long for the model.
        CorpusError: the corpus cannot be opened.
    """
    tokenizer: Any = model.require_tokenizer("probes are made of its vocabulary")
    assembly = Assembly.from_tokenizer(tokenizer)
    drawn = _drawable(model, settings) if "repeated" in parts else np.zeros(0, dtype=np.int64)
    corpus = _corpus(source, settings) if "needle" in parts else None
    _check_lengths(model, settings, parts, assembly)

    def encode(group: list[_Item], counts: Counts) -> Iterator[Encoded]:
        for item in group:
            counts.documents += 1
            if item.haystack is not None:
                yield _hidden(item, settings, tokenizer, assembly)
            else:
                yield _repeated(item.number, settings, drawn, assembly)

    items = _Items(settings, parts, corpus)
    return Examples(
        Recipe(items, lambda item: (item.haystack or f"{item.number}",), encode, assembly.marks)
    )


@dataclass(eq=False, repr=False)
class _Items:
    """Random sequences, then haystacks; the iteration can be repeated."""

    settings: CircuitsSettings
    parts: Sequence[str]
    corpus: Corpus[Document] | None

    def __iter__(self) -> Iterator[_Item]:
        if "repeated" in self.parts:
            yield from map(_Item, range(self.settings.sequences))
        if self.corpus is not None:
            yield from self._haystacks(self.corpus)

    def _haystacks(self, corpus: Corpus[Document]) -> Iterator[_Item]:
        """Yield one haystack after the other; a corpus that ends too early is begun again."""
        wanted = CHARACTERS * self.settings.haystack
        documents, number = iter(corpus), 0
        while number < self.settings.needles:
            parts: list[str] = []
            while sum(map(len, parts)) < wanted:
                document = next(documents, None)
                if document is None:
                    # A short corpus is begun again, but a haystack is never joined across its end.
                    documents = iter(corpus)
                    if parts:
                        break
                    document = next(documents, None)
                if document is None:
                    raise CorpusError(f"{corpus.source}: there is no text to hide a needle in.")
                parts += document.text_paragraphs()
            yield _Item(number, " ".join(parts))
            number += 1


def _corpus(source: Source | Corpus | None, settings: CircuitsSettings) -> Corpus[Document]:
    """Open the corpus of haystacks, which must be repeatable since it may end too early."""
    if isinstance(source, Corpus):
        return check_repeatable(source)
    if source is None:
        return open_corpus(SAMPLE_TEXT)
    return check_repeatable(open_corpus(source, format=settings.format, column=settings.column))


def _drawable(model: CapturedModel, settings: CircuitsSettings) -> Int64[np.ndarray, " token"]:
    """Return the ids of the vocabulary, except special and added tokens."""
    tokenizer: Any = model.tokenizer
    rows = len(model.transformer.get_input_embeddings().weight)
    special = {*tokenizer.all_special_ids, *tokenizer.get_added_vocab().values()}
    ids = np.setdiff1d(np.arange(min(len(tokenizer), rows)), np.array([*special], dtype=np.int64))
    if len(ids) < settings.tokens:
        raise UsageError(
            f"tokens is {settings.tokens}, and {len(ids)} of the vocabulary of {model} "
            "can be drawn; ask for fewer."
        )
    return ids


def _check_lengths(
    model: CapturedModel, settings: CircuitsSettings, parts: Sequence[str], assembly: Assembly
) -> None:
    tokenizer: Any = model.tokenizer
    longest = model.longest
    if longest is None:
        return
    lengths = {"tokens": 2 * settings.tokens, "haystack": settings.haystack}
    if "needle" in parts:
        lengths["haystack"] += max(_count_beside(fact, tokenizer) for fact in FACTS)
    for name, part in (("tokens", "repeated"), ("haystack", "needle")):
        over = lengths[name] + assembly.single.size - longest
        if part in parts and over > 0:
            # The random tokens stand twice in a sequence, so that each one too many costs two
            # places.
            fewer = getattr(settings, name) - (-(-over // 2) if name == "tokens" else over)
            cure = (
                f"ask for at most {fewer}"
                if fewer > 0
                else f"leave {part} out of {setting('parts')}"
            )
            raise UsageError(
                f"{setting(name)} is {getattr(settings, name)}, and {model} takes texts of at "
                f"most {longest} tokens; {cure}."
            )


def _count_beside(fact: Fact, tokenizer: Any) -> int:
    # An answer is cut off at twice the tokens of its needle.
    pieces = [len(tokens) for tokens in tokenise(tokenizer, list(_texts(fact)))]
    return sum(pieces) + 2 * pieces[1]


def _texts(fact: Fact) -> tuple[str, str, str]:
    question = f"\n\nQuestion: {fact.question}\nAnswer: {fact.beginning}"
    return f" {fact.beginning}", f" {fact.needle}", question


def _repeated(
    number: int,
    settings: CircuitsSettings,
    drawable: Int64[np.ndarray, " token"],
    assembly: Assembly,
) -> Repeated:
    """Return random tokens and their repeat, drawn without replacement.

    So each query has exactly one key that an induction head looks for.
    """
    chosen = np.random.default_rng([settings.seed, number])
    ids = [int(token) for token in chosen.choice(drawable, settings.tokens, replace=False)] * 2
    text = assembly.encode_text(f"random sequence {number}", Pieces(ids, range(len(ids)), len(ids)))
    return annotate(text, Repeated, begin=len(assembly.single.before), period=settings.tokens)


def _hidden(item: _Item, settings: CircuitsSettings, tokenizer: Any, assembly: Assembly) -> Hidden:
    """Return a needle in its haystack; depths are even, each after the end of a sentence."""
    fact = FACTS[item.number % len(FACTS)]
    sentences = SENTENCE_END.split(item.haystack or "")
    *hay, beginning, needle, question = tokenise(
        tokenizer, [*(f" {sentence}" for sentence in sentences), *_texts(fact)]
    )
    ends = list(accumulate(map(len, hay)))
    fitting = [0, *(end for end in ends if end <= settings.haystack)]
    size = min(ends[-1], settings.haystack)
    depth = size * (item.number + 0.5) / settings.needles
    place = min(fitting, key=lambda end: abs(end - depth))
    words = _joined(hay)
    before, after = _part(words, 0, place), _part(words, place, size)
    text = _joined([before, beginning, needle, after, question])
    # The special tokens at the end are cut off, since the model continues the text.
    marks = len(assembly.single.before)
    encoded = assembly.encode_text(f"needle {item.number}", text).beginning(marks + len(text))
    start = marks + len(before) + len(beginning)
    return annotate(encoded, Hidden, number=item.number, start=start, stop=start + len(needle))


def _part(text: Pieces, start: int, stop: int) -> Pieces:
    return text.window(start, stop) if start < stop else Pieces((), (), 0)


def _joined(parts: Sequence[Pieces]) -> Pieces:
    ids: list[int] = []
    words: list[int] = []
    count = 0
    for part in parts:
        ids += part.ids
        words += [word + count for word in part.words]
        count += part.word_count
    return Pieces(ids, words, count)
