"""Settings of hidden token attribution; without torch."""

from dataclasses import dataclass
from typing import Annotated, Literal

from headlight.settings import AtLeast1, Range, Settings

Embeddings = Literal["sum", "output"]
"""Vector of an input token: the sum of its embeddings, or the input of the first block."""

MatrixPrecision = Literal["highest", "medium"]
"""Precision of float32 matrix products, as `torch.set_float32_matmul_precision` names it."""


@dataclass(frozen=True, kw_only=True)
class AttributionSettings(Settings):
    """Settings of the computation of contributions.

    Attributes:
        method: method: ``exact``, or an ``estimate`` from random directions, with standard errors.
        directions: random directions of the estimate for each input token; at least two, for the
            standard error.
        seed: random seed of the directions.
        embeddings: input embeddings x_i: the ``sum`` of token, segment and position embeddings, or
            the ``output`` of all embedding layers, which is the input of the first block.
        precision: precision of matrix products in estimates: ``highest`` is that of the model;
            ``medium`` may multiply in bfloat16 and add in float32, which can be faster; the error
            is small compared with that of the estimate.
        memory: maximal memory of tangents and of matrices of tokens, in bytes; matrices save time
            where they fit into half of it.
    """

    method: Literal["exact", "estimate"] = "estimate"
    directions: Annotated[int, Range(minimum=2)] = 16
    seed: int = 0
    embeddings: Embeddings = "sum"
    precision: MatrixPrecision = "highest"
    memory: AtLeast1 = 2**30


Slope = Literal["zero_origin", "chord", "derivative"]
"""Slope of a linearized activation.

``zero_origin``
    act(x) / x, the line through the origin (DecompX, Modarressi et al. 2023, Section 2).
``chord``
    (act(x) - act(b)) / (x - b), where b is the bias of the preceding linear map: integrated
    gradients from b to x in closed form (Kobayashi et al. 2024).
``derivative``
    act'(x), the tangent.
"""
