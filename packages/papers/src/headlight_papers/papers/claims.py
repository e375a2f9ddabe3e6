"""Claims of a paper, the verdicts on them from intervals of numbers, and the table of both."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf, isclose, isnan, nan
from typing import Any, Literal

import numpy as np
import pandas
from numpy.typing import ArrayLike

from headlight.findings.phrases import plural
from headlight.result.estimate import Estimate
from headlight.result.slot_coordinates import ROUNDING
from headlight.views.parts import Comparison, Section, table_picture
from headlight_papers.intervals import (
    MeanInterval,
    correlation_interval,
    mean_difference,
    mean_interval,
    median_interval,
)
from headlight_papers.papers.exhibit import ExhibitWriter

Verdict = Literal["holds", "does not hold", "inconclusive"]
Answer = bool | None
"""Whether a rule holds; None where the numbers do not decide."""


def exact(value: float) -> Estimate:
    """Return a number of everything that is asked about, which therefore is off by nothing."""
    return around(value, 0.0)


def around(value: float, half: float) -> Estimate:
    """Return a number with ends at this distance."""
    return Estimate.with_ends(value, value - half, value + half)


def largest(numbers: Estimate, units: int) -> Estimate:
    """Return the largest number, with ends that hold although it was chosen.

    Args:
        numbers: all among which it is chosen.
        units: texts or documents, see `Estimate.simultaneous`.
    """
    place = numbers.first()
    return exact(nan) if place is None else numbers.simultaneous(units).at(place)


def mean_of(values: ArrayLike) -> Estimate:
    """Return the mean over seeds, splits or texts; those without a number are left out."""
    return _of_mean(mean_interval(_measured(values)))


def difference(first: ArrayLike, second: ArrayLike) -> Estimate:
    """Return the mean of one group minus that of another; see `mean_difference`."""
    return _of_mean(mean_difference(_measured(first), _measured(second)))


def median_of(values: ArrayLike) -> Estimate:
    """Return the median over texts; see `median_interval`."""
    value, *ends = median_interval(_measured(values))
    same = isclose(*ends, rel_tol=ROUNDING)
    return Estimate.with_ends(value, *((nan, nan) if same else ends))


def correlation(rho: float, count: int) -> Estimate:
    """Return Spearman's ρ of this many pairs; see `correlation_interval`."""
    return Estimate.with_ends(rho, *correlation_interval(rho, count))


def _of_mean(interval: MeanInterval) -> Estimate:
    """Values that are all the same do not tell how far off their mean may be."""
    same = interval.half <= ROUNDING * abs(interval.mean)
    return around(interval.mean, nan if same else interval.half)


def _measured(values: ArrayLike) -> np.ndarray:
    flat = np.asarray(values, dtype=np.float64).ravel()
    return flat[~np.isnan(flat)]


def within(
    number: Estimate | float,
    *,
    least: int | float = -inf,
    most: int | float = inf,
    above: int | float = -inf,
    below: int | float = inf,
) -> Answer:
    """Return whether a number lies within the bounds of a rule, to judge by its interval.

    Args:
        number: with its interval; or one of everything that is asked about, which is off by
            nothing.
        least: the smallest that the rule allows.
        most: the largest.
        above: the number has to be larger than this.
        below: the number has to be smaller than this.

    Returns:
        True where the whole interval lies there, False where none of it does, None otherwise, and
        of a number that was not measured or has no interval, or of which texts that are all the
        same do not tell how far off it may be.
    """
    low, high = (number, number) if isinstance(number, float) else map(float, number.interval())
    if (
        isnan(low)
        or isnan(high)
        # Ends that are equal but for float64; those of a ρ of 1 are somewhat farther apart.
        or (isclose(low, high, rel_tol=1e-12) and not isinstance(number, float))
    ):
        return None
    if least <= low and high <= most and above < low and high < below:
        return True
    if high < least or low > most or high <= above or low >= below:
        return False
    return None


def all_of(*answers: Answer) -> Answer:
    """Return whether all of several rules hold; nothing holds of none."""
    if False in answers:
        return False
    return None if None in answers or not answers else True


def any_of(*answers: Answer) -> Answer:
    """Return whether at least one of several rules holds."""
    if True in answers:
        return True
    return None if None in answers or not answers else False


def provided(condition: Answer, answer: Answer) -> Answer:
    """Return an answer that counts only where a condition holds, as that a model has learnt."""
    return answer if condition else None


def negate(answer: Answer) -> Answer:
    """Return the contrary."""
    return None if answer is None else not answer


@dataclass(frozen=True)
class Claim:
    """One conclusion of a paper, judged once, wherever it is shown.

    Attributes:
        claim: the conclusion in a few words, with its number.
        rule: when it is said to hold here; the papers give no such rules.
        published: the number that it rests on there.
        ours: the number here, with its interval if it has one.
        answer: what the rule says of that.
        extension: the paper does not conclude this, or not that one can tell: the question is
            ours, and not counted among its findings.
    """

    claim: str
    rule: str
    published: str
    ours: str
    answer: Answer
    extension: bool = False

    @property
    def title(self) -> str:
        """Return what it is called in tables, with ``(ours)`` where it is not the paper's."""
        return f"{self.claim} (ours)" if self.extension else self.claim

    @property
    def verdict(self) -> Verdict:
        """In words."""
        if self.answer is None:
            return "inconclusive"
        return "holds" if self.answer else "does not hold"

    @property
    def comparison(self) -> Comparison:
        """Return the verdict beside the numbers of an exhibit."""
        ours = {True: "yes", False: "no", None: "inconclusive"}[self.answer]
        return Comparison(self.rule, "yes", ours, note=self.ours)


Numbers = Mapping[str, Any]
"""By name: estimates, plain numbers, and words of a sentence."""
Bounds = Mapping[str, int | float]


@dataclass(frozen=True)
class ClaimRow:
    """Conclusion of a paper as a row: what is printed of its numbers, and where they have to lie.

    Attributes:
        claim: see `Claim`, as of the next two.
        rule: in words.
        published: the number there.
        ours: template of the numbers here, such as ``{norm:.1%}; weights {weight:.1%}``.
        bounds: of a number, or of a difference (``norm - weight``), see `within`; all have to hold.
        extension: see `Claim`.
        contrary: whether the claim is that a number does not lie there.
    """

    claim: str
    rule: str
    published: str
    ours: str
    bounds: Mapping[str, Bounds]
    extension: bool = False
    contrary: bool = False

    def judge(self, numbers: Numbers, condition: Answer = True) -> Claim:
        """Return the claim about these numbers; inconclusive where a condition does not hold."""
        answer = all_of(
            *(within(_number(numbers, name), **each) for name, each in self.bounds.items())
        )
        return Claim(
            self.claim,
            self.rule,
            self.published,
            self.ours.format(**numbers),
            provided(condition, negate(answer) if self.contrary else answer),
            self.extension,
        )


def judge_rows(rows: Iterable[ClaimRow], numbers: Numbers, condition: Answer = True) -> list[Claim]:
    """Return the claims about numbers that are there; see `ClaimRow.judge`."""
    return [
        row.judge(numbers, condition)
        for row in rows
        if all({*name.split(MINUS)} <= {*numbers} for name in row.bounds)
    ]


MINUS = " - "


def _number(numbers: Numbers, name: str) -> Estimate | float:
    """Return a number, or the difference of two on the same texts."""
    first, *others = (numbers[each] for each in name.split(MINUS))
    number: Estimate | float = first.minus(others[0]) if others else first
    return number


def claims_content(
    writer: ExhibitWriter, claims: Sequence[Claim], notes: Sequence[str], about: str = "BERT"
) -> Section:
    """The claims as a table, and without their rules as a picture.

    Args:
        writer: of the exhibit.
        claims: each judged.
        notes: see `Section`.
        about: the paper's model.
    """
    frame = pandas.DataFrame(
        {
            "finding": [each.title for each in claims],
            "rule": [each.rule for each in claims],
            "published": [each.published for each in claims],
            "ours": [each.ours for each in claims],
            "here": [each.verdict for each in claims],
        }
    )
    answers = [each.answer for each in claims if not each.extension]
    count = (
        f"{answers.count(True)} of {len(answers)} hold, {answers.count(False)} do not, "
        f"{answers.count(None)} are inconclusive."
    )
    if own := len(claims) - len(answers):
        count += f" Not counted: {plural(own, 'question')} of ours."
    printed = frame[["finding", "published", "ours", "here"]]
    return Section(
        explanation=f"The conclusions that the paper draws about {about}, asked of this model. The "
        "rules by which a finding holds are ours, since the paper gives none. A rule is judged by "
        "the 95% interval of its number, where it has one: the finding holds if all of the "
        "interval fulfils the rule, does not hold if none of it does, and is inconclusive "
        "otherwise, or where nothing could be compared.",
        drawings=[writer.picture(partial(table_picture, printed), count, count)],
        tables=[writer.table(frame, "Findings, rules and numbers")],
        notes=notes,
    )
