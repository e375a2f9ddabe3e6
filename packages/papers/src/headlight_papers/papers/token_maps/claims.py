"""Findings of the form: one map is ahead of another, by one question, on the same texts."""

from collections.abc import Sequence
from dataclasses import replace

import xarray

from headlight.views.parts import Section
from headlight_papers.papers.claims import Claim, claims_content
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.papers.token_maps.results import ahead, caveat_of, load_maps, notes_of, score
from headlight_papers.papers.token_maps.settings import Ahead, MapPaperSettings
from headlight_papers.papers.token_maps.tables import AGREEMENT, LABELS, REMOVAL
from headlight_papers.papers.verdicts import lies
from headlight_papers.papers.writer import ExhibitWriter

NAMES = {**AGREEMENT, **REMOVAL}
"""What a question's number is called."""


def judge_ahead(found: xarray.Dataset, claims: Sequence[Ahead]) -> list[Claim]:
    """Each judged by the differences on the same texts."""
    judged = []
    for number, each in enumerate(claims, 1):
        name = NAMES[each.question]
        apart = ahead(found, each.question, each.first, each.second)
        scores = [score(found, each.question, one).value for one in (each.first, each.second)]
        judged.append(
            Claim(
                f"{number}. {each.claim}",
                f"{name} of {LABELS[each.first]} above that of {LABELS[each.second]}, on the same "
                "texts",
                each.published,
                f"{scores[0]:.3f} and {scores[1]:.3f}; difference {apart:.3f}".replace("-", "−"),
                lies(apart, above=0),
            )
        )
    return judged


def findings(reproduction: Reproduction[MapPaperSettings], writer: ExhibitWriter) -> Section:
    """The findings of a paper."""
    found = load_maps(reproduction)
    judged = judge_ahead(found, reproduction.settings.claims)
    content = claims_content(writer, judged, notes_of(reproduction, found), about="its models")
    return replace(content, explanation=f"{caveat_of(reproduction)}{content.explanation}")
