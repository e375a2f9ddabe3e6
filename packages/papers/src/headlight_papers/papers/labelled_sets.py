"""Sets of texts of two classes each: where they lie, how the papers read them, and their parts.

Without torch.
"""

import glob
import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path, PurePath

from headlight.corpora import (
    PREFIX,
    HubSource,
    SentencePair,
    hub_splits,
    is_companion,
    open_sentence_pairs,
)
from headlight.corpora.files import files
from headlight.errors import CorpusError, UsageError, setting
from headlight.vocabulary import PARTS, Part

PART_NAMES: dict[Part, tuple[str, ...]] = {
    "train": ("train",),
    "dev": ("dev", "valid"),
    "test": ("test",),
}
"""Substrings of the name of a file or a split, by the part that it is."""

FEWEST = 30
"""Texts that can be split."""
SHARE = 10
"""One text in this many is for development, and one for the test."""
NUMBER = "qqq"
"""Stands for every word with a digit in it."""
WORDS = re.compile(r"\w+(?:['’]\w+)*")
WORDS_AND_MARKS = re.compile(rf"{WORDS.pattern}|[^\w\s]+")


Classes = tuple[tuple[str, frozenset[str]], ...]
"""Names of classes, each with the labels that stand for it."""


@dataclass(frozen=True)
class TextTask:
    """Task of a set of texts, and how they are read.

    Attributes:
        title: of the set.
        classes: the two that are told apart; None where the labels are the classes.
        more_classes: whether the set has others, which are left out.
        above: words that a text has to exceed.
        below: words that it may not reach.
        frequency: training texts in which a word has to be to have a vector of its own.
        marks: whether punctuation marks are words.
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
"""The sets that both papers have, in their order, read as Jain and Wallace do."""

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


@dataclass(frozen=True, slots=True)
class LabelledText:
    """A text as words.

    Attributes:
        words: in small letters.
        label: the number of its class.
    """

    words: tuple[str, ...]
    label: int


@dataclass(frozen=True)
class LabelledSet:
    """A set of texts, split.

    Attributes:
        title: what it is called.
        classes: names of the two classes.
        parts: texts by part.
        frequency: see `TextTask`.
    """

    title: str
    classes: tuple[str, ...]
    parts: dict[Part, list[LabelledText]]
    frequency: int = 1


def labelled_in(folder: Path) -> tuple[str, ...]:
    """The sets that the names in a folder promise, in the order of `TASKS`, others last.

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
    labelled.sort(key=lambda each: order.index(each[0]) if each[0] else len(order))
    return tuple(source for _, source in labelled)


def task_of(source: str) -> TextTask:
    """Return the task of a set, by its name."""
    task = _task_name(source)
    if task:
        return TASKS[task]
    name = HubSource.parse(source).name if source.startswith(PREFIX) else source
    return TextTask(PurePath(name).name.split(".")[0])


def named_sets(sources: Sequence[str]) -> dict[str, str]:
    """Sources by the titles of their sets.

    Raises:
        UsageError: two have the same title.
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


def read_labelled(
    source: str, seed: int = 0, *, max_texts: int | None = None, max_words: int | None = None
) -> LabelledSet:
    """The texts of a set, in parts.

    A part of its own in the source stays one. Where there is one part besides that for training,
    it is the test, and a tenth of the training texts is for development; where there is none, a
    tenth each.

    Args:
        source: a file, pattern, folder or ``hf:NAME``.
        seed: of all that is drawn.
        max_texts: texts of each part, drawn.
        max_words: longer texts are left out, as are those that the papers leave out.

    Raises:
        CorpusError: it cannot be read, or has not two classes, or too few texts.
    """
    task = task_of(source)
    named = _parts_of(source)
    rows = {part: _rows(source, name) for part, name in named.items()} or {"train": _rows(source)}
    classes = _class_labels(source, task, [row for part in rows.values() for row in part])
    texts = {part: _texts(some, task, classes, max_words) for part, some in rows.items()}
    count = sum(map(len, texts.values()))
    if count < FEWEST:
        raise CorpusError(
            f"{source} holds {count} texts of its two classes that are neither too short nor too "
            f"long, and to be split it needs at least {FEWEST}; name a larger set with "
            f"{setting('labelled=')}."
        )
    parts = _split(texts, seed)
    for part, some in parts.items():
        missing = {*range(len(classes))} - {text.label for text in some}
        if missing:
            raise CorpusError(
                f"the {part} part of {source} has no text of the class "
                f"{classes[min(missing)][0]!r}; name a larger set with {setting('labelled=')}."
            )
    drawn = {part: _draw(some, max_texts, seed) for part, some in parts.items()}
    return LabelledSet(task.title, tuple(name for name, _ in classes), drawn, task.frequency)


def words_of(text: str, *, marks: bool = False) -> tuple[str, ...]:
    """The words of a text in small letters, those with digits alike; runs of marks if wanted."""
    matches = (WORDS_AND_MARKS if marks else WORDS).findall(text.lower())
    return tuple(NUMBER if any(map(str.isdigit, word)) else word for word in matches)


def _task_name(source: str) -> str | None:
    matches = IN_A_NAME.findall(source.lower())
    return NAMES[matches[-1]] if matches else None


def _files_of(place: Path) -> str:
    """A file, a pattern for files of several parts, or a folder."""
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
            return _with_its_parts(chosen, [file.name for file in within])
    return str(within[0])


def _with_its_parts(file: Path, others: list[str]) -> str:
    """A pattern for the file and those whose names differ in the part alone, if there are any."""
    every = "|".join(name for names in PART_NAMES.values() for name in names)
    here = re.search(every, file.name)
    assert here is not None  # noqa: S101 - it was chosen for it
    before, after = file.name[: here.start()], file.name[here.end() :]
    same = re.compile(rf"{re.escape(before)}({every}){re.escape(after)}")
    if sum(same.fullmatch(name) is not None for name in others) < 2:
        return str(file)
    return f"{glob.escape(str(file.parent / before))}*{glob.escape(after)}"


def _parts_of(source: str) -> dict[Part, str]:
    """Return the parts that the names of files or splits announce; empty if there is one."""
    if source.startswith(PREFIX):
        hub = HubSource.parse(source)
        names = [] if hub.split else hub_splits(hub, source)
    else:
        names = [path.name for path in files(source)]
    parts: dict[Part, str] = {}
    for part, aliases in PART_NAMES.items():
        for name in names:
            held = next((each for each in aliases if each in name), None)
            if held:
                parts.setdefault(part, name if source.startswith(PREFIX) else held)
    return parts if "train" in parts and len(parts) > 1 else {}


def _rows(source: str, part: str | None = None) -> list[SentencePair]:
    """Return the rows that have a label."""
    rows = [row for row in open_sentence_pairs(source, split=part) if row.label is not None]
    pair = next((row for row in rows if row.second is not None), None)
    if pair is not None:
        raise CorpusError(
            f"{pair.name}: the row holds a pair of texts, and the papers' models read one; name "
            f"single texts with {setting('labelled=')}."
        )
    return rows


def _class_labels(source: str, task: TextTask, rows: Sequence[SentencePair]) -> Classes:
    """The two classes, and the labels of each."""
    labels = sorted({str(row.label) for row in rows})
    classes = task.classes or tuple((label, frozenset({label})) for label in labels)
    known_labels = frozenset().union(*(class_labels for _, class_labels in classes))
    others = [label for label in labels if label not in known_labels]
    present = [name for name, class_labels in classes if class_labels & {*labels}]
    if len(present) == len(classes) == 2 and (task.more_classes or not others):
        return classes
    label_list = (
        ", ".join(map(repr, labels[:5])) + (" and more" if len(labels) > 5 else "") or "none"
    )
    wanted = " and ".join(name for name, _ in task.classes) if task.classes else "two"
    raise CorpusError(
        f"{source} has the labels {label_list}, and the papers' models tell two classes apart "
        f"({wanted}); name texts of two classes with {setting('labelled=')}."
    )


def _texts(
    rows: Sequence[SentencePair], task: TextTask, classes: Classes, max_words: int | None
) -> list[LabelledText]:
    """Texts of the two classes that are neither too short nor too long."""
    numbers = {
        label: number for number, (_, class_labels) in enumerate(classes) for label in class_labels
    }
    below = min(task.below or inf, inf if max_words is None else max_words + 1)
    usable = (
        LabelledText(words_of(row.first, marks=task.marks), numbers[str(row.label)])
        for row in rows
        if row.label in numbers
    )
    return [text for text in usable if task.above < len(text.words) < below]


def _split(texts: dict[Part, list[LabelledText]], seed: int) -> dict[Part, list[LabelledText]]:
    """Three parts; of those that are missing a tenth each, with the classes as they are mixed."""
    nonempty = {part: some for part, some in texts.items() if some}
    if "test" not in nonempty and "dev" in nonempty:
        nonempty["test"] = nonempty.pop("dev")
    train = nonempty.pop("train", [])
    import numpy as np  # which help needs not

    mixed = np.random.default_rng(seed).permutation(len(train)).tolist()
    order = sorted(mixed, key=lambda at: train[at].label)
    held: set[int] = set()
    for first, part in enumerate([part for part in PARTS[1:] if part not in nonempty]):
        chosen = order[first::SHARE]
        nonempty[part] = [train[at] for at in sorted(chosen)]
        held.update(chosen)
    nonempty["train"] = [text for at, text in enumerate(train) if at not in held]
    return {part: nonempty[part] for part in PARTS}


def _draw(texts: list[LabelledText], count: int | None, seed: int) -> list[LabelledText]:
    """At most this many, in their order."""
    if count is None or len(texts) <= count:
        return texts
    import numpy as np  # which help needs not

    chosen = np.random.default_rng(seed).choice(len(texts), count, replace=False)
    return [texts[at] for at in sorted(chosen.tolist())]
