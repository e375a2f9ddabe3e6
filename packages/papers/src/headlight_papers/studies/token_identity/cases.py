"""Cases of a study of token identity, and the tokens for training and testing."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from headlight.errors import UsageError
from headlight_papers.studies.token_identity import Loss, MapKind, TokenIdentitySettings
from headlight_papers.studies.token_identity.extraction import TokenVectors
from headlight_papers.studies.token_identity.models import unit

Rows = Float[Tensor, "token dim"]
HELD_OUT = 0.15
"""Share of the sequences in each of validation and test."""

Numbers = Int64[np.ndarray, " _"]


@dataclass(frozen=True, eq=False)
class Split:
    """Numbers of sequences by part; none is in two parts."""

    train: Numbers
    validation: Numbers
    test: Numbers


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of a hidden token and the input token that it should give back, by their rows.

    Attributes:
        source: Rows of hidden tokens, those of a sequence together.
        goal: Rows of the tokens that they should give back, in the same sequences.
    """

    source: Int64[np.ndarray, " pair"]
    goal: Int64[np.ndarray, " pair"]

    def __len__(self) -> int:
        return len(self.source)


def split(sequences: int, fold: int, seed: int, fraction: float = 1.0) -> Split:
    """Draw a random split, 70 % for training and 15 % each for validation and test.

    Splits of different folds are drawn independently, so that their test sets overlap: the paper
    says "10-fold cross validation with 70/15/15 train/validation/test splits per fold".

    Args:
        sequences: Number of sequences.
        fold: Number of the split.
        seed: Seed of all splits.
        fraction: Share of the training sequences that is kept; a smaller share is part of a
            larger one.

    Raises:
        UsageError: There are too few sequences.
    """
    # At least one sequence is held out twice, however few there are.
    held = max(1, round(HELD_OUT * sequences))
    if sequences - 2 * held < 1:
        raise UsageError(
            f"{sequences} sequences cannot be split into training, validation and test; give at "
            "least 3."
        )
    # Fold and seed alone decide, whichever maps are trained.
    order = np.random.default_rng([seed, fold]).permutation(sequences)
    validation, test, train = np.split(order, [held, 2 * held])
    subset = train[: max(1, round(fraction * len(train)))]
    return Split(np.sort(subset), np.sort(validation), np.sort(test))


def pairs(vectors: TokenVectors, sequences: Numbers, offset: int = 0) -> Pairs:
    """Pair the tokens of these sequences with those at `offset` positions to the right, if any."""
    first, lengths = vectors.first, vectors.lengths
    source = [np.empty(0, dtype=np.int64)]
    for number in sequences:
        # At either edge of a sequence a token has no neighbour at the offset.
        begin = first[number] + max(0, -offset)
        end = first[number] + lengths[number] - max(0, offset)
        source.append(np.arange(begin, end))
    rows = np.concatenate(source)
    return Pairs(rows, rows + offset)


def order(pairs: int, fold: int, seed: int, epoch: int) -> Int64[np.ndarray, " pair"]:
    """Return the order of training pairs in an epoch; the same for all layers and rates."""
    # The last number tells this draw from others of the same seed.
    return np.random.default_rng([seed, fold, epoch, 1]).permutation(pairs)


class Lookup:
    """1-nearest-neighbour lookup among all tokens of the same sequence, special ones included.

    Computed in float64.  Where several tokens of a sequence have the very same vector, as words
    that occur twice do in models without position embeddings, they count as one: the vector is what
    is to be found again.

    Args:
        vectors: Vectors of all tokens, with the bounds of their sequences.
        goals: Candidates, a row for each token.
        loss: Distance to the nearest candidate, ``cosine`` or ``l2``.
    """

    def __init__(self, vectors: TokenVectors, goals: Rows, loss: Loss) -> None:
        self._goals, self._loss = goals, loss
        self._first, self._lengths = vectors.first, vectors.lengths
        self._sequence = vectors.sequence
        self._same = torch.from_numpy(_same(goals)).to(goals.device)

    def are_identified(
        self, predicted: Float[Tensor, "pair dim"], pairs: Pairs
    ) -> Bool[np.ndarray, " pair"]:
        """Whether the nearest candidate of each prediction is the token that it should be."""
        sequence = self._sequence[pairs.source]
        # Pairs stand sequence by sequence, and are looked up in blocks of one sequence.
        ends = np.flatnonzero(np.diff(sequence)) + 1
        goal = torch.from_numpy(pairs.goal).to(predicted.device)
        answers = [np.empty(0, dtype=bool)]
        for begin, end in zip([0, *ends], [*ends, len(sequence)], strict=True):
            if begin < end:
                number = int(sequence[begin])
                nearest = self._nearest(predicted[begin:end], number)
                same = self._same[nearest] == self._same[goal[begin:end]]
                answers.append(same.cpu().numpy())
        return np.concatenate(answers)

    def rate(self, predicted: Float[Tensor, "pair dim"], pairs: Pairs) -> float:
        """Return the share of identified tokens; NaN where there are none."""
        return float(self.are_identified(predicted, pairs).mean()) if len(pairs) else float("nan")

    def _nearest(
        self, predicted: Float[Tensor, "pair dim"], sequence: int
    ) -> Int64[Tensor, " pair"]:
        """Return the row of the nearest token of the sequence."""
        first, length = int(self._first[sequence]), int(self._lengths[sequence])
        # In float64, since the nearest candidates may be nearer to each other than float32 tells.
        candidates = self._goals[first : first + length].double()
        if self._loss == "cosine":
            closeness = predicted.double() @ unit(candidates).mT
        else:  # ‖p − y‖² is ‖p‖² − 2 (p·y − ‖y‖²/2), and ‖p‖² is the same for all candidates
            closeness = predicted.double() @ candidates.mT - candidates.square().sum(-1) / 2
        return first + closeness.argmax(-1)


def _same(goals: Rows) -> Int64[np.ndarray, " token"]:
    # Whole rows are compared as bytes, by which `unique` sorts them at once.
    rows = np.ascontiguousarray(goals.cpu().numpy())
    whole = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1])))[:, 0]
    return np.unique(whole, return_inverse=True)[1].reshape(-1).astype(np.int64)


@dataclass(frozen=True, order=True)
class Case:
    """Maps of one kind from some layers, on one fold.

    Attributes:
        map: Kind of map.
        loss: Distance of the training, ``cosine`` or ``l2``.
        offset: Number of positions from the token to the recovered one.
        fraction: Share of the training sequences.
        fold: Number of the split.
        layers: Mapped layers, each with a map of its own.
    """

    map: MapKind
    loss: Loss
    offset: int
    fraction: float
    fold: int
    layers: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Parts:
    """Pairs of tokens of the three parts of a split."""

    train: Pairs
    validation: Pairs
    test: Pairs


@dataclass(eq=False, repr=False)
class Tokens:
    """Vectors as tensors on a device, and the lookup among them.

    Attributes:
        vectors: Vectors of all tokens.
        settings: Settings of targets and splits.
        device: Device on which maps are trained.
    """

    vectors: TokenVectors
    settings: TokenIdentitySettings
    device: torch.device

    def __post_init__(self) -> None:
        # Made before threads share them.
        self._lookups = {
            (loss, layer): Lookup(self.vectors, self.goals(layer), loss)
            for loss in self.settings.losses
            for layer in (self.layers if self.settings.target == "previous_layer" else (0,))
        }

    @cached_property
    def layers(self) -> tuple[int, ...]:
        """Return the mapped layers.

        Raises:
            UsageError: The model has no such layer.
        """
        count = len(self.vectors.hidden)
        chosen_layers = self.settings.layers
        for layer in chosen_layers or ():
            if not 0 <= layer < count:
                raise UsageError(f"there is no layer {layer}: layers are 0 to {count - 1}.")
        return tuple(range(count)) if chosen_layers is None else chosen_layers

    def hidden(self, layer: int) -> Rows:
        """Return e^l of every token, in the memory or the file of the vectors."""
        return torch.from_numpy(self.vectors.hidden[layer])

    def goals(self, layer: int) -> Rows:
        """Return the targets of maps of this layer, a row for each token."""
        if self.settings.target == "previous_layer":
            return torch.from_numpy(self.vectors.previous_layer(layer))
        return torch.from_numpy(self.vectors.inputs)

    def some(self, rows: Rows, numbers: Int64[np.ndarray, " pair"]) -> Float[Tensor, "pair dim"]:
        """Return some of the rows, on the device."""
        return rows[torch.from_numpy(numbers)].to(self.device)

    def lookup(self, loss: Loss, layer: int) -> Lookup:
        """Return the lookup among the goals of a layer."""
        return self._lookups[loss, layer if self.settings.target == "previous_layer" else 0]

    def parts(self, case: Case) -> Parts:
        """Return the pairs of a case.

        Raises:
            UsageError: There are too few sequences, or they are too short for the offset.
        """
        chosen = split(len(self.vectors.lengths), case.fold, self.settings.seed, case.fraction)
        parts = Parts(
            *(
                pairs(self.vectors, part, case.offset)
                for part in (chosen.train, chosen.validation, chosen.test)
            )
        )
        if not (len(parts.train) and len(parts.validation) and len(parts.test)):
            raise UsageError(
                f"a part of fold {case.fold} has no tokens with a neighbour at {case.offset:+}; "
                "give more or longer examples."
            )
        return parts
