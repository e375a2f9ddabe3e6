"""The documentation names the studies whose reports keep text of the corpus, and no others."""

import re
from dataclasses import fields
from pathlib import Path

from headlight.catalogue import studies

RESULTS = Path(__file__).parents[2] / "docs" / "results.md"


def test_the_studies_that_keep_text_are_named() -> None:
    page = RESULTS.read_text(encoding="utf-8")
    section = page[page.index("## Text of the corpus in reports") :].split("\n## ")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert named == {
        study.name
        for study in studies().values()
        if {"passages", "sentences"} & {field.name for field in fields(study.settings)}
    }
