"""The head word and the kind of a mention, from annotation, phrase structure or words."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from headlight.corpora.sentence import PUNCTUATION_RELATION, Sentence
from headlight_words.corpora.coreference import HeadRule, KindRule, MentionKind
from headlight_words.corpora.trees import ROOT, depths

TOP = "TOP"
PIECES = re.compile(r"\(([^()*]+)|(\*)|(\))")


@dataclass(frozen=True, slots=True)
class Constituent:
    """A phrase, or a word when it has no children.

    Attributes:
        label: Category of the phrase, or part of speech of the word.
        first: Number of its first word.
        last: Number of its last word.
        children: Immediate constituents, in order.
    """

    label: str
    first: int
    last: int
    children: "tuple[Constituent, ...]" = ()


def constituents(bits: Sequence[str], tags: Sequence[str], start: int = 0) -> Constituent:
    """Return the tree of a sentence.

    Args:
        bits: Part of the tree at every word, with ``*`` in the place of the word: ``(NP*``.
        tags: Parts of speech of the words.
        start: Number of the first word.

    Raises:
        ValueError: The brackets are malformed or do not match; the second argument is the word.
    """
    stack: list[tuple[str, int, list[Constituent]]] = [(TOP, start, [])]
    for index, (bit, tag) in enumerate(zip(bits, tags, strict=True)):
        # What the pattern does not cover would be lost without a word.
        if "".join(match.group() for match in PIECES.finditer(bit)) != bit or bit.count("*") != 1:
            raise ValueError(f"{bit!r} is no part of a tree", index)
        for label, word, _ in PIECES.findall(bit):
            if label:  # without functions and indices: NP-SBJ-1 is NP
                category = re.split(r"[-=|]", label.strip())[0] or label
                stack.append((category, start + index, []))
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


def inside(tree: Constituent, first: int, last: int) -> tuple[str, tuple[Constituent, ...]]:
    """Return the largest constituents within a stretch of words, and their parent's category.

    When the stretch is a phrase, these are its children and its own category; of several such
    phrases, the innermost.
    """
    node = tree
    while below := next(
        (child for child in node.children if child.first <= first and last <= child.last), None
    ):
        node = below
    if node.children and (node.first, node.last) == (first, last):
        return node.label, node.children
    return node.label, tuple(_largest(node, first, last))


def _largest(node: Constituent, first: int, last: int) -> list[Constituent]:
    nodes = []
    waiting = [node]
    while waiting:
        node = waiting.pop()
        if first <= node.first and node.last <= last:
            nodes.append(node)
        else:
            overlapping = [c for c in node.children if c.first <= last and first <= c.last]
            waiting.extend(reversed(overlapping))
    return nodes


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
    """Return the number of the child that is the head of a phrase.

    Punctuation is passed over wherever there is anything else, and of conjuncts the one before the
    conjunction is taken.  Categories without rules are searched like noun phrases, since the
    phrases here are mentions.

    Source: Collins (1999), *Head-Driven Statistical Models for Natural Language Parsing*, App. A.
    """
    words = [n for n, label in enumerate(labels) if label not in PUNCTUATION]
    # A phrase of punctuation alone still has a head.
    words = words or list(range(len(labels)))
    kept_labels = [labels[n] for n in words]
    head = (
        _table_head(category, kept_labels) if category in RULES else _noun_phrase_head(kept_labels)
    )
    # A conjunct stands two places before the conjunction's other side.
    if head >= 2 and kept_labels[head - 1] == CONJUNCTION:
        head -= 2
    return words[head]


def _noun_phrase_head(labels: Sequence[str]) -> int:
    for end, wanted in NOUN_SEARCHES:
        place = _search(end, labels, wanted)
        if place is not None:
            return place
    return len(labels) - 1


def _table_head(category: str, labels: Sequence[str]) -> int:
    end, priorities = RULES[category]
    for label in priorities.split():
        place = _search(end, labels, {label})
        if place is not None:
            return place
    # Collins' tables end in the first or last child where no label matches.
    return 0 if end == LEFT else len(labels) - 1


def _search(end: str, labels: Sequence[str], wanted: frozenset[str] | set[str]) -> int | None:
    numbers = range(len(labels))
    order = numbers if end == LEFT else reversed(numbers)
    return next((n for n in order if labels[n] in wanted), None)


PRONOUNS = frozenset(
    {
        "i",
        "me",
        "my",
        "mine",
        "myself",
        "we",
        "us",
        "our",
        "ours",
        "ourselves",
        "you",
        "your",
        "yours",
        "yourself",
        "yourselves",
        "thou",
        "thee",
        "thy",
        "thine",
        "thyself",
        "ye",
        "he",
        "him",
        "his",
        "himself",
        "she",
        "her",
        "hers",
        "herself",
        "it",
        "its",
        "itself",
        "they",
        "them",
        "their",
        "theirs",
        "themselves",
        "em",
        "'em",
        "’em",
        "'s",
        "’s",
        "oneself",
        "who",
        "whom",
        "whose",
        "which",
        "what",
        "whoever",
        "whomever",
        "whatever",
        "this",
        "that",
        "these",
        "those",
        "someone",
        "somebody",
        "something",
        "anyone",
        "anybody",
        "anything",
        "everyone",
        "everybody",
        "everything",
        "nobody",
        "nothing",
    }
)
"""Words that are pronouns when they head a mention."""

PREPOSITIONS = frozenset(
    {
        "about",
        "above",
        "across",
        "after",
        "against",
        "along",
        "alongside",
        "amid",
        "amidst",
        "among",
        "amongst",
        "around",
        "as",
        "at",
        "before",
        "behind",
        "below",
        "beneath",
        "beside",
        "besides",
        "between",
        "beyond",
        "by",
        "concerning",
        "despite",
        "down",
        "during",
        "except",
        "for",
        "from",
        "in",
        "inside",
        "into",
        "like",
        "near",
        "of",
        "off",
        "on",
        "onto",
        "opposite",
        "out",
        "outside",
        "over",
        "past",
        "per",
        "since",
        "than",
        "through",
        "throughout",
        "till",
        "to",
        "toward",
        "towards",
        "under",
        "underneath",
        "unlike",
        "until",
        "unto",
        "up",
        "upon",
        "versus",
        "via",
        "with",
        "within",
        "without",
    }
)

RELATIVES = frozenset(
    {
        "that",
        "which",
        "who",
        "whom",
        "whose",
        "when",
        "where",
        "whereby",
        "wherein",
        "why",
    }
)
"""Words that begin a relative clause."""

CONJUNCTIONS = frozenset({"and", "or", "nor", "&"})


PASSED = frozenset(
    {
        "'s",
        "’s",
        "'",
        "’",
        "-",
        "‐",
        "‑",
        '"',
        "``",
        "''",
        "`",
        "‘",
        "“",
        "”",
        "«",
        "»",
    }
)
NO_NOUNS = PREPOSITIONS | RELATIVES | CONJUNCTIONS


def dependency_heads(sentences: Sequence[Sentence]) -> HeadRule:
    """Return the rule that takes the word whose governor lies outside the mention.

    Of several, punctuation aside, it takes the nearest to the root; of those, the first.
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
        # A mention that is one subtree has one such word; others have several.
        return min(outer, key=lambda word: (punctuation[word], depth[word], word))

    return head


def constituency_heads(trees: Sequence[Constituent]) -> HeadRule:
    """Return the rule that takes the head of the mention's phrase, by Collins (1999).

    A mention that is no phrase is treated as one: its largest phrases are the children, and their
    parent gives the category.  What reaches beyond its first sentence does not count.
    """
    # Word by word, so that the tree of a mention is found by its first word.
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
    """Return the rule for English texts without any syntax.

    The head is the last word before the first preposition, relative pronoun, conjunction or comma.
    Other punctuation ends the nouns that a mention begins with as a comma does; quotation marks,
    hyphens and the possessive are passed over.
    """

    def head(mention: Sequence[int]) -> int:
        # A mention that begins with a word that ends nouns would otherwise be empty.
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


UPOS: dict[str, MentionKind] = {"PRON": "pronoun", "PROPN": "proper"}
XPOS: dict[str, MentionKind] = {
    "PRP": "pronoun",
    "PRP$": "pronoun",
    "WP": "pronoun",
    "WP$": "pronoun",
    "NNP": "proper",
    "NNPS": "proper",
}
DEMONSTRATIVES = frozenset({"this", "that", "these", "those"})


def kinds(sentences: Sequence[Sentence]) -> KindRule:
    """Return the best rule that the annotation of a document allows.

    It reads universal parts of speech if there are any, else those of the Penn Treebank (where a
    demonstrative that heads a mention is a pronoun, too), else it is `surface_kinds`.
    """
    words = [word for sentence in sentences for word in sentence.words]
    if all(sentence.upos for sentence in sentences):
        tags = [tag for sentence in sentences for tag in sentence.upos]
        return lambda word: UPOS.get(tags[word], "nominal")
    if all(sentence.xpos for sentence in sentences):
        tags = [tag for sentence in sentences for tag in sentence.xpos]
        return lambda word: (
            # The Penn Treebank tags demonstratives as determiners.
            "pronoun" if words[word].lower() in DEMONSTRATIVES else XPOS.get(tags[word], "nominal")
        )
    return surface_kinds(sentences)


def surface_kinds(sentences: Sequence[Sentence]) -> KindRule:
    """Return the rule for English texts without parts of speech.

    A pronoun is a word of a closed list.  Of the others, a word that begins with a capital is a
    proper name; at the beginning of a sentence, and in a sentence all in capitals, only if the
    document has it with a capital elsewhere inside a sentence, or never in small letters.
    """
    words = [word for sentence in sentences for word in sentence.words]
    uncertain: list[bool] = []
    for sentence in sentences:
        capitals = not any(letter.islower() for word in sentence.words for letter in word)
        first = next((n for n, word in enumerate(sentence.words) if word[0].isalnum()), 0)
        uncertain += [capitals or n == first for n in range(len(sentence))]
    certain = {word for word, doubt in zip(words, uncertain, strict=True) if not doubt}
    written = set(words)

    def kind(number: int) -> MentionKind:
        word = words[number]
        if word.lower() in PRONOUNS:
            return "pronoun"
        if not word[0].isupper():
            return "nominal"
        # A capital that every word has at this place says nothing of this one.
        proper = not uncertain[number] or word in certain or word.lower() not in written
        return "proper" if proper else "nominal"

    return kind
