"""Batches of sentences for parser probes, and sums over all pairs of their words."""

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor, nn

from headlight import files
from headlight.capture import CapturedModel
from headlight.errors import UnsupportedModelError, UsageError
from headlight_words.corpora import WordVectors
from headlight_words.studies.parser_probes.word_map_store import NO_HEAD, SPECIALS, Index, WordMaps

Scores = Float[Tensor, "sentence dependent candidate"]
OfPositions = Float[Tensor, "sentence position direction=2 head"]


def pair_scores(
    features: Float[Tensor, "sentence dependent candidate feature"],
    weight: Float[Tensor, "feature hidden"],
    dependent: Float[Tensor, "sentence dependent hidden"],
    candidate: Float[Tensor, "sentence candidate hidden"],
    out: Float[Tensor, " hidden"],
) -> Scores:
    """Return Σ_h out_h tanh(features_ij · weight_h + dependent_ih + candidate_jh).

    Args:
        features: Features of each pair.
        weight: Weights of the features.
        dependent: Term that each word adds as dependent.
        candidate: Term that each candidate adds.
        out: Weights of the hidden layer.
    """
    # tanh x = 2 σ(2x) - 1, and a sentence at a time, which stays in the cache: three times as fast.
    sides = zip(features, 2 * dependent, 2 * candidate, strict=True)
    sums = [
        (pairs @ (2 * weight) + dependents[:, None] + candidates).sigmoid() @ (2 * out)
        for pairs, dependents, candidates in sides
    ]
    scores: Scores = torch.stack(sums) - out.sum()
    return scores


def weighted_maps(
    maps: Float[Tensor, "sentence query key head"], of_query: OfPositions, of_key: OfPositions
) -> Float[Tensor, "direction=2 sentence query key"]:
    """Return Σ_k α^k_xy (q^k_x + r^k_y), for both directions.

    Args:
        maps: Attention α.
        of_query: Weights q by query.
        of_key: Weights r by key.
    """
    sums: Tensor = torch.einsum("sxyk,sxdk->dsxy", maps, of_query)
    return sums + torch.einsum("sxyk,sydk->dsxy", maps, of_key)


Maps = Float[Tensor, "sentence position position head"]
Vectors = Float[Tensor, "sentence word dimension"]
Table = Float[Tensor, "entry dimension"]

LARGEST = 1 << 26
"""Largest size of a batch, in its maps or between its words: 256 MB in float32."""
HIDDEN = 256
"""Width of the hidden layer between two words in a probe that sees no attention."""


@dataclass(frozen=True, eq=False)
class ParserBatch:
    """Some sentences, padded to the longest.

    Attributes:
        lengths: Number of words of each sentence.
        heads: Gold head of each word, from 1; 0 is the root, -1 unknown or padding.
        punctuation: Mask of words that no score counts; false in padding.
        maps: Attention, positions 0 and 1 being the special tokens; None where no probe needs it.
        vectors: Vectors of the words, zero for unknown words and in padding; None where there are
            none.
    """

    lengths: Int64[Tensor, " sentence"]
    heads: Int64[Tensor, "sentence word"]
    punctuation: Bool[Tensor, "sentence word"]
    maps: Maps | None = None
    vectors: Vectors | None = None

    @property
    def present(self) -> Bool[Tensor, "sentence word"]:
        """Return the mask of positions that hold a word."""
        places = torch.arange(self.heads.shape[1], device=self.lengths.device)
        return places < self.lengths[:, None]


class ParserData:
    """A corpus that probes are trained or tested on.

    Args:
        index: Sentences of the corpus.
        word_maps: Maps of one measure; None for probes that see no attention.
        vectors: Word vectors, a row for each entry of the vocabulary; None for probes that see no
            words.
        device: Device of the batches.
    """

    def __init__(
        self,
        index: Index,
        word_maps: WordMaps | None = None,
        vectors: Table | None = None,
        device: torch.device | str = "cpu",
    ) -> None:
        self.index = index
        self.word_maps = word_maps
        self.device = device
        if vectors is None:
            self._table = None
        else:  # the last row is what padding gets
            self._table = torch.cat([vectors, vectors.new_zeros(1, vectors.shape[1])]).to(device)

    def __len__(self) -> int:
        return len(self.index)

    @property
    def dimensions(self) -> int | None:
        """Return the dimensions of the word vectors; None where there are none."""
        return None if self._table is None else self._table.shape[1]

    def batch(self, numbers: Sequence[int]) -> ParserBatch:
        """Return these sentences, in this order."""
        lengths = self.index.lengths[list(numbers)]
        shape = (len(lengths), int(lengths.max(initial=0)))
        heads = np.full(shape, NO_HEAD)
        punctuation = np.zeros(shape, dtype=bool)
        word = np.full(shape, -1)
        for place, number in enumerate(numbers):
            words = slice(self.index.first_word[number], self.index.first_word[number + 1])
            heads[place, : lengths[place]] = self.index.heads[words]
            punctuation[place, : lengths[place]] = self.index.punctuation[words]
            word[place, : lengths[place]] = self.index.word[words]
        return ParserBatch(
            lengths=torch.from_numpy(lengths).to(self.device),
            heads=torch.from_numpy(heads).to(self.device),
            punctuation=torch.from_numpy(punctuation).to(self.device),
            maps=None if self.word_maps is None else self._maps(self.word_maps, numbers),
            vectors=None if self._table is None else self._table[torch.from_numpy(word)],
        )

    def _maps(self, word_maps: WordMaps, numbers: Sequence[int]) -> Maps:
        # To another device they are sent in float16, which is half of the bytes.
        if torch.device(self.device).type == "cpu":
            return word_maps.maps(numbers, torch.float32)
        return word_maps.maps(numbers).to(self.device).float()

    def in_order(self, numbers: Sequence[int], sentences: int) -> Iterator[list[int]]:
        """Yield these sentences in order, so many in a batch, fewer where they are long."""
        batch: list[int] = []
        longest = 0
        for number in numbers:
            both = max(longest, int(self.index.lengths[number]))
            if batch and (len(batch) == sentences or self._size(len(batch) + 1, both) > LARGEST):
                yield batch
                batch, both = [], int(self.index.lengths[number])
            batch.append(number)
            longest = both
        if batch:
            yield batch

    def by_length(self, numbers: Sequence[int], sentences: int) -> list[list[int]]:
        """Return these sentences in batches of similar lengths, the shortest first."""
        # Equal lengths are ordered by number, so that batches are the same in every run.
        order = sorted(numbers, key=lambda number: (self.index.lengths[number], number))
        return list(self.in_order(order, sentences))

    def _size(self, sentences: int, longest: int) -> int:
        numbers = HIDDEN if self.word_maps is None else self.word_maps.heads
        return sentences * (longest + SPECIALS) ** 2 * numbers


def vector_table(index: Index, source: WordVectors | CapturedModel) -> Table:
    """Return a frozen vector for each entry of the vocabulary.

    From a file: by the lower-cased word, as the authors look it up, and zero where it is not
    there.  From a model: the mean of its input embeddings over the pieces of the word.

    Raises:
        UsageError: The model has no input embeddings.
    """
    if isinstance(source, CapturedModel):
        return _embedded(index, source)
    return torch.from_numpy(source.rows(index.vocabulary))


def unknown_share(index: Index, vectors: Table) -> float:
    """Return the share of the words of the corpus, by tokens, whose vector is zero."""
    unknown = (vectors == 0).all(-1).numpy()
    return float(unknown[index.word].mean()) if len(index.word) else 0.0


def _embedded(index: Index, model: CapturedModel) -> Table:
    network: Any = model.transformer
    embeddings = network.get_input_embeddings()
    if embeddings is None:
        raise UsageError(f"{model} has no input embeddings; give a file of word vectors.")
    with torch.no_grad():
        pieces = embeddings.weight.detach().cpu().float()[torch.from_numpy(index.pieces)]
    counts = torch.from_numpy(index.piece_counts)
    entry = torch.repeat_interleave(torch.arange(len(counts)), counts)
    sums = pieces.new_zeros(len(counts), pieces.shape[1]).index_add_(0, entry, pieces)
    means: Table = sums / counts.clamp_min(1)[:, None]
    return means


@dataclass(eq=False, repr=False)
class RandomControl(CapturedModel):
    """A model whose weights are random except for its embeddings.

    Attributes:
        kept: Names of the parameters that are pretrained; all others are random.
    """

    kept: tuple[str, ...] = ()


def random_control(model: CapturedModel, seed: int = 0) -> RandomControl:
    """Return a copy with pretrained tables of embeddings, and random weights elsewhere.

    The random weights are drawn as the model itself draws them before training.  Kept are the
    input embeddings and every other table of embeddings outside the attention modules; `kept` of
    the result names them.  Normalisation and projections after the embeddings are random as well.

    Source: Clark et al. (2019), Section 5, third baseline.

    Raises:
        UnsupportedModelError: The model cannot be built from its configuration alone, or has no
            input embeddings.
    """
    pretrained: Any = model.transformer
    pretrained_tables = _embeddings(model)
    fresh = _fresh(model, seed)
    values = dict(pretrained.named_parameters())
    with torch.no_grad():
        for name, parameter in fresh.named_parameters():
            if name in pretrained_tables:
                parameter.copy_(values[name])
    control = RandomControl(
        fresh.to(pretrained.device, pretrained.dtype).eval(),
        model.tokenizer,
        f"{model.name}, random but for its embeddings",
        f"{model.revision}, seed {seed}",
        kept=pretrained_tables,
    )
    if _attention(control) != _attention(model):
        raise _otherwise(model)
    return control


def _fresh(model: CapturedModel, seed: int) -> Any:
    network: Any = model.transformer
    try:
        with torch.random.fork_rng():
            # A fork leaves the random state of the caller as it was.
            torch.manual_seed(seed)
            fresh = type(network)(copy.deepcopy(network.config))
    except Exception as problem:  # models raise whatever they like
        raise UnsupportedModelError(
            f"{model} cannot be built from its configuration ({files.reason(problem)}), so there "
            "is no random control; leave it out of the probes."
        ) from problem
    # A pooler or head that was left out of the model does no harm.
    if not _shapes(network).items() <= _shapes(fresh).items():
        raise _otherwise(model)
    return fresh


def _embeddings(model: CapturedModel) -> tuple[str, ...]:
    network: Any = model.transformer
    try:
        words = network.get_input_embeddings()
    except (NotImplementedError, AttributeError):
        words = None
    if words is None:
        raise UnsupportedModelError(f"{model} has no input embeddings that can be kept.")
    # Tables within attention, as of relative positions, belong to what is random.
    attention = {id(inner) for site in model.sites for inner in site.module.modules()}
    tables = [
        module
        for module in network.modules()
        if module is words or (isinstance(module, nn.Embedding) and id(module) not in attention)
    ]
    wanted = {id(parameter) for module in tables for parameter in module.parameters()}
    return tuple(name for name, parameter in network.named_parameters() if id(parameter) in wanted)


def _attention(model: CapturedModel) -> list[tuple[str, int, int]]:
    return [(site.kind, site.layer, site.heads) for site in model.sites]


def _otherwise(model: CapturedModel) -> UnsupportedModelError:
    return UnsupportedModelError(
        f"{model} is built otherwise than its configuration says, so there is no random "
        "control; leave it out of the probes."
    )


def _shapes(network: nn.Module) -> dict[str, torch.Size]:
    return {name: parameter.shape for name, parameter in network.named_parameters()}
