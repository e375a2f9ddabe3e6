"""Shards, merged in an order that depends on their numbers alone."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from headlight.reduce.tally import Tally

_EXACT = "exact"


@dataclass(frozen=True, slots=True)
class Tree:
    """Shards of a run so far, merged as a binary tree over their numbers.

    Sums of floating-point numbers depend on their order.  Here neighbours are merged, then pairs of
    neighbours, and so on, as a binary counter carries: whichever process measured the shards, in
    whatever blocks, the same two sums are added at every fork, and the last bit is the same.  The
    error grows with the logarithm of the number of shards; that of a running sum grows with the
    number itself.

    Members whose merging is exact need no tree.  They are in one tally, so that large tables are
    held once, and not once for every level.

    Attributes:
        nodes: Complete subtrees from left to right, each with its level.  A subtree of level n
            holds 2^n shards, and levels decrease from left to right.
        exact: Members of all shards whose merging is exact.
    """

    nodes: tuple[tuple[int, Tally], ...] = ()
    exact: Tally = field(default_factory=Tally)

    def push(self, shard: Tally) -> "Tree":
        """Return a tree with one more shard."""
        exact = {name: member for name, member in shard.items() if member.is_exact}
        rest = {name: member for name, member in shard.items() if name not in exact}
        return self.join(Tree(((0, Tally(rest)),), Tally(exact)))

    def join(self, following: "Tree") -> "Tree":
        """Return a tree with the shards of another, which come next.

        The number of shards here must be a multiple of the next power of two above those of the
        other, so that no subtree of the other would have been merged otherwise; blocks are cut so.
        """
        nodes = list(self.nodes)
        for level, tally in following.nodes:
            while nodes and nodes[-1][0] == level:  # as a binary counter carries
                tally, level = nodes.pop()[1].merge(tally), level + 1
            nodes.append((level, tally))
        return Tree(tuple(nodes), self.exact.merge(following.exact))

    def result(self) -> Tally:
        """Merge everything into one tally, incomplete subtrees from the right."""
        merged = Tally()
        for _, tally in reversed(self.nodes):
            merged = tally.merge(merged)
        return merged.merge(self.exact)

    def flat(self) -> Tally:
        """Return all members in one tally, under names with their subtree, for a file."""
        parts = [(str(level), tally) for level, tally in self.nodes] + [(_EXACT, self.exact)]
        return Tally(
            {f"{place}/{name}": member for place, tally in parts for name, member in tally.items()}
        )

    @staticmethod
    def from_flat(flat: Tally, levels: Sequence[int]) -> "Tree":
        """Return the tree from which `flat` was made; `levels` are those of its nodes."""
        parts: dict[str, dict[str, object]] = {str(level): {} for level in levels}
        parts[_EXACT] = {}
        for key, member in flat.items():
            place, _, name = key.partition("/")
            parts[place][name] = member
        tallies = {place: Tally(members) for place, members in parts.items()}  # type: ignore[arg-type]
        return Tree(tuple((level, tallies[str(level)]) for level in levels), tallies[_EXACT])
