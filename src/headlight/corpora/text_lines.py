"""Plain files of many lines, each of which is a text of its own."""

from collections.abc import Sequence
from contextlib import closing
from itertools import islice

from headlight.corpora.archives import text_files
from headlight.corpora.files import files
from headlight.corpora.hub import PREFIX
from headlight.corpora.lines import Lines
from headlight.corpora.text_formats import guess_format
from headlight.errors import CorpusError, UsageError
from headlight.files import Location

SEVERAL = 20
"""Least number of lines for texts of their own; fewer without a blank one are a document."""
ENDS = (*".!?…;:。！？؟।\"'”’»)]}",)
"""Characters at the end of a line that ends a sentence."""
COLUMNS = (40, 200)
"""Least and largest width at which prose is wrapped, in characters."""
FULL, MOST = 0.75, 0.6
"""Least width of a full line, relative to the widest; least share of those in wrapped prose."""


def is_a_text_a_line(lines: Sequence[str]) -> bool:
    """Return whether lines of a file are texts of their own, such as sentences, not one document.

    They are many, none is blank, and they are not prose that is wrapped, whose lines are about as
    wide as each other and mostly end in the middle of a sentence.

    Args:
        lines: First lines of the file.
    """
    texts = [line.strip() for line in lines]
    while texts and not texts[-1]:
        texts.pop()
    return len(texts) >= SEVERAL and all(texts) and not _is_wrapped(texts)


def _is_wrapped(texts: Sequence[str]) -> bool:
    widths = list(map(len, texts))
    widest = max(widths)
    full = sum(width >= FULL * widest for width in widths)
    ends = sum(text.endswith(ENDS) for text in texts)
    at_least, at_most = COLUMNS
    return at_least <= widest <= at_most and full >= MOST * len(texts) and ends < len(texts) / 2


LOOKED_AT, CHARACTERS = 10_000, 2**24
"""Largest numbers of lines and characters by which a file is taken as texts, one a line."""


def holds_a_text_a_line(source: object) -> bool:
    """Return whether a source is one plain file of many lines, each a text of its own.

    `headlight.corpora.text_lines.is_a_text_a_line` is the rule. A source that cannot be read is no
    such file: the reader will say why.

    Args:
        source: See `open_corpus`.
    """
    if not isinstance(source, str | Location) or source == "-" or str(source).startswith(PREFIX):
        return False
    try:
        paths = files(source)
        if len(paths) > 1:
            return False
        with closing(text_files(paths[0])) as members:
            first = _beginning(next(members))
            # An archive with a second file is no single file of lines.
            return is_a_text_a_line(first) and next(members, None) is None
    except (CorpusError, UsageError):
        return False


def _beginning(lines: Lines) -> list[str]:
    """Return the first lines of plain text; none for another format."""
    beginning: list[str] = []
    characters_left = CHARACTERS
    for line in islice(lines, LOOKED_AT if guess_format(lines) == "paragraphs" else 0):
        beginning.append(line)
        characters_left -= len(line)
        if characters_left < 0:
            break
    return beginning
