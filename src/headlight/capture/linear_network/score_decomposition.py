"""Score of one cell of attention as a sum: what the layers below wrote for query and key.

The score ⟨q_i, k_j⟩ times the scale of the model is linear in the query where the key is a
constant, and in the key where the query is.  Either is linear in what the embeddings, earlier heads
and feed-forward layers wrote into the residual stream of its token, and in the biases, with the
statistics of norms as constants of the run.  So each side is a sum of its own, and both are the
score.  The query is a sum of vectors, and so is the key; the score is the sum of all products of a
vector of the one and a vector of the other.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import torch
from jaxtyping import Float64
from torch import Tensor

from headlight.capture.attention_site import AttentionSite
from headlight.capture.captured_model import CapturedModel
from headlight.capture.custom_attention.products import gives_weights
from headlight.capture.linear_network.addends import Addend, share, slopes_of, vectors_of
from headlight.capture.linear_network.linear_pass import LinearPass, linear_pass
from headlight.capture.linear_network.logit_decomposition import (
    Component,
    HeadParts,
    Table,
    by_head,
)
from headlight.errors import UnsupportedModelError


class PartName(NamedTuple):
    """Name of what wrote a part of a query or key: the same for parts of different tokens.

    Attributes:
        kind: ``token``, ``position``, ``head``, or the kind of a component.
        layer: Layer, from 0; -1 outside of layers.
        head: Head, from 0; -1 for what is none.
        name: Name of the embedding, module or parameter.
    """

    kind: str
    layer: int
    head: int
    name: str


TOKEN = PartName("token", -1, -1, "embedding of the token")
POSITION = PartName("position", -1, -1, "embedding of the position")


@dataclass
class SideParts:
    """Addends of one side of a score.

    Attributes:
        token: Contribution of the embedding of the token.
        position: Contribution of other embeddings, such as that of its position.
        heads: Contributions of each earlier attention module, by head and by attended token.
        components: Embeddings, whole modules, feed-forward layers and biases, whose ``direct``
            parts add up to the score.
        vectors: What each part adds to the query, or to the key, which is their sum.
    """

    token: float = 0.0
    position: float = 0.0
    heads: list[HeadParts] = field(default_factory=list)
    components: list[Component] = field(default_factory=list)
    vectors: dict[PartName, Float64[Tensor, " component"]] = field(default_factory=dict)

    @property
    def parts(self) -> dict[PartName, float]:
        """Return the addends of the score by name: embeddings, heads, layers and biases."""
        parts = {TOKEN: self.token}
        if self.position:
            parts[POSITION] = self.position
        for heads in self.heads:
            for number, part in enumerate(heads.direct.sum(-1).tolist()):
                parts[_head_name(heads.site, number)] = part
        for component in self.components:
            # Embeddings stand above by token, and attention by head.
            if component.kind not in ("embeddings", "attention"):
                name = _component_name(component)
                parts[name] = parts.get(name, 0.0) + component.direct
        return parts

    def add(self, name: PartName, vector: Float64[Tensor, " component"]) -> None:
        """Add a vector to that of a part."""
        self.vectors[name] = self.vectors.get(name, 0) + vector

    def matrix(self, names: Sequence[PartName]) -> Float64[Tensor, "part component"]:
        """Return the vectors of these parts, zeros for parts that this side does not have."""
        nothing = torch.zeros_like(next(iter(self.vectors.values())))
        return torch.stack([self.vectors.get(name, nothing) for name in names])


def _head_name(site: AttentionSite, head: int) -> PartName:
    return PartName("head", site.layer, head, site.name)


def _component_name(component: Component) -> PartName:
    layer = -1 if component.site is None else component.site.layer
    return PartName(component.kind, layer, -1, component.name)


def _embedding_name(addend: Addend) -> PartName | None:
    """Return the name of an embedding; None for other addends."""
    if addend.kind == "token":
        return TOKEN
    return POSITION if addend.kind in ("embedding", "input") else None


@dataclass(frozen=True)
class ScoreParts:
    """Score of one cell, before masks and biases of positions are added.

    Attributes:
        value: Score ⟨q, k⟩ times the scale.
        query: Addends of the query.
        key: Addends of the key.
        scale: Scale of the scores.
        other_value: Score of the query and another key; None without one.
        other: Addends of that key.
    """

    value: float
    query: SideParts
    key: SideParts
    scale: float
    other_value: float | None = None
    other: SideParts | None = None


def score_parts(
    model: CapturedModel,
    arguments: Mapping[str, Any],
    site: AttentionSite,
    cell: tuple[int, int, int],
    other_key: int | None = None,
) -> ScoreParts:
    """Decompose the score of a cell into its addends, on both sides.

    Args:
        model: Model in float32 or float64.
        arguments: Arguments of its forward pass, for one text without padding.
        site: Site of the head.
        cell: Numbers of head, query and key.
        other_key: Number of another key, whose score is decomposed as well.

    Raises:
        UnsupportedModelError: the parts do not add up, or the queries are changed by something
            that is not linear.
        UsageError: the model is in half precision.
    """
    number = next(at for at, candidate in enumerate(model.sites) if candidate is site)
    head, query, key = cell
    cut_pass = linear_pass(model, arguments, cut=True, last=number)
    assert cut_pass.reached is not None  # noqa: S101 - tracing has seen the site
    (queries, keys, *_), options = cut_pass.reached
    if gives_weights(options):
        raise UnsupportedModelError(
            f"{site.name}: its scores are made in code of its own, where queries and keys are not "
            "seen, so a score cannot be taken apart."
        )
    scale = options.get("scaling")
    scale = queries.shape[-1] ** -0.5 if scale is None else scale
    shared = site.heads // site.kv_heads
    q, k = queries[0, head, query], keys[0, head // shared, key]
    parts = ScoreParts(
        float((q @ k).detach() * scale),
        _side(cut_pass, q @ k.detach() * scale, q, model.name, site),
        _side(cut_pass, q.detach() @ k * scale, k, model.name, site),
        float(scale),
    )
    if other_key is None:
        return parts
    k = keys[0, head // shared, other_key]
    return replace(
        parts,
        other_value=float((q @ k).detach() * scale),
        other=_side(cut_pass, q.detach() @ k * scale, k, model.name, site),
    )


def _side(
    cut_pass: LinearPass, score: Tensor, vector: Tensor, name: str, site: AttentionSite
) -> SideParts:
    """Return the addends of a score with one side as a constant, and of the vector of the other."""
    if not score.requires_grad:
        raise UnsupportedModelError(
            f"{site.name}: its queries or keys do not depend on the text in a way that can be "
            "followed."
        )
    slopes = slopes_of(score, cut_pass.addends, cut_pass.suspects, name)
    vectors = vectors_of(vector, cut_pass.addends, cut_pass.suspects, name)
    side, table = SideParts(), Table(cut_pass.attention)
    attention = iter(cut_pass.attention)
    for addend, slope, written in zip(cut_pass.addends, slopes, vectors, strict=True):
        if addend.kind == "attention":
            attended = next(attention)
            heads = by_head(attended, slope)
            side.heads.append(HeadParts(attended.site, heads, torch.zeros_like(heads)))
            table.of_attention(attended).direct = float(heads.sum())
            for number, row in enumerate(written):
                side.add(_head_name(attended.site, number), row)
        elif slope is not None and bool(slope.any()):
            added = float(share(slope, addend.value).double().sum())
            is_linear = addend.kind == "linear"
            component = (
                table.linear_component(addend) if is_linear else table.addend_component(addend)
            )
            component.direct += added
            part = _embedding_name(addend) or _component_name(component)
            if part == TOKEN:
                side.token += added
            elif part == POSITION:
                side.position += added
            side.add(part, written[0])
    side.components = table.in_order()
    return side


def largest_key(weights: Float64[Tensor, " key"], query: int, other_key: int | None = None) -> int:
    """Return the key of the largest weight, which is not the other key.

    If possible, it is neither the first token nor the query.
    """
    candidates = weights.clone()
    if other_key is not None:
        candidates[other_key] = -1
    others = candidates.clone()
    others[0] = others[query] = -1
    return int(others.argmax()) if bool((others > 0).any()) else int(candidates.argmax())
