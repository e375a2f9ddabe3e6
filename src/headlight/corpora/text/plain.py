"""Texts without columns: plain text, and the articles that WikiExtractor writes."""

from collections.abc import Iterator, Sequence

from headlight.corpora.lines import Lines
from headlight.corpora.text import Document, Draft
from headlight.errors import CorpusError


def read_paragraphs(lines: Lines) -> Iterator[Document]:
    """A blank line ends a document; every line of a document is one of its paragraphs.

    With one sentence per line this is also the input format of Clark et al. (2019).
    """
    draft: Draft | None = None
    for line in lines:
        if line.strip():
            draft = draft or Draft(lines.place)
            draft.add(line)
        elif draft and (document := draft.finish()):
            yield document
            draft = None
    if draft and (document := draft.finish()):
        yield document


def read_lines(lines: Lines) -> Iterator[Document]:
    """Every line is a document of one paragraph; blank lines are left out."""
    for line in lines:
        text = line.strip()
        if text:
            yield Document(lines.place, (text,))


SEVERAL = 20
"""Fewer lines without a blank one between them are a document."""
ENDS = (*".!?…;:。！？؟।\"'”’»)]}",)
"""What a line ends in that ends a sentence."""
COLUMNS = (40, 200)
"""Between which widths prose is wrapped."""
FULL, MOST = 0.75, 0.6
"""Of wrapped prose at least the second share of lines has at least the first of the widest."""


def is_a_text_a_line(lines: Sequence[str]) -> bool:
    """Whether lines of a file are texts of their own, such as sentences, and not one document.

    They are many, none is blank, and they are not prose that is wrapped, whose lines are about as
    wide as each other and mostly end in the middle of a sentence.

    Args:
        lines: The first of the file.
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


OPENING = "<doc "
CLOSING = "</doc>"


def read_wikipedia(lines: Lines) -> Iterator[Document]:
    """One document per article, without its title, which is the first line after ``<doc ...>``.

    Blank lines separate paragraphs; the lines of one paragraph are joined by a blank.  Articles
    that hold nothing but a title are left out.

    Raises:
        CorpusError: There is text outside the articles, or an article does not end.
    """
    for line in lines:
        if line.startswith(OPENING):
            document = _article(lines)
            if document:
                yield document
        elif line.strip():
            raise CorpusError(
                f"{lines.place}: there is text outside <doc ...> and </doc>; if this is plain "
                "text, read it with the format 'paragraphs'."
            )


def _article(lines: Lines) -> Document | None:
    draft = Draft(lines.place)
    body = _body(lines, draft.name)
    for line in body:  # blank lines may come before the title
        if line:
            break
    paragraph: list[str] = []
    for line in body:
        if line:
            paragraph.append(line)
        else:
            draft.add(" ".join(paragraph))
            paragraph = []
    draft.add(" ".join(paragraph))
    return draft.finish()


def _body(lines: Lines, place: str) -> Iterator[str]:
    """The stripped lines up to ``</doc>``."""
    for line in lines:
        stripped = line.strip()
        if stripped == CLOSING:
            return
        if line.startswith(OPENING):
            break
        yield stripped
    raise CorpusError(
        f"{place}: the article that begins here has no </doc>; the file is cut short."
    )
