"""How much each input token contributes to each hidden token (hidden token attribution)."""

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.capture.attribution_estimate import Found, estimate, exact
from headlight.capture.attribution_forward import refusing
from headlight.capture.attribution_probes import generator_of
from headlight.capture.attribution_reverse import summed
from headlight.capture.attribution_run import prepared
from headlight.capture.attribution_texts import Places, single_texts
from headlight.capture.record import Kind
from headlight.capture.subject import Subject
from headlight.encode.batch import Batch
from headlight.errors import UsageError


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

    def __post_init__(self) -> None:
        if self.probes < 2:
            raise UsageError(
                f"probes must be at least 2, so that their spread can be seen, not {self.probes}."
            )
        if self.memory < 1:
            raise UsageError(f"memory must be a positive number of bytes, not {self.memory}.")


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
    settings: AttributionSettings = AttributionSettings(),
    *,
    kind: Kind | None = None,
    side: str = "right",
) -> Attribution:
    """Contributions of the input tokens of `batch` to its hidden tokens, at every block.

    Row l of the result is the output of block l; the output of the last block is taken after the
    final norm where a model has one (GPT-2, Llama, T5).  Every text is run by itself without
    padding, so what it is batched with changes nothing.  The model must not be captured meanwhile.

    Args:
        subject: the model, in float32 or float64.
        batch: texts, padded on either side.
        settings: exact or estimated, and of what.
        kind: ``encoder`` and ``decoder`` are a stack's own inputs in its own hidden tokens,
            ``cross`` the encoder's inputs in the decoder's; default: the first kind of the model.
        side: where the batch is padded; it is read off the batch itself, so either will do.

    Raises:
        UsageError: the model has no such kind, is in training mode or in half precision, or the
            batch has no text for its decoder.
        UnsupportedModelError: an operation of the model has no forward-mode derivative.
        CaptureError: the model is being captured, or a hidden token does not depend on the input.
    """
    kind = _demand_fitting(subject, batch, kind)
    found = [_attribute_one(subject, text, settings, kind) for text in single_texts(batch)]
    places = Places.of(batch, kind)
    dtype = subject.transformer.dtype
    errors = [one.standard_error for one in found if one.standard_error is not None]
    return Attribution(
        places.spread([one.contribution for one in found]).to(dtype),
        places.spread(errors).to(dtype) if errors else None,
    )


def _attribute_one(
    subject: Subject, text: Batch, settings: AttributionSettings, kind: Kind
) -> Found:
    with prepared(subject, text, kind, settings.embeddings) as run, refusing(subject.name):
        if settings.definition == "summed":
            return summed(run, settings.memory)
        if settings.method == "exact":
            return exact(run, settings.memory)
        generator = generator_of(text, settings.seed)
        return estimate(run, settings.probes, generator, settings.memory)


def _demand_fitting(subject: Subject, batch: Batch, kind: Kind | None) -> Kind:
    chosen = kind or subject.kinds[0]
    subject.sites_of(chosen)
    if any(module.training for module in subject.transformer.modules()):
        raise UsageError(
            f"{subject.name} is in training mode, where dropout changes it at random; call "
            "model.eval() first."
        )
    if subject.transformer.dtype not in (torch.float32, torch.float64):
        raise UsageError(
            f"{str(subject.transformer.dtype).removeprefix('torch.')} is too coarse for the "
            f"derivatives of {subject.name}; load it in float32."
        )
    if chosen != "encoder" and subject.has_decoder_inputs and batch.target_ids is None:
        raise UsageError(
            f"the batch has no text for the decoder of {subject.name}; encode pairs of a source "
            "and a target, or ask for kind='encoder'."
        )
    return chosen
