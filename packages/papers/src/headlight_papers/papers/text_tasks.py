"""Tasks that papers classify texts by, and sets of them by the names of their files."""

import glob
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from headlight.corpora import PREFIX, HubSource, is_companion
from headlight.errors import UsageError
from headlight.vocabulary import Part

PART_NAMES: dict[Part, tuple[str, ...]] = {
    "train": ("train",),
    "dev": ("dev", "valid"),
    "test": ("test",),
}
"""Substrings of the name of a file or a split, by the part that it is."""

Classes = tuple[tuple[str, frozenset[str]], ...]
"""Names of classes, each with the labels that stand for it."""


@dataclass(frozen=True)
class TextTask:
    """Task of a set of texts, and how they are read.

    Attributes:
        title: Title of the set.
        classes: The two classes that are told apart; None where the labels are the classes.
        more_classes: Whether the set has others, which are left out.
        above: Number of words that a text has to exceed.
        below: Number of words that it may not reach.
        frequency: Number of training texts that must contain a word for a vector of its own.
        marks: Whether punctuation marks are words.
    """

    title: str
    classes: Classes | None = None
    more_classes: bool = False
    above: int = 1
    below: int | None = None
    frequency: int = 2
    marks: bool = False


def _classes(**labels: str) -> Classes:
    return tuple((name, frozenset(words.split())) for name, words in labels.items())


TASKS = {
    "sst": TextTask(
        "SST", _classes(negative="0 negative", positive="1 positive"), above=5, frequency=1
    ),
    "imdb": TextTask(
        "IMDb",
        _classes(negative="neg 0 negative", positive="pos 1 positive"),
        above=6,
        below=400,
        frequency=10,
    ),
    "ag_news": TextTask(
        "AG News",
        _classes(World="World 0", Business="Business 2"),
        more_classes=True,
        frequency=5,
        marks=True,
    ),
    "20news": TextTask(
        "20 News",
        _classes(baseball="rec.sport.baseball", hockey="rec.sport.hockey"),
        more_classes=True,
        above=6,
        below=500,
        marks=True,
    ),
}
"""Sets that both papers have, in their order, read as Jain and Wallace do."""

NAMES = {
    "sst": "sst",
    "stsa": "sst",
    "imdb": "imdb",
    "aclimdb": "imdb",
    "ag_news": "ag_news",
    "agnews": "ag_news",
    "20news": "20news",
    "20_news": "20news",
}
"""Sets by the names of folders, files and data sets that hold them."""
IN_A_NAME = re.compile(rf"(?<![a-z0-9])({'|'.join(NAMES)})")
OTHER_NAMES = ("labelled",)
"""Beginnings of the names of folders that hold any other set."""


def labelled_in(folder: Path) -> tuple[str, ...]:
    """Find the sets that the names in a folder announce, in the order of `TASKS`, others last.

    Of a folder, files whose names differ in the part alone (``stsa.binary.train``,
    ``stsa.binary.dev``) are one set; else its file for training, else one of another part, else its
    first.
    """
    names = ((child, child.name.lower()) for child in sorted(folder.iterdir()))
    places = [
        child for child, name in names if IN_A_NAME.match(name) or name.startswith(OTHER_NAMES)
    ]
    order = list(TASKS)
    labelled = [(_task_name(place.name), _files_of(place)) for place in places]
    # The sort is stable, so that unknown sets keep the order of their names.
    labelled.sort(key=lambda named: order.index(named[0]) if named[0] else len(order))
    return tuple(source for _, source in labelled)


def task_of(source: str) -> TextTask:
    """Return the task of a set, by its name."""
    task = _task_name(source)
    if task:
        return TASKS[task]
    name = HubSource.parse(source).name if source.startswith(PREFIX) else source
    return TextTask(PurePath(name).name.split(".")[0])


def named_sets(sources: Sequence[str]) -> dict[str, str]:
    """Return sources by the titles of their sets.

    Raises:
        UsageError: Two sets have the same title.
    """
    named: dict[str, str] = {}
    for source in sources:
        title = task_of(source).title
        if title in named:
            raise UsageError(
                f"{named[title]} and {source} are both {title}; leave out one of them, or name one "
                "pattern that stands for both."
            )
        named[title] = source
    return named


def _task_name(source: str) -> str | None:
    matches = IN_A_NAME.findall(source.lower())
    # The last name decides, since the folders before it may name other sets.
    return NAMES[matches[-1]] if matches else None


def _files_of(place: Path) -> str:
    """Return a file, a pattern for files of several parts, or a folder."""
    if not place.is_dir():
        return str(place)
    within = [
        file
        for file in sorted(place.iterdir())
        if file.is_file() and not file.name.startswith(".") and not is_companion(file.name)
    ]
    if not within:
        return str(place)
    for names in PART_NAMES.values():
        chosen = next((file for file in within if any(name in file.name for name in names)), None)
        if chosen is not None:
            return _pattern_of_parts(chosen, [file.name for file in within])
    return str(within[0])


def _pattern_of_parts(file: Path, others: list[str]) -> str:
    """Return a pattern for files whose names differ in the part alone; without others, the file."""
    names_of_parts = "|".join(name for names in PART_NAMES.values() for name in names)
    here = re.search(names_of_parts, file.name)
    assert here is not None  # noqa: S101 - it was chosen for it
    before, after = file.name[: here.start()], file.name[here.end() :]
    same = re.compile(rf"{re.escape(before)}({names_of_parts}){re.escape(after)}")
    if sum(same.fullmatch(name) is not None for name in others) < 2:
        return str(file)
    return f"{glob.escape(str(file.parent / before))}*{glob.escape(after)}"
