"""Corpora whose elements are two texts, for whatever reads texts."""

from collections.abc import Callable, Mapping

from headlight.corpora.corpus import Corpus
from headlight.corpora.pairs.pair_corpus import open_sentence_pairs
from headlight.corpora.parallel.parallel_corpus import open_parallel

OF_TWO_TEXTS: Mapping[str, Callable[[str], Corpus]] = {
    "pairs": open_sentence_pairs,
    "translations": open_parallel,
}
"""By the format under which a study of texts knows them, what opens them."""
