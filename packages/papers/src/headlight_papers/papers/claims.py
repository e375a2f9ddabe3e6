"""Claims of a paper, and whether they hold here: a table that every paper may have."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import pandas

from headlight.findings.wording import plural
from headlight.views.parts import Comparison, Section, table_picture
from headlight_papers.papers.verdicts import Answer, Verdict, verdict_of
from headlight_papers.papers.writer import ExhibitWriter


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
        return verdict_of(self.answer)

    @property
    def comparison(self) -> Comparison:
        """Return the verdict beside the numbers of an exhibit."""
        ours = {True: "yes", False: "no", None: "inconclusive"}[self.answer]
        return Comparison(self.rule, "yes", ours, note=self.ours)


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
    shown = frame[["finding", "published", "ours", "here"]]
    return Section(
        explanation=f"The conclusions that the paper draws about {about}, asked of this model. The "
        "rules by which a finding holds are ours, since the paper gives none. A rule is judged by "
        "the 95% interval of its number, where it has one: the finding holds if all of the "
        "interval fulfils the rule, does not hold if none of it does, and is inconclusive "
        "otherwise, or where nothing could be compared.",
        drawings=[writer.picture(partial(table_picture, shown), count, count)],
        tables=[writer.table(frame, "Findings, rules and numbers")],
        notes=notes,
    )
