"""Positions to categories, neighbourhoods and words, on the device where the scores are.

All of it is "multiply by a 0/1 membership matrix": over keys one sums, over queries one averages.
"""

from headlight.pool.categories import (
    Membership,
    mean_to_neighbours,
    membership,
    over_keys,
    over_neighbours,
    over_queries,
    to_neighbours,
    with_all,
)
from headlight.pool.words import WordPair, Words

__all__ = [
    "Membership",
    "WordPair",
    "Words",
    "mean_to_neighbours",
    "membership",
    "over_keys",
    "over_neighbours",
    "over_queries",
    "to_neighbours",
    "with_all",
]
