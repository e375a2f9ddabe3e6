"""Pairs of positions with the same label in their text: a token and an earlier equal one.

Pairs are few, so that what goes from query to key is gathered and not masked.
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
        """Return the pairs that are in a mask."""
        return Pairs(*(positions[mask] for positions in self))


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of positions of a text with the same label, such as the same token or the same word.

    Memory is that of the positions; pairs are made for some queries at a time, best on the CPU,
    since their number depends on the labels.

    Attributes:
        earlier: Number of positions before each that have its label.
        order: All positions, those of one label after each other, in the order of the text.
        place: Place of each position in `order`.
    """

    earlier: Int64[Tensor, "batch position"]
    order: Int64[Tensor, "batch position"]
    place: Int64[Tensor, "batch position"]

    @classmethod
    def from_labels(
        cls, label: Int64[Tensor, "batch position"], mask: Bool[Tensor, "batch position"]
    ) -> "Groups":
        """Return the groups of the positions in `mask`; every other position is alone.

        Args:
            label: Labels, from 0.
            mask: Mask of the positions that count.
        """
        places = torch.arange(label.shape[1], device=label.device).expand_as(label)
        # Positions outside the mask get labels of their own, which no other position has.
        ordered, order = label.where(mask, -1 - places).sort(dim=1, stable=True)
        same = torch.nn.functional.pad(ordered[:, 1:] == ordered[:, :-1], (1, 0))
        begin = places.masked_fill(same, 0).cummax(1).values
        blank = torch.empty_like(order)
        return cls(blank.scatter(1, order, places - begin), order, blank.scatter(1, order, places))

    @property
    def first(self) -> Int64[Tensor, "batch position"]:
        """Return the first position with the label of each position."""
        return self.order.gather(1, self.place - self.earlier)

    def pairs(self, first: int, stop: int) -> Pairs:
        """Return queries from `first` to before `stop`, with earlier positions of their labels."""
        earlier = self.earlier[:, first:stop]
        counts = earlier.flatten()
        which = torch.repeat_interleave(counts)
        number = torch.arange(len(which), device=which.device)
        number = number - (counts.cumsum(0) - counts)[which]
        width = max(earlier.shape[1], 1)
        text, query = which // width, which % width + first
        begin = self.place[text, query] - self.earlier[text, query]
        return Pairs(text, query, self.order[text, begin + number])
