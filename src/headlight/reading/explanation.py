"""Explanation of a head's attention from one token to another: what lower layers wrote there."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import xarray

from headlight.capture import AttentionSite, CapturedModel, LayerRecord
from headlight.capture.linear_network.score_decomposition import (
    ScoreParts,
    largest_key,
    score_parts,
)
from headlight.capture.one_text import capture_one, one_text
from headlight.catalogue.question_settings import ExplanationSettings
from headlight.chats import Readable
from headlight.encode import Encoded
from headlight.errors import UsageError, setting
from headlight.reading.origin import origin
from headlight.reading.question_functions import answers
from headlight.reading.text_result import TextResult
from headlight.reading.token_coordinates import sides_of
from headlight.result import describe
from headlight.settings import require_choice, require_place
from headlight.vocabulary import Kind, head_name

SIDES = ("query", "key")
TABLES = (*SIDES, "pairs")
LARGEST = 100
"""Pairs of parts in JSON, the largest ones."""
NAMES = {
    "score": ("score of the query and the key, before masks", "1"),
    "weight": ("weight of the key in the row of the query", "1"),
    "part": ("what a part adds to the score", "1"),
    "head_part": ("what an earlier head adds, by the token that it takes from", "1"),
    "product": ("what a part of the query and a part of the key add together", "1"),
    "difference": ("what they add to the score of the key minus that of the other key", "1"),
    "other_score": ("score of the query and the other key", "1"),
    "other_weight": ("weight of the other key in the row of the query", "1"),
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
            α of the cell.  ``product``, over ``query_part`` and ``key_part``: the score by what
            was written for the query and what was written for the key; its rows and columns add up
            to the parts.  Against another key, ``other_score``, ``other_weight`` and
            ``difference``: the table of the score of the key minus that of the other.
    """

    dataset: xarray.Dataset
    called: ClassVar[str] = "an explanation is"
    question: ClassVar[str] = "explain"

    def to_dataframe(self, side: str = "key") -> pd.DataFrame:
        """Return the parts of a side, the largest first; heads with the token they take most from.

        Args:
            side: ``query``, ``key``, or ``pairs`` of a part of the query and one of the key.

        Raises:
            UsageError: The side is none of these.
        """
        require_choice("side", side, TABLES)
        from headlight.views.reading.explanation import frame_of, frame_of_pairs

        return frame_of_pairs(self.dataset) if side == "pairs" else frame_of(self.dataset, side)

    def as_json(self) -> dict[str, Any]:
        """Return the text, what stands out, scores, parts of both sides, and the largest pairs."""
        from headlight.views.reading.explanation import findings, summary

        numbers = summary(self.dataset)
        parts = {side: self.to_dataframe(side).to_dict("records") for side in SIDES}
        pairs = {"largest_pairs": self.to_dataframe("pairs").head(LARGEST).to_dict("records")}
        return super().as_json() | {"findings": findings(self.dataset)} | numbers | parts | pairs

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
    the scale, before masks, soft caps and biases of positions.  Since scores are products, they are
    also the sum over all pairs of a part of the query and a part of the key.  A constant added to
    the scores of all keys moves no weight; the difference of the scores of two keys does, and it is
    such a sum, too, of the parts of the query and the differences of those of the keys.

    Returns:
        Explanation, whose ``dataset`` holds a score and its addends.

        - ``score``, ``weight`` (): ⟨q, k⟩ times the scale, and α of the cell
        - ``part`` (part_number): what each part adds to the score, on either side
        - ``head_part`` (of × site × earlier_head × token): parts of earlier heads, by the token
          that they take from; of is the side, a site is an attention module
        - ``product`` (query_part × key_part): what the parts of both sides add to the score
        - ``other_score``, ``other_weight`` (): the same of the other key, if there is one
        - ``difference`` (query_part × key_part): what the parts add to ``score`` − ``other_score``

    Raises:
        UsageError: no tokenizer, an empty or too long text, no such layer, head or token,
            cross-attention, another key that is the key, or that the query does not see, or the
            model is in half precision.
        UnsupportedModelError: the parts do not add up to the score.

    Source: Elhage et al. (2021): frozen norms, and scores as sums over pairs ("QK circuit").
    """
    model, example = one_text(model, text, pair, settings.kind, purpose="an explanation needs text")
    kind = settings.kind or model.kinds[0]
    if kind == "cross":
        raise UsageError("queries of cross-attention are those of another text; take another kind.")
    tokens = sides_of(example, kind, model.tokenizer)[0]["token"]
    query = require_place("query", settings.query, len(tokens))
    key = settings.key if settings.key is None else require_place("key", settings.key, len(tokens))
    other = _other_key(settings, kind, (query, key), len(tokens))
    cell = _cell(model, example, kind, settings, (query, key, other))
    against = {} if other is None else {"of_other_key": other}
    batch = model.collate([example])
    with model.running(batch.names):
        parts = score_parts(
            model, model.inputs(batch), cell.site, (cell.head, cell.query, cell.key), other
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
                **against,
                command=command or "",
            ),
            cell,
        )
    )


def _other_key(
    settings: ExplanationSettings, kind: Kind, place: tuple[int, int | None], tokens: int
) -> int | None:
    """Return the other key, if one is asked for, where the query can see it beside the key."""
    query, key = place
    if settings.against_key is None:
        return None
    other = require_place("key", settings.against_key, tokens)
    seen = query + 1 if kind == "decoder" else tokens
    if other >= seen:
        raise UsageError(
            f"query {query} does not see token {other}, which comes behind it; "
            f"{setting('against_key')} takes a token from 0 to {query}."
        )
    if other == key or seen == 1:
        raise UsageError(
            f"key {other} cannot be held against itself; {setting('against_key')} takes another "
            "token than the key."
        )
    return other


@dataclass(frozen=True)
class _Cell:
    """Cell of an attention matrix, and the weight of another key in its row."""

    site: AttentionSite
    head: int
    query: int
    key: int
    weight: float
    other_weight: float | None


def _cell(
    model: CapturedModel,
    example: Encoded,
    kind: Kind,
    settings: ExplanationSettings,
    place: tuple[int, int | None, int | None],
) -> _Cell:
    """Return the cell with the largest weight among the heads that the settings leave open."""
    query, key, other = place
    sites = model.sites_of(kind, None if settings.layer is None else [settings.layer])
    if settings.head is not None:
        for site in sites:
            site.require_head(settings.head)
    cells: list[_Cell] = []

    def visit(record: LayerRecord) -> None:
        rows = record.weight[0, :, query].cpu().double()
        heads = range(len(rows)) if settings.head is None else [settings.head]
        keys = {
            head: largest_key(rows[head], query, other) if key is None else key for head in heads
        }
        for head, at in keys.items():
            against = None if other is None else float(rows[head, other])
            cells.append(_Cell(record.site, head, query, at, float(rows[head, at]), against))

    capture_one(model, example, sites, visit)
    cell = max(cells, key=lambda cell: cell.weight)
    if other is not None and not (cell.weight and cell.other_weight):
        hidden = cell.key if cell.other_weight else other
        raise UsageError(
            f"{head_name(cell.site.layer, cell.head)} gives token {hidden} no weight at all from "
            f"query {query}: a mask hides it there, or the weight is too small for a number; "
            "choose other keys or another head."
        )
    return cell


def _dataset(
    parts: ScoreParts, tokens: list[str], attributes: dict[str, Any], cell: _Cell
) -> xarray.Dataset:
    from headlight.views.reading.explanation import part_label

    rows = [
        (side, *name, part) for side in SIDES for name, part in getattr(parts, side).parts.items()
    ]
    side, kind, layer, head, name, part = zip(*rows, strict=True)
    sites: list[AttentionSite] = [heads_of_site.site for heads_of_site in parts.key.heads]
    heads = max((site.heads for site in sites), default=0)
    by_token = np.full((len(SIDES), len(sites), heads, len(tokens)), np.nan)
    for at, which in enumerate(SIDES):
        for row, heads_of_site in enumerate(getattr(parts, which).heads):
            size = heads_of_site.direct.shape
            by_token[at, row, : size[0], : size[1]] = heads_of_site.direct.numpy()
    others = {} if parts.other is None else parts.other.parts
    queries, keys = list(parts.query.parts), list(parts.key.parts | others)
    query_vectors, key_vectors = parts.query.matrix(queries), parts.key.matrix(keys)
    axes = ("query_part", "key_part")
    tables: dict[str, Any] = {
        "product": (axes, (query_vectors @ key_vectors.T * parts.scale).numpy())
    }
    if parts.other is not None:
        differences = key_vectors - parts.other.matrix(keys)
        tables |= {
            "other_score": ((), parts.other_value),
            "other_weight": ((), cell.other_weight),
            "difference": (axes, (query_vectors @ differences.T * parts.scale).numpy()),
        }
    dataset = xarray.Dataset(
        {
            "score": ((), parts.value),
            "weight": ((), cell.weight),
            "part": ("part_number", list(part)),
            "head_part": (("of", "site", "earlier_head", "token"), by_token),
            **tables,
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
            "query_part": [part_label(*name) for name in queries],
            "key_part": [part_label(*name) for name in keys],
        },
        attrs=attributes,
    )
    return describe(dataset, NAMES)
