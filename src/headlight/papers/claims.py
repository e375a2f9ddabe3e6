"""What a paper concludes, and whether it is so here: a table that every paper may have."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas

from headlight.papers.exhibit import Content
from headlight.papers.writer import ExhibitWriter
from headlight.views.exhibits import Comparison
from headlight.views.pictures import table_picture


@dataclass(frozen=True)
class Claim:
    """One conclusion of a paper, judged once, wherever it is shown.

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

    @property
    def comparison(self) -> Comparison:
        """The same verdict beside the numbers of an exhibit."""
        return Comparison(self.rule, "yes", "yes" if self.holds else "no", note=self.ours)


def claims_content(
    writer: ExhibitWriter, claims: Sequence[Claim], notes: Sequence[str], about: str = "BERT"
) -> Content:
    """The claims as a table, and without their rules as a picture.

    Args:
        writer: of the exhibit.
        claims: each judged.
        notes: see `Content`.
        about: the paper's model.
    """
    frame = pandas.DataFrame(
        {
            "finding": [each.claim for each in claims],
            "rule": [each.rule for each in claims],
            "published": [each.published for each in claims],
            "ours": [each.ours for each in claims],
            "here": [each.verdict for each in claims],
        }
    )
    count = f"{sum(each.holds for each in claims)} of {len(claims)} hold."
    shown = frame[["finding", "published", "ours", "here"]]
    return Content(
        f"The conclusions that the paper draws about {about}, asked of this model. The "
        "rules by which a finding holds are ours, since the paper gives none.",
        pictures=[writer.picture(table_picture(shown), count, count)],
        tables=[writer.table(frame, "Findings, rules and numbers")],
        notes=notes,
    )
