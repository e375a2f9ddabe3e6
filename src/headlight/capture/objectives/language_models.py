"""Masked language modelling, as BERT was trained (Devlin et al. 2019), and next tokens."""

import hashlib
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Int64
from torch import Tensor

from headlight.capture.objectives.objective import NOTHING, Prepared, TokenObjective
from headlight.encode.batch import Batch
from headlight.errors import UsageError
from headlight.vocabulary import CATEGORIES

OTHER = CATEGORIES.index("other")


@dataclass(frozen=True, kw_only=True)
class MaskedLanguageModel(TokenObjective):
    """Some tokens are hidden, and the model must say which they were.

    Of a sequence of n tokens, special ones included, round(rate · n) are chosen, at least one and
    never a special one.  A chosen token becomes the mask token, a random piece, or stays.  Which,
    depends on the seed and the ids of the sequence alone, not on its batch or its padding.

    A token that was replaced is of the category ``other``, whatever it was.  Random pieces are
    never special ones, which BERT's own program allows.

    Attributes:
        mask_id: id of the mask token.
        vocabulary: number of pieces.
        special_ids: ids that are never chosen, and never put in the place of a piece.
        rate: share of the tokens that are chosen, above 0 and at most 1.
        mask_share: share of the chosen tokens that become the mask token.
        random_share: share of the chosen tokens that become a random piece; the rest stay.
        seed: another one, other choices.
        reduction: over the chosen positions of a sequence.
    """

    mask_id: int
    vocabulary: int
    special_ids: frozenset[int]
    rate: float = 0.15
    mask_share: float = 0.8
    random_share: float = 0.1
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.rate <= 1:
            raise UsageError(f"the masking rate must be above 0 and at most 1, not {self.rate}.")
        shares = (self.mask_share, self.random_share)
        if min(shares) < 0 or sum(shares) > 1 + 1e-9:
            raise UsageError(
                f"the shares of masks and random pieces among the chosen tokens are {shares[0]} "
                f"and {shares[1]}; they must not be negative, nor above 1 together."
            )
        if all(piece in self.special_ids for piece in range(self.vocabulary)):
            raise UsageError("the vocabulary has no piece that is not special.")

    @staticmethod
    def of(tokenizer: Any, **options: Any) -> "MaskedLanguageModel":
        """With the mask token, the special tokens and the vocabulary of a tokenizer.

        Raises:
            UsageError: there is no tokenizer, or it has no mask token.
        """
        mask = getattr(tokenizer, "mask_token_id", None)
        if mask is None:
            raise UsageError(
                "the tokenizer has no mask token, so nothing can be hidden from the model; give an "
                "objective of your own."
            )
        return MaskedLanguageModel(
            mask_id=mask,
            vocabulary=len(tokenizer),
            special_ids=frozenset(tokenizer.all_special_ids),
            **options,
        )

    def prepare(self, batch: Batch) -> Prepared:
        """Hide some tokens of every sequence."""
        ids, real = batch.input_ids.cpu().numpy(), batch.attention_mask.cpu().numpy() > 0
        hidden, labels = ids.copy(), np.full_like(ids, NOTHING)
        for row, present in enumerate(real):
            hidden[row, present], labels[row, present] = self.hide(ids[row, present])
        given = torch.from_numpy(hidden).to(batch.input_ids.device)
        category = torch.where(given != batch.input_ids, OTHER, batch.category)
        return Prepared.of(
            replace(batch, input_ids=given, category=category),
            masked=(given == self.mask_id) & (batch.attention_mask > 0),
            labels=torch.from_numpy(labels).to(given.device),
        )

    def settings(self) -> dict[str, Any]:
        """The options."""
        return {
            "objective": "masked language model",
            "rate": self.rate,
            "mask_share": self.mask_share,
            "random_share": self.random_share,
            "seed": self.seed,
            "reduction": self.reduction,
        }

    def hide(
        self, ids: Int64[np.ndarray, " token"]
    ) -> tuple[Int64[np.ndarray, " token"], Int64[np.ndarray, " token"]]:
        """One sequence as the model is given it, and its labels."""
        hidden, labels = ids.copy(), np.full_like(ids, NOTHING)
        candidates = np.flatnonzero([piece not in self.special_ids for piece in ids.tolist()])
        count = min(len(candidates), max(1, round(self.rate * len(ids))))
        generator = np.random.default_rng(self._seed_of(ids))
        chosen = generator.permutation(candidates)[:count]
        labels[chosen] = ids[chosen]
        fates, pieces = generator.random(count), self._random_pieces(generator, count)
        masked = fates < self.mask_share
        replaced = ~masked & (fates < self.mask_share + self.random_share)
        hidden[chosen[masked]] = self.mask_id
        hidden[chosen[replaced]] = pieces[replaced]
        return hidden, labels

    def _seed_of(self, ids: Int64[np.ndarray, " token"]) -> int:
        content = f"{self.seed}:".encode() + ids.astype("<i8").tobytes()
        return int.from_bytes(hashlib.sha256(content).digest()[:16], "little")

    def _random_pieces(
        self, generator: np.random.Generator, count: int
    ) -> Int64[np.ndarray, " piece"]:
        ordinary = np.setdiff1d(np.arange(self.vocabulary), list(self.special_ids))
        return generator.choice(ordinary, size=count)


@dataclass(frozen=True, kw_only=True)
class CausalLanguageModel(TokenObjective):
    """Every token predicts the next one of its sequence; the last predicts nothing.

    Attributes:
        reduction: over the predicted tokens of a sequence.
    """

    def prepare(self, batch: Batch) -> Prepared:
        """The batch as it is, with the next tokens as labels."""
        return Prepared.of(batch, labels=_next(batch.input_ids, batch.attention_mask))

    def settings(self) -> dict[str, Any]:
        """The options."""
        return {"objective": "causal language model", "reduction": self.reduction}


@dataclass(frozen=True, kw_only=True)
class SequenceToSequence(TokenObjective):
    """Every token of the target predicts the next one of it, given the source.

    The decoder is given the true target (teacher forcing), which begins with its start token.

    Attributes:
        reduction: over the predicted tokens of a target.
    """

    def prepare(self, batch: Batch) -> Prepared:
        """The batch as it is, with the next tokens of the target as labels.

        Raises:
            UsageError: there are no targets.
        """
        if batch.target_ids is None or batch.target_mask is None:
            raise UsageError(
                "an encoder-decoder predicts a second text, and these examples have one only; use "
                "pairs."
            )
        return Prepared.of(batch, labels=_next(batch.target_ids, batch.target_mask))

    def settings(self) -> dict[str, Any]:
        """The options."""
        return {"objective": "sequence to sequence", "reduction": self.reduction}


def _next(
    ids: Int64[Tensor, "batch position"], mask: Int64[Tensor, "batch position"]
) -> Int64[Tensor, "batch position"]:
    """The id one position later, where it and its predecessor are no padding."""
    labels = ids.roll(-1, dims=1)
    both = (mask > 0) & (mask.roll(-1, dims=1) > 0)
    both[:, -1] = False
    return labels.masked_fill(~both, NOTHING)
