"""The sieves of a rule-based resolver: tests whether two mentions match, from strict to lax.

Source: Clark et al. (2019), Section 4.3, after Lee et al. (2011): "(1) full string match, (2) head
word match, (3) number/gender/person match, (4) all other mentions".

The third needs words that give away number, gender or person: small closed lists, which are no
lexicon, of pronouns, titles, kinship and the commonest first names of English.  The paper does not
say what it used.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Bool, Int64

from headlight_words.corpora import Mention
from headlight_words.studies.coreference import SieveName, TaskSettings
from headlight_words.studies.coreference.task import AntecedentTask

Number = Literal["singular", "plural"]
Gender = Literal["masculine", "feminine", "neuter"]
Person = Literal[1, 2, 3]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _gendered(masculine: str, feminine: str) -> dict[str, Gender]:
    genders: dict[Gender, str] = {"masculine": masculine, "feminine": feminine}
    return {word: gender for gender, words in genders.items() for word in words.split()}


_PRONOUNS: dict[tuple[Person, Number | None, Gender | None], str] = {
    (1, "singular", None): "i me my mine myself",
    (1, "plural", None): "we us our ours ourselves",
    (2, "singular", None): "yourself thou thee thy thine thyself",
    (2, None, None): "you your yours ye",
    (2, "plural", None): "yourselves",
    (3, "singular", "masculine"): "he him his himself",
    (3, "singular", "feminine"): "she her hers herself",
    (3, "singular", "neuter"): "it its itself this that something anything everything nothing",
    (3, "plural", None): "they them their theirs themselves 'em these those",
    (3, None, "neuter"): "which what",
    (3, None, None): "who whom whose themself",
    (3, "singular", None): "one oneself someone somebody anyone anybody everyone everybody nobody",
}
PRONOUNS = {word: features for features, words in _PRONOUNS.items() for word in words.split()}
"""Person, number and gender of pronouns; None where a pronoun does not tell."""

TITLES = _gendered(
    "mr mister sir lord king prince duke monsieur herr father brother uncle",
    "mrs ms miss lady madam madame queen princess duchess frau sister aunt",
)
"""Titles before names; written without a full stop."""

FIRST_NAMES = _gendered(
    """adam albert alexander andrew anthony arthur benjamin brian charles christopher
    daniel david dennis donald edward eric frank fred gary george harold henry jack
    jacob james jason jeffrey jerry jim joe john jonathan joseph joshua justin
    kenneth kevin larry louis mark martin matthew michael mike nicholas oliver oscar
    patrick paul peter philip raymond richard robert roger ronald samuel scott simon
    stephen steven thomas timothy tom walter william""",
    """alice amanda amelia amy angela ann anna anne barbara betty carol caroline
    catherine charlotte christine cynthia deborah diana donna dorothy elizabeth ella
    ellen emily emma eva florence frances grace hannah helen jane janet jennifer
    jessica joan julia karen kate katherine laura linda lisa lucy margaret maria
    marie martha mary michelle nancy nicole olivia pamela patricia rachel rebecca
    rose ruth sandra sarah sharon sophia stephanie susan victoria virginia""",
)
"""Common English first names that are mostly given to one gender."""

NOUNS = _gendered(
    """actor boy boyfriend brother chap dad emperor father fellow gentleman grandfather
    grandson guy husband king lad lord man monk nephew prince sir son stepfather
    uncle waiter widower men gentlemen""",
    """actress aunt daughter empress girl girlfriend grandmother granddaughter lady
    lass mother mom mum niece nun princess queen sister stepmother waitress widow
    wife wives woman women""",
)
"""Common nouns for people of one gender."""

PEOPLE = _words(
    """adult artist assistant author baby captain chief child children citizen clerk coach
    cousin critic customer doctor driver engineer enemy expert friend governor guest
    hero individual judge kid lawyer leader listener member minister neighbour neighbor
    nurse officer owner parent participant passenger patient people person player poet
    police president prisoner professor pupil reader relative scientist senator servant
    soldier speaker spouse stranger student teacher teenager tourist user victim visitor
    winner witness worker writer youth"""
)
"""Common nouns for people of either gender; other common nouns are taken to be things."""

GROUPS = _words(
    """army audience band board class club committee company couple crew crowd family firm
    government group jury majority minority pair police press public staff team"""
)
"""Nouns that are singular in form and may be *they*: they agree in number with everything."""

PLURALS = _words("children feet geese men mice people teeth wives women")
"""Plurals that do not end in *s*, or not only."""


PLURAL_TAGS = frozenset({"NNS", "NNPS"})
SINGULAR_TAGS = frozenset({"NN", "NNP"})
SINGULAR_ENDINGS = ("ss", "us", "is")

Alike = Bool[np.ndarray, "candidate candidate"]
"""Whether two mentions of a window satisfy a sieve."""

Sieve = Callable[[Sequence[Mention], Sequence[str], Sequence[str]], Alike]
"""Function from mentions, words and tags of a window to `Alike`."""


def same_string(mentions: Sequence[Mention], words: Sequence[str], tags: Sequence[str]) -> Alike:
    """Compare all words from the first to the last, capitals apart."""
    spans = (words[mention.first : mention.last + 1] for mention in mentions)
    return _equal([tuple(word.casefold() for word in span) for span in spans])


def same_head(mentions: Sequence[Mention], words: Sequence[str], tags: Sequence[str]) -> Alike:
    """Compare head words, capitals apart."""
    return _equal([words[mention.head].casefold() for mention in mentions])


def agreement(mentions: Sequence[Mention], words: Sequence[str], tags: Sequence[str]) -> Alike:
    """Compare number, gender and person; an unknown value agrees with everything."""
    attribute_sets = [attributes(mention, words, tags) for mention in mentions]
    number = _compatible([values.number for values in attribute_sets])
    gender = _compatible([values.gender for values in attribute_sets])
    person = _compatible([values.person for values in attribute_sets])
    agreeing: Alike = number & gender & person
    return agreeing


def anything(mentions: Sequence[Mention], words: Sequence[str], tags: Sequence[str]) -> Alike:
    """Match every two mentions."""
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
    """Attributes of a mention; None agrees with everything.

    Attributes:
        number: ``singular``, ``plural``, or not known.
        gender: ``masculine``, ``feminine``, ``neuter``, or not known.
        person: 1, 2 or 3; other mentions than pronouns are 3.
    """

    number: Number | None
    gender: Gender | None
    person: Person


def attributes(mention: Mention, words: Sequence[str], tags: Sequence[str]) -> Attributes:
    """Return number, gender and person of one mention.

    Pronouns are looked up.  Of other mentions the head word's tag (Penn Treebank) decides the
    number, else its ending; nouns for groups have none.  The gender of a proper name is that of a
    title or first name in it; of a common noun that of the lists, none for other people, and
    ``neuter`` for all else.  A proper name with *and* in it is plural.

    Args:
        mention: Mention whose words are counted as `words` are.
        words: Words of the window.
        tags: Part of speech of each word; empty where there is none.
    """
    head = words[mention.head].casefold()
    # `her` or `that` may head a mention that is annotated as no pronoun.
    if head in PRONOUNS and mention.kind == "pronoun":
        person, number, gender = PRONOUNS[head]
        return Attributes(number, gender, person)
    inside = [word.casefold().rstrip(".") for word in words[mention.first : mention.last + 1]]
    if mention.kind == "proper":
        plural = "and" in inside
        genders = (TITLES.get(word) or FIRST_NAMES.get(word) for word in inside)
        return Attributes(
            "plural" if plural else _number(head, tags[mention.head]),
            None if plural else next(filter(None, genders), None),
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
    # Without a tag the ending decides, although some singulars end in s.
    return "plural" if head.endswith("s") and not head.endswith(SINGULAR_ENDINGS) else "singular"


def _gender_of_noun(head: str) -> Gender | None:
    for form in _singulars(head):
        if form in NOUNS:
            return NOUNS[form]
        if form in PEOPLE or form in GROUPS:
            return None
    return "neuter"


def _singulars(word: str) -> list[str]:
    """Return the word, and the forms of which it may be the plural."""
    forms = [word]
    if word.endswith("s"):
        forms.append(word[:-1])
    if word.endswith("es"):
        forms.append(word[:-2])
    if word.endswith("ies"):
        forms.append(f"{word[:-3]}y")
    return forms


def _equal(values: Sequence[Hashable]) -> Alike:
    numbers = {value: number for number, value in enumerate(dict.fromkeys(values))}
    codes = np.array([numbers[value] for value in values], dtype=np.int64)
    equal: Alike = np.equal(codes[:, None], codes)
    return equal


def _compatible(values: Sequence[Hashable]) -> Alike:
    unknown = np.array([value is None for value in values], dtype=bool)
    compatible: Alike = _equal(values) | unknown[:, None] | unknown
    return compatible


BASELINES = ("nearest", "head match", "rule-based")
"""The baselines, in the order of Table 2."""

NOTHING = -1
Picks = Int64[np.ndarray, " mention"]
"""The pick for each evaluated mention, as an index into `task.mentions`; or `NOTHING`."""


def pick_nearest(
    task: AntecedentTask, allowed: Bool[np.ndarray, "mention candidate"] | None = None
) -> Picks:
    """Pick the earlier mention whose head word is nearest.

    Of two mentions with one head word the pick begins later, or is shorter; both have the same
    claim to be right, since head words are compared.
    """
    chosen = task.earlier if allowed is None else task.earlier & allowed
    if not len(task.mentions):
        return np.empty(len(task), dtype=np.int64)
    # The order is stable, so that of equal heads the last has the highest rank.
    places = np.argsort(task.heads, kind="stable")
    rank = np.empty_like(places)
    rank[places] = np.arange(len(places))
    best = np.where(chosen, rank, NOTHING).max(axis=1)
    return np.where(best < 0, NOTHING, places[best])


def pick_by_sieves(task: AntecedentTask, sieves: Sequence[SieveName]) -> Picks:
    """Pick the nearest earlier mention that satisfies the first sieve that any satisfies."""
    picks = np.full(len(task), NOTHING, dtype=np.int64)
    for name in sieves:
        alike = SIEVES[name](task.mentions, task.words, task.tags)
        nearest = pick_nearest(task, alike[task.evaluated])
        # A mention that an earlier sieve has resolved is not asked again.
        picks = np.where(picks == NOTHING, nearest, picks)
    return picks


def baseline_picks(task: AntecedentTask, settings: TaskSettings) -> Mapping[str, Picks]:
    """Return the picks of every baseline of `BASELINES`, among earlier mentions only."""
    fallback: tuple[SieveName, ...] = (
        ("anything",) if settings.head_match_otherwise == "nearest" else ()
    )
    return {
        "nearest": pick_nearest(task),
        "head match": pick_by_sieves(task, ("head", *fallback)),
        "rule-based": pick_by_sieves(task, settings.sieves),
    }


def is_correct(task: AntecedentTask, picks: Picks) -> Bool[np.ndarray, " mention"]:
    """Whether the head word of each pick is that of an antecedent: the yardstick of the heads."""
    if not len(task.mentions):
        return np.zeros(len(task), dtype=bool)
    # `NOTHING` indexes the last mention, whose answer is struck out in the next line.
    picked = task.antecedent_words()[np.arange(len(task)), task.heads[picks]]
    correct: Bool[np.ndarray, " mention"] = picked & (picks != NOTHING)
    return correct
