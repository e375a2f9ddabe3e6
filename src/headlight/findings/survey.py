"""Sentences of a survey."""

import xarray as xr

from headlight.findings.heads_with_sinks import sinks
from headlight.findings.importance import importance
from headlight.findings.null_space import null_space
from headlight.findings.rank_correlation import ranks
from headlight.findings.survey_highlights import highlights

HEAD_ANSWERS = 3
"""Number of highlights of a survey that stand above its page; all of them stand on it."""

NOTHING = "No head stands out by the rules of this page."
"""Sentence in the place of findings where there are none."""


def survey(result: xr.Dataset) -> list[str]:
    """Return the strongest highlights, how much intervals leave open, and answers of numbers."""
    shown = highlights(result)
    conclusive = [highlight.text for highlight in shown if highlight.kind != "inconclusive"]
    findings = conclusive[:HEAD_ANSWERS] or [NOTHING]
    findings += [highlight.text for highlight in shown if highlight.kind == "inconclusive"]
    answers = *ranks(result), *importance(result), *null_space(result), *sinks(result)
    return [*findings, *answers]
