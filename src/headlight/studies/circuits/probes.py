"""Texts of the study, repeated tokens and facts in a haystack, and what heads do with them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Float64, Int64
from torch import Tensor

from headlight.analysis.batch_runner import stacked
from headlight.analysis.plan import check_repeatable
from headlight.capture import CapturedModel, LayerRecord
from headlight.corpora import SAMPLE_TEXT, Corpus, Document, Source, open_corpus
from headlight.encode import Encoded, Examples
from headlight.encode.assembly import Assembly
from headlight.encode.examples import Counts, Recipe, annotate
from headlight.encode.pieces import Pieces, tokenise
from headlight.errors import CorpusError, UsageError, setting
from headlight.findings.head_answers import FOUND
from headlight.measures import Scores
from headlight.studies.circuits import FACTS, CircuitsSettings, Fact
from headlight.tensors import Score
from headlight.vocabulary import measure

CHARACTERS = 8
"""Characters of text for each token of a haystack; most tokens have fewer."""
SENTENCE_END = re.compile(r"(?<=[.!?])\s+")


@dataclass(frozen=True, slots=True)
class Repeated(Encoded):
    """Random tokens, twice.

    Attributes:
        begin: the position of the first of them.
        period: how many there are, before they are repeated.
    """

    begin: int = 0
    period: int = 0


@dataclass(frozen=True, slots=True)
class Hidden(Encoded):
    """A fact within a haystack, its question, and the beginning of the answer.

    Attributes:
        number: of the fact, among all that are hidden.
        start: the position where the needle begins.
        stop: the position behind its end.
    """

    number: int = 0
    start: int = 0
    stop: int = 0


@dataclass(frozen=True, slots=True)
class _Item:
    """Parts of an example; without a haystack it is a random sequence."""

    number: int
    haystack: str | None = None


def probes(
    model: CapturedModel,
    settings: CircuitsSettings,
    parts: Sequence[str],
    source: Source | Corpus | None,
) -> Examples[Encoded]:
    """The texts that are asked for; haystacks are read while one iterates.

    Raises:
        UsageError: there is no tokenizer, or a text is too long for the model.
        CorpusError: the corpus cannot be opened.
    """
    tokenizer: Any = model.require_tokenizer("probes are made of its vocabulary")
    assembly = Assembly.of(tokenizer)
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
    """The sequences, then the haystacks; they can be iterated again."""

    settings: CircuitsSettings
    parts: Sequence[str]
    corpus: Corpus[Document] | None

    def __iter__(self) -> Iterator[_Item]:
        if "repeated" in self.parts:
            yield from map(_Item, range(self.settings.sequences))
        if self.corpus is not None:
            yield from self._haystacks(self.corpus)

    def _haystacks(self, corpus: Corpus[Document]) -> Iterator[_Item]:
        """One after the other; a corpus that ends too early is begun again."""
        wanted = CHARACTERS * self.settings.haystack
        documents, number = iter(corpus), 0
        while number < self.settings.needles:
            parts: list[str] = []
            while sum(map(len, parts)) < wanted:
                document = next(documents, None)
                if document is None:
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
    """Ids of the vocabulary, but for those with a meaning of their own."""
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
        lengths["haystack"] += max(_around(fact, tokenizer) for fact in FACTS)
    for name, part in (("tokens", "repeated"), ("haystack", "needle")):
        over = lengths[name] + assembly.single.size - longest
        if part in parts and over > 0:
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


def _around(fact: Fact, tokenizer: Any) -> int:
    """Return the number of tokens beside a haystack, with the answer, at most twice the needle."""
    pieces = [len(each) for each in tokenise(tokenizer, list(_texts(fact)))]
    return sum(pieces) + 2 * pieces[1]


def _texts(fact: Fact) -> tuple[str, str, str]:
    """The fact up to its needle, the needle, and what follows the haystack."""
    question = f"\n\nQuestion: {fact.question}\nAnswer: {fact.beginning}"
    return f" {fact.beginning}", f" {fact.needle}", question


def _repeated(
    number: int,
    settings: CircuitsSettings,
    drawable: Int64[np.ndarray, " token"],
    assembly: Assembly,
) -> Repeated:
    """No token is drawn twice, so that there is one key that an induction head looks for."""
    chosen = np.random.default_rng([settings.seed, number])
    ids = [int(each) for each in chosen.choice(drawable, settings.tokens, replace=False)] * 2
    text = assembly.one(f"random sequence {number}", Pieces(ids, range(len(ids)), len(ids)))
    return annotate(text, Repeated, begin=len(assembly.single.before), period=settings.tokens)


def _hidden(item: _Item, settings: CircuitsSettings, tokenizer: Any, assembly: Assembly) -> Hidden:
    """Needles lie at even depths, each behind the end of a sentence."""
    fact = FACTS[item.number % len(FACTS)]
    sentences = SENTENCE_END.split(item.haystack or "")
    *hay, beginning, needle, question = tokenise(
        tokenizer, [*(f" {each}" for each in sentences), *_texts(fact)]
    )
    ends = list(accumulate(map(len, hay)))
    fitting = [0, *(end for end in ends if end <= settings.haystack)]
    size = min(ends[-1], settings.haystack)
    depth = size * (item.number + 0.5) / settings.needles
    place = min(fitting, key=lambda end: abs(end - depth))
    words = _joined(hay)
    before, after = _part(words, 0, place), _part(words, place, size)
    text = _joined([before, beginning, needle, after, question])
    # Nothing ends a text that is to be gone on with.
    marks = len(assembly.single.before)
    encoded = assembly.one(f"needle {item.number}", text).beginning(marks + len(text))
    start = marks + len(before) + len(beginning)
    return annotate(encoded, Hidden, number=item.number, start=start, stop=start + len(needle))


def _part(text: Pieces, start: int, stop: int) -> Pieces:
    """A window, which may be empty."""
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


VERSIONS = ("paper", "code")
"""Wu et al. count tokens that were copied at least once; their program counts every step."""
OVERLAP = 0.9
"""Share of the distinct tokens of a needle above which the program takes a stretch for it."""

Span = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Answer:
    """A text that the model has gone on with, greedily.

    Attributes:
        text: the prompt, and what the model said; but for the last token, which it has not read.
        produced: what the model said.
        first: the position that put out the first of it.
    """

    text: Encoded
    produced: tuple[int, ...]
    first: int


def answer(model: CapturedModel, text: Encoded, most: int) -> Answer:
    """Return the answer of a model, up to the end of text or line.

    Args:
        model: with its head.
        text: what it goes on with.
        most: tokens of the answer at most.

    Raises:
        CaptureError: what it computes is not finite.
    """
    tokenizer: Any = model.tokenizer
    network: Any = model.transformer
    ended = getattr(getattr(network, "generation_config", None), "eos_token_id", None)
    ends = {*(ended if isinstance(ended, list) else [ended]), tokenizer.eos_token_id}
    produced: list[int] = []
    tokens = torch.tensor([text.ids], device=network.device)
    cached = network.can_generate()  # code of one's own need not keep what it has read
    past = None
    with torch.inference_mode(), model.running((text.name,)):
        while len(produced) < most:
            cache = {"past_key_values": past, "use_cache": True} if cached else {}
            output = network(input_ids=tokens, **cache)
            past = output.past_key_values if cached else None
            token = int(output.logits[0, -1].argmax())
            produced.append(token)
            if token in ends or "\n" in tokenizer.decode([token]):
                break
            one = torch.tensor([[token]], device=network.device)
            tokens = one if cached else torch.cat([tokens, one], 1)
    return Answer(text.continued(produced[:-1]), tuple(produced), len(text.ids) - 1)


@dataclass(eq=False, repr=False)
class RetrievalCounter:
    """Looks at all layers while the model reads a text and its answer."""

    text: Hidden
    answer: Answer
    measures: Sequence[str]
    _top: dict[int, list[Int64[Tensor, "measure head step"]]] = field(
        default_factory=dict, init=False
    )

    def __post_init__(self) -> None:
        self._steps = range(self.answer.first, self.answer.first + len(self.answer.produced))

    def look(self, scores: Scores) -> None:
        """The key that each step gives most, of some queries of a layer."""
        record = scores.record
        first, stop = record.first, record.first + record.weight.shape[2]
        rows = [step - first for step in self._steps if first <= step < stop]
        strongest_keys = [scores.of(name)[0, :, rows].argmax(-1) for name in self.measures]
        self._top.setdefault(record.site.layer, []).append(torch.stack(strongest_keys))

    def recall(self) -> float:
        """The share of the needle's tokens that the model has said."""
        needle = {*self._needle}
        return len(needle & {*self.answer.produced}) / len(needle)

    def scores(self) -> Float64[np.ndarray, "version measure layer head"]:
        """`VERSIONS` of the score of each head; NaN where nothing was found, or no head is."""
        layers = [torch.cat(self._top[layer], 2).cpu().double() for layer in sorted(self._top)]
        top = stacked([layer.movedim(1, 0)[None] for layer in layers])[0].transpose(2, 0, 1, 3)
        if not self.recall() > FOUND:
            return np.full((len(VERSIONS), *top.shape[:3]), np.nan)
        has_key = ~np.isnan(top)
        keys = np.where(has_key, top, 0).astype(np.int64)
        produced = np.array(self.answer.produced)
        same = np.array(self.answer.text.ids)[keys] == produced
        exact = same & _within(keys, (self.text.start, self.text.stop))
        types = [exact[..., produced == token].any(-1) for token in {*produced} & {*self._needle}]
        copied = np.sum(types, axis=0) if types else np.zeros(top.shape[:3])
        steps = (same & _within(keys, fuzzy_span(self.text.ids, self._needle))).sum(-1)
        scores = np.stack([copied / len({*self._needle}), steps / len(self._needle)])
        return np.where(has_key.all(-1), scores, np.nan)

    @property
    def _needle(self) -> tuple[int, ...]:
        return self.text.ids[self.text.start : self.text.stop]


def fuzzy_span(ids: Sequence[int], needle: Sequence[int]) -> Span:
    """The first stretch as long as the needle with more than `OVERLAP` of its different tokens."""
    types = {*needle}
    for start in range(len(ids)):
        if len(types & {*ids[start : start + len(needle)]}) > OVERLAP * len(types):
            return start, start + len(needle)
    return 0, 0


def _within(keys: Int64[np.ndarray, "..."], span: Span) -> Bool[np.ndarray, "..."]:
    inside: Bool[np.ndarray, "..."] = (keys >= span[0]) & (keys < span[1])
    return inside


BEHAVIOURS = {
    "prefix_matching": ("induction", False),
    "duplicate_token": ("duplicate", False),
    "previous_token": ("previous", False),
    "transformerlens_induction": ("induction", True),
    "transformerlens_duplicate": ("duplicate", True),
    "transformerlens_previous": ("all_previous", True),
    "headvis_induction": ("not_small", False),
}
"""The sum that each score is made of, and whether it is a share of all attention.

The first are those of Olsson et al. (2022), means over the queries of the second half; the others
are defined as two tools define them.
"""
SUMS = ("induction", "duplicate", "previous", "not_small", "all_previous", "whole")
SMALLEST = 0.01
"""Smallest value that HeadVis counts; less is taken as 0."""


class RepeatedCounter:
    """Looks at all layers while sequences of one length run; `scores` is what it saw."""

    def __init__(self, text: Repeated, measures: Sequence[str]) -> None:
        self._begin, self._period = text.begin, text.period
        self._measures = measures
        self._seen: dict[int, Float[Tensor, "text head measure sum"]] = {}

    def look(self, scores: Scores) -> None:
        """Some queries of a layer; what they sum up to is added to that of those before."""
        record = scores.record
        sums = [self._sums(_shares(scores, name), record) for name in self._measures]
        layer_sums, layer = torch.stack(sums, 2), record.site.layer
        self._seen[layer] = self._seen[layer] + layer_sums if record.first else layer_sums

    def scores(self) -> Float64[np.ndarray, "text behaviour measure layer head"]:
        """`BEHAVIOURS` of each sequence; NaN where a layer has fewer heads."""
        sums = stacked([self._seen[layer] for layer in sorted(self._seen)])
        by_name = dict(zip(SUMS, sums.transpose(4, 0, 3, 1, 2), strict=True))
        return np.stack(
            [
                by_name[name] / (by_name["whole"] if share else self._period)
                for name, share in BEHAVIOURS.values()
            ],
            axis=1,
        )

    def _sums(self, score: Score, record: LayerRecord) -> Float[Tensor, "text head sum"]:
        first, stop = record.first, record.first + score.shape[2]
        half = self._begin + self._period
        places = torch.arange(first, stop, device=score.device)

        def back(begin: int, end: int, distance: int) -> Float[Tensor, "text head query"]:
            """Return the scores of queries for the key at this distance before them."""
            queries = places[max(begin - first, 0) : max(end - first, 0)]
            return score[:, :, queries - first, queries - distance]

        end = half + self._period
        induction = back(half, end, self._period - 1)
        sums = {
            "induction": induction,
            "duplicate": back(half, end, self._period),
            "previous": back(half, end, 1),
            "not_small": induction.where(induction >= SMALLEST, 0),
            "all_previous": back(1, stop, 1),
            "whole": score.sum(3),
        }
        return torch.stack([sums[name].sum(2) for name in SUMS], -1)


def _shares(scores: Scores, name: str) -> Score:
    """A measure of which each row is a share of 1."""
    shares: Tensor = scores.of(name)
    if measure(name).share:
        return shares
    whole = shares.sum(-1, keepdim=True)
    return shares / whole.where(whole > 0, 1)
