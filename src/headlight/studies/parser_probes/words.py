"""Vectors of the words of a corpus, from a file of vectors or from the model itself."""

from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from headlight.capture import CapturedModel
from headlight.corpora import WordVectors
from headlight.errors import UsageError
from headlight.studies.word_maps.store import Index

Table = Float[Tensor, "entry dimension"]


def table(index: Index, source: WordVectors | CapturedModel) -> Table:
    """One frozen vector for each entry of the vocabulary.

    From a file: by the lower-cased word, as the authors look it up, and zero where it is not
    there.  From a model: the mean of its input embeddings over the pieces of the word.

    Raises:
        UsageError: the model has no input embeddings.
    """
    if isinstance(source, CapturedModel):
        return _embedded(index, source)
    rows = source.lookup(index.vocabulary)
    found = np.where(rows[:, None] < 0, np.float32(0), source.matrix[rows])
    return torch.from_numpy(np.ascontiguousarray(found, dtype=np.float32))


def unknown_share(index: Index, vectors: Table) -> float:
    """The share of the words of the corpus, each as often as it occurs, whose vector is zero."""
    unknown = (vectors == 0).all(-1).numpy()
    return float(unknown[index.word].mean()) if len(index.word) else 0.0


def _embedded(index: Index, model: CapturedModel) -> Table:
    network: Any = model.transformer
    embeddings = network.get_input_embeddings()
    if embeddings is None:
        raise UsageError(f"{model.name} has no input embeddings; give a file of word vectors.")
    with torch.no_grad():
        pieces = embeddings.weight.detach().cpu().float()[torch.from_numpy(index.pieces)]
    counts = torch.from_numpy(index.piece_counts)
    entry = torch.repeat_interleave(torch.arange(len(counts)), counts)
    sums = pieces.new_zeros(len(counts), pieces.shape[1]).index_add_(0, entry, pieces)
    means: Table = sums / counts.clamp_min(1)[:, None]
    return means
