"""Sentences of words, with their trees and parts of speech where these are known."""

import unicodedata
from dataclasses import dataclass

from headlight.errors import CorpusError

PUNCTUATION_RELATION = "punct"
"""The relation of punctuation marks, with or without a subtype."""


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

    def require_tree(self) -> None:
        """Refuse a sentence without a gold tree.

        Raises:
            CorpusError: its words have no governors.
        """
        if len(self.heads) != len(self):
            raise CorpusError(f"{self.name} has no heads; give a treebank with gold trees.")

    def is_punctuation(self, word: int) -> bool:
        """By the relation of the word; where there are no relations, by its characters."""
        if self.relations:
            return self.relations[word].partition(":")[0] == PUNCTUATION_RELATION
        return all(unicodedata.category(each).startswith("P") for each in self.words[word])
