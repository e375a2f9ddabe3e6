"""Phrase-structure trees from the bracket column of CoNLL-2012."""

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
