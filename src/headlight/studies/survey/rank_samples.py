"""Samples of pairs of positions and of occurrences of tokens, for the figures of ranks."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Bool, Float, Float64, Int64
from torch import Tensor

from headlight.capture import AttentionSite
from headlight.observations.layer_arrays import array
from headlight.observations.positions import Texts
from headlight.reduce import Sample

Numbers = Int64[np.ndarray, " drawn"]


class PairSample:
    """Uniform sample of (α_ij, ‖f(x_j)‖) per category, of all heads of all layers.

    Pairs are drawn before the model runs, from all pairs of positions without padding; those that a
    query cannot see become NaN.

    Args:
        texts: Texts of the batch, with their positions.
        categories: Number of categories of keys.
        sites: Attention modules that will be observed.
        sample: Empty sample with its size and seed.
    """

    def __init__(
        self, texts: Texts, categories: int, sites: Sequence[AttentionSite], sample: Sample
    ) -> None:
        self._sample = sample
        ordered = sorted(sites, key=lambda site: site.layer)
        heads = np.array([site.heads for site in ordered])
        self._row = {site.layer: row for row, site in enumerate(ordered)}
        self._first_head = np.cumsum(heads) - heads
        queries, keys = texts.queries.cpu().numpy(), texts.category
        counts = (keys[..., None] == np.arange(categories)).sum(1)
        lengths = counts * (queries.sum(1) * heads.sum())[:, None]
        for group in range(categories):
            self._draw(texts.text_ids, lengths[:, group], group)
        self._text, number = sample.rows.astype(np.int64).T
        self._place(number, queries, keys, counts)
        self._values = np.full((len(number), 2), np.nan)

    def see(
        self,
        layer: int,
        weight: Float[Tensor, "batch head query key"],
        norm: Float[Tensor, "batch head key"],
        visible: Bool[Tensor, "batch #query key"] | None,
    ) -> None:
        """Fetch the values of the pairs drawn from this layer."""
        here = np.flatnonzero(self._layer == self._row[layer])
        text, head, query, key = (
            torch.from_numpy(places[here]).to(weight.device)
            for places in (self._text, self._head, self._query, self._key)
        )
        pairs = torch.stack([weight[text, head, query, key].to(norm), norm[text, head, key]], -1)
        if visible is not None:
            is_visible = visible.expand(-1, weight.shape[2], -1)[text, query, key]
            pairs = pairs.masked_fill(~is_visible[:, None], torch.nan)
        self._values[here] = array(pairs)

    def collect(self) -> Sample:
        """Return the sample, once all layers were seen."""
        self._sample.rows = self._values
        return self._sample

    def _draw(
        self, text_ids: Sequence[int], lengths: Int64[np.ndarray, " text"], group: int
    ) -> None:
        """Draw pairs of each text; until `see`, rows hold the text and the number of a pair."""
        for text, (text_id, length) in enumerate(zip(text_ids, lengths.tolist(), strict=True)):
            if length:
                keys, numbers = self._sample.draw(text_id, length, group)
                rows = np.stack([np.full(len(numbers), text), numbers], axis=-1)
                self._sample.keep(keys, rows.astype(np.float64), group)

    def _place(
        self,
        number: Numbers,
        queries: Bool[np.ndarray, "text query"],
        keys: Int64[np.ndarray, "text key"],
        counts: Int64[np.ndarray, "text category"],
    ) -> None:
        """Convert the number of a pair in its text and category to layer, head, query and key."""
        text, group = self._text, self._sample.group
        number, key = np.divmod(number, counts[text, group])
        head, query = np.divmod(number, queries.sum(1)[text])
        before = np.cumsum(counts, axis=1) - counts + (keys < 0).sum(1)[:, None]
        self._key = np.argsort(keys, axis=1, kind="stable")[text, before[text, group] + key]
        self._query = np.argsort(~queries, axis=1, kind="stable")[text, query]
        self._layer = np.searchsorted(self._first_head, head, side="right") - 1
        self._head = head - self._first_head[self._layer]


def occurrence_sample(
    texts: Texts, rows: Float64[np.ndarray, "token field"], sample: Sample
) -> Sample:
    """Draw a uniform sample of the occurrences of tokens.

    Args:
        texts: Texts of the batch, with their positions.
        rows: Fields of all tokens of all texts, in their order; tokens whose first field is NaN are
            left out.
        sample: Empty sample with its size and seed.
    """
    places = np.cumsum((texts.category >= 0).sum(1))
    for text_id, chosen in zip(texts.text_ids, np.split(rows, places[:-1]), strict=True):
        drawn_rows = chosen[~np.isnan(chosen[:, 0])]
        if len(drawn_rows):
            keys, numbers = sample.draw(text_id, len(drawn_rows))
            sample.keep(keys, drawn_rows[numbers])
    return sample
