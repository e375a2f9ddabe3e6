"""Explanation of a head's attention from one token to another: what lower layers wrote there."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import xarray

from headlight.capture import AttentionSite, CapturedModel, LayerRecord
from headlight.capture.linear_network.score_decomposition import (
    ScoreParts,
    SideParts,
    largest_key,
    score_parts,
)
from headlight.capture.one_text import capture_one, one_text
from headlight.catalogue.question_settings import ExplanationSettings
from headlight.chats import Readable
from headlight.encode import Encoded
from headlight.errors import UsageError
from headlight.reading.origin import origin
from headlight.reading.question_functions import answers
from headlight.reading.text_result import TextResult
from headlight.reading.token_coordinates import sides_of
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
    """Explanation of the score of one query and one key: its addends on either side.

    Attributes:
        dataset: ``part``, over ``part_number``: addends of embeddings, earlier heads, feed-forward
            layers and biases, each with its ``side`` (what they wrote for the query, the key being
            a constant, or for the key), ``kind``, ``layer``, ``head`` and ``name``; those of a side
            add up to ``score``.  ``head_part``, over ``of``, ``site``, ``earlier_head`` and
            ``token``: the parts of heads, by the token that each takes from.  ``weight`` is
            α of the cell.
    """

    dataset: xarray.Dataset
    called: ClassVar[str] = "an explanation is"
    question: ClassVar[str] = "explain"

    def to_dataframe(self, side: str = "key") -> pd.DataFrame:
        """Return the parts of a side, the largest first; heads with the token they take most from.

        Args:
            side: ``query`` or ``key``.

        Raises:
            UsageError: The side is neither.
        """
        require_choice("side", side, SIDES)
        from headlight.views.reading.explanation import frame_of

        return frame_of(self.dataset, side)

    def as_json(self) -> dict[str, Any]:
        """Return the text, what stands out, the score, and the parts of both sides."""
        from headlight.views.reading.explanation import findings

        numbers = {name: float(self.dataset[name]) for name in ("score", "weight")}
        parts = {side: self.to_dataframe(side).to_dict("records") for side in SIDES}
        return super().as_json() | {"findings": findings(self.dataset)} | numbers | parts

    def __str__(self) -> str:
        from headlight.views.reading.explanation import sentence

        return sentence(self.dataset)

    __repr__ = __str__


@answers("explain")
def explain(
    model: CapturedModel,
    text: Readable,
    pair: str | None = None,
    *,
    settings: ExplanationSettings,
    command: str | None = None,
) -> Explanation:
    """Explain the score of a query and a key.

    The statistics of norms are taken as constants of the text.  The score is then a sum of what
    embeddings, heads, feed-forward layers and biases wrote into the residual stream of the query,
    with the key as it is; and another sum, of what was written for the key.  Both are ⟨q, k⟩ times
    the scale, before masks, soft caps and biases of positions.

    Returns:
        Explanation, whose ``dataset`` holds a score and its addends.

        - ``score``, ``weight`` (): ⟨q, k⟩ times the scale, and α of the cell
        - ``part`` (part_number): what each part adds to the score, on either side
        - ``head_part`` (of × site × earlier_head × token): parts of earlier heads, by the token
          that they take from; of is the side, a site is an attention module

    Raises:
        UsageError: no tokenizer, an empty or too long text, no such layer, head or token,
            cross-attention, or the model is in half precision.
        UnsupportedModelError: the parts do not add up to the score.

    Source: the frozen norms are those of Elhage et al. (2021); no more than one sum on each side
        is claimed, since scores are products of the two.
    """
    model, example = one_text(model, text, pair, settings.kind, purpose="an explanation needs text")
    kind = settings.kind or model.kinds[0]
    if kind == "cross":
        raise UsageError("queries of cross-attention are those of another text; take another kind.")
    tokens = sides_of(example, kind, model.tokenizer)[0]["token"]
    query = require_place("query", settings.query, len(tokens))
    key = settings.key if settings.key is None else require_place("key", settings.key, len(tokens))
    cell = _cell(model, example, kind, settings, (query, key))
    batch = model.collate([example])
    with model.running(batch.names):
        parts = score_parts(
            model, model.inputs(batch), cell.site, (cell.head, cell.query, cell.key)
        )
    return Explanation(
        _dataset(
            parts,
            tokens,
            origin(
                model,
                text,
                pair,
                title="Why a head attends",
                stage="explanation",
                kind=kind,
                of_layer=cell.site.layer,
                of_head=cell.head,
                of_query=query,
                of_key=cell.key,
                command=command or "",
            ),
            cell.weight,
        )
    )


@dataclass(frozen=True)
class _Cell:
    """Cell of an attention matrix."""

    site: AttentionSite
    head: int
    query: int
    key: int
    weight: float


def _cell(
    model: CapturedModel,
    example: Encoded,
    kind: Kind,
    settings: ExplanationSettings,
    place: tuple[int, int | None],
) -> _Cell:
    """Return the cell with the largest weight among the heads that the settings leave open."""
    query, key = place
    sites = model.sites_of(kind, None if settings.layer is None else [settings.layer])
    if settings.head is not None:
        for site in sites:
            site.require_head(settings.head)
    cells: list[_Cell] = []

    def visit(record: LayerRecord) -> None:
        rows = record.weight[0, :, query].cpu().double()
        heads = range(len(rows)) if settings.head is None else [settings.head]
        keys = {head: largest_key(rows[head], query) if key is None else key for head in heads}
        cells.extend(
            _Cell(record.site, head, query, at, float(rows[head, at])) for head, at in keys.items()
        )

    capture_one(model, example, sites, visit)
    return max(cells, key=lambda cell: cell.weight)


def _rows(side: SideParts) -> Iterator[tuple[str, int, int, str, float]]:
    """Yield kind, layer, head, name and number of each part."""
    yield "token", -1, -1, "embedding of the token", side.token
    if side.position:
        yield "position", -1, -1, "embedding of the position", side.position
    for heads in side.heads:
        for number, part in enumerate(heads.direct.sum(-1).tolist()):
            yield "head", heads.site.layer, number, heads.site.name, part
    for component in side.components:
        # Embeddings stand above by token, and attention by head.
        if component.kind not in ("embeddings", "attention"):
            layer = -1 if component.site is None else component.site.layer
            yield component.kind, layer, -1, component.name, component.direct


def _dataset(
    parts: ScoreParts, tokens: list[str], attributes: dict[str, Any], weight: float
) -> xarray.Dataset:
    rows = [(side, *row) for side in SIDES for row in _rows(getattr(parts, side))]
    side, kind, layer, head, name, part = zip(*rows, strict=True)
    sites: list[AttentionSite] = [heads_of_site.site for heads_of_site in parts.key.heads]
    heads = max((site.heads for site in sites), default=0)
    by_token = np.full((len(SIDES), len(sites), heads, len(tokens)), np.nan)
    for at, which in enumerate(SIDES):
        for row, heads_of_site in enumerate(getattr(parts, which).heads):
            size = heads_of_site.direct.shape
            by_token[at, row, : size[0], : size[1]] = heads_of_site.direct.numpy()
    dataset = xarray.Dataset(
        {
            "score": ((), parts.value),
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
            "site_layer": ("site", [site.layer for site in sites]),
            "token_text": ("token", tokens),
        },
        attrs=attributes,
    )
    return describe(dataset, NAMES)
