"""Nearest neighbours within a sequence: is a token found again?"""

import numpy as np
import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from headlight.studies.token_identity.losses import unit
from headlight.studies.token_identity.splits import Pairs
from headlight.studies.token_identity.vectors import TokenVectors

Rows = Float[Tensor, "token dim"]


class Lookup:
    """The 1-nearest-neighbour lookup among all tokens of the same sequence, special ones included.

    Computed in float64.  Where several tokens of a sequence have the very same vector, as words
    that occur twice do in models without position embeddings, they count as one: the vector is what
    is to be found again.

    Args:
        vectors: which sequences there are.
        goals: the candidates, a row for each token.
        loss: by which measure the nearest is told, ``cosine`` or ``l2``.
    """

    def __init__(self, vectors: TokenVectors, goals: Rows, loss: str) -> None:
        self._goals, self._loss = goals, loss
        self._first, self._lengths = vectors.first, vectors.lengths
        self._sequence = vectors.sequence
        self._same = torch.from_numpy(_same(goals)).to(goals.device)

    def found(
        self, predicted: Float[Tensor, "pair dim"], pairs: Pairs
    ) -> Bool[np.ndarray, " pair"]:
        """Whether the nearest candidate of each prediction is the token that it should be."""
        sequence = self._sequence[pairs.source]
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
        """The share of tokens that are found again; NaN where there are none."""
        return float(self.found(predicted, pairs).mean()) if len(pairs) else float("nan")

    def _nearest(
        self, predicted: Float[Tensor, "pair dim"], sequence: int
    ) -> Int64[Tensor, " pair"]:
        """The row of the nearest token of the sequence."""
        first, length = int(self._first[sequence]), int(self._lengths[sequence])
        candidates = self._goals[first : first + length].double()
        if self._loss == "cosine":
            closeness = predicted.double() @ unit(candidates).mT
        else:  # ‖p − y‖² is ‖p‖² − 2 (p·y − ‖y‖²/2), and ‖p‖² is the same for all candidates
            closeness = predicted.double() @ candidates.mT - candidates.square().sum(-1) / 2
        return first + closeness.argmax(-1)


def _same(goals: Rows) -> Int64[np.ndarray, " token"]:
    """A number for each row, equal for rows that are equal throughout."""
    rows = np.ascontiguousarray(goals.cpu().numpy())
    whole = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1])))[:, 0]
    return np.unique(whole, return_inverse=True)[1].reshape(-1).astype(np.int64)
