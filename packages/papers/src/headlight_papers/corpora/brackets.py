"""Mentions that brackets open and close, within one document."""

from dataclasses import dataclass

from headlight.errors import CorpusError


@dataclass(frozen=True, slots=True)
class Part:
    """Part of a mention that a bracket means: 1 of 1, except of discontinuous mentions."""

    number: int = 1
    count: int = 1


@dataclass(frozen=True, slots=True)
class Span:
    """A mention: its chain, and the first and the last word of each of its parts.

    In a part that covers empty nodes only, the last word comes before the first.
    """

    chain: str
    parts: tuple[tuple[int, int], ...]


WHOLE = Part()


class Brackets:
    """The brackets of one document, in the order of the text.

    Brackets of one chain may nest; the one that closes belongs to the one opened last.
    """

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self._open: dict[tuple[str, Part], list[tuple[int, str]]] = {}
        self._incomplete: dict[tuple[str, int], tuple[str, list[tuple[int, int]]]] = {}

    def open(self, chain: str, word: int, place: str, part: Part = WHOLE) -> None:
        """A mention, or a part of one, begins at a word; `place` is for messages."""
        self._open.setdefault((chain, part), []).append((word, place))

    def close(self, chain: str, word: int, place: str, part: Part = WHOLE) -> None:
        """The mention of the chain that was opened last ends at a word.

        Raises:
            CorpusError: None is open, or the parts of a mention are out of order.
        """
        waiting = self._open.get((chain, part))
        if not waiting:
            raise CorpusError(
                f"{place}: a mention of chain {chain!r} is closed that was never opened; "
                "correct the document."
            )
        first, _ = waiting.pop()
        if part.count == 1:
            self.spans.append(Span(chain, ((first, word),)))
        else:
            self._add_part(chain, part, (first, word), place)

    def finish(self) -> list[Span]:
        """All mentions of the document, which ends here.

        Raises:
            CorpusError: A mention is still open, or lacks a part.
        """
        for (chain, _), waiting in self._open.items():
            if waiting:
                raise CorpusError(
                    f"{waiting[-1][1]}: the mention of chain {chain!r} that opens here is not "
                    "closed within its document; correct the document."
                )
        for (chain, count), (place, parts) in self._incomplete.items():
            raise CorpusError(
                f"{place}: a mention of chain {chain!r} has {len(parts)} of its {count} parts "
                "only; correct the document."
            )
        return self.spans

    def _add_part(self, chain: str, part: Part, words: tuple[int, int], place: str) -> None:
        _, parts = self._incomplete.get((chain, part.count), (place, []))
        parts.append(words)
        self._incomplete[chain, part.count] = place, parts
        if part.number != len(parts):
            raise CorpusError(
                f"{place}: part {part.number} of {part.count} of a mention of chain {chain!r} is "
                f"found where part {len(parts)} should be; correct the document."
            )
        if part.number == part.count:
            self.spans.append(Span(chain, tuple(parts)))
            del self._incomplete[chain, part.count]
