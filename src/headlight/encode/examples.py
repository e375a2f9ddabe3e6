"""Examples: one, a stream that keeps count of what was left out, and batches of similar length."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, Generic

from typing_extensions import TypeVar

from headlight.corpora import Document
from headlight.settings import Range, require_range


@dataclass(frozen=True, slots=True)
class Encoded:
    """One example with its special tokens.

    Attributes:
        name: Where its text comes from; examples of one document end in ``#0``, ``#1``, ...
        ids: Vocabulary ids.
        segments: Token type ids, of the same length.
        categories: Indices into `headlight.vocabulary.CATEGORIES`, of the same length.
        words: For every token the number of its word within the example, from 0; -1 for special
            tokens.  Words are what blanks separate.
        target: What the decoder of an encoder-decoder model is given, else empty.
        target_categories: As `categories`, for `target`.
        target_words: As `words`, for `target`, counted from 0 again.
    """

    name: str
    ids: tuple[int, ...]
    segments: tuple[int, ...]
    categories: tuple[int, ...]
    words: tuple[int, ...]
    target: tuple[int, ...] = ()
    target_categories: tuple[int, ...] = ()
    target_words: tuple[int, ...] = ()

    @property
    def shows_its_kinds(self) -> bool:
        """Whether tracing can tell kinds of attention apart by the shapes of their weights."""
        return not self.target or 1 < len(self.target) != len(self.ids)

    def beginning(self, tokens: int) -> "Encoded":
        """The first tokens of a longer example; of its target one less, to tell them apart."""
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
        )


Item = TypeVar("Item")
Example = TypeVar("Example", covariant=True, bound=Encoded, default=Encoded)
Extended = TypeVar("Extended", bound=Encoded)

GROUP_TEXTS = 512
GROUP_CHARACTERS = 2**20


def annotate(example: Encoded, kind: type[Extended], **annotation: Any) -> Extended:
    """The example as one of a kind that knows more: its annotation."""
    values = {each.name: getattr(example, each.name) for each in fields(Encoded)}
    return kind(**values, **annotation)


@dataclass(slots=True)
class Counts:
    """What became of the documents so far; where sentences are read, each counts as a document.

    Attributes:
        documents: Documents read.
        examples: Examples made of them.
        truncated: Examples that lost tokens.
        lost_tokens: Tokens they lost.
        split: Documents that became more than one example because they were too long.
        empty: Documents in which the tokenizer found nothing.
        discarded: Documents whose rest was discarded by Clark's preprocessing.
        discarded_tokens: Tokens in those rests.
        too_long: Sentences that were left out because they do not fit.
        unencodable: Sentences or documents that were left out because the tokenizer does not keep
            their words.
        unknown: Tokens in examples that stand for what the tokenizer does not know.
    """

    documents: int = 0
    examples: int = 0
    truncated: int = 0
    lost_tokens: int = 0
    split: int = 0
    empty: int = 0
    discarded: int = 0
    discarded_tokens: int = 0
    too_long: int = 0
    unencodable: int = 0
    unknown: int = 0


class Examples(Generic[Example]):
    """Examples in the order of their documents; made while one iterates, and again every time.

    Args:
        make: Makes them, and counts what becomes of the documents.
        unknown: The id that stands for what the tokenizer does not know.

    Attributes:
        counts: What the latest iteration has seen so far.
    """

    def __init__(
        self, make: Callable[[Counts], Iterator[Example]], unknown: int | None = None
    ) -> None:
        self.counts = Counts()
        self._make = make
        self._unknown = unknown

    def __iter__(self) -> Iterator[Example]:
        self.counts = Counts()
        return self._count(self.counts)

    def _count(self, counts: Counts) -> Iterator[Example]:
        for example in self._make(counts):
            counts.examples += 1
            counts.unknown += (example.ids + example.target).count(self._unknown)
            yield example


def paragraphs(document: Document) -> Sequence[str]:
    """The texts of a document."""
    return document.paragraphs


def groups(items: Iterable[Item], texts: Callable[[Item], Sequence[str]]) -> Iterator[list[Item]]:
    """Items in groups that are large enough to be tokenised at once and small enough to hold.

    A group is closed when it has `GROUP_TEXTS` texts or `GROUP_CHARACTERS` characters.
    """
    group: list[Item] = []
    count = characters = 0
    for item in items:
        group.append(item)
        count += len(texts(item))
        characters += sum(map(len, texts(item)))
        if count >= GROUP_TEXTS or characters >= GROUP_CHARACTERS:
            yield group
            group, count, characters = [], 0, 0
    if group:
        yield group


def length_batches(examples: Sequence[Encoded], token_budget: int) -> list[list[int]]:
    """Indices of examples of similar length, so that little of a batch is padding.

    Examples are taken in the order of their lengths, equal ones in their own order.  A batch is
    closed before its size with padding, tokens of the decoder included, would exceed the budget;
    an example that exceeds it alone makes a batch by itself.

    Args:
        examples: As many as one wants to look at together, say a shard.
        token_budget: Tokens in a batch at most, padding included; at least 1.

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
