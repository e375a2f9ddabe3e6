"""Score of one cell of attention as a sum: what the layers below wrote for query and key.

The score ⟨q_i, k_j⟩ times the scale of the model is linear in the query where the key is a
constant, and in the key where the query is.  Either is linear in what the embeddings, earlier heads
and feed-forward layers wrote into the residual stream of its token, and in the biases, with the
statistics of norms as constants of the run.  So each side is a sum of its own, and both are the
score.  The query is a sum of vectors, and so is the key; the score is the sum of all products of a
vector of the one and a vector of the other.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
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
ORDER = {"token": 0, "position": 1, "head": 2, "bias": 4}
"""Places of kinds in the order of parts; layers stand between heads and biases."""


@dataclass(frozen=True)
class SideParts:
    """Addends of one side of a score.

    Attributes:
        heads: Contributions of each earlier attention module, by head and by attended token.
        parts: Contributions of embeddings, heads, layers and biases, which add up to the score.
        vectors: What each part adds to the query, or to the key, which is their sum.
    """

    heads: list[HeadParts]
    parts: dict[PartName, float]
    vectors: dict[PartName, Float64[Tensor, " component"]]

    def matrix(self, names: Sequence[PartName]) -> Float64[Tensor, "part component"]:
        """Return the vectors of these parts, zeros for parts that this side does not have."""
        nothing = torch.zeros_like(next(iter(self.vectors.values())))
        return torch.stack([self.vectors.get(name, nothing) for name in names])


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
    vectors = vectors_of(vector, cut_pass.addends, slopes, cut_pass.suspects, name)
    side, table = SideParts([], {TOKEN: 0.0}, {}), Table(cut_pass.attention)
    attention = iter(cut_pass.attention)
    for addend, slope, written in zip(cut_pass.addends, slopes, vectors, strict=True):
        if addend.kind == "attention":
            attended = next(attention)
            at, heads = attended.site, by_head(attended, slope)
            side.heads.append(HeadParts(at, heads, torch.zeros_like(heads)))
            names = [PartName("head", at.layer, head, at.name) for head in range(len(heads))]
            numbers = heads.sum(-1).tolist()
        elif slope is not None and bool(slope.any()):
            names = [_name(addend, table)]
            numbers = [float(share(slope, addend.value).double().sum())]
        else:
            continue
        for part, number, row in zip(names, numbers, written, strict=True):
            side.parts[part] = side.parts.get(part, 0.0) + number
            side.vectors[part] = side.vectors.get(part, 0) + row
    order = sorted(side.parts, key=lambda part: ORDER.get(part.kind, 3))
    return replace(side, parts={part: side.parts[part] for part in order})


def _name(addend: Addend, table: Table) -> PartName:
    """Return the name of what an addend is of: an embedding, a layer or a bias."""
    if addend.kind == "token":
        return TOKEN
    if addend.kind in ("embedding", "input"):
        return POSITION
    is_linear = addend.kind == "linear"
    component = table.linear_component(addend) if is_linear else table.addend_component(addend)
    layer = -1 if component.site is None else component.site.layer
    return PartName(component.kind, layer, -1, component.name)


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
