"""Norms and scales of a layer as linear maps, with their divisors frozen."""

import copy
from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

ROWS = 16
TOLERANCE = 1e-5
"""Allowed relative error: some norms compute in float32, whatever they are given."""
SMALL, LARGE = 1e-8, 1e3
"""Lengths at which the addend of the variance is all that counts, or counts for nothing."""

Vectors = Float[Tensor, "*tokens d_model"]


@dataclass(frozen=True, eq=False)
class FrozenMap:
    """Norm or scale: v ↦ (v − mean of v) / s ∘ gain + offset.

    Without the offset, and with s of the vector that it was given in the run, it is linear, so that
    it can be applied to the parts of that vector.

    Attributes:
        name: Name of the module, or of the factor.
        gain: Factor γ, in a Gemma norm 1 + γ; float64.
        offset: Addend β; float64.
        centred: Whether the mean is subtracted (LayerNorm).
        eps: Addend of the variance, or of the mean square; None where nothing is divided.
    """

    name: str
    gain: Float[Tensor, " d_model"]
    offset: Float[Tensor, " d_model"]
    centred: bool = False
    eps: float | None = None

    def scale(self, vectors: Vectors) -> Float[Tensor, "*tokens"]:
        """Return the divisor of each vector: s, or 1 for a scale."""
        if self.eps is None:
            return vectors.new_ones(vectors.shape[:-1])
        return (self._centre(vectors).square().mean(-1) + self.eps).sqrt()

    def linear(self, parts: Vectors) -> Vectors:
        """Return the parts times the matrix of the map, before they are divided by s."""
        return self._centre(parts) * self.gain.to(parts)

    def __call__(self, vectors: Vectors) -> Vectors:
        """Return the output of the module."""
        return self.linear(vectors) / self.scale(vectors)[..., None] + self.offset.to(vectors)

    def _centre(self, vectors: Vectors) -> Vectors:
        return vectors - vectors.mean(-1, keepdim=True) if self.centred else vectors


def frozen_map(module: nn.Module, size: int, name: str) -> FrozenMap | None:
    """Return the map that a module is, fitted to outputs for random vectors; None if it is none."""
    if sum(parameter.numel() for parameter in module.parameters()) > 4 * size:
        return None
    # A twin in float64: half precision would round more than norms differ from other functions.
    twin = copy.deepcopy(module).to("cpu", torch.float64)
    vectors = torch.randn(1, ROWS, size, generator=torch.Generator().manual_seed(0)).double()

    def run(values: Tensor) -> Tensor:
        with torch.no_grad():
            return twin(values).double()  # type: ignore[no-any-return]

    try:
        fitted = _fit(run, vectors, name)
    except Exception:  # noqa: BLE001 - a module that takes something else can raise anything
        return None
    return fitted


def _fit(run: Callable[[Tensor], Tensor], vectors: Tensor, name: str) -> FrozenMap | None:
    # But for β a norm is an odd function. Long vectors show γ, and short ones then show eps.
    offset = ((run(vectors) + run(-vectors)) / 2).mean((0, 1))
    for centred in (True, False):
        deviations = vectors - vectors.mean(-1, keepdim=True) if centred else vectors
        unit = deviations / deviations.square().mean(-1, keepdim=True).sqrt()
        outputs = run(LARGE * vectors) - offset
        gain = (outputs * unit).sum((0, 1)) / unit.square().sum((0, 1))
        tiny = run(SMALL * vectors) - offset
        length = SMALL * (deviations * gain).norm() / tiny.norm()
        eps = float(length.square() - (SMALL * deviations).square().mean())
        fitted_map = FrozenMap(name, gain, offset, centred, max(eps, 0.0))
        if _agrees(fitted_map, run, vectors):
            return fitted_map
    outputs = run(vectors) - offset
    gain = (outputs * vectors).sum((0, 1)) / vectors.square().sum((0, 1))
    fitted_map = FrozenMap(name, gain, offset)
    return fitted_map if _agrees(fitted_map, run, vectors) else None


def _agrees(fitted: FrozenMap, run: Callable[[Tensor], Tensor], vectors: Tensor) -> bool:
    for size in (0.03, 1.0, 100.0):
        wanted = run(size * vectors)
        if wanted.shape != vectors.shape:
            return False
        if not float((fitted(size * vectors) - wanted).norm()) <= TOLERANCE * float(wanted.norm()):
            return False
    return True
