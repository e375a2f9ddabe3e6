"""Logit as a sum, in two ways: over the inputs of the model, and over what its layers write.

*Through all layers*, the logit is the sum of what each token, each position and each bias adds, in
whatever way it comes to the end: gradient times input in the linear network, which is complete
there (DecompX, Modarressi et al. 2023, for one class at a time).

*Directly*, it is the sum of what the embeddings, each head for each token that it attends to, each
feed-forward layer and each bias write into the residual stream, if nothing but norms stands between
this and the end (ALTI-Logit, Ferrando et al. 2023).

What a component adds *through later layers* is its gradient in the whole linear network times its
output.  These do not add up, since one component goes through another.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import torch
from jaxtyping import Float, Float64
from torch import Tensor

from headlight.capture.attention_site import AttentionSite
from headlight.capture.captured_model import CapturedModel
from headlight.capture.linear_network.addends import Addend, gradients, share, slopes_of
from headlight.capture.linear_network.linear_pass import Attended, LinearPass, linear_pass
from headlight.settings.attribution import Slope

ComponentKind = Literal["embeddings", "attention", "feed_forward", "other", "bias"]
"""``other`` are linear maps of blocks without captured attention: of recurrent layers, say."""

Side = Literal["text", "target"]
"""Side of a model: tokens of the text, or tokens given to the decoder of an encoder-decoder."""


@dataclass
class Component:
    """Contribution of one part of a model to a logit.

    Attributes:
        kind: Kind of the part.
        name: Name of the parameter, or of the module.
        site: Site of the attention, or of that beside the feed-forward layer; None elsewhere.
        direct: Contribution if nothing but norms came after it.
        total: Contribution through later layers.
    """

    kind: ComponentKind
    name: str
    site: AttentionSite | None
    direct: float = 0.0
    total: float = 0.0


@dataclass(frozen=True, eq=False)
class HeadParts:
    """Contributions of the heads of one attention module to a logit, by attended token."""

    site: AttentionSite
    direct: Float64[Tensor, "head key"]
    total: Float64[Tensor, "head key"]


@dataclass
class Decomposition:
    """Logit, or difference of logits, as a sum.

    Attributes:
        value: Sum of the parts.
        token: Contribution of the embedding of each token through all layers, by side of the model.
        position: Contribution of other embeddings at its place, such as that of the position.
        heads: Contributions of heads by attention module, in the order in which the modules run.
        components: Components, whose direct parts add up to the value; so do the totals of tokens,
            positions and biases.
    """

    value: float
    token: dict[Side, Float64[Tensor, " token"]]
    position: dict[Side, Float64[Tensor, " token"]]
    heads: list[HeadParts] = field(default_factory=list)
    components: list[Component] = field(default_factory=list)


def decompose(
    model: CapturedModel,
    arguments: Mapping[str, Any],
    score: Callable[[Any], Float[Tensor, ""]],
    lengths: Mapping[Side, int],
    slope: Slope = "zero_origin",
) -> Decomposition:
    """Decompose a number in the output of a model for one text.

    Args:
        model: Model with its head.
        arguments: Arguments of its forward pass, for one text without padding.
        score: Function from the output of the model to the number, which is linear in the output.
        lengths: Numbers of tokens of the text, by side.
        slope: Slope of activations.

    Raises:
        UnsupportedModelError: the parts do not add up.
        UsageError: the model is in half precision.
    """
    decomposition, table, later = _through_all_layers(model, arguments, score, lengths, slope)
    cut = linear_pass(model, arguments, slope=slope, cut=True)
    _add_direct(decomposition, table, later, model, cut, score)
    decomposition.components = table.in_order()
    return decomposition


@dataclass(frozen=True, eq=False)
class _Later:
    """Outputs of heads and linear maps, and the slopes of the whole network there."""

    attention: Sequence[tuple[Attended, Tensor | None]]
    linear: Sequence[tuple[Tensor, Tensor | None]]


def _through_all_layers(
    model: CapturedModel,
    arguments: Mapping[str, Any],
    score: Callable[[Any], Float[Tensor, ""]],
    lengths: Mapping[Side, int],
    slope: Slope,
) -> tuple[Decomposition, "Table", _Later]:
    """Return the sum over tokens, positions and biases; its graph is gone when this returns."""
    sides = _Sides(model, lengths)
    whole = linear_pass(model, arguments, slope=slope)
    value = score(whole.output)
    slopes = slopes_of(value, whole.addends, whole.suspects, model.name)
    decomposition = Decomposition(float(value.detach()), sides.nothing(), sides.nothing())
    table = Table(whole.attention)
    for addend, steep in _pairs(whole.addends, slopes):
        part = share(steep, addend.value).double()
        table.addend_component(addend).total += float(part.sum())
        if sides.has_tokens(addend):
            by_token = decomposition.token if addend.kind == "token" else decomposition.position
            side = sides.side_of(addend.place)
            by_token[side] += part.reshape(-1, *part.shape[-2:]).sum((0, 2)).cpu()
    inner = gradients(value, [*(attended.context for attended in whole.attention), *whole.linear])
    number = len(whole.attention)
    attention = [
        replace(attended, context=attended.context.detach()) for attended in whole.attention
    ]
    linear = [output.detach() for output in whole.linear]
    later = _Later(
        list(zip(attention, inner[:number], strict=True)),
        list(zip(linear, inner[number:], strict=True)),
    )
    return decomposition, table, later


def _add_direct(
    decomposition: Decomposition,
    table: "Table",
    later: _Later,
    model: CapturedModel,
    cut: LinearPass,
    score: Callable[[Any], Float[Tensor, ""]],
) -> None:
    """Add the sum over what is written into the residual stream."""
    slopes = slopes_of(score(cut.output), cut.addends, cut.suspects, model.name)
    attention, linear = iter(later.attention), iter(later.linear)
    for addend, slope in zip(cut.addends, slopes, strict=True):
        if addend.kind == "attention":
            attended, last = next(attention)
            heads = HeadParts(attended.site, by_head(attended, slope), by_head(attended, last))
            decomposition.heads.append(heads)
            component = table.of_attention(attended)
            component.direct, component.total = float(heads.direct.sum()), float(heads.total.sum())
        elif addend.kind == "linear":
            put_out, last = next(linear)
            if slope is not None and bool(slope.any()):
                component = table.linear_component(addend)
                component.direct += _sum(slope, addend.value)
                component.total += _sum(last, put_out)
        elif slope is not None:
            table.addend_component(addend).direct += _sum(slope, addend.value)


def by_head(attended: Attended, slope: Tensor | None) -> Float64[Tensor, "head key"]:
    """Return Σ_i α_hij ⟨v_j, g_ih⟩, with g the slope of the context: what comes from each key.

    W^O, a gate before it and all that comes later are in g.
    """
    weight, value = attended.weight[0], attended.value[0]
    heads, _, keys = weight.shape
    if slope is None:
        return torch.zeros(heads, keys, dtype=torch.float64)
    steep = slope[0].transpose(0, 1)
    shared = heads // value.shape[0]
    rows = [
        (weight[head] * (steep[head] @ value[head // shared].T)).double().sum(0)
        for head in range(heads)
    ]
    return torch.stack(rows).cpu()


def _pairs(
    addends: Sequence[Addend], slopes: Sequence[Tensor | None]
) -> Iterator[tuple[Addend, Tensor]]:
    for addend, slope in zip(addends, slopes, strict=True):
        if slope is not None and bool(slope.any()):
            yield addend, slope


def _sum(slope: Tensor | None, value: Tensor) -> float:
    return 0.0 if slope is None else float(share(slope, value).double().sum())


class _Sides:
    """Positions of the tokens of a text in the addends."""

    def __init__(self, model: CapturedModel, lengths: Mapping[Side, int]) -> None:
        network: Any = model.transformer
        self._lengths = lengths
        self._encoder = ""
        if "target" in lengths:
            encoder = network.get_encoder()
            self._encoder = next(n for n, module in network.named_modules() if module is encoder)

    def nothing(self) -> dict[Side, Tensor]:
        """Return zeros for every token."""
        return {
            side: torch.zeros(tokens, dtype=torch.float64) for side, tokens in self._lengths.items()
        }

    def side_of(self, place: str) -> Side:
        """Return the side of the model to which a module belongs, by its name."""
        inside = place == self._encoder or place.startswith(f"{self._encoder}.")
        return "text" if not self._encoder or inside else "target"

    def has_tokens(self, addend: Addend) -> bool:
        """Return whether an addend has a row for each token."""
        shape = addend.value.shape
        fits = len(shape) >= 2 and shape[-2] == self._lengths[self.side_of(addend.place)]
        return addend.block < 0 and fits


class Table:
    """Components in the order in which the model comes to them."""

    def __init__(self, attention: Sequence[Attended]) -> None:
        self._rows: dict[tuple[Any, ...], Component] = {}
        self._sites: dict[int, AttentionSite] = {}
        for attended in attention:
            if attended.block >= 0 and attended.site.kind != "cross":
                self._sites.setdefault(attended.block, attended.site)

    def addend_component(self, addend: Addend) -> Component:
        """Return the component of an addend."""
        if addend.kind == "bias":
            site = self._sites.get(addend.block)
            return self._row((2, "bias", addend.name, addend.block), "bias", addend.name, site)
        return self._row((0, "embeddings"), "embeddings", "embeddings", None)

    def of_attention(self, attended: Attended) -> Component:
        """Return the component of the heads of a module."""
        key = (1, attended.block, 0, attended.site.kind, attended.site.layer)
        return self._row(key, "attention", attended.site.name, attended.site)

    def linear_component(self, addend: Addend) -> Component:
        """Return the component of a linear map that writes into the residual stream."""
        site = self._sites.get(addend.block)
        if site is None:
            return self._row((1, addend.block, 1, addend.place), "other", addend.place, None)
        return self._row((1, addend.block, 2), "feed_forward", addend.place, site)

    def _row(
        self, key: tuple[Any, ...], kind: ComponentKind, name: str, site: AttentionSite | None
    ) -> Component:
        return self._rows.setdefault(key, Component(kind, name, site))

    def in_order(self) -> list[Component]:
        """Return the embeddings, the blocks one after the other, and the biases."""
        return [self._rows[key] for key in sorted(self._rows, key=_place_in_order)]


def _place_in_order(key: tuple[Any, ...]) -> tuple[int, int, int]:
    # Sorting is stable, so that biases stay in the order of the model.
    return (1, key[1], key[2]) if key[0] == 1 else (key[0], 0, 0)
