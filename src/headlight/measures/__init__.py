"""Measures of attention: pure functions of captured tensors, and `Scores` over them."""

from headlight.measures.agreement import kendall
from headlight.measures.divergences import (
    jensen_shannon,
    kullback_leibler,
    kullback_leibler_of_logarithms,
    total_variation,
)
from headlight.measures.effective import Effective, effective
from headlight.measures.entropy import entropy
from headlight.measures.head_divergence import distributions, divergence
from headlight.measures.merged_norms import merged_norm
from headlight.measures.norms import input_norm, vector_norm, weighted_norm
from headlight.measures.null_space import NullSpaces, null_spaces
from headlight.measures.scores import Scores, register_measure, unregister_measure
from headlight.measures.singular_values import singular_values_of
from headlight.measures.words import word_score

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
