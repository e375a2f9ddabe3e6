"""Contributions of input tokens to hidden tokens, by several methods."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Float64, Int64
from torch import Tensor

from headlight.capture.captured_model import CapturedModel
from headlight.capture.embedding_changes import Run, prepared
from headlight.capture.finite_numbers import require_finite
from headlight.capture.forward_mode import portions, refusing, squared_moves
from headlight.capture.torch_settings import matrix_precision
from headlight.encode.batch import Batch
from headlight.errors import CaptureError, UsageError, setting
from headlight.settings.attribution import AttributionSettings
from headlight.vocabulary import Kind

Contribution = Float[Tensor, "layer query key"]


@dataclass(frozen=True)
class TextContributions:
    """Contributions of one text, with standard errors where they are estimates."""

    contribution: Contribution
    standard_error: Contribution | None = None


def exact(run: Run, memory: int) -> TextContributions:
    """Return contributions from ‖∂e_j/∂x_i‖_F: every dimension of every token is changed."""
    tokens, dimensions = run.embedded.shape[1:]
    squares: Tensor | None = None
    for keys, moved in _all_moves(run, torch.eye(dimensions).to(run.embedded), memory):
        if squares is None:
            squares = moved.new_zeros(moved.shape[0], tokens, moved.shape[2])
        squares.index_add_(1, keys.to(moved.device), moved)
    assert squares is not None  # noqa: S101 - a text has tokens
    return TextContributions(shares(squares.sqrt().transpose(1, 2)))


def estimate(
    run: Run, directions: int, generator: np.random.Generator, memory: int
) -> TextContributions:
    """Estimate contributions from random changes of tokens, the same for all tokens of a text.

    Since all tokens are changed in the same directions, much of the error is common to all
    contributions to a hidden token, and cancels in their shares.  With as many
    directions as dimensions the result is exact.
    """
    tokens, dimensions = run.embedded.shape[1:]
    directions = min(directions, dimensions)
    frame = random_frame(dimensions, directions, generator).to(run.embedded)
    parts = [moved for _, moved in _all_moves(run, frame, memory)]
    squared = torch.cat(parts, 1)
    layers, _, queries = squared.shape
    samples = squared.reshape(layers, tokens, directions, queries).permute(0, 3, 1, 2)
    rest = 1 - directions / dimensions  # share of directions not tried: the others are exact
    return shares_of_samples(samples, rest)


def _all_moves(
    run: Run, frame: Float[Tensor, "direction dimension"], memory: int
) -> Iterator[tuple[Int64[Tensor, " change"], Float64[Tensor, "layer change query"]]]:
    """Yield, for every token and direction, the token changed and how far hidden tokens move."""
    tokens, directions = run.embedded.shape[1], len(frame)
    for part in portions(run, tokens * directions, memory):
        change = torch.arange(part.start, min(part.stop, tokens * directions))
        keys = change // directions
        yield keys, squared_moves(run, frame[change % directions], keys).double()


def shares(size: Float[Tensor, "layer query key"]) -> Contribution:
    """Return sizes of derivatives, divided by their sum over the input tokens.

    Source: Brunner et al. (2020), Section 5.1, Eq. 11.

    Raises:
        CaptureError: a hidden token depends on no input token, or in a way that is not finite.
    """
    whole = size.sum(-1, keepdim=True)
    require_finite("the derivative of a hidden token by the input embeddings", whole[None])
    if not bool((whole > 0).all()):
        raise CaptureError(
            "a hidden token has derivatives by the input embeddings that are all 0, so "
            "contributions to it are not defined."
        )
    return size / whole


def shares_of_samples(
    samples: Float[Tensor, "layer query key direction"], rest: float
) -> TextContributions:
    """Return contributions from ‖Jz‖² of each direction, with standard errors by the delta method.

    Args:
        samples: ‖Jz‖², whose expectation is ‖J‖_F².
        rest: Share of the directions that was not tried; it scales the variance, as in samples
            without replacement.
    """
    size = samples.mean(-1).sqrt()
    contribution = shares(size)
    # How c_ij moves with each direction, to first order: √ first, then the division by the sum.
    moved = (samples - samples.mean(-1, keepdim=True)) / (2 * size.clamp_min(1e-300))[..., None]
    moved = moved - contribution[..., None] * moved.sum(2, keepdim=True)
    moved = moved / size.sum(-1)[..., None, None]
    variance = moved.var(-1) * rest / samples.shape[-1]
    return TextContributions(contribution, variance.sqrt())


def random_frame(
    dimensions: int, directions: int, generator: np.random.Generator
) -> Float[Tensor, "direction dimension"]:
    """Return orthogonal directions of length √dimensions, uniformly distributed.

    For every matrix J the mean of ‖Jz‖² over them has the expectation ‖J‖_F² (Frobenius norm), with
    less variance than for independent directions, and none when there are as many as dimensions.
    """
    normal = generator.standard_normal((dimensions, directions))
    basis, triangle = np.linalg.qr(normal)
    basis = basis * np.sign(np.diagonal(triangle))  # without the signs it would not be uniform
    return torch.from_numpy(basis.T * np.sqrt(dimensions))


def generator_of(text: Batch, seed: int) -> np.random.Generator:
    """Return a generator seeded by the ids of a text and the seed, whatever batch it comes in."""
    ids = [text.input_ids] if text.target_ids is None else [text.input_ids, text.target_ids]
    digest = hashlib.sha256()
    for part in ids:
        digest.update(part.cpu().numpy().tobytes() + b"|")  # the bar tells text and target apart
    return np.random.default_rng([seed, int.from_bytes(digest.digest()[:8])])


@dataclass(frozen=True, eq=False)
class Attribution:
    """Contributions of input tokens (key) to hidden tokens (query) at the output of each block.

    Attributes:
        contribution: Contributions c_ij, with query j and key i; rows over the keys of a text sum
            to 1, padding has 0.
        standard_error: Standard error of the estimate; None where contributions are exact.
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
    """Return contributions of the input tokens of `batch` to its hidden tokens, at every block.

    Row l of the result is the output of block l; the output of the last block is taken after the
    final norm where a model has one (GPT-2, Llama, T5).  Every text is run by itself without
    padding, so what it is batched with changes nothing.  The model must not be captured meanwhile.

    Args:
        model: Model in float32 or float64.
        batch: Texts, padded on either side.
        settings: Method, exact or estimated, and its options.
        kind: Attention kind: ``encoder`` and ``decoder`` are a stack's own inputs in its own
            hidden tokens, ``cross`` the encoder's inputs in the decoder's; by default the first
            kind of the model.

    Raises:
        UsageError: the model has no such kind, is in training mode or in half precision, or the
            batch has no text for its decoder.
        UnsupportedModelError: an operation of the model has no forward-mode derivative.
        CaptureError: the model is being captured, or a hidden token does not depend on the input.
    """
    kind = _checked_kind(model, batch, kind)
    settings = settings or AttributionSettings()
    contributions = [_attribute_one(model, text, settings, kind) for text in _single_texts(batch)]
    places = _Places.from_batch(batch, kind)
    dtype = model.transformer.dtype
    errors = [
        text_part.standard_error
        for text_part in contributions
        if text_part.standard_error is not None
    ]
    return Attribution(
        places.spread([text_part.contribution for text_part in contributions]).to(dtype),
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
    model.check_evaluation()
    if model.transformer.dtype not in (torch.float32, torch.float64):
        raise UsageError(
            f"{str(model.transformer.dtype).removeprefix('torch.')} is too coarse for the "
            f"derivatives of {model}; load it in float32."
        )
    if chosen != "encoder" and model.has_decoder_inputs and batch.target_ids is None:
        raise UsageError(
            f"the batch has no text for the decoder of {model}; encode pairs of a source "
            f"and a target, or ask for {setting('kind=encoder')}."
        )
    return chosen


def _single_texts(batch: Batch) -> Iterator[Batch]:
    """Yield every text as a batch of its own, its padding cut off."""
    present, present_target = batch.attention_mask.bool(), _target_mask(batch)
    for row in range(len(batch.lengths)):
        cut: dict[str, Any] = {
            "names": batch.names[row : row + 1],
            "padded": (0, 0),
            "target_padded": (0, 0),
        }
        for field in fields(batch):
            values = getattr(batch, field.name)
            if not isinstance(values, Tensor):
                continue
            values = values[row : row + 1]
            if values.ndim == 2:
                mask = present_target if field.name.startswith("target") else present
                values = values[:, mask[row]]
            cut[field.name] = values
        yield replace(batch, **cut)


@dataclass(frozen=True)
class _Places:
    """Positions of a batch that are real, for hidden tokens and for input tokens."""

    query: Bool[Tensor, "batch query"]
    key: Bool[Tensor, "batch key"]

    @classmethod
    def from_batch(cls, batch: Batch, kind: Kind) -> "_Places":
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
        for row, contribution in enumerate(values):
            real = self.query[row][:, None] & self.key[row][None, :]
            whole[:, row, real] = contribution.flatten(1)
        return whole


def _target_mask(batch: Batch) -> Tensor:
    mask = batch.attention_mask if batch.target_mask is None else batch.target_mask
    return mask.to(torch.bool)
