"""Words that a reader of the field would stumble over are not written: the table says what is."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PLACES = {
    ROOT / "src": ("*.py", "*.pyi", "*.js", "*.html"),
    ROOT / "packages/words/src": ("*.py",),
    ROOT / "packages/papers/src": ("*.py",),
    ROOT / "docs": ("*.md",),
    ROOT: ("README.md", "CHANGELOG.md", "CONTRIBUTING.md"),
}
INSTEAD = {
    "so many": "this many, or the number",
    "whoever": "who it is: the caller, the worker, the reader",
    "anew": "again; recomputed; start over",
    "taken away": "removed",
    "take away": "remove; export",
    "takes away": "removes",
    "links that people made": "gold links",
    "without a doubt": "certainly; sure",
    "Desk": "Workspace",
    "Readout": "LabelPositions",
    "TakingPart": "KeyMask",
    "ByPlace": "ByComponent",
    "Doubt": "FormatWarning",
    "Situation": "EditContext",
    "announce_room": "check_disk_space",
    "at_home": "working_directory",
    "take_part": "join_run",
    "join_kinds": "concat_kinds",
    "shown_parts": "split_for_display",
}
WORD = re.compile(rf"(?<![\\w\"'])({'|'.join(map(re.escape, INSTEAD))})(?![\\w\"'])")


def found(text: str) -> list[str]:
    return [
        f"line {number}: {each[1]!r}; say {INSTEAD[each[1]]}"
        for number, line in enumerate(text.splitlines(), 1)
        for each in WORD.finditer(line)
    ]


def test_the_words_are_seen() -> None:
    assert found("Stop after so many.\n\nIt is made anew.") == [
        "line 1: 'so many'; say this many, or the number",
        "line 3: 'anew'; say again; recomputed; start over",
    ]
    assert found("renewed, as_so_many") == []


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.name)
def test_they_are_not_written(place: Path) -> None:
    files = [
        path
        for pattern in PLACES[place]
        for path in (place.glob(pattern) if place == ROOT else place.rglob(pattern))
    ]
    assert files
    assert {str(path): lines for path in files if (lines := found(path.read_text("utf-8")))} == {}


ARROWS = {
    "main.js": "cell.from)} → ${isolated(cell.to)}",  # from the token that attends
    "layer_lines.js": "told(rows, row))} → ${isolated(told(columns, column))}",
    "head_card.js": "queries[text][query].trim()} → ",
}
"""How scripts of pages write a link; rows of maps are queries, their columns keys."""


def test_arrows_of_all_pages_lead_from_the_token_that_attends() -> None:
    lines = {
        (path.name, line)
        for path in (ROOT / "src/headlight/views/script").glob("*.js")
        for line in path.read_text("utf-8").splitlines()
        if "→" in line
    }
    assert {name for name, _ in lines} == {*ARROWS}
    assert [line for name, line in lines if ARROWS[name] not in line] == []
