"""Examples as a model reads them, and the stream that keeps count of what was left out."""

import hashlib
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from itertools import islice
from typing import Any, Generic

from typing_extensions import TypeVar

from headlight.corpora.corpus import CorpusCounts
from headlight.encode.token_categories import OTHER
from headlight.settings import Range, require_range
from headlight.vocabulary import ANSWER, PROMPT, TEMPLATE

Extended = TypeVar("Extended", bound="Encoded")

_OF_TEXT = ("ids", "segments", "categories", "words", "segment_names", "positions")
_OF_TARGET = ("target", "target_categories", "target_words")
"""Fields with a value for each token, of the text and of the target."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """Example with its special tokens.

    Attributes:
        name: Place that its text comes from; examples of one document end in ``#0``, ``#1``, ...
        ids: Vocabulary ids.
        segments: Token type ids, of the same length.
        categories: Indices into `headlight.vocabulary.CATEGORIES`, of the same length.
        words: Number of the word of every token within the example, from 0; -1 for special tokens,
            also for those that are written in a text.  Blanks separate words.
        target: Input of the decoder of an encoder-decoder model, else empty.
        target_categories: Categories of `target`, like `categories`.
        target_words: Words of `target`, like `words`, counted from 0 again.
        origin: Number of its document (or sentence, or pair) in the corpus, and of the example
            among those of the document, both from 0; None for an example that was made alone.
        unit: Number of the unit by which a corpus is resampled: the document of its sentence where
            the file says so, else its text, from 0.
        segment_names: Segment of every token, one of `headlight.vocabulary.SEGMENTS`, or
            ``prompt`` or ``answer``; empty for a text without named segments.
        positions: Position ids of every token; empty where the model counts them itself.
    """

    name: str
    ids: tuple[int, ...]
    segments: tuple[int, ...]
    categories: tuple[int, ...]
    words: tuple[int, ...]
    target: tuple[int, ...] = ()
    target_categories: tuple[int, ...] = ()
    target_words: tuple[int, ...] = ()
    origin: tuple[int, int] | None = None
    unit: int = 0
    segment_names: tuple[str, ...] = ()
    positions: tuple[int, ...] = ()

    @property
    def shows_its_kinds(self) -> bool:
        """Return whether tracing can tell kinds of attention apart by the shapes of weights."""
        return not self.target or 1 < len(self.target) != len(self.ids)

    def continued(self: Extended, ids: Sequence[int]) -> Extended:
        """Return the example with more tokens, which are all of its last word."""
        more = len(ids)
        return replace(
            self,
            ids=(*self.ids, *ids),
            segments=self.segments + self.segments[-1:] * more,
            categories=self.categories + self.categories[-1:] * more,
            words=self.words + self.words[-1:] * more,
        )

    def without(self: Extended, places: Container[int], *, target: bool = False) -> Extended:
        """Return the example without the tokens at some places of its text, or of its target."""
        names = _OF_TARGET if target else _OF_TEXT
        kept: dict[str, Any] = {
            name: tuple(value for at, value in enumerate(getattr(self, name)) if at not in places)
            for name in names
        }
        return replace(self, **kept)

    def beginning(self, tokens: int) -> "Encoded":
        """Return the first tokens; one less of the target, to tell both sides apart by length."""
        if max(len(self.ids), len(self.target)) <= tokens:
            return self
        return Encoded(
            self.name,
            self.ids[:tokens],
            self.segments[:tokens],
            self.categories[:tokens],
            self.words[:tokens],
            self.target[: tokens - 1],
            self.target_categories[: tokens - 1],
            self.target_words[: tokens - 1],
            self.origin,
            self.unit,
            self.segment_names[:tokens],
            self.positions[:tokens],
        )


@dataclass(frozen=True, slots=True)
class Marks:
    """Ids by which unknown and special tokens of examples are counted.

    Attributes:
        unknown: Id that stands for text that the tokenizer does not know.
        special: Ids of special tokens that a text may hold written out.
        before: Number of tokens that the tokenizer puts before a text.
    """

    unknown: int | None
    special: frozenset[int]
    before: int

    def written(self, example: Encoded) -> tuple[int, bool]:
        """Return how many special tokens its texts hold, and whether it begins twice.

        Those that the template of a chat or the model itself writes are not the texts'.
        """
        names = example.segment_names
        if names and (TEMPLATE in names or PROMPT not in names):
            pairs = zip(example.ids, names, strict=True)
            others = (TEMPLATE, ANSWER)
            count = sum(token in self.special and name not in others for token, name in pairs)
            twice = len(example.ids) > 1 and example.ids[0] == example.ids[1]
            return count, twice and example.ids[0] in self.special
        ids = (*example.ids, *example.target)
        categories = (*example.categories, *example.target_categories)
        written = sum(
            token in self.special and category == OTHER
            for token, category in zip(ids, categories, strict=True)
        )
        first = example.ids[self.before : self.before + 1]
        begins = bool(first) and first[0] in self.special
        if not self.before:  # then a beginning that is written is one
            return written + (begins and example.categories[0] != OTHER), False
        return written, begins and first == example.ids[self.before - 1 : self.before]


Item = TypeVar("Item")
Example = TypeVar("Example", covariant=True, bound=Encoded, default=Encoded)

AT_ONCE = 512
"""Elements of a corpus that are tokenised together where nothing else is requested."""
TEXT_SUM = "text_sum"
"""Name of the count that sums a number of each text that was read, whatever the tokenizer."""
LOST = tuple(counter.name for counter in fields(CorpusCounts))
"""Names of the counts of what corpora leave out."""
NOTHING_LOST = CorpusCounts()
CHARACTERS = 1024
"""Characters in a shard for each element that it may have: a shard of long ones has fewer."""


def annotate(example: Encoded, kind: type[Extended], **annotation: Any) -> Extended:
    """Return the example as an instance of a class that adds an annotation."""
    values = {attribute.name: getattr(example, attribute.name) for attribute in fields(Encoded)}
    return kind(**values, **annotation)


@dataclass(slots=True)
class Counts:
    """Counts of documents by their outcome so far; where sentences are read, each is a document.

    Attributes:
        documents: Documents read.
        examples: Examples made of them.
        truncated: Examples that lost tokens.
        lost_tokens: Tokens they lost.
        split: Documents that became more than one example because they were too long.
        empty: Documents in which the tokenizer found nothing.
        joined: Documents of several paragraphs or lines, which were joined by blanks.
        discarded: Documents whose rest was discarded by Clark's preprocessing.
        discarded_tokens: Tokens in those rests.
        too_long: Sentences that were left out because they do not fit.
        unencodable: Sentences or documents that were left out because the tokenizer does not keep
            their words.
        unknown: Tokens in examples that stand for what the tokenizer does not know.
        special: Special tokens in examples that are written in their texts.
        doubled: Examples whose text begins with the token that the tokenizer puts before it.
        one_word: Examples whose text is one word.
    """

    documents: int = 0
    examples: int = 0
    truncated: int = 0
    lost_tokens: int = 0
    split: int = 0
    empty: int = 0
    joined: int = 0
    discarded: int = 0
    discarded_tokens: int = 0
    too_long: int = 0
    unencodable: int = 0
    unknown: int = 0
    special: int = 0
    doubled: int = 0
    one_word: int = 0

    def not_read(self) -> dict[str, int]:
        """Return the counts of a corpus that examples which are kept as a list lack."""
        names = ("truncated", "lost_tokens", "empty", "unknown")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True, slots=True)
class Recipe(Generic[Item, Example]):
    """Recipe by which elements of a corpus become examples.

    Attributes:
        items: Elements, which can be iterated again.
        texts: Function that returns the texts of an element to be tokenised.
        encode: Function that makes the examples of some consecutive elements, and counts what
            becomes of them.  Where it counts several documents before it makes their examples, it
            sets `Encoded.origin` itself.
        marks: Marks by which tokens are counted; by default nothing is counted.
    """

    items: Iterable[Item]
    texts: Callable[[Item], Sequence[str]]
    encode: Callable[[list[Item], Counts], Iterable[Example]]
    marks: Marks = field(default_factory=lambda: Marks(None, frozenset(), 0))


class Examples(Generic[Example]):
    """Examples in the order of their documents; made while one iterates, and again every time.

    Args:
        recipe: Recipe of the examples.

    Attributes:
        counts: Counts of what the latest iteration has seen so far.
    """

    def __init__(self, recipe: Recipe[Any, Example]) -> None:
        self.counts = Counts()
        self._recipe = recipe

    def __iter__(self) -> Iterator[Example]:
        return self._all(self.shards(AT_ONCE))

    def shards(self, size: int) -> "ExampleShards[Example]":
        """Begin to read them shard by shard, see `ExampleShards`.

        Args:
            size: Largest number of elements of the corpus in a shard.
        """
        self.counts = Counts()
        return ExampleShards(self._recipe, self.counts, size)

    def changed(self, change: Callable[[Any], Extended]) -> "Examples[Extended]":
        """Return the examples with each of them changed as soon as it is made."""
        recipe = self._recipe

        def encode(items: list[Any], counts: Counts) -> Iterator[Extended]:
            return map(change, recipe.encode(items, counts))

        return Examples(Recipe(recipe.items, recipe.texts, encode, recipe.marks))

    def _all(self, shards: "ExampleShards[Example]") -> Iterator[Example]:
        while not shards.at_end:
            yield from shards.made()
            shards.skip()


class ExampleShards(Generic[Example]):
    """Iteration over examples, by elements of the corpus that are tokenised together.

    Where a shard begins depends on the texts alone, so that it can be passed over by reading it,
    and its examples depend on nothing before it but the number of elements.

    Args:
        recipe: Recipe of the examples.
        counts: Counts of what was seen so far, which are kept up to date.
        size: Largest number of elements in a shard; a shard with more than `CHARACTERS` times as
            many characters ends earlier, so that shards of long documents are not much more work.
    """

    def __init__(self, recipe: Recipe[Any, Example], counts: Counts, size: int) -> None:
        self._recipe = recipe
        self._counts = counts
        self._size = size
        self._items = iter(recipe.items)
        self._read = hashlib.sha256()  # the texts before the shard
        self._passed = 0  # elements before the shard
        self._unit, self._document = -1, ""  # of the last element that was read
        self._units: list[int] = []  # of the elements of the shard
        self._lost: list[CorpusCounts] = []  # before each element, and behind the last of all
        self._lost_so_far = NOTHING_LOST
        self._elements = self._next_elements()

    @property
    def at_end(self) -> bool:
        """Return whether there is no further shard."""
        return not self._elements

    @property
    def digest(self) -> str:
        """Return the digest of the texts that were read so far."""
        return self._read.hexdigest()

    def take(self, most: int | None = None) -> tuple[Sequence[Example], Mapping[str, int]]:
        """Return examples of the next shard, all or the first, and counts of its elements."""
        before = asdict(self._counts) | {"documents": self._passed}
        examples = list(islice(self.made(), most))
        counts = {name: count - before[name] for name, count in asdict(self._counts).items()}
        read = self._elements[: counts["documents"]]
        counts[TEXT_SUM] = sum(_text_number(self._recipe.texts(item)) for item in read)
        whole = len(read) == len(self._elements)
        lost = self._lost if whole else self._lost[: len(read)]
        self.skip()
        if whole and self.at_end:  # of which nobody will ask
            lost = lost + self._lost
        return examples, counts | _sums(lost)

    def made(self) -> Iterator[Example]:
        """Yield the examples of the next shard, while they are made; it stays the next."""
        self._counts.documents = self._passed  # also where some were passed over
        document, within = -1, 0
        for example in self._recipe.encode(self._elements, self._counts):
            ids = example.ids + example.target
            self._counts.examples += 1
            self._counts.unknown += ids.count(self._recipe.marks.unknown)
            special, doubled = self._recipe.marks.written(example)
            self._counts.special += special
            self._counts.doubled += doubled
            self._counts.one_word += max(example.words, default=0) == 0 and not example.target
            origin = example.origin
            if origin is None:
                latest = self._counts.documents - 1
                document, within = latest, within + 1 if latest == document else 0
                origin = document, within
            yield replace(example, origin=origin, unit=self._units[origin[0] - self._passed])

    def skip(self) -> None:
        """Pass over the next shard, which is read, but not tokenised."""
        for item in self._elements:
            self._passed += 1
            for text in self._recipe.texts(item):
                raw = text.encode("utf-8", "surrogatepass")
                # With its length: the same characters, divided otherwise, are other texts.
                self._read.update(len(raw).to_bytes(8, "little") + raw)
        self._elements = self._next_elements()

    def _next_elements(self) -> list[Any]:
        elements: list[Any] = []
        characters = 0
        self._units, self._lost = [], []
        for item in self._items:
            elements.append(item)
            self._note_losses()
            document = getattr(item, "document", "")
            self._unit += not document or document != self._document
            self._document = document
            self._units.append(self._unit)
            characters += sum(map(len, self._recipe.texts(item)))
            if len(elements) >= self._size or characters >= self._size * CHARACTERS:
                break
        else:
            self._note_losses()
        return elements

    def _note_losses(self) -> None:
        """Note what the corpus has left out since this was done last."""
        counts = getattr(self._recipe.items, "counts", None)
        if not isinstance(counts, CorpusCounts) or counts == self._lost_so_far:
            self._lost.append(NOTHING_LOST)
            return
        now, before = asdict(counts), asdict(self._lost_so_far)
        self._lost.append(CorpusCounts(**{name: now[name] - before[name] for name in now}))
        self._lost_so_far = CorpusCounts(**now)


def _sums(losses: Sequence[CorpusCounts]) -> dict[str, int]:
    sums = {name: sum(getattr(loss, name) for loss in losses) for name in LOST}
    return {name: number for name, number in sums.items() if number}


def _text_number(texts: Sequence[str]) -> int:
    # The words alone: formats keep blanks and line breaks differently.
    words = " ".join(" ".join(texts).split())
    digest = hashlib.sha256(words.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:5], "little")


def length_batches(examples: Sequence[Encoded], token_budget: int) -> list[list[int]]:
    """Return indices of examples of similar length, so that little of a batch is padding.

    Examples are taken in the order of their lengths, equal ones in their own order.  A batch is
    closed before its size with padding, tokens of the decoder included, would exceed the budget;
    an example that exceeds it alone makes a batch by itself.

    Args:
        examples: Examples to batch together, such as a shard.
        token_budget: Largest number of tokens in a batch, padding included; at least 1.

    Raises:
        UsageError: The budget is not positive.
    """
    require_range("the token budget", token_budget, Range(minimum=1))
    lengths = [(len(example.ids), len(example.target)) for example in examples]
    batches: list[list[int]] = []
    batch: list[int] = []
    longest_target = 0
    for index in sorted(range(len(examples)), key=lambda index: (lengths[index], index)):
        length, target = lengths[index]
        longest_target = max(longest_target, target)
        if batch and (len(batch) + 1) * (length + longest_target) > token_budget:
            batches.append(batch)
            batch, longest_target = [], target
        batch.append(index)
    return [*batches, batch] if batch else batches
