"""Whether a mention is a pronoun, a proper name or something else, by its head word."""

from collections.abc import Callable, Sequence

from headlight.corpora.english import PRONOUNS
from headlight.corpora.sentence import MentionKind, Sentence

KindRule = Callable[[int], MentionKind]
"""From the head word of a mention, by its number in the document, to its kind."""

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
