"""Sums of attention by category of key, and by labels that positions share.

Pairs of positions that stand for something in their text: a token and an earlier equal one.
They are few, so that what goes from one to the other is gathered and not masked.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Float64, Int, Int64
from torch import Tensor

from headlight.tensors import Score, double, widest

Membership = Float[Tensor, "batch position category"]


def membership(category: Int[Tensor, "batch position"], size: int) -> Membership:
    """1 where a position is of a category; a position of category −1 (padding) is of none."""
    codes = torch.arange(size, device=category.device)
    return (category[..., None] == codes).float()


def with_all(members: Membership) -> Float[Tensor, "batch position category_or_all"]:
    """One more category before the others, which holds every position that is not padding."""
    return torch.cat([members.sum(-1, keepdim=True).clamp(max=1), members], dim=-1)


def over_keys(score: Score, keys: Membership) -> Float[Tensor, "batch head query category"]:
    """Sum over the keys of each category (Clark et al. 2019, Section 3.2)."""
    return score @ keys[:, None].to(score.dtype)


def over_queries(
    rows: Float[Tensor, "batch head query kind"], queries: Membership
) -> Float[Tensor, "batch head category kind"]:
    """Mean over the queries of each category; NaN where a document has none."""
    members = queries.mT[:, None].to(rows.dtype)
    count = members.sum(-1, keepdim=True)
    means = members @ rows / count.clamp_min(1)
    return means.masked_fill_(count == 0, torch.nan)


def mean_weights(
    queries: Membership,
) -> Float64[Tensor, "batch category position"]:
    """Return the weights of the mean over each category; NaN where a document has none of it.

    Their product with rows is `over_queries`; they are made once for the layers of a batch.
    """
    members = double(queries).mT
    count = members.sum(-1, keepdim=True)
    return (members / count.clamp_min(1)).masked_fill(count == 0, torch.nan)


def over_neighbours(
    score: Score, present: Float[Tensor, "batch query"], offsets: tuple[int, ...] = (-1, 0, 1)
) -> Float[Tensor, "batch head offset"]:
    """Mean over all queries of what goes to the key at each offset.

    A position without such a neighbour counts as nothing given, so the denominator is the number
    of tokens for every offset, as in the code of Clark et al. (2019), Section 3.1.
    """
    return mean_to_neighbours(to_neighbours(score, offsets), present)


def to_neighbours(
    score: Score, offsets: tuple[int, ...] = (-1, 0, 1), *, first: int = 0, keys: int | None = None
) -> Float[Tensor, "batch head query offset"]:
    """Return each query's score for the key at each offset; NaN where there is no such key.

    Args:
        score: of some queries, with the keys up to the last that one of them sees.
        offsets: of the keys, from the queries.
        first: the number of the first query.
        keys: of the whole text; None where `score` has all of them.
    """
    queries, columns = score.shape[2:]
    beside = Beside.of(offsets, first, queries, columns, keys or columns)
    return beside.on(score.device).take(score)


class Beside(NamedTuple):
    """Neighbours of some queries, for scores of every layer.

    Attributes:
        key: of each query at each offset; another where there is none.
        factor: of what it gets: 1, 0 for a key that no query sees, or NaN where there is no key.
    """

    key: Int64[Tensor, "query offset"]
    factor: Float[Tensor, "query offset"]

    @classmethod
    def of(
        cls, offsets: tuple[int, ...], first: int, queries: int, columns: int, keys: int
    ) -> "Beside":
        """Return the neighbours, on the host; for arguments see `to_neighbours`.

        Args:
            offsets: of the keys, from the queries.
            first: the number of the first query.
            queries: how many there are.
            columns: of the score.
            keys: of the whole text.
        """
        key = torch.arange(first, first + queries)[:, None] + torch.tensor(offsets)
        factor = (key < columns).float().masked_fill((key < 0) | (key >= keys), torch.nan)
        return cls(key.clamp(0, max(columns - 1, 0)), factor)

    def on(self, device: torch.device) -> "Beside":
        """Return the neighbours on a device."""
        return Beside(*(each.to(device) for each in self))

    def take(self, score: Score) -> Float[Tensor, "batch head query offset"]:
        """Return what `to_neighbours` does."""
        key = self.key.expand(*score.shape[:2], -1, -1)
        return score.gather(3, key) * self.factor.to(score.dtype)


def mean_to_neighbours(
    to_offsets: Float[Tensor, "batch head query offset"], present: Float[Tensor, "batch query"]
) -> Float[Tensor, "batch head offset"]:
    """The mean over all queries, to whom a key that is not there was given nothing."""
    is_present = present.to(to_offsets.dtype)
    sums = (to_offsets.nan_to_num(0.0) * is_present[:, None, :, None]).sum(2)
    return sums / is_present.sum(-1)[:, None, None]


def over_offsets(
    score: Score, factor: Float[Tensor, "batch head query"]
) -> Float[Tensor, "batch head place"]:
    """Return sums over queries of what each, times its factor, gives to the key at each offset.

    Rows are filled up with zeros, and memory is then read in rows that are one longer: the cells of
    a diagonal stand below each other, and one sum over rows adds up all of them.

    Args:
        score: of some queries, with the keys up to the last that one of them sees.
        factor: of each query; 0 leaves it out.

    Returns:
        float64, in the order of `offsets_of`.
    """
    queries, columns = score.shape[2:]
    width = columns + queries + 1
    filled = score.new_zeros(*score.shape[:2], queries + 1, columns + queries)
    torch.mul(score, factor[..., None], out=filled[:, :, :queries, :columns])
    skewed = filled.flatten(2)[..., : queries * width].view(*score.shape[:2], queries, width)
    return double(skewed.sum(2, dtype=widest(score.device)))


def offsets_of(
    queries: int, columns: int
) -> tuple[Int64[Tensor, " place"], Bool[Tensor, " place"]]:
    """Return the offset from the query, counted in the block, at each place of `over_offsets`.

    The second says which places have one; nothing is added up at the others.
    """
    places = torch.arange(columns + queries + 1)
    offsets = torch.where(places < columns, places, places - len(places))
    return offsets, (places < columns) | (offsets > -queries)


class Pairs(NamedTuple):
    """Pairs of a query and a key, those of one text after those of another."""

    text: Int64[Tensor, " pair"]
    query: Int64[Tensor, " pair"]
    key: Int64[Tensor, " pair"]

    def moved(self, query: int = 0, key: int = 0) -> "Pairs":
        """Return the pairs, shifted."""
        return Pairs(self.text, self.query + query, self.key + key)

    def where(self, mask: Bool[Tensor, " pair"]) -> "Pairs":
        """Some of them."""
        return Pairs(*(each[mask] for each in self))


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of positions of a text with the same label, such as the same token or the same word.

    Memory is that of the positions; pairs are made for some queries at a time, best on the CPU,
    since how many there are depends on the labels.

    Attributes:
        earlier: How many positions before each have its label.
        order: All positions, those of one label after each other, in the order of the text.
        place: Where each position stands in `order`.
    """

    earlier: Int64[Tensor, "batch position"]
    order: Int64[Tensor, "batch position"]
    place: Int64[Tensor, "batch position"]

    @classmethod
    def of(
        cls, label: Int64[Tensor, "batch position"], mask: Bool[Tensor, "batch position"]
    ) -> "Groups":
        """Groups of the positions that are `mask`; each other one is alone.

        Args:
            label: From 0.
            mask: Which positions count.
        """
        places = torch.arange(label.shape[1], device=label.device).expand_as(label)
        ordered, order = label.where(mask, -1 - places).sort(dim=1, stable=True)
        same = torch.nn.functional.pad(ordered[:, 1:] == ordered[:, :-1], (1, 0))
        begin = places.masked_fill(same, 0).cummax(1).values
        blank = torch.empty_like(order)
        return cls(blank.scatter(1, order, places - begin), order, blank.scatter(1, order, places))

    @property
    def first(self) -> Int64[Tensor, "batch position"]:
        """The first position with the label of each."""
        return self.order.gather(1, self.place - self.earlier)

    def pairs(self, first: int, stop: int) -> Pairs:
        """Queries from `first` to before `stop`, each with all earlier positions of its label."""
        earlier = self.earlier[:, first:stop]
        counts = earlier.flatten()
        which = torch.repeat_interleave(counts)
        number = torch.arange(len(which), device=which.device)
        number = number - (counts.cumsum(0) - counts)[which]
        width = max(earlier.shape[1], 1)
        text, query = which // width, which % width + first
        begin = self.place[text, query] - self.earlier[text, query]
        return Pairs(text, query, self.order[text, begin + number])
