"""Why a head attends from one token to another: what was written there by the layers below."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import torch
import xarray

from headlight.capture import AttentionSite, CapturedModel, LayerRecord
from headlight.capture.linear_network.attention_score import (
    ScoreParts,
    SideParts,
    largest_key,
    score_parts,
)
from headlight.capture.one_text import capture_one, one_text
from headlight.errors import UsageError
from headlight.reading.saving import TextResult, origin, save_as, sides_of
from headlight.result import describe
from headlight.settings import require_choice, require_place
from headlight.vocabulary import Kind

SIDES = ("query", "key")
NAMES = {
    "score": ("score of the query and the key, before masks", "1"),
    "weight": ("weight of the key in the row of the query", "1"),
    "part": ("what a part adds to the score", "1"),
    "head_part": ("what an earlier head adds, by the token that it takes from", "1"),
}


@dataclass(frozen=True, eq=False)
class Explanation(TextResult):
    """What the score of one query and one key is the sum of, on either side.

    Attributes:
        dataset: ``part``, over ``part_number``: what embeddings, earlier heads, feed-forward layers
            and biases add, each with its ``side`` (what they wrote for the query, the key being a
            constant, or for the key), ``kind``, ``layer``, ``head`` and ``name``; those of a side
            add up to ``score``.  ``head_part``, over ``of``, ``site``, ``earlier_head`` and
            ``token``: the parts of heads, by the token that each takes from.  ``weight`` is
            α of the cell.
    """

    dataset: xarray.Dataset
    called: ClassVar[str] = "an explanation is"

    def to_dataframe(self, side: str = "key") -> pd.DataFrame:
        """The parts of a side, the largest first; of heads, with the token they take most from.

        Args:
            side: ``query`` or ``key``.

        Raises:
            UsageError: it is neither.
        """
        require_choice("side", side, SIDES)
        from headlight.views.reading.explanation import frame_of

        return frame_of(self.dataset, side)

    def save(self, path: str | Path) -> Path:
        """Write it; the suffix says how: ``.json`` or ``.nc``.

        Raises:
            UsageError: another suffix.
            ResultError: the file cannot be written.
        """
        return save_as(path, self.dataset, self.called, {".json": self._json})

    def as_json(self) -> dict[str, Any]:
        """What it is of, the score, and the parts of both sides."""
        numbers = {name: float(self.dataset[name]) for name in ("score", "weight")}
        parts = {side: self.to_dataframe(side).to_dict("records") for side in SIDES}
        return super().as_json() | numbers | parts

    def __str__(self) -> str:
        from headlight.views.reading.explanation import sentence

        return sentence(self.dataset)


def explain(  # noqa: PLR0913 - each is a choice of its own
    model: CapturedModel,
    text: str,
    pair: str | None = None,
    *,
    layer: int,
    head: int,
    query: int = -1,
    key: int | None = None,
    kind: Kind | None = None,
    command: str | None = None,
) -> Explanation:
    """What the score of a query and a key is made of.

    The statistics of norms are taken as constants of the text.  The score is then a sum of what
    embeddings, heads, feed-forward layers and biases wrote into the residual stream of the query,
    with the key as it is; and another sum, of what was written for the key.  Both are ⟨q, k⟩ times
    the scale, before masks, soft caps and biases of positions.

    Args:
        model: in float32 or float64.
        text: what it reads.
        pair: a second text.
        layer: of the head, from 0.
        head: from 0.
        query: the token that attends, from 0, or from -1 backwards.
        key: the one that is attended to; by default the one with the largest weight that is neither
            the first token nor the query.
        kind: ``encoder`` or ``decoder``; by default the first that the model has.
        command: how it was asked for, for the record.

    Raises:
        UsageError: no tokenizer, an empty or too long text, no such layer, head or token,
            cross-attention, or the model is in half precision.
        UnsupportedModelError: the parts do not add up to the score.

    Source: the frozen norms are those of Elhage et al. (2021); no more than one sum on each side
        is claimed, since scores are products of the two.
    """
    model, example = one_text(model, text, pair, kind, purpose="an explanation needs text")
    kind = kind or model.kinds[0]
    if kind == "cross":
        raise UsageError("queries of cross-attention are those of another text; take another kind.")
    (site,) = model.sites_of(kind, [layer])
    tokens = sides_of(example, kind, model.tokenizer)[0]["token"]
    query = require_place("query", query, len(tokens))
    site.require_head(head)
    rows: list[torch.Tensor] = []

    def visit(record: LayerRecord) -> None:
        rows.append(record.weight[0, head, query].cpu().double())

    capture_one(model, example, [site], visit)
    key = largest_key(rows[0], query) if key is None else require_place("key", key, len(tokens))
    batch = model.collate([example])
    with model.running(batch.names):
        found = score_parts(model, model.inputs(batch), site, (head, query, key))
    return Explanation(
        _dataset(
            found,
            tokens,
            origin(
                model,
                text,
                pair,
                title="Why a head attends",
                stage="explanation",
                kind=kind,
                of_layer=layer,
                of_head=head,
                of_query=query,
                of_key=key,
                command=command or "",
            ),
            float(rows[0][key]),
        )
    )


def _rows(side: SideParts) -> Iterator[tuple[str, int, int, str, float]]:
    """Kind, layer, head, name and number of each part."""
    yield "token", -1, -1, "embedding of the token", side.token
    if side.position:
        yield "position", -1, -1, "embedding of the position", side.position
    for each in side.heads:
        for number, part in enumerate(each.direct.sum(-1).tolist()):
            yield "head", each.site.layer, number, each.site.name, part
    for one in side.components:
        if one.kind not in ("embeddings", "attention"):
            layer = -1 if one.site is None else one.site.layer
            yield one.kind, layer, -1, one.name, one.direct


def _dataset(
    found: ScoreParts, tokens: list[str], attributes: dict[str, Any], weight: float
) -> xarray.Dataset:
    rows = [(side, *row) for side in SIDES for row in _rows(getattr(found, side))]
    side, kind, layer, head, name, part = zip(*rows, strict=True)
    sites: list[AttentionSite] = [each.site for each in found.key.heads]
    heads = max((each.heads for each in sites), default=0)
    by_token = np.full((len(SIDES), len(sites), heads, len(tokens)), np.nan)
    for at, which in enumerate(SIDES):
        for row, each in enumerate(getattr(found, which).heads):
            size = each.direct.shape
            by_token[at, row, : size[0], : size[1]] = each.direct.numpy()
    dataset = xarray.Dataset(
        {
            "score": ((), found.value),
            "weight": ((), weight),
            "part": ("part_number", list(part)),
            "head_part": (("of", "site", "earlier_head", "token"), by_token),
        },
        coords={
            "side": ("part_number", list(side)),
            "kind": ("part_number", list(kind)),
            "layer": ("part_number", list(layer)),
            "head": ("part_number", list(head)),
            "name": ("part_number", list(name)),
            "of": list(SIDES),
            "site_layer": ("site", [each.layer for each in sites]),
            "token_text": ("token", tokens),
        },
        attrs=attributes,
    )
    return describe(dataset, NAMES)
