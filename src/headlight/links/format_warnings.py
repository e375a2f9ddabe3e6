"""Whether links seem to be in another format: wrong direction or index base."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product

from headlight.errors import CorpusError
from headlight.links.error_rate import score_links
from headlight.links.word_links import Gold, Links, swapped

SHARE, GAIN = 0.7, 0.1
"""What share of the error rate may be left in another reading, and how much must be gone.

Of links of fast_align and GIZA++ that are read wrongly, at most 0.57 is left in the right reading
(German, French and Romanian with English).  Of links that are bad, such as those that miss every
word by one, 0.8 or more is left in any other reading: those are scored as they are.
"""

FEWEST = 3
"""Sentences, at least, in which more links must be right in another reading."""


@dataclass(frozen=True, slots=True)
class FormatWarning:
    """Another reading of links agrees much better with the gold.

    Attributes:
        swapped: Whether the word of the target seems to come first.
        step: By how much the number of the first word seems to be higher than thought: 1, -1 or 0.
        sentence: The first sentence that shows it, from 0.
        error_rate: That of the links as they were read.
        other: That in the other reading.
    """

    swapped: bool
    step: int
    sentence: int
    error_rate: float
    other: float


def check_format(gold: Sequence[Gold], links: Sequence[Links]) -> FormatWarning | None:
    """Warn of a wrong direction or index base, as far as the gold tells; None if neither is likely.

    Args:
        gold: The gold of each sentence.
        links: What an aligner found in each sentence.
    """
    error_rate = score_links(gold, links).error_rate
    limit = min(SHARE * error_rate, error_rate - GAIN)
    found: list[FormatWarning] = []
    for swap, step in product((False, True), (0, 1, -1)):
        others = [_moved(swapped(each) if swap else each, step) for each in links]
        other = score_links(gold, others).error_rate
        better = _better(gold, links, others)
        if other <= limit and len(better) >= FEWEST:
            found.append(FormatWarning(swap, step, better[0], error_rate, other))
    return min(found, key=lambda warning: warning.other, default=None)


def _moved(links: Links, step: int) -> Links:
    return frozenset((source - step, target - step) for source, target in links)


def _better(gold: Sequence[Gold], links: Sequence[Links], others: Sequence[Links]) -> list[int]:
    """The sentences in which more of the other links are right."""
    pairs = zip(gold, links, others, strict=True)
    return [
        number
        for number, (each, here, there) in enumerate(pairs)
        if len(each.possible & there) > len(each.possible & here)
    ]


def demand_words(links: Iterable[Gold], lengths: Iterable[tuple[int, int]]) -> None:
    """Refuse links to words that are not there.

    Args:
        links: The links of each sentence.
        lengths: How many words each sentence and its translation have.

    Raises:
        CorpusError: A sentence has such a link.
    """
    for each, (sources, targets) in zip(links, lengths, strict=True):
        for source, target in sorted(each.possible):
            if source >= sources or target >= targets:
                raise CorpusError(
                    f"{each.name}: the link {source}-{target}, counted from 0, leaves the "
                    f"sentences, which have {sources} and {targets} words; look at the number of "
                    "the first word, at the direction, and whether these are the texts."
                )
