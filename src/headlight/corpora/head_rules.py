"""Which child of a phrase is its head: the rules of Collins (1999), Appendix A."""

from collections.abc import Sequence

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
NOUN_PHRASES = frozenset({"NP", "NX", "NML", "TOP"})
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
