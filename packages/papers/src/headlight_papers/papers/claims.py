"""Claims of a paper, whether they hold, and the table of them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import pandas

from headlight.findings.phrases import plural
from headlight.result.estimate import Estimate
from headlight.views.parts import Comparison, Section, table_picture
from headlight_papers.papers.answers import Answer, all_of, negate, provided, within
from headlight_papers.papers.exhibit_files import ExhibitWriter

Verdict = Literal["holds", "does not hold", "inconclusive"]


@dataclass(frozen=True)
class Claim:
    """Conclusion of a paper, judged once, wherever it is shown.

    Attributes:
        claim: Conclusion in a few words, with its number.
        rule: Condition under which it holds here; the papers give no such rules.
        published: Number that it rests on in the paper.
        ours: Number measured here, with its interval if it has one.
        answer: Verdict of the rule on that number.
        extension: Whether the question is ours, and not counted among the paper's findings, because
            the paper does not draw this conclusion, or not recognizably.
    """

    claim: str
    rule: str
    published: str
    ours: str
    answer: Answer
    extension: bool = False

    @property
    def title(self) -> str:
        """Return the printed name of the claim, with ``(ours)`` where it is not the paper's."""
        return f"{self.claim} (ours)" if self.extension else self.claim

    @property
    def verdict(self) -> Verdict:
        """Return the answer in words."""
        if self.answer is None:
            return "inconclusive"
        return "holds" if self.answer else "does not hold"

    @property
    def comparison(self) -> Comparison:
        """Return the verdict beside the numbers of an exhibit."""
        ours = {True: "yes", False: "no", None: "inconclusive"}[self.answer]
        return Comparison(self.rule, "yes", ours, note=self.ours)


Numbers = Mapping[str, Any]
"""Estimates, plain numbers, and words of a sentence, by name."""
Bounds = Mapping[str, int | float]


@dataclass(frozen=True)
class ClaimRow:
    """Conclusion of a paper as a row: template and bounds of its numbers.

    Attributes:
        claim: See `Claim`, also for the next two.
        rule: Rule in words.
        published: Number in the paper.
        ours: Template of the numbers here, such as ``{norm:.1%}; weights {weight:.1%}``.
        bounds: Bounds of a number, or of a difference (``norm - weight``), see `within`; all have
            to hold.
        extension: See `Claim`.
        contrary: Whether the claim is that the bounds do not hold.
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
            *(within(_number(numbers, name), **bounds) for name, bounds in self.bounds.items())
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
    first, *others = (numbers[part] for part in name.split(MINUS))
    number: Estimate | float = first.minus(others[0]) if others else first
    return number


def claims_content(
    writer: ExhibitWriter, claims: Sequence[Claim], notes: Sequence[str], about: str = "BERT"
) -> Section:
    """Return the claims as a table, and without their rules as a picture.

    Args:
        writer: Writer of the exhibit.
        claims: Judged claims.
        notes: See `Section`.
        about: Printed name of the paper's model.
    """
    frame = pandas.DataFrame(
        {
            "finding": [claim.title for claim in claims],
            "rule": [claim.rule for claim in claims],
            "published": [claim.published for claim in claims],
            "ours": [claim.ours for claim in claims],
            "here": [claim.verdict for claim in claims],
        }
    )
    # Questions of ours stand in the table, but not in the count.
    answers = [claim.answer for claim in claims if not claim.extension]
    count = (
        f"{answers.count(True)} of {len(answers)} hold, {answers.count(False)} do not, "
        f"{answers.count(None)} are inconclusive."
    )
    if extensions := len(claims) - len(answers):
        count += f" Not counted: {plural(extensions, 'question')} of ours."
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
