"""Fill the tables of studies in the documentation from the catalogue.

    python scripts/study_tables.py

A table stands between ``<!-- studies: KIND -->`` and ``<!-- end -->``.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from headlight.catalogue import DISTRIBUTIONS, IN_OTHER_DISTRIBUTIONS, Study, studies

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = ("headlight", "studies", "words", "papers")
NAMES = (
    "getting-started.md",
    "reference/headlight.md",
    "reference/studies.md",
    "reference/words.md",
    "reference/papers.md",
)
PAGES = [ROOT / "docs" / name for name in NAMES]
OURS = [study for study in studies().values() if study.is_ours]
PARTS = {
    "": [study for study in OURS if study.name not in IN_OTHER_DISTRIBUTIONS],
    **{
        f" of {part.extra}": [study for study in OURS if study.name in part.studies]
        for part in DISTRIBUTIONS.values()
    },
}
"""Studies of each distribution, by the end of the name of their tables."""
TABLE = re.compile(r"(<!-- studies: ([a-z -]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def filled(page: str) -> str:
    """The page with all its tables as the catalogue is now."""
    return TABLE.sub(lambda match: f"{match[1]}{KINDS[match[2]]()}{match[3]}", page)


def reads(study: Study) -> str:
    """What its source is, in a table."""
    return study.source.label + (", tagged sentences" if study.taggers else "")


def functions() -> str:
    """The functions of each distribution, which mkdocstrings reads in its file for editors."""
    brought = {"headlight": PARTS[""]}
    for each in DISTRIBUTIONS.values():
        brought[each.package] = PARTS[f" of {each.extra}"]
    return "\n".join(
        f"::: {package}\n    options:\n      show_root_toc_entry: false\n      members:\n"
        + "".join(f"        - {study.name}\n" for study in rows)
        for package, rows in brought.items()
        if rows
    )


def questions(of: Sequence[Study]) -> str:
    """What each study asks, and where it is from."""
    rows = [
        f"| `{study.name}` | {reads(study)} | {study.question} | {study.papers} |\n" for study in of
    ]
    return "".join(["| study | reads | purpose | from |\n", "| --- | --- | --- | --- |\n", *rows])


def documented(study: Study) -> str:
    """What says how a study works and what its result holds: its class, or its function."""
    owner = getattr(study.run, "__self__", None)
    return f"{study.package}.study.{'run' if owner is None else owner.__name__}"


def reference(of: Sequence[Study]) -> str:
    """The settings of each study, and its function below that of the root."""
    return "\n".join(
        f"## headlight.{study.name}\n\n"
        f"::: {documented(study)}\n    options: {{ heading_level: 3 }}\n\n"
        f"::: {study.settings.__module__}.{study.settings.__name__}\n"
        "    options: { heading_level: 3 }\n"
        for study in of
    )


PARTED = (questions, reference)
KINDS: Mapping[str, Callable[[], str]] = {
    "functions": functions,
    **{
        f"{make.__name__}{part}": partial(make, members)
        for part, members in PARTS.items()
        for make in PARTED
    },
}


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")
