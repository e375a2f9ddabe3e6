"""Reproduction of all exhibits of a paper, and their page."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from headlight.engine.work_folders import remove_work_folder
from headlight.errors import ResultError
from headlight.output_folder import OutputFolder
from headlight.result import versions
from headlight.views.parts import Section
from headlight.views.section_pages import SectionPage, section_page
from headlight_papers.papers.exhibit import ExhibitSpec
from headlight_papers.papers.paper import Paper
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.papers.settings import PAGE, RUNS
from headlight_papers.papers.sources import titled_sources
from headlight_papers.papers.text_reading import text_name

OWN = "models of the paper, trained here"
STILL_MISSING = (
    "Not made yet: the reproduction is at work, or was interrupted; then go on with the same "
    "command and --resume."
)


def reproduce(
    paper: Paper,
    reproduction: Reproduction,
    only: Sequence[str] | None = None,
    *,
    command: str = "",
    on_exhibit: Callable[[ExhibitSpec, Section | None], object] = lambda spec, exhibit: None,
) -> Path:
    """Write every exhibit as pictures (SVG, PNG), CSV and a section of one HTML page.

    What is finished is kept in its folder, so that an interrupted reproduction goes on where it
    stopped. The page is there from the first exhibit on, and says what is still missing.

    Args:
        paper: Paper to reproduce.
        reproduction: Model and data of the reproduction.
        only: Names of exhibits; by default all.
        command: Command line of the reproduction, for the record.
        on_exhibit: Callback for each exhibit; it gets None for a missing one.

    Returns:
        The page.

    Raises:
        UsageError: An exhibit is unknown.
        HeadlightError: Data or model are refused; exhibits made before are kept.
    """
    specs = paper.select(only)
    sections: list[Section] = []
    missing = {spec.name: (spec.title, STILL_MISSING) for spec in specs}
    path, output = reproduction.folder / PAGE, OutputFolder(reproduction.folder, ResultError)
    with reproduction.unchanged():
        for spec in specs:
            reason = spec.missing(reproduction)
            exhibit = None if reason else spec.create(reproduction)
            if exhibit is None:
                missing[spec.name] = (spec.title, reason or "")
            else:
                del missing[spec.name]
                sections.append(exhibit)
            page = SectionPage(
                title=paper.settings.title,
                introduction=paper.introduction,
                sections=sections,
                facts=_facts(paper, reproduction),
                missing=list(missing.values()),
                attributes=_attributes(paper, reproduction),
                command=command,
            )
            output.write(PAGE, section_page(page).encode())
            on_exhibit(spec, exhibit)
    remove_work_folder(reproduction.folder / RUNS)
    return path


def _facts(paper: Paper, reproduction: Reproduction) -> list[tuple[str, str]]:
    """Return the models and data of a reproduction, in a few words."""
    models = {
        "model": reproduction.loaded,
        "compared with": reproduction.compared,
        "translator": reproduction.translator,
    }
    rows = titled_sources(paper.settings.reads)
    named = {row.title: reproduction.sources.named(name) for name, row in rows.items()}
    read = {title: ", ".join(Path(name).name for name in names) for title, names in named.items()}
    if "text" in rows:
        read[rows["text"].title] = text_name(reproduction)
    return [
        *((label, model.name) for label, model in models.items() if model is not None),
        *((title, names) for title, names in read.items() if names),
    ]


def _attributes(paper: Paper, reproduction: Reproduction) -> dict[str, object]:
    sources, reads = asdict(reproduction.sources), paper.settings.reads
    settings = {**asdict(reproduction.settings), **{name: sources[name] for name in reads}}
    others = {"compared": reproduction.compared, "translator": reproduction.translator}
    for name, model in others.items():
        if model is not None:
            settings |= {name: model.name, f"{name}_revision": model.revision}
    model = reproduction.loaded
    return {
        **(model.origin if model else {"model": OWN, "revision": ""}),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": json.dumps(versions()),
        "settings": json.dumps(settings),
    }
