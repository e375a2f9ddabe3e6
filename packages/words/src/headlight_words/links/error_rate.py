"""Agreement of word links with a gold, and signs of a mistaken format."""

from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, fields
from itertools import product

import numpy as np
from jaxtyping import Float64

from headlight.errors import CorpusError
from headlight.reduce import Slots, of_sums, share
from headlight.reduce.jackknife import deviations
from headlight.result.estimate import Estimate
from headlight.version import __version__
from headlight_words.links.link_lines import Gold, Link, Links, swapped

RATES = ("precision", "recall", "error_rate")
"""Rates computed from the counts, in this order."""

Interval = tuple[float, float]
"""The lower and the upper bound."""


@dataclass(frozen=True, slots=True)
class LinkCounts:
    """Counts behind precision, recall and error rate of some sentences; counts add up.

    Attributes:
        sure: Sure links of the gold, |S|.
        possible: All links of the gold, |P|.
        links: Links that were found, |A|.
        sure_hits: Found links that are sure, |A ∩ S|.
        possible_hits: Found links that are possible, |A ∩ P|.
        sentences: Number of sentences.
    """

    sure: int = 0
    possible: int = 0
    links: int = 0
    sure_hits: int = 0
    possible_hits: int = 0
    sentences: int = 0

    @classmethod
    def of(cls, gold: Gold, links: Iterable[Link]) -> "LinkCounts":
        """Return the counts of one sentence."""
        link_set = frozenset(links)
        hits = len(link_set & gold.sure), len(link_set & gold.possible)
        return cls(len(gold.sure), len(gold.possible), len(link_set), *hits, 1)

    def __add__(self, other: "LinkCounts") -> "LinkCounts":
        """Return the counts of the sentences of both."""
        both = zip(astuple(self), astuple(other), strict=True)
        return LinkCounts(*(count + another for count, another in both))


COUNTS = tuple(count.name for count in fields(LinkCounts))
"""The order of the counts in arrays."""


def link_rates(counts: Float64[np.ndarray, "*cell count=6"]) -> Float64[np.ndarray, "*cell rate=3"]:
    """Return precision |A ∩ P| / |A|, recall |A ∩ S| / |S|, and the alignment error rate.

    The error rate is AER = 1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|); without a distinction of sure
    and possible links 1 - F1.  A rate with an empty denominator is NaN.

    Source: Och and Ney (2003), "A Systematic Comparison of Various Statistical Alignment Models",
    Section 5.

    Args:
        counts: Sums over sentences, in the order of `COUNTS`; the rates are in that of `RATES`.
    """
    parts, wholes = _fractions(counts)
    rates = share(parts, wholes)
    # The error is what is missing of the last share.
    rates[..., -1] = 1 - rates[..., -1]
    return rates


def link_rate_slots(
    counts: Float64[np.ndarray, "slot *cell count=6"], units: Float64[np.ndarray, " slot"]
) -> dict[str, np.ndarray]:
    """Return `link_rates` along the last axis, and the rates without each block of sentences.

    Args:
        counts: Sums of `headlight.reduce.Slots`.
        units: Sentences, or documents, in each slot.

    Returns:
        Arrays as of `headlight.reduce.of_sums`.
    """
    slots = of_sums(*_fractions(counts), units)
    # Blocks are turned around as the rate is, since intervals are of the error.
    for name in ("mean", "without"):
        slots[name][..., -1] = 1 - slots[name][..., -1]
    return slots


def _fractions(
    counts: Float64[np.ndarray, "*cell count=6"],
) -> tuple[Float64[np.ndarray, "*cell rate=3"], Float64[np.ndarray, "*cell rate=3"]]:
    sure, _, links, sure_hits, possible_hits, _ = np.moveaxis(counts, -1, 0)
    parts = (possible_hits, sure_hits, sure_hits + possible_hits)
    return np.stack(parts, axis=-1), np.stack((links, sure, links + sure), axis=-1)


@dataclass(frozen=True, slots=True)
class LinkScore:
    """Agreement of links with a gold.

    Attributes:
        counts: Sums over all sentences.
        precision: |A ∩ P| / |A|.
        recall: |A ∩ S| / |S|.
        error_rate: AER, see `link_rates`.
        intervals: The interval of 95 % of each of `RATES`, by name; NaN of few sentences.
    """

    counts: LinkCounts
    precision: float
    recall: float
    error_rate: float
    intervals: dict[str, Interval]

    @classmethod
    def of(cls, sums: Slots) -> "LinkScore":
        """Return the score of summed counts, in the order of `COUNTS`."""
        parts = sums.compute()
        total = parts["part"].sum(0)
        slots = link_rate_slots(parts["part"], parts["units"])
        moved, _ = deviations(slots["mean"], slots["without"], slots["whole"])
        rates = Estimate.of_slots(link_rates(total), moved, slots["whole"], parts["units"], "share")
        bounds = zip(rates.low.tolist(), rates.high.tolist(), strict=True)
        precision, recall, error_rate = rates.value.tolist()
        return cls(
            LinkCounts(*total.astype(int).tolist()),
            precision,
            recall,
            error_rate,
            dict(zip(RATES, bounds, strict=True)),
        )

    def signature(
        self, gold: str = "pharaoh0", symmetrization: str = "none", **more: object
    ) -> str:
        """Return everything that the numbers depend on, in one line, to be quoted with them.

        Args:
            gold: Format and base of the gold, such as ``talp1``.
            symmetrization: Method by which two directions were joined.
            more: Further dependencies of the links, by name.
        """
        counts = self.counts
        parts = {
            "gold": gold,
            "S": counts.sure,
            "P": counts.possible,
            "sents": counts.sentences,
            "sym": symmetrization,
            **more,
            "v": __version__,
        }
        return "|".join(["AER", *(f"{name}:{value}" for name, value in parts.items())])


def score_links(gold: Iterable[Gold], links: Iterable[Iterable[Link]]) -> LinkScore:
    """Compute the agreement of links with the gold of the same sentences.

    Args:
        gold: Gold links of each sentence.
        links: Links that an aligner found in each sentence.

    Raises:
        ValueError: Gold and links differ in their number of sentences.
    """
    rows = [astuple(LinkCounts.of(*both)) for both in zip(gold, links, strict=True)]
    # Counts are summed before rates are taken: AER is a micro average.
    counts = np.array(rows, dtype=np.int64).reshape(-1, len(COUNTS))
    return LinkScore.of(Slots.of(np.arange(len(rows)), counts))


SHARE, GAIN = 0.7, 0.1
"""Largest share of the error rate that is left in another reading, and smallest decrease of it.

Of links of fast_align and GIZA++ that are read wrongly, at most 0.57 is left in the right reading
(German, French and Romanian with English).  Of links that are bad, such as those that miss every
word by one, 0.8 or more is left in any other reading: those are scored as they are.
"""

FEWEST = 3
"""Sentences, at least, in which more links must be right in another reading."""


@dataclass(frozen=True, slots=True)
class FormatWarning:
    """Warning that another reading of links agrees much better with the gold.

    Attributes:
        swapped: Whether the word of the target seems to come first.
        step: Apparent excess of the first word's number over the assumed one: 1, -1 or 0.
        sentence: First sentence that shows it, from 0.
        error_rate: Error rate of the links as they were read.
        other: Error rate in the other reading.
    """

    swapped: bool
    step: int
    sentence: int
    error_rate: float
    other: float


def check_format(gold: Sequence[Gold], links: Sequence[Links]) -> FormatWarning | None:
    """Warn of a wrong direction or index base, as far as the gold tells; None if neither is likely.

    Args:
        gold: Gold links of each sentence.
        links: Links that an aligner found in each sentence.
    """
    error_rate = score_links(gold, links).error_rate
    # Both bounds must hold: a large share of a small rate, or a small gain, proves nothing.
    limit = min(SHARE * error_rate, error_rate - GAIN)
    warnings: list[FormatWarning] = []
    # A file may have either word first, and count words from 0 or from 1.
    for swap, step in product((False, True), (0, 1, -1)):
        others = [_moved(swapped(sentence) if swap else sentence, step) for sentence in links]
        other = score_links(gold, others).error_rate
        better = _better(gold, links, others)
        if other <= limit and len(better) >= FEWEST:
            warnings.append(FormatWarning(swap, step, better[0], error_rate, other))
    return min(warnings, key=lambda warning: warning.other, default=None)


def _moved(links: Links, step: int) -> Links:
    return frozenset((source - step, target - step) for source, target in links)


def _better(gold: Sequence[Gold], links: Sequence[Links], others: Sequence[Links]) -> list[int]:
    """Return the sentences in which more of the other links are right."""
    pairs = zip(gold, links, others, strict=True)
    return [
        number
        for number, (gold_links, here, other_links) in enumerate(pairs)
        if len(gold_links.possible & other_links) > len(gold_links.possible & here)
    ]


def demand_words(links: Iterable[Gold], lengths: Iterable[tuple[int, int]]) -> None:
    """Refuse links to words that are not there.

    Args:
        links: Links of each sentence.
        lengths: Numbers of words of each sentence and of its translation.

    Raises:
        CorpusError: A sentence has such a link.
    """
    for sentence, (sources, targets) in zip(links, lengths, strict=True):
        for source, target in sorted(sentence.possible):
            if source >= sources or target >= targets:
                raise CorpusError(
                    f"{sentence.name}: the link {source}-{target}, counted from 0, leaves the "
                    f"sentences, which have {sources} and {targets} words; look at the number of "
                    "the first word, at the direction, and whether these are the texts."
                )
