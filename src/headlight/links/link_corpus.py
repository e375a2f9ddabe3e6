"""Files of word links, as a corpus."""

from collections.abc import Iterator, Sequence
from typing import cast, get_args

from headlight.corpora.archives import text_files
from headlight.corpora.compression import decompress
from headlight.corpora.corpus import Corpus, CorpusCounts, corpus_read_once
from headlight.corpora.files import files
from headlight.corpora.lines import Lines
from headlight.errors import CorpusError, UsageError
from headlight.files import Location, standard_input, storable
from headlight.links.link_lines import BASES, NUMBERED, LinkFormat, link_format, links_of_lines
from headlight.links.word_links import Gold, swapped
from headlight.settings import require_choice

LINK_FORMATS: tuple[LinkFormat, ...] = get_args(LinkFormat)
"""The formats that a file of word links may have."""

STANDARD_INPUT = "-"


def open_links(
    source: str | Location,
    *,
    format: str | None = None,
    base: int | None = None,
    swap: bool = False,
    sentences: int | None = None,
) -> Corpus[Gold]:
    """The links of each sentence, of a file, a pattern, a folder or standard input.

    Files may be compressed or archives, as for `headlight.corpora.open_corpus`.  Formats:

    * ``pharaoh``: a sentence a line, ``i-j`` for each link, words from 0; also with scores
      (``i-j:0.83``), and as fast_align, eflomal, awesome-align and simalign write it;
    * ``talp``: the same from 1, where ``ipj`` is a possible link that is not sure;
    * ``naacl``: a link a line, ``sentence i j`` from 1, then ``S`` (sure) or ``P``;
    * ``tsv``: a table with the columns sentence, source, target and perhaps kind, from 0;
    * ``jsonl``: ``{"links": [[0, 0], [1, 2]], "possible": [[2, 2]]}``, a sentence a line, from 0.

    Args:
        source: A path, a pattern, a folder, or ``-`` for standard input.
        format: One of `LINK_FORMATS`; by default the suffix says it (``.talp``, ``.naacl``), else
            the first line.
        base: The number of the first word, if it is another than that of the format.
        swap: Whether the file has the word of the target first.
        sentences: How many there must be; of files that number them, the last may be missing.

    Raises:
        UsageError: The format or the base is unknown.
        CorpusError: There is no such file; when it is read, a line is in another format, a word has
            a number below the base, or there are more or fewer sentences.
    """
    _check(format, base)
    name = "standard input" if source == STANDARD_INPUT else storable(source)
    paths: Sequence[Location] = [] if source == STANDARD_INPUT else files(source)

    def read(_: CorpusCounts) -> Iterator[Gold]:
        opened = (lines for path in paths for lines in text_files(path)) if paths else _standard()
        found = _all_links(opened, format, base, sentences)
        return (_swapped(links) for links in found) if swap else found

    make = Corpus if paths else corpus_read_once
    return make(name, read, "links")


def links_signature(source: str | Location, format: str | None, base: int | None) -> str:
    """Format and base of the first file, as in ``talp1``.

    Raises:
        UsageError: The format or the base is unknown.
        CorpusError: There is no such file.
    """
    _check(format, base)
    chosen = format
    if chosen is None:
        chosen = next(link_format(lines) for lines in text_files(files(source)[0]))
    return f"{chosen}{BASES[cast('LinkFormat', chosen)] if base is None else base}"


def _check(format: str | None, base: int | None) -> None:
    if format is not None:
        require_choice("format of word links", format, LINK_FORMATS)
    if base not in (None, 0, 1):
        raise UsageError(f"words are counted from 0 or from 1, not from {base}.")


def _standard() -> Iterator[Lines]:
    yield Lines(decompress(standard_input()), "standard input")


def _all_links(
    opened: Iterator[Lines], format: str | None, base: int | None, sentences: int | None
) -> Iterator[Gold]:
    """The links in all files, of as many sentences as there must be."""
    number = 0
    last, chosen = "", "pharaoh"
    for lines in opened:
        chosen = format or link_format(lines)
        kind = cast("LinkFormat", chosen)
        for links in links_of_lines(lines, kind, BASES[kind] if base is None else base):
            number += 1
            if sentences is not None and number > sentences:
                raise CorpusError(
                    f"{lines.place}: there must be {sentences:,} sentences, and here is one more; "
                    "give links of the same sentences."
                )
            yield links
        last = lines.place
    if sentences is None or number == sentences:
        return
    if chosen not in NUMBERED:
        raise CorpusError(
            f"{last}: there must be {sentences:,} sentences, and the file ends after {number:,}; "
            "give links of the same sentences."
        )
    for _ in range(sentences - number):
        yield Gold(frozenset(), frozenset())


def _swapped(links: Gold) -> Gold:
    return Gold(swapped(links.sure), swapped(links.possible), links.name)
