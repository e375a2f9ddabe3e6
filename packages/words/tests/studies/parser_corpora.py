"""Corpora written by us: random trees, and attention in which they can be found."""

from pathlib import Path

import numpy as np

from headlight_words.studies.parser_probes.word_map_store import (
    SPECIALS,
    Index,
    MapsWriter,
    WordMaps,
    open_word_maps,
)

SIGNATURE = {"measure": "weight", "model": "none"}


def random_tree(words: int, generator: np.random.Generator) -> list[int]:
    """Heads from 1, one root (0), no cycles."""
    order = generator.permutation(words) + 1
    heads = [0] * words
    for place in range(1, words):
        heads[order[place] - 1] = int(order[generator.integers(place)])
    return heads


def index_of_trees(trees: list[list[int]], punctuation: list[list[bool]] | None = None) -> Index:
    """An index whose words are ``word 0``, ``word 1``, ... by their place in the sentence."""
    lengths = np.array([len(tree) for tree in trees])
    longest = int(lengths.max())
    flags = punctuation or [[False] * len(tree) for tree in trees]
    return Index(
        lengths=lengths,
        heads=np.array([head for tree in trees for head in tree], dtype=np.int64),
        punctuation=np.array([flag for row in flags for flag in row], dtype=bool),
        word=np.concatenate([np.arange(length) for length in lengths]),
        vocabulary=tuple(f"word {place}" for place in range(longest)),
        pieces=np.arange(longest),
        piece_counts=np.ones(longest, dtype=np.int64),
        special=np.array([True, True]),
    )


def stored(
    folder: Path, index: Index, maps: list[np.ndarray], scale: np.ndarray | None = None
) -> WordMaps:
    """These maps, each [unit, unit, head], as a store."""
    heads = maps[0].shape[-1]
    scale = np.ones(heads, dtype=np.float32) if scale is None else scale
    folder.mkdir(parents=True, exist_ok=True)
    with MapsWriter(folder, index, SIGNATURE, scale) as writer:
        for number in reversed(range(len(maps))):
            writer.put(number, maps[number])
        writer.finish()
    features = open_word_maps(folder, "weight")
    assert features is not None
    return features


def planted(
    trees: list[list[int]], heads: int, generator: np.random.Generator, noise: float = 0.5
) -> list[np.ndarray]:
    """Maps of noise in which heads 1 and 3 together say who governs whom, one in each direction.

    Head 1 knows of every second word, counted from the first, which word governs it; of the others
    head 3 knows, in the column of the dependent.  The root is the first special unit.
    """
    found = []
    for tree in trees:
        size = len(tree) + SPECIALS
        maps = generator.random((size, size, heads)) * noise
        maps[..., [1, 3]] = 0
        for word, head in enumerate(tree):
            dependent, governor = word + SPECIALS, head - 1 + SPECIALS if head else 0
            if word % 2 == 0:
                maps[dependent, governor, 1] = 1
            else:
                maps[governor, dependent, 3] = 1
        found.append(maps)
    return found
