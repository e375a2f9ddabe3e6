"""Score of one cell of attention as a sum: what the layers below wrote for query and key.

The score ⟨q_i, k_j⟩ times the scale of the model is linear in the query where the key is a
constant, and in the key where the query is.  Either is linear in what the embeddings, earlier heads
and feed-forward layers wrote into the residual stream of its token, and in the biases, with the
statistics of norms as constants of the run.  So each side is a sum of its own, and both are the
score.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from jaxtyping import Float64
from torch import Tensor

from headlight.capture.attention_site import AttentionSite
from headlight.capture.captured_model import CapturedModel
from headlight.capture.custom_attention.products import gives_weights
from headlight.capture.linear_network.addends import share, slopes_of
from headlight.capture.linear_network.linear_pass import linear_pass
from headlight.capture.linear_network.logit_decomposition import (
    Component,
    HeadParts,
    Table,
    by_head,
)
from headlight.errors import UnsupportedModelError


@dataclass
class SideParts:
    """Addends of one side of a score.

    Attributes:
        token: Contribution of the embedding of the token.
        position: Contribution of other embeddings, such as that of its position.
        heads: Contributions of each earlier attention module, by head and by attended token.
        components: Embeddings, whole modules, feed-forward layers and biases, whose ``direct``
            parts add up to the score.
    """

    token: float = 0.0
    position: float = 0.0
    heads: list[HeadParts] = field(default_factory=list)
    components: list[Component] = field(default_factory=list)


@dataclass(frozen=True)
class ScoreParts:
    """Score of one cell, before masks and biases of positions are added.

    Attributes:
        value: Score ⟨q, k⟩ times the scale.
        query: Addends of the query.
        key: Addends of the key.
    """

    value: float
    query: SideParts
    key: SideParts


def score_parts(
    model: CapturedModel,
    arguments: Mapping[str, Any],
    site: AttentionSite,
    cell: tuple[int, int, int],
) -> ScoreParts:
    """Decompose the score of a cell into its addends, on both sides.

    Args:
        model: Model in float32 or float64.
        arguments: Arguments of its forward pass, for one text without padding.
        site: Site of the head.
        cell: Numbers of head, query and key.

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
    sides = []
    for score in (q @ k.detach() * scale, q.detach() @ k * scale):
        if not score.requires_grad:
            raise UnsupportedModelError(
                f"{site.name}: its queries or keys do not depend on the text in a way that can be "
                "followed."
            )
        slopes = slopes_of(score, cut_pass.addends, cut_pass.suspects, model.name)
        sides.append(_side(cut_pass, slopes))
    return ScoreParts(float((q @ k).detach() * scale), *sides)


def _side(cut_pass: Any, slopes: list[Tensor | None]) -> SideParts:
    side, table = SideParts(), Table(cut_pass.attention)
    attention = iter(cut_pass.attention)
    for addend, slope in zip(cut_pass.addends, slopes, strict=True):
        if addend.kind == "attention":
            attended = next(attention)
            part = by_head(attended, slope)
            side.heads.append(HeadParts(attended.site, part, torch.zeros_like(part)))
            table.of_attention(attended).direct = float(part.sum())
        elif slope is not None and bool(slope.any()):
            added = float(share(slope, addend.value).double().sum())
            if addend.kind == "linear":
                table.linear_component(addend).direct += added
                continue
            table.addend_component(addend).direct += added
            if addend.kind == "token":
                side.token += added
            elif addend.kind in ("embedding", "input"):
                side.position += added
    side.components = table.in_order()
    return side


def largest_key(weights: Float64[Tensor, " key"], query: int) -> int:
    """Return the key of the largest weight; if possible, not the first token or the query."""
    others = weights.clone()
    others[0] = others[query] = -1
    return int(others.argmax()) if bool((others > 0).any()) else int(weights.argmax())
