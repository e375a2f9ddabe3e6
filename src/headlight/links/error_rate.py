"""Precision, recall and alignment error rate of word links, with intervals."""

import math
from collections.abc import Iterable
from dataclasses import astuple, dataclass, fields

import numpy as np
from jaxtyping import Float64

from headlight.links.word_links import Gold, Link
from headlight.reduce import Bootstrap, share, share_interval
from headlight.version import __version__

RESAMPLES = 1000
"""Of the sentences, for intervals, unless another number is asked for."""

RATES = ("precision", "recall", "error_rate")
"""What is computed of the counts, in this order."""

Interval = tuple[float, float]
"""The lower and the upper bound."""


@dataclass(frozen=True, slots=True)
class LinkCounts:
    """What precision, recall and error rate of some sentences are made of; counts add up.

    Attributes:
        sure: Sure links of the gold, |S|.
        possible: All links of the gold, |P|.
        links: Links that were found, |A|.
        sure_hits: Sure ones of those, |A ∩ S|.
        possible_hits: Possible ones of those, |A ∩ P|.
        sentences: How many sentences.
    """

    sure: int = 0
    possible: int = 0
    links: int = 0
    sure_hits: int = 0
    possible_hits: int = 0
    sentences: int = 0

    @classmethod
    def of(cls, gold: Gold, links: Iterable[Link]) -> "LinkCounts":
        """Those of one sentence."""
        found = frozenset(links)
        hits = len(found & gold.sure), len(found & gold.possible)
        return cls(len(gold.sure), len(gold.possible), len(found), *hits, 1)

    def __add__(self, other: "LinkCounts") -> "LinkCounts":
        """Those of the sentences of both."""
        both = zip(astuple(self), astuple(other), strict=True)
        return LinkCounts(*(one + another for one, another in both))


COUNTS = tuple(each.name for each in fields(LinkCounts))
"""The order of the counts in arrays."""


def link_rates(
    counts: Float64[np.ndarray, "*cell count=6"],
) -> Float64[np.ndarray, "*cell rate=3"]:
    """Precision |A ∩ P| / |A|, recall |A ∩ S| / |S|, and the error rate of alignments.

    That is AER = 1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|); without a distinction of sure and possible
    links 1 - F1.  What would be divided by nothing is NaN.

    Source: Och and Ney (2003), "A Systematic Comparison of Various Statistical Alignment Models",
    Section 5.

    Args:
        counts: Sums over sentences, in the order of `COUNTS`; the results are in that of `RATES`.
    """
    parts, wholes = _fractions(counts)
    found = share(parts, wholes)
    found[..., -1] = 1 - found[..., -1]
    return found


def link_rate_intervals(
    replicates: Float64[np.ndarray, "replicate *cell count=6"],
) -> tuple[Float64[np.ndarray, "*cell rate=3"], Float64[np.ndarray, "*cell rate=3"]]:
    """The bounds of 95 % of `link_rates`, by the bootstrap over sentences.

    Args:
        replicates: Sums over resampled sentences, those of a `Bootstrap`.
    """
    shape = (*replicates.shape[1:-1], len(RATES))
    flat = (len(replicates), math.prod(shape))
    parts, wholes = (each.reshape(flat) for each in _fractions(replicates))
    low, high = (each.reshape(shape) for each in share_interval(parts, wholes))
    low[..., -1], high[..., -1] = 1 - high[..., -1], 1 - low[..., -1]
    return low, high


def _fractions(
    counts: Float64[np.ndarray, "*cell count=6"],
) -> tuple[Float64[np.ndarray, "*cell rate=3"], Float64[np.ndarray, "*cell rate=3"]]:
    sure, _, links, sure_hits, possible_hits, _ = np.moveaxis(counts, -1, 0)
    parts = (possible_hits, sure_hits, sure_hits + possible_hits)
    return np.stack(parts, axis=-1), np.stack((links, sure, links + sure), axis=-1)


@dataclass(frozen=True, slots=True)
class LinkScore:
    """How well links agree with a gold.

    Attributes:
        counts: Sums over all sentences.
        precision: |A ∩ P| / |A|.
        recall: |A ∩ S| / |S|.
        error_rate: AER, see `link_rates`.
        intervals: The interval of 95 % of each of `RATES`, by name.
    """

    counts: LinkCounts
    precision: float
    recall: float
    error_rate: float
    intervals: dict[str, Interval]

    @classmethod
    def of(cls, sums: Bootstrap) -> "LinkScore":
        """The score of summed counts, in the order of `COUNTS`."""
        found = sums.compute()
        total, replicates = found["total"], found["replicates"]
        low, high = link_rate_intervals(replicates)
        precision, recall, error_rate = link_rates(total).tolist()
        bounds = zip(low.tolist(), high.tolist(), strict=True)
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
        """What the numbers depend on, in one line, to be quoted with them.

        Args:
            gold: Format and base of the gold, such as ``talp1``.
            symmetrization: How two directions were put together.
            more: What else the links depend on, by name.
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


def score_links(
    gold: Iterable[Gold],
    links: Iterable[Iterable[Link]],
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> LinkScore:
    """How well links agree with the gold of the same sentences.

    Args:
        gold: The gold of each sentence.
        links: What an aligner found in each sentence.
        resamples: Of the sentences, for intervals; 0 for none.
        seed: Of the resamples.

    Raises:
        ValueError: There are more sentences of one than of the other.
    """
    rows = [astuple(LinkCounts.of(*both)) for both in zip(gold, links, strict=True)]
    counts = np.array(rows, dtype=np.int64).reshape(-1, len(COUNTS))
    keys = np.arange(len(rows))
    return LinkScore.of(Bootstrap.of(keys, counts, replicates=resamples, seed=seed))
