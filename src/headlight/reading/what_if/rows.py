"""Edits as weights: what becomes of the attention of a layer or head on one text."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headlight.capture import AttentionSite, CapturedModel, Kind, Replacements
from headlight.errors import UsageError
from headlight.reading.alternatives import alternatives
from headlight.reading.what_if.edits import Edit
from headlight.settings.alternatives import AlternativeSettings
from headlight.vocabulary import CATEGORIES, head_name

Map = Float[Tensor, "query key"]
VisibleKeys = Bool[Tensor, "query key"]


@dataclass(frozen=True, eq=False)
class EditContext:
    """One text, as a model reads it before anything is changed.

    Attributes:
        model: the model.
        kind: of attention.
        text: what it reads.
        pair: the second text, if there is one.
        visible: which keys each query sees, by layer.
        category: of each key, an index of `CATEGORIES`.
    """

    model: CapturedModel
    kind: Kind
    text: str
    pair: str | None
    visible: dict[int, VisibleKeys]
    category: Sequence[int]


def replacements(context: EditContext, edits: Sequence[Edit]) -> Replacements:
    """Return the replacements for `attention_replaced`; edits of the same head one after the other.

    Raises:
        UsageError: there is no such layer, head or query; a row has another number of keys, or
            weight on a key that its query cannot see; or there is no alternative.
    """
    changes: dict[int | tuple[int, int], list[Callable[[Tensor, AttentionSite], Tensor]]] = {}
    for edit in edits:
        _check_place(context, edit)
        key = edit.layer if edit.head is None else (edit.layer, edit.head)
        wanted = wanted_rows(context, edit)
        changes.setdefault(key, []).append(partial(_changed, edit=edit, wanted=wanted))
    return {key: partial(_one_by_one, changes=each) for key, each in changes.items()}


def wanted_rows(context: EditContext, edit: Edit) -> Map:
    """The shares of the weight of each row that its keys are to have; NaN for rows that stay."""
    visible = context.visible[edit.layer]
    wanted = _shares(context, edit, visible)
    if edit.query is not None:
        others = torch.arange(len(wanted), device=wanted.device) != edit.query
        wanted = wanted.masked_fill(others[:, None], torch.nan)
    return wanted


def _shares(context: EditContext, edit: Edit, visible: VisibleKeys) -> Map:
    if edit.change == "alternative":
        return _alternative(context, edit).to(visible.device)
    if edit.weights is not None:
        return _typed(edit.weights, visible, edit.query or 0)
    chosen = _chosen_keys(context, edit, visible).double()
    share: Map = chosen / chosen.sum(-1, keepdim=True)  # 0 / 0: no such key
    return share


def _chosen_keys(context: EditContext, edit: Edit, visible: VisibleKeys) -> VisibleKeys:
    """The keys that share the weight of each row."""
    queries, keys = (torch.arange(size, device=visible.device) for size in visible.shape)
    if edit.change == "separator":
        category = torch.tensor(context.category, device=visible.device)
        return visible & (category == CATEGORIES.index("sep"))
    if edit.change == "first":
        return visible & (keys == visible.int().argmax(-1, keepdim=True))
    if edit.change == "previous":
        if context.kind == "cross":
            raise UsageError(
                "the token before is one of the same text, and cross-attention goes to another; "
                "choose another change."
            )
        return visible & (keys == queries[:, None] - 1)
    return visible


def _typed(weights: Sequence[float], visible: VisibleKeys, query: int) -> Map:
    """The given row in its place."""
    row = torch.tensor(weights, dtype=torch.float64, device=visible.device)
    if len(row) != visible.shape[1]:
        raise UsageError(
            f"{len(row)} weights are given for a row of {visible.shape[1]} keys; give one for each."
        )
    if bool((row > 0)[~visible[query]].any()):
        raise UsageError(
            f"weight is given to a key that query {query} cannot see; leave such keys at 0."
        )
    found = torch.full(visible.shape, torch.nan, dtype=torch.float64, device=visible.device)
    found[query] = row / row.sum()
    return found


def _alternative(context: EditContext, edit: Edit) -> Map:
    """Shares of other attention of the same output."""
    assert edit.head is not None  # noqa: S101 - the edit was checked
    found = alternatives(
        context.model,
        context.text,
        context.pair,
        settings=AlternativeSettings(
            layer=edit.layer,
            head=edit.head,
            kind=context.kind,
            queries=None if edit.query is None else (edit.query,),
        ),
    )
    if not found.attention.sizes["alternative"]:
        raise UsageError(
            f"no other attention of {head_name(edit.layer, edit.head)} gives the same output on "
            "this text; choose a longer text, or another change."
        )
    rows = torch.from_numpy(found.attention.values[0]).double()
    return rows / rows.sum(-1, keepdim=True)


def _check_place(context: EditContext, edit: Edit) -> None:
    (site,) = context.model.sites_of(context.kind, [edit.layer])  # which refuses
    if edit.head is not None:
        site.require_head(edit.head)
    queries = len(context.visible[edit.layer])
    if edit.query is not None and edit.query >= queries:
        raise UsageError(
            f"there is no query {edit.query}: the text has the positions 0 to {queries - 1}."
        )


def _one_by_one(
    weight: Tensor,
    site: AttentionSite,
    changes: Sequence[Callable[[Tensor, AttentionSite], Tensor]],
) -> Tensor:
    for change in changes:
        weight = change(weight, site)
    return weight


def _changed(weight: Tensor, site: AttentionSite, *, edit: Edit, wanted: Map) -> Tensor:
    """The weights with other rows, each of the same sum; removed rows are zeros."""
    staying = wanted.isnan().any(-1, keepdim=True)
    if edit.change == "remove":
        return torch.where(staying, weight, 0)
    rows = wanted.nan_to_num().to(weight) * weight.sum(-1, keepdim=True)
    return torch.where(staying, weight, rows)
