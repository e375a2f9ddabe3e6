"""Tasks of sentence pairs: MRPC, CoLA or MNLI, as their files are called or look."""

import re

from headlight.corpora.archives import text_files
from headlight.corpora.files import files
from headlight.corpora.hub import PREFIX
from headlight.corpora.pair_formats import guess
from headlight.files import Location

TASKS = {
    "mrpc": "mrpc",
    "msr_paraphrase": "mrpc",
    "cola": "cola",
    "mnli": "mnli",
    "multinli": "mnli",
}

TASK_NAME = re.compile(rf"(?<![a-z])({'|'.join(TASKS)})(?![a-z])")

OTHER = "pairs"
"""Name of sentence pairs that are of none of the three."""


def task_of(name: str) -> str | None:
    """Return the task that the name of a file or a data set mentions last, if any."""
    matches = TASK_NAME.findall(name.lower())
    return TASKS[matches[-1]] if matches else None


def pair_task(source: str | Location, format: str | None = None) -> str:
    """Return the task of sentence pairs by their name or format; else ``pairs``.

    Args:
        source: Sentence pairs, as `open_sentence_pairs` takes them.
        format: Format of the pairs, one of `PAIR_FORMATS`.

    Raises:
        CorpusError: The first file cannot be read, or is in no known format.
    """
    looks = format or task_of(str(source)) or _look(str(source))
    return looks if looks in TASKS.values() else OTHER


def _look(source: str) -> str:
    """Return the task by the format of the first file."""
    if source.startswith(PREFIX):
        return OTHER
    for lines in text_files(files(source)[0]):
        return guess(lines.suffix, lines, None)
    return OTHER
