"""Make the exhibits of a paper, one after the other, and the page that shows them."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from headlight import files
from headlight.errors import ResultError
from headlight.papers.plan import Paper, Plan
from headlight.papers.reproduction import Study
from headlight.papers.writer import ExhibitWriter
from headlight.result import versions
from headlight.views.exhibits import Exhibit, ExhibitsPage, exhibits_page

PAGE = "index.html"


def reproduce(
    paper: Paper,
    study: Study,
    only: Sequence[str] | None = None,
    *,
    command: str = "",
    told: Callable[[Plan, Exhibit | None], object] = lambda plan, exhibit: None,
) -> Path:
    """Write every exhibit as pictures (SVG, PNG), CSV and a section of one HTML page.

    What is finished is kept in the study's folder, so that an interrupted reproduction goes on
    where it stopped.

    Args:
        paper: what to reproduce.
        study: on which model and data.
        only: names of exhibits; by default all.
        command: how it was asked for, for the record.
        told: is told of each exhibit, or of one that is missing (None).

    Returns:
        The page.

    Raises:
        UsageError: an exhibit is unknown.
        HeadlightError: data or model are refused; exhibits made before are kept.
    """
    made: list[Exhibit] = []
    missing: list[tuple[str, str]] = []
    for plan in paper.chosen(None if only is None else tuple(only)):
        reason = plan.missing(study)
        exhibit = None if reason else plan.make(study, ExhibitWriter(study.folder, plan.name))
        if exhibit is None:
            missing.append((plan.title, reason or ""))
        else:
            made.append(exhibit)
        told(plan, exhibit)
    page = ExhibitsPage(
        title=paper.title,
        introduction=paper.introduction,
        exhibits=made,
        facts=_facts(study),
        missing=missing,
        attributes=_attributes(study),
        command=command,
    )
    path = study.folder / PAGE
    files.write(path, exhibits_page(page).encode(), error=ResultError)
    return path


def _facts(study: Study) -> list[tuple[str, str]]:
    """What was read, in a few words."""
    sources = study.sources
    named = {
        "text": [sources.text] if sources.text else ["the sample corpus"],
        "treebanks": sources.dependency,
        "coreference": sources.coreference,
        "sentence pairs": sources.pairs,
        "word vectors": [sources.word_vectors] if sources.word_vectors else ["the model's own"],
    }
    compared = [("compared with", study.compared.name)] if study.compared else []
    return [
        ("model", study.model.name),
        *compared,
        *(
            (label, ", ".join(Path(name).name for name in names))
            for label, names in named.items()
            if names
        ),
    ]


def _attributes(study: Study) -> dict[str, object]:
    settings = {**asdict(study.options), **asdict(study.sources)}
    if study.compared:
        settings |= {"compared": study.compared.name, "compared_revision": study.compared.revision}
    return {
        "model": study.model.name,
        "revision": study.model.revision,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": json.dumps(versions()),
        "settings": json.dumps(settings),
    }
