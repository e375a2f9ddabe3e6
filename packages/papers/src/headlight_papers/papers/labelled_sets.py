"""Sets of labelled texts as papers read them, in parts; without torch."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from headlight.corpora import PREFIX, HubSource, SentencePair, hub_splits, open_sentence_pairs
from headlight.corpora.files import files
from headlight.errors import CorpusError, setting
from headlight.vocabulary import PARTS, Part
from headlight_papers.papers.text_tasks import PART_NAMES, Classes, TextTask, task_of

FEWEST = 30
"""Texts that can be split."""
SHARE = 10
"""Number of texts of which one is for development, and one for the test."""
NUMBER = "qqq"
"""Stands for every word with a digit in it."""
WORDS = re.compile(r"\w+(?:['’]\w+)*")
WORDS_AND_MARKS = re.compile(rf"{WORDS.pattern}|[^\w\s]+")


@dataclass(frozen=True, slots=True)
class LabelledText:
    """Text as words, with its class.

    Attributes:
        words: Words in lower case.
        label: Number of its class.
    """

    words: tuple[str, ...]
    label: int


@dataclass(frozen=True)
class LabelledSet:
    """Set of texts, split into parts.

    Attributes:
        title: Printed name.
        classes: Names of the two classes.
        parts: Texts by part.
        frequency: See `TextTask`.
    """

    title: str
    classes: tuple[str, ...]
    parts: dict[Part, list[LabelledText]]
    frequency: int = 1


def read_labelled(
    source: str, seed: int = 0, *, max_texts: int | None = None, max_words: int | None = None
) -> LabelledSet:
    """Return the texts of a set, in parts.

    A part of its own in the source stays one. Where there is one part besides that for training,
    it is the test, and a tenth of the training texts is for development; where there is none, a
    tenth each.

    Args:
        source: File, pattern, folder or ``hf:NAME``.
        seed: Seed of all random draws.
        max_texts: Number of texts drawn for each part; None for all.
        max_words: Words in a text at most; longer texts are left out, as are those that the papers
            leave out.

    Raises:
        CorpusError: The set cannot be read, does not have two classes, or has too few texts.
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
    """Split a text into words in lower case, those with digits alike, and marks if requested."""
    matches = (WORDS_AND_MARKS if marks else WORDS).findall(text.lower())
    # Words with digits are one type, as in the released code of Jain and Wallace.
    return tuple(NUMBER if any(map(str.isdigit, word)) else word for word in matches)


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
            held = next((alias for alias in aliases if alias in name), None)
            if held:
                parts.setdefault(part, name if source.startswith(PREFIX) else held)
    # Parts are told by names only where there is one to train on.
    return parts if "train" in parts and len(parts) > 1 else {}


def _rows(source: str, part: str | None = None) -> list[SentencePair]:
    """Return the rows that have a label."""
    rows = [row for row in open_sentence_pairs(source, split=part) if row.label is not None]
    # Sentence pairs have labels too, but two texts.
    pair = next((row for row in rows if row.second is not None), None)
    if pair is not None:
        raise CorpusError(
            f"{pair.name}: the row holds a pair of texts, and the papers' models read one; name "
            f"single texts with {setting('labelled=')}."
        )
    return rows


def _class_labels(source: str, task: TextTask, rows: Sequence[SentencePair]) -> Classes:
    """Return the two classes, and the labels of each."""
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
    """Return texts of the two classes that are neither too short nor too long."""
    numbers = {
        label: number for number, (_, class_labels) in enumerate(classes) for label in class_labels
    }
    # The bound of the task is exclusive, that of the setting is not.
    below = min(task.below or inf, inf if max_words is None else max_words + 1)
    usable = (
        LabelledText(words_of(row.first, marks=task.marks), numbers[str(row.label)])
        for row in rows
        if row.label in numbers
    )
    return [text for text in usable if task.above < len(text.words) < below]


def _split(texts: dict[Part, list[LabelledText]], seed: int) -> dict[Part, list[LabelledText]]:
    """Split into three parts; a missing part gets a tenth of each class of the training texts."""
    nonempty = {part: some for part, some in texts.items() if some}
    # A set in two parts has been split to train and to judge, whatever the second is called.
    if "test" not in nonempty and "dev" in nonempty:
        nonempty["test"] = nonempty.pop("dev")
    train = nonempty.pop("train", [])
    import numpy as np  # which help needs not

    mixed = np.random.default_rng(seed).permutation(len(train)).tolist()
    # By class, so that every tenth text gives each part the classes in their proportions.
    order = sorted(mixed, key=lambda at: train[at].label)
    held: set[int] = set()
    # Every tenth text of a class, beginning at another place for each part.
    for first, part in enumerate([part for part in PARTS[1:] if part not in nonempty]):
        chosen = order[first::SHARE]
        nonempty[part] = [train[at] for at in sorted(chosen)]
        held.update(chosen)
    nonempty["train"] = [text for at, text in enumerate(train) if at not in held]
    return {part: nonempty[part] for part in PARTS}


def _draw(texts: list[LabelledText], count: int | None, seed: int) -> list[LabelledText]:
    """Draw at most this many texts, and keep their order."""
    if count is None or len(texts) <= count:
        return texts
    import numpy as np  # which help needs not

    chosen = np.random.default_rng(seed).choice(len(texts), count, replace=False)
    return [texts[at] for at in sorted(chosen.tolist())]
