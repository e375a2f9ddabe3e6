"""Pairs of positions with the same label in their text: a token and an earlier equal one.

They are few, so that what goes from one to the other is gathered and not masked.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Int64
from torch import Tensor


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
