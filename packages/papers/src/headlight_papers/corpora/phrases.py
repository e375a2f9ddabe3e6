"""Phrase-structure trees from the bracket column of CoNLL-2012, and the heads of phrases."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

TOP = "TOP"
PIECES = re.compile(r"\(([^()*]+)|(\*)|(\))")


@dataclass(frozen=True, slots=True)
class Constituent:
    """A phrase, or a word when it has no children.

    Attributes:
        label: Category of the phrase, or part of speech of the word.
        first: Number of its first word.
        last: Number of its last word.
        children: What it consists of, in order.
    """

    label: str
    first: int
    last: int
    children: "tuple[Constituent, ...]" = ()


def constituents(bits: Sequence[str], tags: Sequence[str], start: int = 0) -> Constituent:
    """The tree of a sentence.

    Args:
        bits: For every word its part of the tree, with ``*`` in the place of the word: ``(NP*``.
        tags: Parts of speech.
        start: Number of the first word.

    Raises:
        ValueError: The brackets are malformed or do not match; the second argument is the word.
    """
    stack: list[tuple[str, int, list[Constituent]]] = [(TOP, start, [])]
    for index, (bit, tag) in enumerate(zip(bits, tags, strict=True)):
        if "".join(match.group() for match in PIECES.finditer(bit)) != bit or bit.count("*") != 1:
            raise ValueError(f"{bit!r} is no part of a tree", index)
        for label, word, _ in PIECES.findall(bit):
            if label:
                stack.append((_category(label), start + index, []))
            elif word:
                stack[-1][2].append(Constituent(tag, start + index, start + index))
            else:
                _close(stack, start, index)
    if len(stack) > 1:
        raise ValueError(f"the phrase {stack[-1][0]!r} is not closed", stack[-1][1] - start)
    return Constituent(TOP, start, start + len(bits) - 1, tuple(stack[0][2]))


def _close(stack: list[tuple[str, int, list[Constituent]]], start: int, index: int) -> None:
    if len(stack) == 1:
        raise ValueError("a phrase is closed that was never opened", index)
    label, first, children = stack.pop()
    if not children:
        raise ValueError(f"the phrase {label!r} is empty", index)
    stack[-1][2].append(Constituent(label, first, start + index, tuple(children)))


def _category(label: str) -> str:
    """The label without functions and indices: ``NP-SBJ-1`` is ``NP``."""
    return re.split(r"[-=|]", label.strip())[0] or label


def inside(tree: Constituent, first: int, last: int) -> tuple[str, tuple[Constituent, ...]]:
    """The largest constituents within a stretch of words, and the category they are part of.

    When the stretch is a phrase, these are its children and its own category; of several such
    phrases, the innermost.
    """
    node = tree
    while below := _child_over(node, first, last):
        node = below
    if node.children and (node.first, node.last) == (first, last):
        return node.label, node.children
    return node.label, tuple(_largest(node, first, last))


def _child_over(node: Constituent, first: int, last: int) -> Constituent | None:
    return next((c for c in node.children if c.first <= first and last <= c.last), None)


def _largest(node: Constituent, first: int, last: int) -> list[Constituent]:
    found = []
    waiting = [node]
    while waiting:
        node = waiting.pop()
        if first <= node.first and node.last <= last:
            found.append(node)
        else:
            overlapping = [c for c in node.children if c.first <= last and first <= c.last]
            waiting.extend(reversed(overlapping))
    return found


PUNCTUATION = frozenset({",", ".", ":", "``", "''", "-LRB-", "-RRB-", "HYPH", "NFP"})
CONJUNCTION = "CC"

LEFT, RIGHT = "left", "right"

# For each category: from which end its children are searched, and for what, in order of priority.
RULES: dict[str, tuple[str, str]] = {
    "ADJP": (LEFT, "NNS QP NN $ ADVP JJ VBN VBG ADJP JJR NP JJS DT FW RBR RBS SBAR RB"),
    "ADVP": (RIGHT, "RB RBR RBS FW ADVP TO CD JJR JJ IN NP JJS NN"),
    "CONJP": (RIGHT, "CC RB IN"),
    "FRAG": (RIGHT, ""),
    "INTJ": (LEFT, ""),
    "LST": (RIGHT, "LS :"),
    "NAC": (LEFT, "NN NNS NNP NNPS NP NAC EX $ CD QP PRP VBG JJ JJS JJR ADJP FW"),
    "PP": (RIGHT, "IN TO VBG VBN RP FW"),
    "PRN": (LEFT, ""),
    "PRT": (RIGHT, "RP"),
    "QP": (LEFT, "$ IN NNS NN JJ RB DT CD NCD QP JJR JJS"),
    "RRC": (RIGHT, "VP NP ADVP ADJP PP"),
    "S": (LEFT, "TO IN VP S SBAR ADJP UCP NP"),
    "SBAR": (LEFT, "WHNP WHPP WHADVP WHADJP IN DT S SQ SINV SBAR FRAG"),
    "SBARQ": (LEFT, "SQ S SINV SBARQ FRAG"),
    "SINV": (LEFT, "VBZ VBD VBP VB MD VP S SINV ADJP NP"),
    "SQ": (LEFT, "VBZ VBD VBP VB MD VP SQ"),
    "UCP": (RIGHT, ""),
    "VP": (LEFT, "TO VBD VBN MD VBZ VB VBG VBP VP ADJP NN NNS NP"),
    "WHADJP": (LEFT, "CC WRB JJ ADJP"),
    "WHADVP": (RIGHT, "CC WRB"),
    "WHNP": (LEFT, "WDT WP WP$ WHADJP WHPP WHNP"),
    "WHPP": (RIGHT, "IN TO FW"),
}

# Noun phrases have searches of their own, each for any of several labels at once.
NOUN_SEARCHES = (
    (RIGHT, frozenset({"NN", "NNP", "NNPS", "NNS", "NX", "NML", "POS", "JJR"})),
    (LEFT, frozenset({"NP"})),
    (RIGHT, frozenset({"$", "ADJP", "PRN"})),
    (RIGHT, frozenset({"CD"})),
    (RIGHT, frozenset({"JJ", "JJS", "RB", "QP"})),
)


def head_child(category: str, labels: Sequence[str]) -> int:
    """The number of the child that is the head of a phrase.

    Punctuation is passed over wherever there is anything else, and of conjuncts the one before the
    conjunction is taken.  Categories without rules are searched like noun phrases, since what is
    asked about here are mentions.

    Source: Collins (1999), *Head-Driven Statistical Models for Natural Language Parsing*, App. A.
    """
    words = [n for n, label in enumerate(labels) if label not in PUNCTUATION]
    words = words or list(range(len(labels)))
    kept = [labels[n] for n in words]
    head = _by_table(category, kept) if category in RULES else _of_noun_phrase(kept)
    if head >= 2 and kept[head - 1] == CONJUNCTION:
        head -= 2
    return words[head]


def _of_noun_phrase(labels: Sequence[str]) -> int:
    for end, wanted in NOUN_SEARCHES:
        found = _search(end, labels, wanted)
        if found is not None:
            return found
    return len(labels) - 1


def _by_table(category: str, labels: Sequence[str]) -> int:
    end, priorities = RULES[category]
    for label in priorities.split():
        found = _search(end, labels, {label})
        if found is not None:
            return found
    return 0 if end == LEFT else len(labels) - 1


def _search(end: str, labels: Sequence[str], wanted: frozenset[str] | set[str]) -> int | None:
    numbers = range(len(labels))
    order = numbers if end == LEFT else reversed(numbers)
    return next((n for n in order if labels[n] in wanted), None)
