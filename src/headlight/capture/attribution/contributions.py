"""Contribution of each input token to each hidden token (hidden token attribution)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headlight.capture.attribution.forward import refusing
from headlight.capture.attribution.methods import (
    TextContributions,
    estimate,
    exact,
    generator_of,
)
from headlight.capture.attribution.model_run import prepared
from headlight.capture.captured_model import CapturedModel
from headlight.capture.precision import matrix_precision
from headlight.encode.batch import Batch
from headlight.errors import UsageError
from headlight.settings.attribution import AttributionSettings
from headlight.vocabulary import Kind


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
    model: CapturedModel,
    batch: Batch,
    settings: AttributionSettings | None = None,
    *,
    kind: Kind | None = None,
) -> Attribution:
    """Contributions of the input tokens of `batch` to its hidden tokens, at every block.

    Row l of the result is the output of block l; the output of the last block is taken after the
    final norm where a model has one (GPT-2, Llama, T5).  Every text is run by itself without
    padding, so what it is batched with changes nothing.  The model must not be captured meanwhile.

    Args:
        model: the model, in float32 or float64.
        batch: texts, padded on either side.
        settings: exact or estimated, and of what.
        kind: ``encoder`` and ``decoder`` are a stack's own inputs in its own hidden tokens,
            ``cross`` the encoder's inputs in the decoder's; default: the first kind of the model.

    Raises:
        UsageError: the model has no such kind, is in training mode or in half precision, or the
            batch has no text for its decoder.
        UnsupportedModelError: an operation of the model has no forward-mode derivative.
        CaptureError: the model is being captured, or a hidden token does not depend on the input.
    """
    kind = _checked_kind(model, batch, kind)
    settings = settings or AttributionSettings()
    found = [_attribute_one(model, text, settings, kind) for text in _single_texts(batch)]
    places = _Places.of(batch, kind)
    dtype = model.transformer.dtype
    errors = [one.standard_error for one in found if one.standard_error is not None]
    return Attribution(
        places.spread([one.contribution for one in found]).to(dtype),
        places.spread(errors).to(dtype) if errors else None,
    )


def _attribute_one(
    model: CapturedModel, text: Batch, settings: AttributionSettings, kind: Kind
) -> TextContributions:
    with (
        model.running(text.names),
        prepared(model, text, kind, settings.embeddings) as run,
        refusing(model.name),
    ):
        if settings.method == "exact":
            return exact(run, settings.memory)
        generator = generator_of(text, settings.seed)
        with matrix_precision(settings.precision):
            return estimate(run, settings.directions, generator, settings.memory)


def _checked_kind(model: CapturedModel, batch: Batch, kind: Kind | None) -> Kind:
    chosen = kind or model.kinds[0]
    model.sites_of(chosen)
    if any(module.training for module in model.transformer.modules()):
        raise UsageError(
            f"{model.name} is in training mode, where dropout changes it at random; call "
            "model.eval() first."
        )
    if model.transformer.dtype not in (torch.float32, torch.float64):
        raise UsageError(
            f"{str(model.transformer.dtype).removeprefix('torch.')} is too coarse for the "
            f"derivatives of {model.name}; load it in float32."
        )
    if chosen != "encoder" and model.has_decoder_inputs and batch.target_ids is None:
        raise UsageError(
            f"the batch has no text for the decoder of {model.name}; encode pairs of a source "
            "and a target, or ask for kind='encoder'."
        )
    return chosen


def _single_texts(batch: Batch) -> Iterator[Batch]:
    """Every text as a batch of its own, its padding cut off."""
    present, present_target = batch.attention_mask.bool(), _target_mask(batch)
    for row in range(len(batch.lengths)):
        cut: dict[str, Any] = {}
        for field in fields(batch):
            values = getattr(batch, field.name)
            if values is None:
                continue
            values = values[row : row + 1]
            if isinstance(values, Tensor) and values.ndim == 2:
                kept = present_target if field.name.startswith("target") else present
                values = values[:, kept[row]]
            cut[field.name] = values
        yield replace(batch, **cut)


@dataclass(frozen=True)
class _Places:
    """Positions of a batch that are real, for hidden tokens and for input tokens."""

    query: Bool[Tensor, "batch query"]
    key: Bool[Tensor, "batch key"]

    @classmethod
    def of(cls, batch: Batch, kind: Kind) -> "_Places":
        """Return the positions of one kind: of the text, of the target, or of both."""
        source, target = batch.attention_mask.bool(), _target_mask(batch)
        has_target = batch.target_mask is not None
        query = target if has_target and kind != "encoder" else source
        key = target if has_target and kind == "decoder" else source
        return cls(query, key)

    def spread(
        self, values: Sequence[Float[Tensor, "layer ..."]]
    ) -> Float[Tensor, "layer batch query key"]:
        """Return the values of each text at its positions in the batch; 0 elsewhere."""
        batch, queries = self.query.shape
        whole = values[0].new_zeros(values[0].shape[0], batch, queries, self.key.shape[1])
        for row, found in enumerate(values):
            real = self.query[row][:, None] & self.key[row][None, :]
            whole[:, row, real] = found.flatten(1)
        return whole


def _target_mask(batch: Batch) -> Tensor:
    mask = batch.attention_mask if batch.target_mask is None else batch.target_mask
    return mask.to(torch.bool)
