"""Heads as parsers by their definition: one sentence, one head, one word at a time; a few trees."""

import numpy as np

from headlight.corpora import Sentence

CLITICS = ("'s", "s'", "’s", "s’")


def sentence(text: str, name: str = "trees:1") -> Sentence:
    """From ``word/head/relation`` of every word."""
    rows = [word.split("/") for word in text.split()]
    words, heads, relations = zip(*rows, strict=True)
    return Sentence(name, words, tuple(map(int, heads)), relations)


TREES = [
    sentence("the/2/det dog/3/nsubj barked/0/root loudly/3/advmod ./3/punct", "trees:1"),
    sentence("Ann/3/poss 's/1/possessive dog/4/nsubj sleeps/0/root", "trees:8"),
    sentence("stop/0/root", "trees:14"),
    sentence("I/2/nsubj saw/0/root a/6/det very/5/advmod old/6/amod dog/2/dobj", "trees:17"),
]


def governor(scores: np.ndarray, word: int, direction: str) -> int | None:
    """Number from 1 of the predicted governor, from words × words scores of one head."""
    best = None
    for other in range(len(scores)):
        if other == word:
            continue
        score = scores[word, other] if direction == "dependent" else scores[other, word]
        if best is None or score > best[0]:
            best = (score, other + 1)
    return None if best is None else best[1]


def judged(tree: Sentence, kept: int, predicted: list[int | None], rule: bool) -> dict[int, bool]:
    """Whether each word that is evaluated is right; governors from 1, the root is 0."""
    found = {}
    for word in range(kept):
        if tree.heads[word] > kept:
            continue
        found[word] = predicted[word] == tree.heads[word]
        possessor = tree.relations[word] in ("poss", "nmod:poss")
        clitic = word + 1 < kept and tree.words[word + 1] in CLITICS
        if rule and possessor and clitic and predicted[word] != kept:
            found[word] = predicted[word + 1] == tree.heads[word]
    return found


def counts(
    trees: list[Sentence], kept: list[int], predicted: list[list[int | None]], rule: bool
) -> dict[str, tuple[int, int]]:
    """Right and all words of every relation."""
    found: dict[str, tuple[int, int]] = {}
    for tree, length, predictions in zip(trees, kept, predicted, strict=True):
        for word, correct in judged(tree, length, predictions, rule).items():
            name = tree.relations[word]
            one, two = found.get(name, (0, 0))
            found[name] = (one + correct, two + 1)
    return found


def labelled(tree: Sentence) -> Sentence:
    """With some relation, for a treebank that has none."""
    return Sentence(tree.name, tree.words, tree.heads, ("_",) * len(tree))
