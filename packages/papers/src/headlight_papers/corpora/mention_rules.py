"""The head word of a mention, and its kind: from annotation where there is one, else from words."""

from collections.abc import Sequence

from headlight.corpora.trees import PUNCTUATION_RELATION, ROOT, Sentence, depths
from headlight_papers.corpora.coreference import HeadRule, KindRule, MentionKind
from headlight_papers.corpora.phrases import Constituent, head_child, inside

PRONOUNS = frozenset({
    "i", "me", "my", "mine", "myself", "we", "us", "our", "ours", "ourselves",
    "you", "your", "yours", "yourself", "yourselves", "thou", "thee", "thy", "thine", "thyself",
    "ye", "he", "him", "his", "himself", "she", "her", "hers", "herself",
    "it", "its", "itself", "they", "them", "their", "theirs", "themselves", "em", "'em", "’em",
    "'s", "’s", "oneself", "who", "whom", "whose", "which", "what", "whoever", "whomever",
    "whatever", "this", "that", "these", "those",
    "someone", "somebody", "something", "anyone", "anybody", "anything", "everyone", "everybody",
    "everything", "nobody", "nothing",
})  # fmt: skip
"""Words that are pronouns when they head a mention."""

PREPOSITIONS = frozenset({
    "about", "above", "across", "after", "against", "along", "alongside", "amid", "amidst", "among",
    "amongst", "around", "as", "at", "before", "behind", "below", "beneath", "beside", "besides",
    "between", "beyond", "by", "concerning", "despite", "down", "during", "except", "for", "from",
    "in", "inside", "into", "like", "near", "of", "off", "on", "onto", "opposite", "out", "outside",
    "over", "past", "per", "since", "than", "through", "throughout", "till", "to", "toward",
    "towards", "under", "underneath", "unlike", "until", "unto", "up", "upon", "versus", "via",
    "with", "within", "without",
})  # fmt: skip

RELATIVES = frozenset({
    "that", "which", "who", "whom", "whose", "when", "where", "whereby", "wherein", "why",
})  # fmt: skip
"""Words that begin a relative clause."""

CONJUNCTIONS = frozenset({"and", "or", "nor", "&"})


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


UPOS: dict[str, MentionKind] = {"PRON": "pronoun", "PROPN": "proper"}
XPOS: dict[str, MentionKind] = {
    "PRP": "pronoun", "PRP$": "pronoun", "WP": "pronoun", "WP$": "pronoun",
    "NNP": "proper", "NNPS": "proper",
}  # fmt: skip
DEMONSTRATIVES = frozenset({"this", "that", "these", "those"})


def kinds(sentences: Sequence[Sentence]) -> KindRule:
    """The best rule that the annotation of a document allows.

    Universal parts of speech if there are any, else those of the Penn Treebank (where a
    demonstrative that heads a mention is a pronoun, too), else `surface_kinds`.
    """
    words = [word for sentence in sentences for word in sentence.words]
    if all(sentence.upos for sentence in sentences):
        tags = [tag for sentence in sentences for tag in sentence.upos]
        return lambda word: UPOS.get(tags[word], "nominal")
    if all(sentence.xpos for sentence in sentences):
        tags = [tag for sentence in sentences for tag in sentence.xpos]
        return lambda word: (
            "pronoun" if words[word].lower() in DEMONSTRATIVES else XPOS.get(tags[word], "nominal")
        )
    return surface_kinds(sentences)


def surface_kinds(sentences: Sequence[Sentence]) -> KindRule:
    """The rule for English texts without parts of speech.

    A pronoun is a word of a closed list.  Of the others, a word that begins with a capital is a
    proper name; at the beginning of a sentence, and in a sentence all in capitals, only if the
    document has it with a capital elsewhere inside a sentence, or never in small letters.
    """
    words = [word for sentence in sentences for word in sentence.words]
    uncertain: list[bool] = []
    for sentence in sentences:
        capitals = not any(_is_lower(word) for word in sentence.words)
        first = next((n for n, word in enumerate(sentence.words) if word[0].isalnum()), 0)
        uncertain += [capitals or n == first for n in range(len(sentence))]
    certain = {word for word, doubt in zip(words, uncertain, strict=True) if not doubt}
    every = set(words)

    def kind(number: int) -> MentionKind:
        word = words[number]
        if word.lower() in PRONOUNS:
            return "pronoun"
        if not word[0].isupper():
            return "nominal"
        proper = not uncertain[number] or word in certain or word.lower() not in every
        return "proper" if proper else "nominal"

    return kind


def _is_lower(word: str) -> bool:
    return any(character.islower() for character in word)
