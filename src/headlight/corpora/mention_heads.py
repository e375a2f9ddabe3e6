"""The head word of a mention: from a tree where there is one, else from the words."""

from collections.abc import Callable, Sequence

from headlight.corpora.constituency import Constituent, inside
from headlight.corpora.english import CONJUNCTIONS, PREPOSITIONS, RELATIVES
from headlight.corpora.head_rules import head_child
from headlight.corpora.sentence import ROOT, Sentence
from headlight.corpora.trees import depths

HeadRule = Callable[[Sequence[int]], int]
"""From the words of a mention, by their numbers in the document, to its head."""

PUNCTUATION_RELATION = "punct"
PASSED = frozenset({
    "'s", "’s", "'", "’", "-", "‐", "‑", '"', "``", "''", "`", "‘", "“", "”", "«", "»",
})  # fmt: skip
NO_NOUNS = PREPOSITIONS | RELATIVES | CONJUNCTIONS


def dependency_heads(sentences: Sequence[Sentence]) -> HeadRule:
    """The word whose governor lies outside the mention.

    Of several, punctuation aside, the one nearest to the root; of those, the first.
    """
    governors: list[int] = []
    depth: list[int] = []
    punctuation: list[bool] = []
    for sentence in sentences:
        start = len(governors)
        governors += [-1 if head == ROOT else start + head - 1 for head in sentence.heads]
        depth += depths(sentence.heads)
        relations = sentence.relations or ("",) * len(sentence)
        punctuation += [relation == PUNCTUATION_RELATION for relation in relations]

    def head(words: Sequence[int]) -> int:
        within = set(words)
        outer = [word for word in words if governors[word] not in within]
        return min(outer, key=lambda word: (punctuation[word], depth[word], word))

    return head


def constituency_heads(trees: Sequence[Constituent]) -> HeadRule:
    """The head of the phrase that the mention is, by the rules of Collins (1999).

    A mention that is no phrase is treated as one: its largest phrases are the children, and their
    parent gives the category.  What reaches beyond its first sentence does not count.
    """
    tree_of = [tree for tree in trees for _ in range(tree.first, tree.last + 1)]

    def head(words: Sequence[int]) -> int:
        tree = tree_of[words[0]]
        category, children = inside(tree, words[0], min(words[-1], tree.last))
        while children:
            chosen = children[head_child(category, [child.label for child in children])]
            category, children = chosen.label, chosen.children
        return chosen.first

    return head


def surface_heads(words: Sequence[str]) -> HeadRule:
    """The last word before the first preposition, relative pronoun, conjunction or comma.

    The rule for English texts without any syntax.  Other punctuation ends the nouns that a mention
    begins with as a comma does; quotation marks, hyphens and the possessive are passed over.
    """

    def head(mention: Sequence[int]) -> int:
        start = next((n for n, word in enumerate(mention) if not _ends_nouns(words[word])), 0)
        end = start + 1
        while end < len(mention) and not _ends_nouns(words[mention[end]]):
            end += 1
        nouns = mention[start:end]
        return next((word for word in reversed(nouns) if words[word] not in PASSED), nouns[-1])

    return head


def _ends_nouns(word: str) -> bool:
    if word.lower() in NO_NOUNS:
        return True
    return word not in PASSED and not any(character.isalnum() for character in word)
