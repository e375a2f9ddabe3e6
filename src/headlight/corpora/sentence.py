"""Sentences of words, with their trees and parts of speech where these are known."""

import unicodedata
from dataclasses import dataclass

from headlight.errors import CorpusError

PUNCTUATION_RELATION = "punct"
"""Relation of punctuation marks, with or without a subtype."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """Sentence of a treebank; all annotations have one length, or are empty where there are none.

    Attributes:
        name: File and line of its first word, for messages: ``"dev.conllu:12"``.
        words: Syntactic words, as they are written.
        heads: Number of the governor of every word, from 1; 0 for the root.
        relations: Relation of every word to its governor, such as ``nsubj`` or ``nmod:poss``.
        upos: Universal parts of speech.
        xpos: Parts of speech of the treebank's own language or tradition.
        document: Document that it belongs to; empty where the file does not say.
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
            CorpusError: The words have no governors.
        """
        if len(self.heads) != len(self):
            raise CorpusError(f"{self.name} has no heads; give a treebank with gold trees.")

    def is_punctuation(self, word: int) -> bool:
        """Return whether a word is punctuation, by its relation, or else by its characters."""
        if self.relations:
            return self.relations[word].partition(":")[0] == PUNCTUATION_RELATION
        return all(
            unicodedata.category(character).startswith("P") for character in self.words[word]
        )
