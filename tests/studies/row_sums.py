"""What is asked of the rows of a batch in tests, and a block of queries that is shown to parts."""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from headlight.encode.batch import Batch
from headlight.pool import membership
from headlight.studies.survey.cell_sums import CellSums
from headlight.studies.survey.head_behaviours.induction_and_sinks import BehaviourCounter
from headlight.studies.survey.part_observer import SeenBlock
from headlight.studies.survey.row_sums import Asked, Links, PairLists
from headlight.vocabulary import CATEGORIES, NEIGHBOURS


def asked_of(batch: Batch, counter: BehaviourCounter | None = None, links: Links | None = None):
    """What a survey asks of a batch; without a counter of behaviours, of categories alone."""
    there = batch.category >= 0
    begin = there.int().argmax(1)
    first = (torch.arange(there.shape[1]) == begin[:, None]).float()[..., None]
    members = membership(batch.category, len(CATEGORIES))
    alone = torch.cat([torch.ones_like(first), first], -1)
    columns = alone if counter is None else counter.key_columns
    pairs = no_pairs(len(there)) if counter is None else counter.pairs
    columns = torch.cat([members, columns], -1)
    return Asked(columns, tuple(NEIGHBOURS.values()), there, pairs, links)


def no_pairs(texts: int):
    return lambda queries, _: PairLists((), 0, texts, queries)


def seen_block(
    asked: Asked, scores: Mapping[str, Tensor], first: int, *, compiled: bool, **record: Any
) -> SeenBlock:
    """Some queries as parts are shown them; in float32 where loops are to be compiled."""
    measured = {name: each.float() if compiled else each for name, each in scores.items()}
    sums = CellSums(asked, compiled=compiled).sums(measured, first)
    shape = next(iter(scores.values())).shape
    place = {"first": first, "block": None, "ends": True, "shape": shape, "visible": None}
    shown = SimpleNamespace(**{**place, **record})
    return SeenBlock(SimpleNamespace(record=shown, of=scores.__getitem__), sums)
