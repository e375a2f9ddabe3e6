"""State of a run: its progress and its tally."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from headlight.engine.example import NOTHING_SEEN, join_digests
from headlight.reduce import Tally, Tree


@dataclass(frozen=True, slots=True)
class State:
    """State of a run: its progress and its tally."""

    tally: Tally = field(default_factory=Tally)
    """Everything that was seen, once the corpus is at its end."""
    tree: Tree = field(default_factory=Tree)
    """Everything that was seen so far, before the end of the corpus."""
    shards: int = 0
    """Number of shards that are measured."""
    examples: int = 0
    tokens: int = 0
    digest: str = NOTHING_SEEN
    """Digest of the examples so far, see `headlight.engine.example.digest_with`."""
    read: str = ""
    """Digest of what was read so far, see `headlight.engine.shards.ShardReader.digest`."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """Numbers of elements so far by what became of them; empty where that is not known."""
    finished: bool = False
    """Whether the corpus is at its end."""

    def joined(self, following: "State") -> "State":
        """Return the state after the examples that follow, whose own state is `following`."""
        return replace(
            following,
            tree=self.tree.join(following.tree),
            shards=self.shards + following.shards,
            examples=self.examples + following.examples,
            tokens=self.tokens + following.tokens,
            digest=join_digests(self.digest, following.digest),
            counts={
                name: self.counts.get(name, 0) + following.counts.get(name, 0)
                for name in {**self.counts, **following.counts}
            },
        )

    def merged(self) -> "State":
        """Return the final state, in which everything is one tally."""
        return replace(self, tally=self.tree.result(), tree=Tree(), finished=True)
