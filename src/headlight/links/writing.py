"""Word links as text, a sentence at a time."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from headlight.errors import UsageError
from headlight.links.link_corpus import LINK_FORMATS
from headlight.links.link_lines import COLUMNS
from headlight.links.word_links import Gold, Link, Scores
from headlight.settings import require_choice

Words = tuple[Sequence[str], Sequence[str]]
"""Of source and target."""

NO_SCORES: Scores = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class LinkWriter:
    """Text of the links of one sentence after the other, as `open_links` reads it.

    Args:
        format: One of `LINK_FORMATS`.
        scores: Whether scores are written, too; all formats but ``talp`` have a place for them.
        words: Whether the words are written, too, in ``tsv`` and ``jsonl``.

    Raises:
        UnknownNameError: There is no such format.
        UsageError: The format has no place for scores, or for words.
    """

    format: str = "pharaoh"
    scores: bool = False
    words: bool = False

    def __post_init__(self) -> None:
        require_choice("format of word links", self.format, LINK_FORMATS)
        if self.scores and self.format == "talp":
            raise UsageError("the format talp has no place for scores; choose another.")
        if self.words and self.format not in ("tsv", "jsonl"):
            raise UsageError(f"the format {self.format} has no place for words; choose tsv.")

    @property
    def header(self) -> str:
        """Return the text before the first sentence."""
        if self.format != "tsv":
            return ""
        names = [*COLUMNS, *(["score"] if self.scores else [])]
        return "\t".join([*names, *(["source_word", "target_word"] if self.words else [])]) + "\n"

    def text(
        self,
        number: int,
        links: Gold | Iterable[Link],
        scores: Scores = NO_SCORES,
        words: Words = ((), ()),
    ) -> str:
        """The lines of a sentence, with its links sorted by source and target.

        In ``naacl`` and ``tsv`` a link is a line, and a sentence without links has none.

        Args:
            number: Of the sentence, from 0.
            links: Its links.
            scores: Those of its links, if they are written.
            words: Its words, if they are written.
        """
        gold = links if isinstance(links, Gold) else Gold.of(links)
        return _WRITERS[self.format](self, number, gold, scores, words)


def _dash_line(base: int, unsure: str) -> "Writer":
    def write(writer: LinkWriter, number: int, gold: Gold, scores: Scores, words: Words) -> str:
        shown = [
            f"{i + base}{'-' if (i, j) in gold.sure else unsure}{j + base}"
            + _score(writer, (i, j), scores, ":")
            for i, j in sorted(gold.possible)
        ]
        return " ".join(shown) + "\n"

    return write


def _naacl_lines(writer: LinkWriter, number: int, gold: Gold, scores: Scores, words: Words) -> str:
    return "".join(
        f"{number + 1} {i + 1} {j + 1} {_kind(gold, (i, j))}{_score(writer, (i, j), scores, ' ')}\n"
        for i, j in sorted(gold.possible)
    )


def _table_lines(writer: LinkWriter, number: int, gold: Gold, scores: Scores, words: Words) -> str:
    rows = []
    for i, j in sorted(gold.possible):
        row = [str(number), str(i), str(j), _kind(gold, (i, j))]
        row += [_score(writer, (i, j), scores, "")] if writer.scores else []
        row += [words[0][i], words[1][j]] if writer.words else []
        rows.append("\t".join(row) + "\n")
    return "".join(rows)


def _json_line(writer: LinkWriter, number: int, gold: Gold, scores: Scores, words: Words) -> str:
    row: dict[str, object] = {"links": sorted(gold.sure)}
    if gold.only_possible:
        row["possible"] = sorted(gold.only_possible)
    if writer.scores:
        known = [
            [i, j, float(f"{scores[i, j]:.6g}")] for i, j in sorted(gold.possible & set(scores))
        ]
        row["scores"] = known
    if writer.words:
        row |= {"source": list(words[0]), "target": list(words[1])}
    return json.dumps(row, ensure_ascii=False) + "\n"


def _kind(gold: Gold, link: Link) -> str:
    return "S" if link in gold.sure else "P"


def _score(writer: LinkWriter, link: Link, scores: Scores, before: str) -> str:
    known = writer.scores and link in scores
    return f"{before}{scores[link]:.6g}" if known else ""


Writer = Callable[[LinkWriter, int, Gold, Scores, Words], str]

_WRITERS: dict[str, Writer] = {
    "pharaoh": _dash_line(0, "-"),
    "talp": _dash_line(1, "p"),
    "naacl": _naacl_lines,
    "tsv": _table_lines,
    "jsonl": _json_line,
}
