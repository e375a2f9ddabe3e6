"""Training objectives of models: the loss of which gradients are taken."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor
from torch.nn.functional import cross_entropy

from headlight.encode.batch import Batch
from headlight.errors import UsageError, with_head
from headlight.settings import require_choice
from headlight.vocabulary import CATEGORIES

NOTHING = -100
"""Label of a position that predicts nothing."""

Reduction = Literal["sum", "mean"]
"""Reduction of the losses of the predicted positions to the loss of a sequence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared(Batch):
    """Batch as an objective needs it: with some tokens hidden, and labels to be predicted.

    Attributes:
        masked: Mask of the tokens of `input_ids` that are the mask token, which says nothing of its
            own.
        labels: Ids that positions should predict, `NOTHING` where there is none; positions are
            those of the logits, of the target where there is one.  None where the objective has no
            such ids.
    """

    masked: Bool[Tensor, "batch token"]
    labels: Int64[Tensor, "batch position"] | None

    @staticmethod
    def from_batch(
        batch: Batch,
        *,
        masked: Bool[Tensor, "batch token"] | None = None,
        labels: Int64[Tensor, "batch position"] | None = None,
    ) -> "Prepared":
        """Return a batch with its mask and labels; by default nothing is hidden."""
        tensors = {field.name: getattr(batch, field.name) for field in fields(Batch)}
        if masked is None:
            masked = torch.zeros_like(batch.input_ids, dtype=torch.bool)
        return Prepared(**tensors, masked=masked, labels=labels)

    @property
    def predicted(self) -> Int64[Tensor, " batch"] | None:
        """Return the number of positions with a label, by sequence; None without labels."""
        return None if self.labels is None else (self.labels != NOTHING).sum(-1)


@runtime_checkable
class Objective(Protocol):
    """Task of a model, and the loss of its answer.

    What happens to a sequence depends on nothing but the sequence, so neither its loss nor its
    gradients depend on the others in its batch.
    """

    @property
    def reduction(self) -> Reduction:
        """Return the reduction of a loss over the predicted positions of a sequence."""

    def prepare(self, batch: Batch) -> Prepared:
        """Return the batch as the model is given it; the same for a sequence in every batch."""

    def loss(self, output: Any, batch: Prepared) -> Float[Tensor, " batch"]:
        """Return the loss of each sequence in nats, from the output; their sum is differentiated.

        Raises:
            UsageError: the output is not that of a model with the right head.
        """

    def settings(self) -> Mapping[str, Any]:
        """Return the settings that the losses depend on besides model and batch, as JSON."""


@dataclass(frozen=True)
class OwnObjective:
    """Loss of the user's own.

    Attributes:
        function: Function from the output of the model and the batch to one loss per sequence.
        name: Name by which a run that is resumed knows that the loss is the same.
        reduction: Reduction that the function does; it is not applied again.
    """

    function: Callable[[Any, Prepared], Tensor]
    name: str
    reduction: Reduction = "mean"

    def prepare(self, batch: Batch) -> Prepared:
        """Return the batch as it is."""
        return Prepared.from_batch(batch)

    def loss(self, output: Any, batch: Prepared) -> Float[Tensor, " batch"]:
        """Return the losses of the function.

        Raises:
            UsageError: the function does not return one number per sequence.
        """
        losses = self.function(output, batch)
        if not isinstance(losses, Tensor) or losses.shape != batch.lengths.shape:
            shape = tuple(losses.shape) if isinstance(losses, Tensor) else type(losses).__name__
            raise UsageError(
                f"the loss {self.name!r} gave {shape}; return a tensor with one loss per sequence, "
                f"{tuple(batch.lengths.shape)}, so that sequences do not depend on their batch."
            )
        return losses

    def settings(self) -> dict[str, Any]:
        """Return the name, by which the loss is known."""
        return {"objective": "own", "name": self.name}


@dataclass(frozen=True, kw_only=True)
class TokenObjective:
    """Objective of a language model: cross-entropy of the labels of a batch.

    Attributes:
        reduction: Reduction over the predicted positions of a sequence.
    """

    reduction: Reduction = "sum"

    def __post_init__(self) -> None:
        require_choice("reduction of the loss", self.reduction, Reduction)

    def loss(self, output: Any, batch: Prepared) -> Float[Tensor, " batch"]:
        """Return the cross-entropy of the labels, in nats, by sequence.

        Raises:
            UsageError: the model has no language-model head.
        """
        return losses_of(output, batch.labels, self.reduction)


def losses_of(
    output: Any, labels: Int64[Tensor, "batch position"] | None, reduction: Reduction
) -> Float[Tensor, " batch"]:
    """Return the cross-entropy of the labels, in nats, by sequence; 0 where nothing is predicted.

    Raises:
        UsageError: the output has no logits, or the batch was prepared for another objective.
    """
    logits = getattr(output, "logits", None)
    if logits is None:
        raise UsageError(
            "the model has no language-model head, so there is no loss; "
            f"{with_head('a language model')}."
        )
    if labels is None:
        raise UsageError(
            "this batch was prepared for another objective; let this one prepare the batch."
        )
    chosen = labels != NOTHING
    covers_all = logits.dim() > labels.dim()  # else rows with labels alone, see `only_predicted`
    picked = (
        logits[chosen] if covers_all else logits
    )  # before the softmax, which costs as much as the head itself
    if picked.dtype in (torch.float16, torch.bfloat16):
        picked = picked.float()  # a softmax over a vocabulary needs more digits than halves have
    errors = picked.new_zeros(labels.shape)
    errors[chosen] = cross_entropy(picked, labels[chosen], reduction="none")
    total = errors.sum(-1)
    reduced: Tensor = total if reduction == "sum" else total / chosen.sum(-1).clamp_min(1)
    return reduced


OTHER = CATEGORIES.index("other")


@dataclass(frozen=True, kw_only=True)
class MaskedLanguageModel(TokenObjective):
    """Objective of a masked language model, which must predict tokens hidden from it.

    Of a sequence of n tokens, special tokens included, round(rate · n) are chosen, at least one and
    never a special token.  A chosen token becomes the mask token or a random piece, or stays; which
    of these depends on the seed and the ids of the sequence alone, not on its batch or its padding.

    A token that was replaced is of the category ``other``, whatever it was.  Random pieces are
    never special tokens, which BERT's own program allows.

    Attributes:
        mask_id: Id of the mask token.
        vocabulary: Number of pieces.
        special_ids: Ids that are never chosen, and never put in the place of a piece.
        rate: Share of the tokens that are chosen, above 0 and at most 1.
        mask_share: Share of the chosen tokens that become the mask token.
        random_share: Share of the chosen tokens that become a random piece; the rest stay.
        seed: Seed of the choices.
        reduction: Reduction over the chosen positions of a sequence.
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
    def from_tokenizer(tokenizer: Any, **options: Any) -> "MaskedLanguageModel":
        """Return the objective with mask token, special tokens and vocabulary of a tokenizer.

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
        masked_ids = torch.from_numpy(hidden).to(batch.input_ids.device)
        category = torch.where(masked_ids != batch.input_ids, OTHER, batch.category)
        return Prepared.from_batch(
            replace(batch, input_ids=masked_ids, category=category),
            masked=(masked_ids == self.mask_id) & (batch.attention_mask > 0),
            labels=torch.from_numpy(labels).to(masked_ids.device),
        )

    def settings(self) -> dict[str, Any]:
        """Return the options."""
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
        """Return one sequence as the model is given it, and its labels."""
        hidden, labels = ids.copy(), np.full_like(ids, NOTHING)
        candidates = np.flatnonzero([piece not in self.special_ids for piece in ids.tolist()])
        count = min(len(candidates), max(1, round(self.rate * len(ids))))
        content = f"{self.seed}:".encode() + ids.astype("<i8").tobytes()
        seed = int.from_bytes(hashlib.sha256(content).digest()[:16], "little")
        generator = np.random.default_rng(seed)
        chosen = generator.permutation(candidates)[:count]
        labels[chosen] = ids[chosen]
        ordinary = np.setdiff1d(np.arange(self.vocabulary), list(self.special_ids))
        fates, pieces = generator.random(count), generator.choice(ordinary, size=count)
        masked = fates < self.mask_share
        replaced = ~masked & (fates < self.mask_share + self.random_share)
        hidden[chosen[masked]] = self.mask_id
        hidden[chosen[replaced]] = pieces[replaced]
        return hidden, labels


@dataclass(frozen=True, kw_only=True)
class CausalLanguageModel(TokenObjective):
    """Objective by which every token predicts the next of its sequence; the last predicts nothing.

    Attributes:
        reduction: Reduction over the predicted tokens of a sequence.
    """

    def prepare(self, batch: Batch) -> Prepared:
        """Return the batch as it is, with the next tokens as labels."""
        return Prepared.from_batch(batch, labels=_next(batch.input_ids, batch.attention_mask))

    def settings(self) -> dict[str, Any]:
        """Return the options."""
        return {"objective": "causal language model", "reduction": self.reduction}


@dataclass(frozen=True, kw_only=True)
class SequenceToSequence(TokenObjective):
    """Objective by which every token of the target predicts the next, given the source.

    The decoder is given the true target (teacher forcing), which begins with its start token.

    Attributes:
        reduction: Reduction over the predicted tokens of a target.
    """

    def prepare(self, batch: Batch) -> Prepared:
        """Return the batch as it is, with the next tokens of the target as labels.

        Raises:
            UsageError: there are no targets.
        """
        if batch.target_ids is None or batch.target_mask is None:
            raise UsageError(
                "an encoder-decoder predicts a second text, and these examples have one only; use "
                "pairs."
            )
        return Prepared.from_batch(batch, labels=_next(batch.target_ids, batch.target_mask))

    def settings(self) -> dict[str, Any]:
        """Return the options."""
        return {"objective": "sequence to sequence", "reduction": self.reduction}


def _next(
    ids: Int64[Tensor, "batch position"], mask: Int64[Tensor, "batch position"]
) -> Int64[Tensor, "batch position"]:
    """Return the id one position later, where it and its predecessor are no padding."""
    labels = ids.roll(-1, dims=1)
    both = (mask > 0) & (mask.roll(-1, dims=1) > 0)
    both[:, -1] = False
    return labels.masked_fill(~both, NOTHING)
