"""Tagger of the paper, one Transformer layer of four heads."""

import math

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor, nn

from headlight_papers.papers.yang2020.tagging_data import SUFFIXES, TagBatch, TaggingData, WordTypes
from headlight_papers.training.model_outputs import Attention, AttentionModel, Logits
from headlight_papers.training.text_encoders import timing_signal

HEADS = 4
WIDTH = 128
DROPOUT = 0.2
WORD, SUFFIX = 32, 32
"""Lengths of the trained vectors of words and of suffixes; the latter are summed."""
SMALL = 0.2
"""Initial standard deviation of these: with 1, positions are hard to see beside words."""


class Dropout(nn.Module):
    """Dropout that draws one random number of 64 bits for eight entries on a CPU.

    There the random numbers of torch's own dropout took 30% of the training.

    Args:
        share: Share of entries set to 0 in training; on a CPU the nearest multiple of 1/256.
    """

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share
        self._out_of_256 = round(256 * share)

    def forward(self, state: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        """Return the state; in training, some entries are 0 and the others scaled up."""
        if not self.training or not self.share:
            return state
        if state.device.type != "cpu":
            return nn.functional.dropout(state, self.share)
        draws = torch.empty(-(-state.numel() // 8), dtype=torch.int64).random_(-(2**63), None)
        drawn = draws.view(torch.uint8)[: state.numel()].view(state.shape)
        # The scale follows from the rounded share, so that the expected value stays the same.
        return state * ((drawn >= self._out_of_256) * (256 / (256 - self._out_of_256)))


class Tagger(AttentionModel[TagBatch]):
    """Tagger of one layer, with normalisation before each part.

    As the paper's: dropout on the input, a linear map without bias to the width, a timing signal,
    attention without biases, whose weights and whose sum with the input are dropped out, two linear
    maps with ReLU behind each, and a last normalisation.  Other than there, padding is no key.

    Args:
        types: Features of word types.
        tags: Number of tags.
        longest: Number of words in the longest sentence.
        dropout: Share of entries dropped in training, the same everywhere.
    """

    rows: Tensor
    ends: Tensor
    vectors: Tensor
    timing: Tensor

    def __init__(self, types: WordTypes, tags: int, longest: int, dropout: float = DROPOUT) -> None:
        super().__init__()
        self.register_buffer("rows", types.rows, persistent=False)
        self.register_buffer("ends", types.suffixes, persistent=False)
        self.register_buffer("vectors", types.vectors, persistent=False)
        # A buffer that is no parameter: sines and cosines are never trained, nor kept in files.
        self.register_buffer("timing", timing_signal(longest, WIDTH), persistent=False)
        self.words = nn.Embedding(int(types.rows.max()) + 1, WORD)
        self.suffixes = nn.Embedding(int(types.suffixes.max()) + 1, SUFFIX)
        self.input = nn.Linear(WORD + SUFFIX + types.vectors.shape[1], WIDTH, bias=False)
        self.before_attention = nn.LayerNorm(WIDTH)
        self.query, self.key, self.value, self.output = (
            nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(4)
        )
        self.before_feeding = nn.LayerNorm(WIDTH)
        self.first, self.second = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)
        self.last = nn.LayerNorm(WIDTH)
        self.tags = nn.Linear(WIDTH, tags)
        self.dropout = Dropout(dropout)
        self._initialise()

    @classmethod
    def from_data(cls, data: TaggingData, dropout: float = DROPOUT) -> "Tagger":
        """Return a new tagger for the sentences and tags of this data."""
        return cls(data.types, len(data.tags), data.longest, dropout)

    def _initialise(self) -> None:
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
        for table, parts in ((self.words, 1), (self.suffixes, len(SUFFIXES))):
            # Vectors of suffixes are summed, so that each has a part of the variance.
            nn.init.normal_(table.weight, std=SMALL * parts**-0.5)

    def forward(
        self,
        words: Int64[Tensor, "batch word"],
        real: Bool[Tensor, "batch word"],
        given: Attention | None = None,
    ) -> tuple[Logits, Attention]:
        """Return logits, and the attention weights before dropout.

        Args:
            words: Word types.
            real: Mask of the words, False for padding.
            given: Weights in place of the softmax, which are constants: queries and keys are not
                even computed.
        """
        state = self.input(self.dropout(self._embedded(words))) + self.timing[: words.shape[1]]
        normal = self.before_attention(state)
        weight = self._attention(normal, real) if given is None else given
        # As in the paper, weights are dropped out after the softmax; measured are those before.
        context = (self.dropout(weight) @ _heads(self.value(normal))).transpose(1, 2).flatten(2)
        state = self.dropout(state + self.output(context))
        fed = self.dropout(self.first(self.before_feeding(state)).relu())
        state = self.dropout(state + self.dropout(self.second(fed).relu()))
        return self.tags(self.last(state)), weight

    def run(self, batch: TagBatch, given: Attention | None = None) -> tuple[Logits, Attention]:
        """Run the tagger on a batch."""
        output: tuple[Logits, Attention] = self(batch.words, batch.real, given)
        return output

    def _embedded(self, words: Int64[Tensor, "batch word"]) -> Float[Tensor, "batch word input"]:
        parts = [self.words(self.rows[words]), self.suffixes(self.ends[words]).sum(-2)]
        return torch.cat([*parts, self.vectors[words]], -1)

    def _attention(
        self, normal: Float[Tensor, "batch word width"], real: Bool[Tensor, "batch word"]
    ) -> Attention:
        query, key = _heads(self.query(normal)), _heads(self.key(normal))
        logits = query @ key.mT / math.sqrt(query.shape[-1])
        return logits.masked_fill(~real[:, None, None], -torch.inf).softmax(-1)


def _heads(state: Float[Tensor, "batch word width"]) -> Float[Tensor, "batch head word part"]:
    parts: Tensor = state.reshape(*state.shape[:-1], HEADS, -1)
    return parts.transpose(1, 2)
