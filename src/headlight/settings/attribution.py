"""Settings of the contributions of input tokens; without torch."""

from dataclasses import dataclass
from typing import Annotated, Literal

from headlight.settings.base import UNLISTED, AtLeast1, Range, Settings

Embeddings = Literal["sum", "output"]
"""What an input token is: the sum of its embeddings, or what the first block is given."""

MatrixPrecision = Literal["highest", "medium"]
"""Of products of float32 matrices, as `torch.set_float32_matmul_precision` names it."""


@dataclass(frozen=True, kw_only=True)
class AttributionSettings(Settings):
    """Settings of how contributions are computed.

    Attributes:
        method: ``exact``, or ``estimate`` from random directions with standard errors.
        directions: random directions of the estimate, for every input token; at least two, so that
            their spread can be seen.
        seed: of the directions.
        embeddings: what x_i is: ``sum`` of token, segment and position embeddings, or the
            ``output`` of all embedding layers, which the first block is given.
        precision: of products of matrices of an estimate: ``highest`` is that of the model;
            ``medium`` may multiply float32 as bfloat16 and add in float32, where the processor does
            that faster; what it changes is small beside the error of an estimate.
        memory: bytes that tangents may take, and matrices of tokens, which save time where they fit
            into half of it.
    """

    method: Literal["exact", "estimate"] = "estimate"
    directions: Annotated[int, Range(minimum=2)] = 16
    seed: Annotated[int, UNLISTED] = 0
    embeddings: Annotated[Embeddings, UNLISTED] = "sum"
    precision: Annotated[MatrixPrecision, UNLISTED] = "highest"
    memory: Annotated[AtLeast1, UNLISTED] = 2**30
