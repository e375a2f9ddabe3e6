"""One attention module with numbers of our choosing, as capture would have recorded it."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn

from definitions import Array, Mask
from headlight.capture import AttentionSite, LayerRecord, Projection, Residual
from headlight.measures import Scores
from headlight.vocabulary import ValueBias

DTYPES = (torch.float64, torch.float32, torch.bfloat16, torch.float16)


@dataclass(frozen=True, eq=False)
class Sizes:
    batch: int = 2
    heads: int = 4
    sharing: int = 1
    queries: int = 6
    keys: int = 6
    head_dim: int = 3
    width: int = 12


@dataclass(frozen=True, eq=False)
class Layer:
    """α, v(x) and W^O in the precision of a model, and who may see whom."""

    weight: Tensor
    value: Tensor
    output: Tensor
    visible: Tensor | None = None
    value_bias: Tensor | None = None
    gate: Tensor | None = None

    def scores(
        self,
        value_bias: ValueBias = "include",
        given: Tensor | None = None,
        residual: Residual | None = None,
        bias: Tensor | None = None,
    ) -> Scores:
        heads, size, width = self.output.shape
        linear = nn.Linear(heads * size, width, bias=bias is not None, dtype=self.output.dtype)
        with torch.no_grad():
            if bias is not None:
                linear.bias.copy_(bias)
            linear.weight.copy_(self.output.flatten(0, 1).T)
        site = AttentionSite(
            module=linear,
            name="layer.0.attention",
            kind="encoder",
            layer=0,
            heads=heads,
            kv_heads=self.value.shape[1],
            head_dim=size,
            projection=Projection(linear, "layer.0.output", heads),
            source=None,
            value_bias=self.value_bias,
            error=0.0,
            gate=None if self.gate is None else "head" if self.gate.shape[-1] == 1 else "element",
        )
        record = LayerRecord(
            site, self.weight, self.value, self.visible, given, gate=self.gate, residual=residual
        )
        return Scores(record, value_bias)

    def to(self, dtype: torch.dtype) -> "Layer":
        return replace(
            self,
            weight=self.weight.to(dtype),
            value=self.value.to(dtype),
            output=self.output.to(dtype),
            gate=None if self.gate is None else self.gate.to(dtype),
        )

    @property
    def seen(self) -> Tensor:
        """Who sees whom, written out."""
        batch, _, queries, keys = self.weight.shape
        if self.visible is None:
            return torch.ones(batch, queries, keys, dtype=torch.bool)
        return self.visible.expand(batch, queries, keys)

    def by_text(self, define: Callable[..., Array], *names: str) -> Array:
        """A definition, which knows one text, for every text of the batch."""
        return np.stack([define(*row) for row in zip(*map(self._texts, names), strict=True)])

    def _texts(self, name: str) -> list[Array] | list[Mask]:
        if name == "seen":
            return list(self.seen.numpy())
        if name == "output":
            return [wide(self.output)] * len(self.weight)
        return list(wide(getattr(self, name)))


def wide(tensor: Tensor) -> Array:
    return tensor.double().numpy()


def softmax(logits: Tensor, visible: Tensor | None) -> Tensor:
    """Rows of a query that sees nothing are zero."""
    if visible is not None:
        logits = logits.masked_fill(~visible[:, None], -torch.inf)
    return torch.softmax(logits, dim=-1).nan_to_num(0.0)


def masked(kind: str, sizes: Sizes, generator: torch.Generator) -> Tensor | None:
    """`none`, `padding`, `causal`, `window`, `left` (causal and padded on the left), `any`."""
    query = torch.arange(sizes.queries)[:, None] + sizes.keys - sizes.queries
    key = torch.arange(sizes.keys)[None]
    lengths = torch.randint(1, sizes.keys + 1, (sizes.batch, 1, 1), generator=generator)
    masks = {
        "padding": key[None] < lengths,
        "causal": (key <= query).expand(sizes.batch, -1, -1),
        "window": ((key - query).abs() <= 1).expand(sizes.batch, -1, -1),
        "left": (key <= query) & (key[None] >= sizes.keys - lengths),
        "any": torch.rand(sizes.batch, sizes.queries, sizes.keys, generator=generator) < 0.5,
    }
    return masks.get(kind)


MASKS = ("none", "padding", "causal", "window", "left", "any")


def random_layer(
    sizes: Sizes,
    seed: int = 0,
    mask: str = "none",
    dtype: torch.dtype = torch.float32,
    peak: float = 2.0,
) -> Layer:
    """Attention of `peak` as the spread of its logits; values and W^O of unit gain."""
    generator = torch.Generator().manual_seed(seed)

    def noise(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    heads, size, width = sizes.heads, sizes.head_dim, sizes.width
    visible = masked(mask, sizes, generator)
    return Layer(
        weight=softmax(peak * noise(sizes.batch, heads, sizes.queries, sizes.keys), visible),
        value=noise(sizes.batch, heads // sizes.sharing, sizes.keys, size),
        output=noise(heads, size, width) / (heads * size) ** 0.5,
        visible=visible,
    ).to(dtype)


def keeps_promise(found: Tensor, wanted: Array, scale: float | None = None) -> None:
    """Within 1e-4 of every entry above 1e-6 of the largest; smaller ones are smaller, too."""
    assert tuple(found.shape) == wanted.shape
    assert found.dtype in (torch.float32, torch.float64)
    if not wanted.size:
        return
    floor = 1e-6 * float(np.abs(wanted).max() if scale is None else scale)
    size = np.abs(wanted)
    allowed = np.where(size > floor, 1e-4 * size, floor)
    error = np.abs(wide(found) - wanted)
    wrong = ~(error <= allowed)
    assert not wrong.any(), (
        f"{wide(found)[wrong][:4]} and not {wanted[wrong][:4]}; largest {size.max()}"
    )
