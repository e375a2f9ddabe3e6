"""Sentences with gold trees: who governs whom."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from headlight.errors import CorpusError

ROOT = 0
"""The number that a governor has where there is none."""
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


def fault(heads: Sequence[int], *, one_root: bool) -> tuple[int, str] | None:
    """Return why `heads` are no tree: the number of a word, from 0, and a complaint; else None.

    Args:
        heads: For every word the number of its governor, from 1, within the sentence; 0 for roots.
        one_root: Whether a second root is a fault.
    """
    roots = [word for word, head in enumerate(heads) if head == ROOT]
    if not roots:
        return 0, "no word of the sentence is its root (head 0)"
    if one_root and len(roots) > 1:
        return roots[1], f"the sentence has {len(roots)} roots (head 0) instead of one"
    word = _in_a_cycle(heads)
    if word is not None:
        return word, f"word {word + 1} governs itself, directly or through others"
    return None


def depths(heads: Sequence[int]) -> list[int]:
    """For every word of a tree the number of words above it."""
    depth = [-1] * len(heads)
    for word in range(len(heads)):
        path = []
        while word >= 0 and depth[word] < 0:
            path.append(word)
            word = heads[word] - 1
        above = depth[word] if word >= 0 else -1
        for distance, below in enumerate(reversed(path), start=1):
            depth[below] = above + distance
    return depth


def _in_a_cycle(heads: Sequence[int]) -> int | None:
    # Every word is entered once: it remembers from which word the walk towards the root began.
    walk = [-1] * len(heads)
    for start in range(len(heads)):
        word = start
        while word >= 0 and walk[word] < 0:
            walk[word] = start
            word = heads[word] - 1
        if word >= 0 and walk[word] == start:
            return word
    return None
