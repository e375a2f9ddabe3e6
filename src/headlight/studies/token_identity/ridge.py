"""Linear maps in closed form: ridge regression.

For cosine distance, which has no closed form, the targets are divided by their length: the map is
the least-squares fit of unit vectors, its λ is the one with the least cosine distance on the
validation tokens, and the nearest neighbour is looked up by cosine distance.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.studies.token_identity.losses import prepared

Hidden = Float[Tensor, "token model"]
Goals = Float[Tensor, "token input"]


def ridge_maps(
    hidden: Hidden, goals: Goals, loss: str, ridges: Sequence[float]
) -> Float[Tensor, "ridge input model"]:
    """The least ‖X W − Y‖² + λ ‖W‖² for every λ, from one eigendecomposition of XᵀX.

    Args:
        hidden: X, training tokens.
        goals: Y, what they should be mapped to.
        loss: ``l2``, or ``cosine`` for Y divided by its length.
        ridges: λ, as multiples of the mean eigenvalue of XᵀX, that is of the number of tokens times
            the mean square of a feature.

    Returns:
        The matrices as [out, in], computed in float64, in the type of the hidden tokens.
    """
    x, y = hidden.double(), prepared(goals, loss).double()
    squares, vectors = torch.linalg.eigh(x.mT @ x)
    squares = squares.clamp(min=0)  # rounding makes zeros slightly negative
    scale = squares.mean().clamp(min=torch.finfo(torch.float64).tiny)
    towards = (y.mT @ x) @ vectors
    maps = [(towards / (squares + ridge * scale)) @ vectors.mT for ridge in ridges]
    return torch.stack(maps).to(hidden.dtype)
