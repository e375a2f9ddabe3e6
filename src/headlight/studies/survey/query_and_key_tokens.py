"""Tokens of the queries and keys of a batch: ids, categories and places."""

import torch
from jaxtyping import Int64
from torch import Tensor

from headlight.encode.batch import Batch
from headlight.encode.speech import without_mark
from headlight.observations.positions import Positions
from headlight.pool import Membership, membership, with_all
from headlight.vocabulary import CATEGORIES, Kind


def sides(batch: Batch, kind: Kind) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
    """Return the ids and categories of queries and keys; -1 is the category of padding."""
    queries, keys = Positions.for_kind(batch, kind)
    source = batch.input_ids if batch.heard is None else without_mark(batch.input_ids)
    target = source if batch.target_ids is None or kind == "encoder" else batch.target_ids
    ids = (target, source if kind == "cross" else target)
    return ids, (queries.category, keys.category)


def token_places(category: Int64[Tensor, "batch position"]) -> Int64[Tensor, "batch position"]:
    """Return the number of each token in its example, not counting padding; -1 for padding."""
    is_token = category >= 0
    return torch.where(is_token, is_token.cumsum(1) - 1, -1)


QUERY_CATEGORIES = ("all", *CATEGORIES, "not_sep")
"""Groups of queries to average; the last is all but separators (Clark et al. 2019, Figure 2)."""


def query_members(queries: Positions) -> Membership:
    """Return the membership of queries in each of `QUERY_CATEGORIES`."""
    members = with_all(membership(queries.category, len(CATEGORIES)))
    sep = members[..., QUERY_CATEGORIES.index("sep")]
    return torch.cat([members, (members[..., 0] - sep)[..., None]], dim=-1)
