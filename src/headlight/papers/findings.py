"""What a paper concludes, and whether it is so here: a table that every paper may have."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas

from headlight.papers.writer import ExhibitWriter
from headlight.views.exhibits import Exhibit
from headlight.views.pictures import table_picture


@dataclass(frozen=True)
class Finding:
    """One conclusion of a paper.

    Attributes:
        claim: the conclusion in a few words, with its number.
        rule: when it is said to hold here; the papers give no such rules.
        published: the number that it rests on there.
        ours: the number here.
        holds: what the rule says.
    """

    claim: str
    rule: str
    published: str
    ours: str
    holds: bool

    @property
    def verdict(self) -> str:
        """In words."""
        return "holds" if self.holds else "does not hold"


def findings_exhibit(
    desk: ExhibitWriter, found: Sequence[Finding], source: str, notes: Sequence[str]
) -> Exhibit:
    """The findings as a table, and without their rules as a picture."""
    frame = pandas.DataFrame(
        {
            "finding": [each.claim for each in found],
            "rule": [each.rule for each in found],
            "published": [each.published for each in found],
            "ours": [each.ours for each in found],
            "here": [each.verdict for each in found],
        }
    )
    told = f"{sum(each.holds for each in found)} of {len(found)} hold."
    shown = frame[["finding", "published", "ours", "here"]]
    return Exhibit(
        name=desk.exhibit,
        title="Which findings hold",
        source=source,
        explanation="The conclusions that the paper draws about BERT, asked of this model. The "
        "rules by which a finding holds are ours, since the paper gives none.",
        pictures=[desk.picture(table_picture(shown), told, told)],
        tables=[desk.table(frame, "Findings, rules and numbers")],
        notes=list(notes),
        files=desk.written,
    )
