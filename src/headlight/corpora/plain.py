"""Plain text: documents of several lines, or one text per line."""

from collections.abc import Iterator

from headlight.corpora.document import Document, Draft
from headlight.corpora.lines import Lines


def read_paragraphs(lines: Lines) -> Iterator[Document]:
    """A blank line ends a document; every line of a document is one of its paragraphs.

    With one sentence per line this is also the input format of Clark et al. (2019).
    """
    draft: Draft | None = None
    for line in lines:
        if line.strip():
            draft = draft or Draft(lines.place)
            draft.add(line)
        elif draft and (document := draft.finished()):
            yield document
            draft = None
    if draft and (document := draft.finished()):
        yield document


def read_lines(lines: Lines) -> Iterator[Document]:
    """Every line is a document of one paragraph; blank lines are left out."""
    for line in lines:
        text = line.strip()
        if text:
            yield Document(lines.place, (text,))
