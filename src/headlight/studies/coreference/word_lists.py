"""Words that give away number, gender or person: small closed lists for the rules of coreference.

They are no lexicon.  They hold pronouns, titles, kinship and the commonest first names of English,
so that the rule-based baseline of Clark et al. (2019), Section 4.3, has what its third sieve needs;
the paper does not say what it used.
"""

from typing import Literal

Number = Literal["singular", "plural"]
Gender = Literal["masculine", "feminine", "neuter"]
Person = Literal[1, 2, 3]


def _words(text: str) -> list[str]:
    return text.split()


def _by_word(
    rows: dict[str, tuple[Person, Number | None, Gender | None]],
) -> dict[str, tuple[Person, Number | None, Gender | None]]:
    return {word: features for words, features in rows.items() for word in _words(words)}


PRONOUNS = _by_word(
    {
        "i me my mine myself": (1, "singular", None),
        "we us our ours ourselves": (1, "plural", None),
        "yourself thou thee thy thine thyself": (2, "singular", None),
        "you your yours ye": (2, None, None),
        "yourselves": (2, "plural", None),
        "he him his himself": (3, "singular", "masculine"),
        "she her hers herself": (3, "singular", "feminine"),
        "it its itself this that": (3, "singular", "neuter"),
        "they them their theirs themselves 'em": (3, "plural", None),
        "these those": (3, "plural", None),
        "which what": (3, None, "neuter"),
        "who whom whose themself": (3, None, None),
        "one oneself someone somebody anyone anybody everyone everybody nobody": (
            3,
            "singular",
            None,
        ),
        "something anything everything nothing": (3, "singular", "neuter"),
    }
)
"""Person, number and gender of pronouns; None where a pronoun does not tell."""

TITLES: dict[str, Gender] = {
    **dict.fromkeys(
        _words("mr mister sir lord king prince duke monsieur herr father brother uncle"),
        "masculine",
    ),
    **dict.fromkeys(
        _words("mrs ms miss lady madam madame queen princess duchess frau sister aunt"), "feminine"
    ),
}
"""Before names; written without a full stop."""

FIRST_NAMES: dict[str, Gender] = {
    **dict.fromkeys(
        _words(
            """adam albert alexander andrew anthony arthur benjamin brian charles christopher
            daniel david dennis donald edward eric frank fred gary george harold henry jack
            jacob james jason jeffrey jerry jim joe john jonathan joseph joshua justin
            kenneth kevin larry louis mark martin matthew michael mike nicholas oliver oscar
            patrick paul peter philip raymond richard robert roger ronald samuel scott simon
            stephen steven thomas timothy tom walter william"""
        ),
        "masculine",
    ),
    **dict.fromkeys(
        _words(
            """alice amanda amelia amy angela ann anna anne barbara betty carol caroline
            catherine charlotte christine cynthia deborah diana donna dorothy elizabeth ella
            ellen emily emma eva florence frances grace hannah helen jane janet jennifer
            jessica joan julia karen kate katherine laura linda lisa lucy margaret maria
            marie martha mary michelle nancy nicole olivia pamela patricia rachel rebecca
            rose ruth sandra sarah sharon sophia stephanie susan victoria virginia"""
        ),
        "feminine",
    ),
}
"""Common English first names that are mostly given to one gender."""

NOUNS: dict[str, Gender] = {
    **dict.fromkeys(
        _words(
            """actor boy boyfriend brother chap dad emperor father fellow gentleman grandfather
            grandson guy husband king lad lord man monk nephew prince sir son stepfather
            uncle waiter widower men gentlemen"""
        ),
        "masculine",
    ),
    **dict.fromkeys(
        _words(
            """actress aunt daughter empress girl girlfriend grandmother granddaughter lady
            lass mother mom mum niece nun princess queen sister stepmother waitress widow
            wife wives woman women"""
        ),
        "feminine",
    ),
}
"""Common nouns for people of one gender."""

PEOPLE = frozenset(
    _words(
        """adult artist assistant author baby captain chief child children citizen clerk coach
        cousin critic customer doctor driver engineer enemy expert friend governor guest
        hero individual judge kid lawyer leader listener member minister neighbour neighbor
        nurse officer owner parent participant passenger patient people person player poet
        police president prisoner professor pupil reader relative scientist senator servant
        soldier speaker spouse stranger student teacher teenager tourist user victim visitor
        winner witness worker writer youth"""
    )
)
"""Common nouns for people of either gender; other common nouns are taken to be things."""

GROUPS = frozenset(
    _words(
        """army audience band board class club committee company couple crew crowd family firm
        government group jury majority minority pair police press public staff team"""
    )
)
"""Nouns that are singular in form and may be *they*: they agree in number with everything."""

PLURALS = frozenset(_words("children feet geese men mice people teeth wives women"))
"""Plurals that do not end in *s*, or not only."""
