"""Norms, weights and how they go together, layer by layer, while a batch runs through the model."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from jaxtyping import Bool, Float, Float64, Int64
from torch import Tensor

from headlight.analysis.batch_texts import Texts
from headlight.analysis.positions import array, moments, stacked
from headlight.capture import AttentionSite, LayerRecord
from headlight.measures import Scores
from headlight.pool import membership
from headlight.reduce import Accumulator, Count, GroupMeans, Ratio, Sample, Tally
from headlight.studies.norms.frequency import Occurrences
from headlight.studies.norms.occurrences import seen_with
from headlight.studies.norms.sample import PairRanks, PairSample, occurrence_sample


@dataclass(eq=False, repr=False)
class NormsObserver:
    """Sees the attention of one batch, and how it goes together with norms and frequency.

    No score of the size of the weights is formed: ‖αf(x)‖ = α‖f(x)‖, so that what a key receives
    in norm is what it receives in weight, times its length.

    Attributes:
        texts: the positions of the batch.
        occurrences: how often the types of tokens occur in the whole corpus.
        categories: how many categories there are.
        sites: the attention modules that will be seen.
        groups: of the texts; see `headlight.analysis.batch_texts.groups_of`.
        pairs: what keeps a sample of pairs for each category; empty.
        tokens: what keeps a sample of occurrences, four numbers each; empty.
    """

    texts: Texts
    occurrences: Occurrences
    categories: int
    sites: Sequence[AttentionSite]
    groups: Int64[np.ndarray, " batch"]
    pairs: Sample
    tokens: Sample
    _seen: dict[int, dict[str, Tensor]] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self._present = self.texts.queries.float()
        self._members = membership(self.texts.keys, self.categories)
        self._ranks = PairRanks(self.texts, self.categories, self.sites)
        self._pairs = PairSample(self.texts, self.categories, self.sites, self.pairs)

    def visit(self, record: LayerRecord) -> None:
        """Look at one layer; one number per token and head is kept of it, and the ranks."""
        scores = Scores(record, precision=torch.float32)
        weight, norm = scores.weight, scores.vector_norm
        received = (self._present[:, None, None] @ weight.float())[:, :, 0].to(norm.dtype)
        mean = received / self._present.sum(-1)[:, None, None]
        members = self._members.to(norm.dtype)
        seen = {
            "weight": mean @ members,
            "weighted_norm": (mean * norm) @ members,
            "category_norm": (norm @ members) / members.sum(1)[:, None],  # NaN where there is none
            "vector_norm": self._tokens(norm),
            "received": self._tokens(received / self._watching(record.visible)),
        }
        if record.input is not None:
            seen["input_norm"] = self._tokens(scores.input_norm)
        self._seen[record.site.layer] = seen
        for part in (self._ranks, self._pairs):
            part.see(record.site.layer, weight, norm, record.visible)

    def tally(self) -> Tally:
        """The statistics of the batch."""
        layers = [self._seen[layer] for layer in sorted(self._seen)]
        names = [name for name in layers[0] if all(name in layer for layer in layers)]
        rows = {name: stacked([layer[name] for layer in layers]) for name in names}
        received = rows.pop("received")
        found: dict[str, Accumulator] = {
            "ranks": self._ranks.found(),
            "pairs": self._pairs.found(),
            **self._of_frequency(received, rows["vector_norm"]),
            **{name: moments(values) for name, values in rows.items()},
            **{f"{name}_share": _shares(rows[name]) for name in ("weight", "weighted_norm")},
            **{
                f"by_group_{name}_powers": self._powers(rows[name])
                for name in ("vector_norm", "input_norm")
                if name in rows
            },
        }
        found["tokens"] = Count((self._members.shape[2],))
        found["tokens"].update(array(self._members.sum(1)))
        return Tally(found)

    def _powers(self, lengths: Float64[np.ndarray, "token layer *head"]) -> GroupMeans:
        """Lengths and their squares, added up over the tokens of each text."""
        if lengths.ndim == 2:  # of inputs, which have no heads
            lengths = lengths[..., None]
        of_texts = (self.texts.category >= 0).sum(1)
        begin = np.cumsum(of_texts) - of_texts
        powers = np.stack([lengths, lengths**2], -1)
        sums = np.add.reduceat(powers, begin, axis=0)
        counts = of_texts.reshape(-1, 1, 1, 1).astype(np.float64)
        return GroupMeans.of(self.groups, sums, np.broadcast_to(counts, sums.shape))

    def _of_frequency(
        self,
        received: Float64[np.ndarray, "token layer head"],
        norm: Float64[np.ndarray, "token layer head"],
    ) -> dict[str, Accumulator]:
        """What goes together with the frequency of types, and a sample of it."""
        ids = self.texts.ids[self.texts.category >= 0]
        means = [np.nanmean(values, axis=(1, 2)) for values in (received, norm)]
        fields = np.stack([self.occurrences.ranks.of(ids), *means, ids], axis=-1)
        return {
            **seen_with(self.occurrences.twice_mid_rank[ids], received, norm),
            "occurrences": occurrence_sample(self.texts, fields, self.tokens),
        }

    def _tokens(self, per_key: Float[Tensor, "batch *head key"]) -> Float[Tensor, "token *head"]:
        """The keys of all documents in one row, padding left out."""
        return per_key.movedim(-1, 1)[self.texts.keys >= 0]

    def _watching(
        self, visible: Bool[Tensor, "batch #query key"] | None
    ) -> Float[Tensor, "batch 1 key"]:
        """How many queries can see each key."""
        if visible is None:
            return self._present.sum(-1)[:, None, None].expand(-1, 1, self._members.shape[1])
        seen = visible.float().expand(-1, self._present.shape[1], -1)
        return self._present[:, None] @ seen


def _shares(rows: Float64[np.ndarray, "text layer head category"]) -> Ratio:
    """What each category gets, to what all get together."""
    found = Ratio(rows.shape[1:])
    whole = np.broadcast_to(np.nansum(rows, -1, keepdims=True), rows.shape)
    found.update(rows, np.where(whole > 0, whole, np.nan))
    return found
