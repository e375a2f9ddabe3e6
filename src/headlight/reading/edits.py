"""Edits of the attention of one text, and the rows that they put in its place."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headlight.capture import AttentionSite, CapturedModel, Kind, Replacements
from headlight.catalogue.question_settings import AlternativeSettings
from headlight.chats import Readable
from headlight.errors import UsageError
from headlight.reading.alternatives import alternatives
from headlight.settings import AtLeast0, Range, Settings
from headlight.vocabulary import CATEGORIES, head_name

Change = Literal["remove", "uniform", "first", "separator", "previous", "weights", "alternative"]
"""Change of rows of attention."""

CHANGES: tuple[Change, ...] = (
    "remove",
    "uniform",
    "first",
    "separator",
    "previous",
    "weights",
    "alternative",
)

Share = Annotated[float, Range(minimum=0, maximum=1)]

MOST = 64
"""Edits at once."""


@dataclass(frozen=True, kw_only=True)
class Edit(Settings):
    """A change of the rows of one head, or of all heads of a layer.

    Keys that a query cannot see stay at 0, and a row keeps its sum, but for those that are removed.

    Attributes:
        layer: layer, from 0.
        head: head, from 0; None for all heads of the layer.
        query: position of the row that changes; None for all rows.
        change: ``remove``: weights of zero; ``uniform``: the same weight on every key; ``first``:
            all weight on the first key; ``separator``: all weight on the separators ([SEP]), in
            equal parts; ``previous``: all weight on the token before; ``weights``: those that are
            given; ``alternative``: other weights of the same output, from the null space of the
            head.  A row without such a key stays as it is.
        weights: weights of all keys, for one row; they are divided by their sum.
    """

    layer: AtLeast0
    head: AtLeast0 | None = None
    query: AtLeast0 | None = None
    change: Change = "remove"
    weights: tuple[Share, ...] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.change == "weights") != (self.weights is not None):
            raise UsageError(
                f"the change is {self.change}, and weights are "
                f"{'not given' if self.weights is None else 'given'}; give them with the change "
                "weights alone."
            )
        if self.weights is not None and (self.query is None or not sum(self.weights) > 0):
            raise UsageError("weights are those of one row; name its query, and give some above 0.")
        if self.change == "alternative" and self.head is None:
            raise UsageError("an alternative is one of a head; name the head.")


def edits_of(value: object) -> tuple[Edit, ...]:
    """Return the edits of untrusted JSON.

    Args:
        value: List of objects with the fields of `Edit`.

    Raises:
        UsageError: The value is no such list, there are too many edits, or an edit is malformed.
        UnknownNameError: A field or a change is unknown.
    """
    if not isinstance(value, list) or not 1 <= len(value) <= MOST:
        raise UsageError(f"edits are a list of 1 to {MOST} objects; give such a list.")
    for item in value:
        # `type`, since a bool is an int as well, and JSON has both.
        if not isinstance(item, Mapping) or type(item.get("layer")) is not int:
            raise UsageError("an edit is an object with a layer, which is a number from 0; add it.")
        weights = item.get("weights")
        if weights is not None and not (
            isinstance(weights, list) and all(type(weight) in (int, float) for weight in weights)
        ):
            raise UsageError(
                "weights are a list of numbers from 0 to 1, one for each key; give it."
            )
    return tuple(Edit.from_mapping(item) for item in value)


Map = Float[Tensor, "query key"]
VisibleKeys = Bool[Tensor, "query key"]


@dataclass(frozen=True, eq=False)
class EditContext:
    """Text as a model reads it before anything is changed.

    Attributes:
        model: Model that reads the text.
        kind: Kind of attention.
        text: Text or chat that the model reads.
        pair: Second text, if any.
        visible: Mask of the keys that each query sees, by layer.
        category: Category of each key, as an index of `CATEGORIES`.
    """

    model: CapturedModel
    kind: Kind
    text: Readable
    pair: str | None
    visible: dict[int, VisibleKeys]
    category: Sequence[int]


def replacements(context: EditContext, edits: Sequence[Edit]) -> Replacements:
    """Return the replacements for `attention_replaced`; edits of the same head one after the other.

    Raises:
        UsageError: There is no such layer, head or query; a row has another number of keys, or
            weight on a key that its query cannot see; or there is no alternative.
    """
    changes: dict[int | tuple[int, int], list[Callable[[Tensor, AttentionSite], Tensor]]] = {}
    for edit in edits:
        _check_place(context, edit)
        key = edit.layer if edit.head is None else (edit.layer, edit.head)
        wanted = wanted_rows(context, edit)
        changes.setdefault(key, []).append(partial(_changed, edit=edit, wanted=wanted))
    return {place: partial(_one_by_one, changes=ordered) for place, ordered in changes.items()}


def wanted_rows(context: EditContext, edit: Edit) -> Map:
    """Return the requested share of each key in the weight of its row; NaN for unchanged rows."""
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
    """Return a mask of the keys that share the weight of each row."""
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
    """Return the given row in its place, and NaN in all others."""
    row = torch.tensor(weights, dtype=torch.float64, device=visible.device)
    if len(row) != visible.shape[1]:
        raise UsageError(
            f"{len(row)} weights are given for a row of {visible.shape[1]} keys; give one for each."
        )
    if bool((row > 0)[~visible[query]].any()):
        raise UsageError(
            f"weight is given to a key that query {query} cannot see; leave such keys at 0."
        )
    rows = torch.full(visible.shape, torch.nan, dtype=torch.float64, device=visible.device)
    rows[query] = row / row.sum()
    return rows


def _alternative(context: EditContext, edit: Edit) -> Map:
    """Return the rows of an alternative with the same output, each with a sum of 1."""
    assert edit.head is not None  # noqa: S101 - the edit was checked
    search = alternatives(
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
    if not search.attention.sizes["alternative"]:
        raise UsageError(
            f"no other attention of {head_name(edit.layer, edit.head)} gives the same output on "
            "this text; choose a longer text, or another change."
        )
    rows = torch.from_numpy(search.attention.values[0]).double()
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
    """Return the weights with other rows, each with its old sum; removed rows are zeros."""
    staying = wanted.isnan().any(-1, keepdim=True)
    if edit.change == "remove":
        return torch.where(staying, weight, 0)
    # The old sum is less than 1 where a head has a sink beside its keys.
    rows = wanted.nan_to_num().to(weight) * weight.sum(-1, keepdim=True)
    return torch.where(staying, weight, rows)
