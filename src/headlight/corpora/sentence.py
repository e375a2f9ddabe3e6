"""Sentences and documents with gold annotations: who governs whom, and who is whom."""

from dataclasses import dataclass
from typing import Literal

ROOT = 0
"""The number that a governor has where there is none."""

MentionKind = Literal["pronoun", "proper", "nominal"]


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of a treebank; all annotations are of one length, or empty where there are none.

    Attributes:
        name: File and line of its first word, for messages: ``"dev.conllu:12"``.
        words: The syntactic words, as they are written.
        heads: For every word the number of its governor, from 1; 0 for the root.
        relations: The relation of every word to its governor, as ``nsubj`` or ``nmod:poss``.
        upos: Universal parts of speech.
        xpos: Parts of speech of the treebank's own language or tradition.
        document: What document it belongs to; empty where the file does not say.
    """

    name: str
    words: tuple[str, ...]
    heads: tuple[int, ...] = ()
    relations: tuple[str, ...] = ()
    upos: tuple[str, ...] = ()
    xpos: tuple[str, ...] = ()
    document: str = ""

    def __len__(self) -> int:
        return len(self.words)


@dataclass(frozen=True, slots=True)
class Mention:
    """A stretch of words that refers to something.

    Attributes:
        chain: Mentions of one chain, within a document, refer to the same.
        first: Number of its first word in the document, from 0.
        last: Number of its last word, which is part of it.
        head: Number of its head word.
        kind: ``pronoun``, ``proper`` or ``nominal``, by its head word.
    """

    chain: str
    first: int
    last: int
    head: int
    kind: MentionKind


@dataclass(frozen=True, slots=True)
class CoreferenceDocument:
    """A document with its sentences and its mentions.

    Attributes:
        name: File and document, for messages.
        sentences: In order; words of the document are counted through all of them.
        mentions: In the order of `first`, longer ones before shorter ones.
    """

    name: str
    sentences: tuple[Sentence, ...]
    mentions: tuple[Mention, ...]

    @property
    def words(self) -> tuple[str, ...]:
        """All words, in order."""
        return tuple(word for sentence in self.sentences for word in sentence.words)
