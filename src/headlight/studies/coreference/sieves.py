"""The sieves of a rule-based resolver: who is like whom, from strict to lax.

Source: Clark et al. (2019), Section 4.3, after Lee et al. (2011): "(1) full string match, (2) head
word match, (3) number/gender/person match, (4) all other mentions".
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool

from headlight.corpora import Mention
from headlight.studies.coreference.settings import SieveName
from headlight.studies.coreference.word_lists import (
    FIRST_NAMES,
    GROUPS,
    NOUNS,
    PEOPLE,
    PLURALS,
    PRONOUNS,
    TITLES,
    Gender,
    Number,
    Person,
)

PLURAL_TAGS = frozenset({"NNS", "NNPS"})
SINGULAR_TAGS = frozenset({"NN", "NNP"})
SINGULAR_ENDINGS = ("ss", "us", "is")

Alike = Bool[np.ndarray, "candidate candidate"]
"""Whether two mentions of a window satisfy a sieve."""

Sieve = Callable[[Sequence[Mention], Sequence[str], Sequence[str]], Alike]
"""From mentions, words and tags of a window to `Alike`."""


def same_string(mentions: Sequence[Mention], words: Sequence[str], tags: Sequence[str]) -> Alike:
    """The same words from the first to the last, capitals apart."""
    spans = (words[mention.first : mention.last + 1] for mention in mentions)
    return _equal([tuple(word.casefold() for word in span) for span in spans])


def same_head(mentions: Sequence[Mention], words: Sequence[str], tags: Sequence[str]) -> Alike:
    """The same head word, capitals apart."""
    return _equal([words[mention.head].casefold() for mention in mentions])


def agreement(mentions: Sequence[Mention], words: Sequence[str], tags: Sequence[str]) -> Alike:
    """The same number, gender and person; what is not known agrees with everything."""
    known = [attributes(mention, words, tags) for mention in mentions]
    number = _compatible([each.number for each in known])
    gender = _compatible([each.gender for each in known])
    person = _compatible([each.person for each in known])
    agreeing: Alike = number & gender & person
    return agreeing


def anything(mentions: Sequence[Mention], words: Sequence[str], tags: Sequence[str]) -> Alike:
    """Every two mentions."""
    return np.ones((len(mentions), len(mentions)), dtype=bool)


SIEVES: Mapping[SieveName, Sieve] = {
    "string": same_string,
    "head": same_head,
    "agreement": agreement,
    "anything": anything,
}
"""All sieves, in the order of the paper."""


@dataclass(frozen=True, slots=True)
class Attributes:
    """What is known of a mention; None agrees with everything.

    Attributes:
        number: ``singular``, ``plural``, or not known.
        gender: ``masculine``, ``feminine``, ``neuter``, or not known.
        person: 1, 2 or 3; all that is no pronoun is 3.
    """

    number: Number | None
    gender: Gender | None
    person: Person


def attributes(mention: Mention, words: Sequence[str], tags: Sequence[str]) -> Attributes:
    """Number, gender and person of one mention.

    Pronouns are looked up.  Of other mentions the head word's tag (Penn Treebank) decides the
    number, else its ending; nouns for groups have none.  The gender of a proper name is that of a
    title or first name in it; of a common noun that of the lists, none for other people, and
    ``neuter`` for all else.  A proper name with *and* in it is plural.

    Args:
        mention: Its words are counted as `words` are.
        words: Of the window.
        tags: The part of speech of each; empty where there is none.
    """
    head = words[mention.head].casefold()
    if head in PRONOUNS and mention.kind == "pronoun":
        person, number, gender = PRONOUNS[head]
        return Attributes(number, gender, person)
    inside = [word.casefold().rstrip(".") for word in words[mention.first : mention.last + 1]]
    if mention.kind == "proper":
        plural = "and" in inside
        return Attributes(
            "plural" if plural else _number(head, tags[mention.head]),
            None if plural else _gender_of_name(inside),
            3,
        )
    return Attributes(_number(head, tags[mention.head]), _gender_of_noun(head), 3)


def _number(head: str, tag: str) -> Number | None:
    if head in GROUPS:
        return None
    if tag in PLURAL_TAGS or head in PLURALS:
        return "plural"
    if tag in SINGULAR_TAGS:
        return "singular"
    return "plural" if head.endswith("s") and not head.endswith(SINGULAR_ENDINGS) else "singular"


def _gender_of_name(words: Sequence[str]) -> Gender | None:
    told = (TITLES.get(word) or FIRST_NAMES.get(word) for word in words)
    return next((gender for gender in told if gender), None)


def _gender_of_noun(head: str) -> Gender | None:
    for form in _singulars(head):
        if form in NOUNS:
            return NOUNS[form]
        if form in PEOPLE or form in GROUPS:
            return None
    return "neuter"


def _singulars(word: str) -> list[str]:
    """The word, and what it may be the plural of."""
    forms = [word]
    if word.endswith("s"):
        forms.append(word[:-1])
    if word.endswith("es"):
        forms.append(word[:-2])
    if word.endswith("ies"):
        forms.append(f"{word[:-3]}y")
    return forms


def _equal(values: Sequence[Hashable]) -> Alike:
    codes = _codes(values)
    equal: Alike = np.equal(codes[:, None], codes)
    return equal


def _compatible(values: Sequence[Hashable]) -> Alike:
    unknown = np.array([value is None for value in values], dtype=bool)
    compatible: Alike = _equal(values) | unknown[:, None] | unknown
    return compatible


def _codes(values: Sequence[Hashable]) -> np.ndarray:
    numbers = {value: number for number, value in enumerate(dict.fromkeys(values))}
    return np.array([numbers[value] for value in values], dtype=np.int64)
