"""How much each input token contributes to each hidden token (hidden token attribution)."""

from dataclasses import dataclass
from typing import Literal

from jaxtyping import Float
from torch import Tensor

from headlight.capture.record import Kind
from headlight.capture.subject import Subject
from headlight.encode.batch import Batch


@dataclass(frozen=True, kw_only=True)
class AttributionSettings:
    """How contributions are computed.

    Attributes:
        method: ``exact``, or ``estimate`` from random probes with standard errors.
        definition: of the size of a derivative: ``jacobian`` is the Frobenius norm of ∂e_j/∂x_i,
            ``summed`` the L2 norm of the gradient of the sum of the dimensions of e_j.
        probes: of the estimate, for every input token.
        seed: of the probes.
        embeddings: what x_i is: ``sum`` of token, segment and position embeddings, or the
            ``output`` of all embedding layers, which the first block is given.
        memory: bytes that tangents may take.
    """

    method: Literal["exact", "estimate"] = "estimate"
    definition: Literal["jacobian", "summed"] = "jacobian"
    probes: int = 16
    seed: int = 0
    embeddings: Literal["sum", "output"] = "sum"
    memory: int = 2**30


@dataclass(frozen=True, eq=False)
class Attribution:
    """Contributions of input tokens (key) to hidden tokens (query) at the output of each block.

    Attributes:
        contribution: c_ij, with query j and key i; rows over the keys of a text sum to 1, padding
            has 0.
        standard_error: of the estimate; None where contributions are exact.
    """

    contribution: Float[Tensor, "layer batch query key"]
    standard_error: Float[Tensor, "layer batch query key"] | None


def attribute(
    subject: Subject,
    batch: Batch,
    settings: AttributionSettings = AttributionSettings(),  # noqa: B008 - it is frozen
    *,
    kind: Kind | None = None,
    side: str = "right",
) -> Attribution:
    """Contributions of the input tokens of `batch` to its hidden tokens, at every block.

    Args:
        subject: the model.
        batch: texts, padded on either side; padding changes nothing.
        settings: exact or estimated, and of what.
        kind: ``encoder`` and ``decoder`` are a stack's own inputs, ``cross`` the encoder's inputs
            in the decoder's hidden tokens; default: the only kind the model has, or the encoder's.
        side: where the batch is padded; targets always are on the right.
    """
    raise NotImplementedError
