"""Measures of attention: pure functions of captured tensors, and `Scores` over them."""

from headlight.measures.agreement import kendall
from headlight.measures.effective import Effective, NullSpaces, effective, null_spaces
from headlight.measures.entropy_and_divergence import (
    distributions,
    divergence,
    entropy,
    jensen_shannon,
    kullback_leibler,
    kullback_leibler_of_logarithms,
    total_variation,
)
from headlight.measures.norm import input_norm, merged_norm, vector_norm, weighted_norm
from headlight.measures.scores import Scores, register_measure, unregister_measure
from headlight.measures.words import singular_values_of, word_score

__all__ = [
    "Effective",
    "NullSpaces",
    "Scores",
    "distributions",
    "divergence",
    "effective",
    "entropy",
    "input_norm",
    "jensen_shannon",
    "kendall",
    "kullback_leibler",
    "kullback_leibler_of_logarithms",
    "merged_norm",
    "null_spaces",
    "register_measure",
    "singular_values_of",
    "total_variation",
    "unregister_measure",
    "vector_norm",
    "weighted_norm",
    "word_score",
]
