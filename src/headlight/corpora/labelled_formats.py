"""Formats of labelled texts: SST, AG News, IMDb and newsgroups."""

import re
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import PurePath

from headlight.corpora.json_lines import json_object
from headlight.corpora.lines import Lines
from headlight.errors import CorpusError

OLD_ENCODING = "latin-1"
"""Encoding of SST and of the newsgroups as they are distributed."""

NEWS_CLASSES = ("World", "Sports", "Business", "Sci/Tech")
REVIEW_KEYS = {"label", "file", "text"}
BREAKS = re.compile(r"\s*(<br\s*/?>\s*)+")
LABELLED_LINE = re.compile(r"[0-4] \S.*\S \S")

QUOTED = re.compile(r"\s*[>|:]|\s*In article\b|.*\b(writes|wrote|says|said):\s*$")
"""Pattern of lines that a message quotes, and of those that name the quoted author."""

LabelledRow = tuple[str, Mapping[str, object]]


def treebank_sentences(lines: Lines) -> Iterator[LabelledRow]:
    """Yield rows of the Stanford Sentiment Treebank: the label, a blank, the sentence.

    Raises:
        CorpusError: A line holds no sentence behind a label.
    """
    lines.encoding = OLD_ENCODING
    for line in lines:
        label, _, text = line.strip().partition(" ")
        if not label:
            continue
        if not text:
            raise CorpusError(
                f"{lines.place}: the line must be a label, a blank and a sentence; complete the "
                "line, or leave it out."
            )
        yield lines.place, {"text": text, "label": label}


def news(lines: Lines) -> Iterator[LabelledRow]:
    """Yield rows of AG News without a header: the text, a tab, the name of the class.

    Raises:
        CorpusError: A line does not have two fields.
    """
    for line in lines:
        if not line.strip():
            continue
        fields = line.rstrip("\r\n").split("\t")
        if len(fields) != 2:
            raise CorpusError(
                f"{lines.place}: the row has {len(fields)} fields, and should have a text and a "
                "label; correct the line, or leave it out."
            )
        yield lines.place, dict(zip(("text", "label"), fields, strict=True))


def reviews(lines: Lines) -> Iterator[LabelledRow]:
    """Yield film reviews of IMDb from JSON lines; ``<br />`` is a blank.

    Raises:
        CorpusError: A line is no object.
    """
    for line in lines:
        if line.strip():
            row = json_object(line, lines.place)
            text = row.get("text")
            cleaned = BREAKS.sub(" ", text) if isinstance(text, str) else text
            yield lines.place, row | {"text": cleaned}


def messages(lines: Lines) -> Iterator[LabelledRow | None]:
    """Yield one message of a newsgroup, whose folder names the group; only its author's own text.

    The header, quotations and signature are left out, as Jain and Wallace (2019) read messages.  In
    some copies tabs stand for the line breaks.  A message of which nothing is left is None.

    Raises:
        CorpusError: The file is longer than `DOCUMENT_LIMIT`.
    """
    lines.encoding = OLD_ENCODING
    gathered = lines.whole("message", "leave it out")
    broken = (
        gathered if len(gathered) > 1 else list(chain(*(line.split("\t") for line in gathered)))
    )
    text = own_words([line.rstrip("\r\n") for line in broken])
    label = PurePath(lines.name).parent.name
    yield (f"{lines.name}:1", {"text": text, "label": label}) if text else None


def own_words(lines: list[str]) -> str:
    """Return the text by the author of a message: no header, quotations or signature."""
    start = next((at for at, line in enumerate(lines) if not line.strip()), 0)
    own_lines = [line for line in lines[start:] if not QUOTED.match(line)]
    return " ".join(" ".join(own_lines[: _signature(own_lines)]).split())


def _signature(lines: list[str]) -> int:
    """Return the start of a message's last part, behind a line of dashes or blanks."""
    marks = [at for at, line in enumerate(lines) if not line.strip("- ")]
    filled = [at for at, line in enumerate(lines) if line.strip("- ")]
    before = [at for at in marks if filled and filled[0] < at < filled[-1]]
    return before[-1] if before else len(lines)


def guess_labelled(lines: Lines) -> str | None:
    """Return the format of a file of these sets, by its name and first line; None for others."""
    if PurePath(lines.name).name.isdecimal():
        return "newsgroups"
    first = lines.first().rstrip("\r\n")
    if first.startswith("{"):
        keys = set(json_object(first, f"{lines.name}:1"))
        return "imdb" if keys == REVIEW_KEYS else None
    fields = first.split("\t")
    if len(fields) == 2 and fields[1] in NEWS_CLASSES:
        return "ag_news"
    return "sst" if len(fields) == 1 and LABELLED_LINE.match(first) else None
