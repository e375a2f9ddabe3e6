"""Statistics of contributions of input tokens, summed while batches run through the model."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Float64, Int64
from torch import Tensor

from headlight.analysis.layer_arrays import array, moments
from headlight.analysis.positions import Positions
from headlight.analysis.text_ids import units_of
from headlight.capture import Kind
from headlight.capture.attribution import Attribution
from headlight.encode import Encoded, EncodedSentence
from headlight.encode.batch import Batch
from headlight.encode.token_categories import CLS, SEP
from headlight.errors import UsageError
from headlight.reduce import Accumulator, Grouped, Histogram, Moments, Pearson, Slots, Tally
from headlight.vocabulary import CATEGORIES
from headlight_papers.studies.attribution import AttributionStudySettings

MARKS = ("low", "first", "median", "third", "high")
"""Ends of the whiskers, quartiles and median, as boxes are drawn."""

WHISKER = 1.5
"""Whiskers reach to what was seen within this many heights of the box beyond it (Tukey 1977)."""


def boxes(
    counts: Float64[np.ndarray, "*entry bin"], edges: Float64[np.ndarray, " edge"]
) -> Float64[np.ndarray, "*entry mark"]:
    """`MARKS` of each entry; NaN where nothing was counted.

    Quantiles are interpolated within their bin, and are off by the width of a bin at most; the ends
    of whiskers are edges of bins.
    """
    flat = counts.reshape(-1, counts.shape[-1])
    marks = np.array([_box(row, edges) for row in flat])
    return marks.reshape(*counts.shape[:-1], len(MARKS))


def _box(
    counts: Float64[np.ndarray, " bin"], edges: Float64[np.ndarray, " edge"]
) -> Float64[np.ndarray, "mark=5"]:
    if not counts.sum():
        return np.full(len(MARKS), np.nan)
    first, median, third = (_quantile(counts, edges, level) for level in (0.25, 0.5, 0.75))
    reach = WHISKER * (third - first)
    occupied = np.flatnonzero(counts)
    lows, highs = edges[occupied], edges[occupied + 1]
    low = lows[highs > first - reach][0]
    high = highs[lows < third + reach][-1]
    return np.array([max(low, first - reach), first, median, third, min(high, third + reach)])


def _quantile(
    counts: Float64[np.ndarray, " bin"], edges: Float64[np.ndarray, " edge"], level: float
) -> float:
    """Return the value below which a share ``level`` of observations lies, uniform in a bin."""
    below = np.concatenate([[0.0], counts.cumsum()])
    wanted = level * below[-1]
    place = int(np.searchsorted(below, wanted, side="left"))
    place = max(place, 1)
    inside = (wanted - below[place - 1]) / counts[place - 1]
    return float(edges[place - 1] + inside * (edges[place] - edges[place - 1]))


DISTANCES = {
    "1": (1, 1),
    "2": (2, 2),
    "3": (3, 3),
    "4-5": (4, 5),
    "6-10": (6, 10),
    "11+": (11, 10**9),
}
"""Distances that are looked at together (Section 5.3, Figure 4a): the nearest and the farthest."""

Contribution = Float[Tensor, "layer batch query key"]
Present = Bool[Tensor, "batch position"]
PerToken = Float[Tensor, "layer batch query"]


def own(contribution: Contribution) -> PerToken:
    """c_jj: what a token contributes to the hidden token in its own place (Figure 3a)."""
    return contribution.diagonal(dim1=2, dim2=3)


def is_not_largest(contribution: Contribution) -> Bool[Tensor, "layer batch query"]:
    """Whether another token contributes more than the token itself (P̃, Figure 3b)."""
    return contribution.amax(-1) > own(contribution)


def by_distance(
    contribution: Contribution, present: Present
) -> Float[Tensor, "layer batch query group"]:
    """Mean contribution of the neighbours within each of `DISTANCES`, left and right (Figure 4a).

    The mean is over the neighbours that there are, so that a token at the edge of a text has those
    of one side; NaN where it has none.
    """
    members = _groups(contribution.shape[-1], contribution.device).to(contribution.dtype)
    pair_mask = (present[:, :, None] & present[:, None]).to(contribution.dtype)
    count = torch.einsum("bqk,qkg->bqg", pair_mask, members)
    sums = torch.einsum("lbqk,qkg->lbqg", contribution * pair_mask, members)
    return (sums / count.clamp_min(1)).masked_fill(count == 0, torch.nan)


def _groups(positions: int, device: torch.device) -> Bool[Tensor, "query key group"]:
    """Whether the distance of two positions is in each group."""
    place = torch.arange(positions, device=device)
    distance = (place[:, None] - place).abs()
    bounds = list(DISTANCES.values())
    return torch.stack([(distance >= low) & (distance <= high) for low, high in bounds], dim=-1)


@dataclass(frozen=True, eq=False)
class Sums:
    """Contributions added up by relative position, from −reach to reach.

    Attributes:
        count: pairs of tokens that there are.
        total: what is contributed in them.
        squares: the sum of its squares.
    """

    count: Float[np.ndarray, " offset"]
    total: Float[np.ndarray, "layer offset"]
    squares: Float[np.ndarray, "layer offset"]


def by_offset(contribution: Contribution, present: Present, reach: int) -> Sums:
    """By the place of the contributing token, relative to the hidden one (Figure 4b)."""
    place = torch.arange(contribution.shape[-1], device=contribution.device)
    offset = (place - place[:, None]).expand(len(present), -1, -1)
    pair_mask = present[:, :, None] & present[:, None]
    return _reach_sums(contribution.flatten(2), offset.flatten(1), pair_mask.flatten(1), reach)


def centred(
    received: Float[Tensor, "layer batch key"],
    present: Present,
    centre: Int64[Tensor, " batch"],
    reach: int,
) -> Sums:
    """Sum what one hidden token of each text receives, by place relative to a centre (Figure 18).

    Args:
        received: the contributions to that hidden token.
        present: which tokens there are.
        centre: a place in each text; −1 leaves the text out.
        reach: how far from it.
    """
    place = torch.arange(received.shape[-1], device=received.device)
    key_mask = present & (centre >= 0)[:, None]
    return _reach_sums(received, place - centre[:, None], key_mask, reach)


def _reach_sums(
    values: Float[Tensor, "layer batch cell"],
    offset: Int64[Tensor, "batch cell"],
    mask: Bool[Tensor, "batch cell"],
    reach: int,
) -> Sums:
    """Sums over all cells of each offset; what is out of reach is left out."""
    within_reach = mask & (offset.abs() <= reach)
    bins = (offset + reach).where(within_reach, 2 * reach + 1).flatten()  # the last is thrown away
    doubled = values.double().flatten(1)
    ones = torch.ones_like(doubled[:1])
    rows = torch.cat([ones, doubled, doubled.square()])
    sums = rows.new_zeros(len(rows), 2 * reach + 2).index_add_(1, bins, rows)[:, :-1]
    totals = sums.cpu().numpy()
    layers = len(values)
    return Sums(totals[0], totals[1 : 1 + layers], totals[1 + layers :])


def first_of(category: Int64[Tensor, "batch position"], code: int) -> Int64[Tensor, " batch"]:
    """The first position of a category in each text; −1 where there is none."""
    matches = category == code
    return matches.int().argmax(-1).where(matches.any(-1), -1)


GROUPS = ("all", *CATEGORIES)
"""Groups of tokens that every text has; those of parts of speech come after them."""

NO_TAG = -1


def tag_names(examples: Iterable[Encoded], tags: str | None) -> tuple[str, ...]:
    """All parts of speech that occur, in alphabetical order.

    Raises:
        UsageError: the examples are no sentences of a treebank, or these have no such tags.
    """
    if tags is None:
        return ()
    names = {tag for example in examples for tag in _of_words(example, tags)}
    if not names - {"_"}:
        raise UsageError(
            f"the sentences have no tags in {tags!r}; choose the other of upos and xpos, or a "
            "treebank that has them."
        )
    return tuple(sorted(names))


def piece_codes(
    examples: Sequence[Encoded], tags: str, names: Sequence[str], word: Int64[Tensor, "batch token"]
) -> Int64[Tensor, "batch token"]:
    """The number of the tag of the word of each piece; −1 for special tokens and padding."""
    numbers = {name: number for number, name in enumerate(names)}
    codes = torch.full_like(word, NO_TAG)
    for row, example in enumerate(examples):
        of_words = [numbers[tag] for tag in _of_words(example, tags)]
        real = word[row] >= 0
        codes[row, real] = word.new_tensor(of_words)[word[row, real]]
    return codes


def _of_words(example: Encoded, tags: str) -> tuple[str, ...]:
    """Return the tags of the words that were kept; refuse an example without such tags."""
    if not isinstance(example, EncodedSentence):
        raise UsageError(
            "parts of speech are known of treebank sentences alone; make the examples with "
            "headlight.encode.sentences."
        )
    word_tags: tuple[str, ...] = getattr(example.sentence, tags)
    if not word_tags:
        raise UsageError(
            f"{example.name}: the sentence has no tags in {tags!r}; choose the other of upos and "
            "xpos, or a treebank that has them."
        )
    return word_tags[: example.kept]


EDGES = tuple(np.linspace(0.0, 1.0, 1001).tolist())
"""Edges of the bins from which quantiles are read: a tenth of a percent each."""

Rows = Float64[np.ndarray, "token layer"]


@dataclass(frozen=True)
class AttributionSpec:
    """Specification of what is observed in every batch.

    Attributes:
        kind: which attention.
        layers: the numbers of the layers.
        settings: see `AttributionStudySettings`.
        tags: the names of all parts of speech.
    """

    kind: Kind
    layers: tuple[int, ...]
    settings: AttributionStudySettings
    tags: tuple[str, ...] = ()


class AttributionObserver:
    """Sees the contributions of one batch; `tally` is what it saw."""

    def __init__(self, batch: Batch, examples: Sequence[Encoded], spec: AttributionSpec) -> None:
        self._batch = batch
        self._examples = examples
        self._units = units_of(examples)
        self._spec = spec
        self._category = Positions.for_kind(batch, spec.kind)[0].category
        self._present = self._category >= 0
        self._text = self._present.nonzero()[:, 0].cpu().numpy()
        self._found: dict[str, Accumulator] = {}

    def note_attribution(self, attribution: Attribution) -> None:
        """Sum up the contributions of all layers."""
        layers = list(self._spec.layers)
        contribution = attribution.contribution[layers]
        self._note_own(contribution)
        self._note_neighbours(contribution)
        if attribution.standard_error is not None:
            error = own(attribution.standard_error[layers])
            self._found["own_error"] = moments(self._tokens(error.double().square()))

    def tally(self) -> Tally:
        """The statistics of the batch."""
        return Tally(self._found)

    def _note_own(self, contribution: Contribution) -> None:
        """Add what tokens contribute to themselves: of all, by category, by part of speech."""
        rows = self._tokens(own(contribution))
        category = self._category[self._present].cpu().numpy()
        groups = [(np.zeros_like(category), rows), (1 + category, rows)]
        texts = [self._text, self._text]
        if self._spec.tags:
            *tagged, text = self._tagged(contribution)
            groups.append((tagged[0], tagged[1]))
            texts.append(text)
        mean = Grouped(Moments(rows.shape[1:]))
        spread = Grouped(Histogram(EDGES, rows.shape[1:]))
        for keys, values in groups:
            mean.update(keys, values)
            spread.update(keys, values.clip(0.0, 1.0))
        self._found |= {"own": mean, "own_spread": spread}
        every = len(GROUPS) + len(self._spec.tags)
        keys, values = (np.concatenate(each) for each in zip(*groups, strict=True))
        self._found["own_of_texts"] = self._of_texts(values, np.concatenate(texts), keys, every)
        others = self._tokens(is_not_largest(contribution))
        self._found["not_largest"] = moments(others)
        self._found["not_largest_of_texts"] = self._of_texts(others, self._text)

    def _of_texts(
        self,
        values: Float64[np.ndarray, "token *cell"],
        text: Int64[np.ndarray, " token"],
        group: Int64[np.ndarray, " token"] | None = None,
        groups: int = 1,
    ) -> Slots:
        """Sums of each text over its tokens, by group, to their number; NaN is no token."""
        place = text * groups + (0 if group is None else group)
        shape = (len(self._present) * groups, *values.shape[1:])
        sums, counts = np.zeros(shape), np.zeros(shape)
        np.add.at(sums, place, np.nan_to_num(values))
        np.add.at(counts, place, np.isfinite(values))
        cells = (groups, *shape[1:]) if group is not None else shape[1:]
        return Slots.of(self._units, *(each.reshape(-1, *cells) for each in (sums, counts)))

    def _tagged(
        self, contribution: Contribution
    ) -> tuple[Int64[np.ndarray, " token"], Rows, Int64[np.ndarray, " token"]]:
        """Groups, own contributions and texts of pieces that have a part of speech."""
        settings, word = self._spec.settings, self._batch.word
        assert settings.tags is not None  # noqa: S101 - there are names of tags
        codes = piece_codes(self._examples, settings.tags, self._spec.tags, word)
        tagged_mask = codes >= 0
        rows, text = _rows(own(contribution), tagged_mask), tagged_mask.nonzero()[:, 0]
        return len(GROUPS) + codes[tagged_mask].cpu().numpy(), rows, text.cpu().numpy()

    def _note_neighbours(self, contribution: Contribution) -> None:
        """Add contributions of other tokens: by distance, by offset, and to the class token."""
        present, reach = self._present, self._spec.settings.reach
        near = self._tokens(by_distance(contribution, present))
        self._found["distance"] = moments(near)
        self._found["distance_of_texts"] = self._of_texts(near, self._text)
        self._found["offset"] = _summed(by_offset(contribution, present, reach))
        each = [slice(at, at + 1) for at in range(len(present))]
        self._found["offset_of_texts"] = self._pairs(
            [by_offset(contribution[:, one], present[one], reach) for one in each]
        )
        classes, separators = (first_of(self._category, code) for code in (CLS, SEP))
        text = torch.arange(len(classes), device=classes.device)
        received = contribution[:, text, classes.clamp_min(0)]
        others = present & (torch.arange(present.shape[1], device=text.device) != classes[:, None])
        for name, centre in (("cls", classes), ("sep", separators)):
            pair_mask = others & (classes >= 0)[:, None]
            self._found[name] = _summed(centred(received, pair_mask, centre, reach))
            self._found[f"{name}_of_texts"] = self._pairs(
                [centred(received[:, one], pair_mask[one], centre[one], reach) for one in each]
            )

    def _pairs(self, texts: Sequence[Sums]) -> Slots:
        """Return what is contributed in each text, to the pairs of tokens that it has."""
        totals = np.stack([each.total for each in texts])
        return Slots.of(self._units, totals, np.stack([each.count for each in texts])[:, None])

    def _tokens(self, values: Tensor) -> np.ndarray:
        """All tokens of the batch in one row, padding left out."""
        return _rows(values, self._present)


def _rows(values: PerToken | Tensor, mask: Tensor) -> np.ndarray:
    """Tokens, or pairs of them, along the first axis, layers along the second."""
    return array(values.movedim(0, mask.ndim)[mask])


def _summed(sums: Sums) -> Moments:
    """Moments of what was added up; extremes are not kept."""
    count = np.broadcast_to(sums.count, sums.total.shape)
    mean = sums.total / np.maximum(count, 1)
    deviations = np.maximum(sums.squares - count * mean**2, 0.0)
    summary = Moments(sums.total.shape)
    nowhere = np.full(mean.shape, np.nan)
    summary.absorb(count, mean, deviations, nowhere, nowhere)
    return summary


class AgreementObserver:
    """Compares the estimate of one batch with what is exact.

    Args:
        batch: what the model is given.
        estimate: its contributions from random directions.
        spec: which attention and layers.
    """

    def __init__(self, batch: Batch, estimate: Attribution, spec: AttributionSpec) -> None:
        self._present = Positions.for_kind(batch, spec.kind)[0].category >= 0
        self._estimate = estimate
        self._layers = list(spec.layers)
        self._found: dict[str, Accumulator] = {}

    def note_attribution(self, attribution: Attribution) -> None:
        """Compare with what is exact, over all pairs of tokens that exactly contribute."""
        exact = attribution.contribution[self._layers].double()
        estimate = self._estimate.contribution[self._layers].double()
        pair = self._present[:, :, None] & self._present[:, None]
        truth, guess = _rows(exact, pair), _rows(estimate, pair)
        some = np.where(truth > 0, truth, np.nan)
        difference = np.abs(guess - some)
        self._found |= {
            "difference": moments(difference),
            "relative": moments(difference / some),
            "correlation": _correlated(some, guess),
        }
        if self._estimate.standard_error is not None:
            error = _rows(self._estimate.standard_error[self._layers], pair)
            inside = np.where(np.isnan(difference), np.nan, difference <= 2 * error)
            self._found["inside"] = moments(inside)
        for name, contribution in (("exact", exact), ("estimated", estimate)):
            self._note_own(name, contribution)

    def tally(self) -> Tally:
        """The statistics of the batch."""
        return Tally(self._found)

    def _note_own(self, name: str, contribution: Contribution) -> None:
        rows = _rows(own(contribution), self._present)
        spread = Histogram(EDGES, rows.shape[1:])
        spread.update(rows.clip(0.0, 1.0))
        self._found |= {
            f"{name}_own": moments(rows),
            f"{name}_spread": spread,
            f"{name}_not_largest": moments(_rows(is_not_largest(contribution), self._present)),
        }


def _correlated(first: np.ndarray, second: np.ndarray) -> Pearson:
    correlation = Pearson(first.shape[1:])
    correlation.update(first, second)
    return correlation
