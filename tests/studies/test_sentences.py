"""Every report shows a text of the corpus, or it is said why not."""

from dataclasses import fields
from pathlib import Path

import pytest

from headlight.catalogue import studies

RESULTS = Path(__file__).parents[2] / "docs" / "results.md"


@pytest.mark.parametrize("name", studies())
def test_a_report_shows_a_text_or_it_is_said_why_not(name: str) -> None:
    study = studies()[name]
    keeps = {"passages", "sentences"} & {field.name for field in fields(study.settings)}
    assert bool(keeps) != bool(study.no_sentence)
    said = f"none: {study.no_sentence} |" if study.no_sentence else ""
    assert f"\n| `{name}` | {said}" in RESULTS.read_text(encoding="utf-8")
