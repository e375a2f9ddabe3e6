"""The sieves of a rule-based resolver: who is like whom, from strict to lax.

Source: Clark et al. (2019), Section 4.3, after Lee et al. (2011): "(1) full string match, (2) head
word match, (3) number/gender/person match, (4) all other mentions".
"""

from collections.abc import Callable, Hashable, Mapping, Sequence

import numpy as np
from jaxtyping import Bool

from headlight.corpora import Mention
from headlight.studies.coreference.agreement import attributes

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


SIEVES: Mapping[str, Sieve] = {
    "string": same_string,
    "head": same_head,
    "agreement": agreement,
    "anything": anything,
}
"""All sieves, in the order of the paper."""


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
