"""Validation losses of many maps at once."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from headlight.studies.token_identity.losses import prepared, value
from headlight.studies.token_identity.models import Linear, Model, Weights

Hidden = Float[Tensor, "token model"]
Goals = Float[Tensor, "token input"]
TOKENS = 256
"""Tokens of which predictions are in memory at a time; few enough for a cache."""


class Validation:
    """Mean losses over the validation tokens of each group.

    For linear maps and the L2 loss no pass over the tokens is needed: with [X Y] = Q R, the sum of
    squares ‖X W − Y‖² is that of R, which has no more rows than X and Y have columns.  It is a sum
    of squares again, so that nothing cancels out, as it would in tr(WᵀXᵀXW) − 2 tr(WᵀXᵀY) + …
    R is computed in float64.

    Args:
        hidden: validation tokens of each group.
        goals: what they should be mapped to.
        loss: ``cosine`` or ``l2``.
        model: the kind of map.
    """

    def __init__(
        self, hidden: Sequence[Hidden], goals: Sequence[Goals], loss: str, model: Model
    ) -> None:
        self._loss = loss
        self._tokens = len(hidden[0])
        self._rest = [0.0] * len(hidden)
        self._hidden = list(hidden)
        self._goals = [prepared(rows, loss) for rows in goals]
        if loss == "l2" and isinstance(model, Linear):
            for group, sides in enumerate(zip(hidden, goals, strict=True)):
                self._hidden[group], self._goals[group], self._rest[group] = _triangle(*sides)

    def losses(
        self, model: Model, weights: Weights, groups: Sequence[int]
    ) -> Float[Tensor, "group rate"]:
        """The mean loss of every map of a stack whose rows are of these groups; float64."""
        return torch.stack(
            [self._of_group(model, [w[row : row + 1] for w in weights], group)
             for row, group in enumerate(groups)]
        )  # fmt: skip

    def _of_group(self, model: Model, weights: Weights, group: int) -> Float[Tensor, " rate"]:
        total: Tensor | float = self._rest[group]
        sides = (self._hidden[group], self._goals[group])
        for hidden, goals in zip(*(torch.split(side, TOKENS) for side in sides), strict=True):
            predicted = model.predict(weights, hidden.unsqueeze(0))[0]
            total = total + value(predicted, goals, self._loss).sum(-1, dtype=torch.float64)
        return torch.as_tensor(total) / self._tokens


def _triangle(
    hidden: Hidden, goals: Goals
) -> tuple[Float[Tensor, "row model"], Float[Tensor, "row input"], float]:
    """Rows with the same sum of squares of X W − Y for every W, but for a constant; the constant.

    The constant is in units of the loss: mean over the entries of a token.
    """
    both = torch.cat([hidden, goals], dim=1).double().cpu().numpy()
    factor: np.ndarray = np.asarray(np.linalg.qr(both, mode="r"))
    width = hidden.shape[1]
    top, rest = factor[:width], factor[width:, width:]
    parts = (torch.from_numpy(side).to(hidden) for side in (top[:, :width], top[:, width:]))
    x, y = (part.contiguous() for part in parts)
    return x, y, float((rest**2).sum() / goals.shape[1])
