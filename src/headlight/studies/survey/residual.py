"""Massive activations: how large the residual stream gets that enters each block.

Source: Sun et al. (2024), "Massive Activations in Large Language Models", Section 2.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Float64, Int64
from torch import Tensor

from headlight.analysis.batch_runner import (
    BatchRunner,
    Positions,
    Texts,
    key_ids,
    stacked,
    units_of,
)
from headlight.analysis.passes import observe
from headlight.analysis.plan import StudyPlan, batch_tokens
from headlight.analysis.variables import Variable, rank_of
from headlight.capture import CapturedModel, LayerRecord
from headlight.encode import Encoded, token_names
from headlight.encode.batch import Batch
from headlight.encode.examples import CLS, SEP
from headlight.measures.norm import gated_weight
from headlight.reduce import Accumulator, Grouped, Moments, Strongest, Tally
from headlight.studies.survey import RankSettings
from headlight.studies.survey.part import (
    Outcome,
    PartObserver,
    SeenLayer,
    Variables,
    means,
    medians,
    number,
    peaks,
)
from headlight.studies.survey.passages import sides
from headlight.tensors import double, single
from headlight.vocabulary import CATEGORIES, MASSIVE, MASSIVE_RATIO, Kind

SAMPLED = 16
"""Tokens of a text, evenly spread, whose entries have the median: that of all costs far more."""

BY_TEXT = {
    "residual_max": Variable(
        "largest entry, in size, of what enters the block, mean over texts", "", interval="positive"
    ),
    "residual_ratio": Variable(
        f"that entry divided by the median entry at {SAMPLED} tokens, in size", interval="positive"
    ),
    "residual_massive": Variable("share of the texts with a massive activation", interval="share"),
    "residual_length": Variable(
        "length of the first token's vector divided by the median length", interval="positive"
    ),
}
"""In the order in which an observer sees them."""

VARIABLES = {
    **BY_TEXT,
    "residual_highest": Variable("largest entry of the corpus, in size", ""),
    "residual_dimension": Variable("its dimension"),
    "residual_place": Variable("place of its token in the text"),
    "residual_token": Variable("its token"),
}


class ResidualObserver(PartObserver):
    """Observer of the input of each block; `members` holds that of one batch."""

    wants_stream = True

    def __init__(self, batch: Batch, examples: Sequence[Encoded], kind: Kind) -> None:
        ids, categories = sides(batch, kind)
        self._ids, self._there = ids[0], categories[0] >= 0
        self._begin = self._there.int().argmax(1)
        self._units = units_of(examples)
        self._ranks = np.array([rank_of(example, kind) for example in examples])
        self._sample = self._begin[:, None] + _spread(self._there.sum(1))
        self._found: dict[int, tuple[Tensor, ...]] = {}

    def note_layer(self, layer: SeenLayer) -> None:
        """Keep of what enters the block of a layer what its statistics are made of."""
        record = layer.record
        found: tuple[Tensor, ...] = ()
        if record.stream is not None:
            stream = record.stream.detach()
            texts = torch.arange(len(stream), device=stream.device)[:, None]
            median = _lower_median(single(stream[texts, self._sample]).abs().flatten(1))
            length = single(stream).norm(dim=2)
            found = *peaks(stream, self._there), median, length
        self._found[record.site.layer] = found

    def members(self) -> dict[str, Accumulator]:
        """Return the statistics of the batch, by name."""
        layers = [self._found[layer] for layer in sorted(self._found)]
        rows = np.full((len(self._begin), len(layers), 7), np.nan)
        for at, found in enumerate(layers):
            if found:
                rows[:, at] = self._statistics(*found)
        largest = Strongest(rows.shape[1:2], width=3)
        largest.update(
            rows[..., 0], np.broadcast_to(self._ranks[:, None], rows.shape[:2]), rows[..., 4:]
        )
        return {**means("residual", rows[..., :4], self._units), "residual_largest": largest}

    def _statistics(
        self,
        place: Int64[Tensor, " batch"],
        size: Float[Tensor, "batch size"],
        median: Float[Tensor, " batch"],
        length: Float[Tensor, "batch token"],
    ) -> Float64[np.ndarray, "batch number"]:
        """Return the numbers of `BY_TEXT`; dimension, place and token of the largest entry."""
        texts = torch.arange(len(size))
        largest, dimension = size.max(1)
        others = torch.from_numpy(medians(length.masked_fill(~self._there, torch.nan).numpy()))
        ratio = largest / median
        massive = (largest > MASSIVE) & (ratio >= MASSIVE_RATIO)
        place_in_text, token = place - self._begin, self._ids[texts, place]
        beside = length[texts, self._begin] / others
        statistics = largest, ratio, massive, beside, dimension, place_in_text, token
        return torch.stack([double(each) for each in statistics], 1).numpy()


def _lower_median(values: Float[Tensor, "row number"]) -> Float[Tensor, " row"]:
    """Return the median of each row, the lower of two; by numpy on the CPU, in half the time."""
    if values.device.type != "cpu":
        return values.median(1).values
    middle = (values.shape[1] - 1) // 2
    return torch.from_numpy(np.partition(values.numpy(), middle, axis=1)[:, middle])


def _spread(lengths: Int64[Tensor, " batch"]) -> Int64[Tensor, "batch sampled"]:
    """Numbers of `SAMPLED` tokens of each text, evenly spread; of a short one some come again."""
    steps = torch.arange(SAMPLED, device=lengths.device)
    places: Tensor = steps * lengths[:, None] // SAMPLED
    return places


def residual(outcome: Outcome) -> Variables:
    """Return how large it gets; nothing where it is not known what enters blocks."""
    statistics, tokenizer = outcome.found, outcome.tokenizer
    if "residual" not in statistics or not np.isfinite(statistics["residual"]["mean"]).any():
        return {}
    largest = statistics["residual_largest"]
    dimension, place, token = largest["rows"][0].T
    variables: Variables = {}
    for at, name in enumerate(BY_TEXT):
        variables |= number(name, ("layer",), statistics, "residual", at)
    variables["residual_highest"] = "layer", largest["score"][0]
    variables["residual_dimension"] = "layer", dimension
    variables["residual_place"] = "layer", place
    if tokenizer is not None:
        names = [
            token_names(tokenizer, [int(each)])[0] if np.isfinite(each) else ""
            for each in token.tolist()
        ]
        variables["residual_token"] = "layer", np.array(names, dtype=object)
    return variables


DOCUMENTS = 64
"""Sinks are looked for in this many of the first examples."""
OCCURRENCES = 4
"""A type that occurs less often in these is not judged."""
SINK = len(CATEGORIES)
"""The number of the category, after those that every result has."""


@dataclass(frozen=True)
class SinkType:
    """A type of token that is a sink.

    Attributes:
        id: in the vocabulary.
        token: as the vocabulary writes it.
        multiple: what an occurrence receives, mean over all heads, where 1 is even attention.
        share: of the heads, in which it receives at least the demanded multiple.
    """

    id: int
    token: str
    multiple: float
    share: float


@dataclass(frozen=True)
class Sinks:
    """The sinks of a model.

    Attributes:
        first: whether the first token of a text is one, whatever its type.
        multiple: as `SinkType.multiple`, of the first token; NaN if it was not judged.
        share: as `SinkType.share`, of the first token.
        tokens: types that are sinks anywhere, the most drawing first.
        kept: categories out of which no token is taken.
    """

    first: bool
    multiple: float
    share: float
    tokens: tuple[SinkType, ...]
    kept: tuple[int, ...]

    def settings(self) -> dict[str, Any]:
        """Return the sinks, as JSON."""
        settings = asdict(self)
        for name in ("multiple", "share"):
            settings[name] = None if np.isnan(settings[name]) else settings[name]
        return {**settings, "kept": [CATEGORIES[category] for category in self.kept]}

    def apart(self, texts: Texts) -> Texts:
        """Return the texts with sinks in a category of their own."""
        ids = torch.from_numpy(texts.ids).to(texts.keys.device)
        return replace(texts, keys=self.in_category(texts.keys, ids))

    def in_category(
        self, category: Int64[Tensor, "batch key"], ids: Int64[Tensor, "batch key"]
    ) -> Int64[Tensor, "batch key"]:
        """The categories, with sinks taken out of theirs and given `SINK`."""
        types = torch.tensor([each.id for each in self.tokens], device=ids.device, dtype=ids.dtype)
        drawing = torch.isin(ids, types)
        if self.first:
            drawing |= first_tokens(category)
        return category.masked_fill(drawing & _free(category, self.kept), SINK)


def looks_for_sinks(kind: Kind, tokenizer: Any, settings: RankSettings) -> bool:
    """Whether sinks are to be looked for."""
    if settings.sinks != "auto":
        return settings.sinks == "on"
    return kind == "decoder" or len(kept_categories(tokenizer)) < 2


def kept_categories(tokenizer: Any) -> tuple[int, ...]:
    """Class tokens and separators, where the tokenizer has some: they are told apart already.

    A mere beginning or end of text (``<s>`` of Llama) may be a sink.
    """
    special_ids = {CLS: tokenizer.cls_token_id, SEP: tokenizer.sep_token_id}
    return tuple(category for category, token in special_ids.items() if token is not None)


def find_sinks(plan: StudyPlan[Encoded], settings: RankSettings) -> Sinks:
    """Look for sinks in the first examples of a plan, which is not run otherwise.

    A key's attention is measured in multiples of even attention: the mean over the queries that
    can see it of α times the number of keys that the query can see.  Of a type, this is averaged
    over its occurrences head by head, but for those at the beginning of a text, which are judged
    by themselves.

    Raises:
        CorpusError: the corpus cannot be read.
    """
    exempt = kept_categories(plan.model.tokenizer)

    def observer(batch: Batch, _: Sequence[Encoded]) -> SinkObserver:
        return SinkObserver(batch, plan.kind, exempt)

    step: BatchRunner[Encoded] = BatchRunner(
        plan.model, plan.sites, observer, batch_tokens(plan.model, plan.settings)
    )
    number = min(DOCUMENTS, plan.max_examples or DOCUMENTS)
    state = observe(islice(plan.examples, number), step, signature={}, progress=False)
    return _judged(state.tally, plan.model, exempt, settings)


def _judged(
    tally: Tally, model: CapturedModel, exempt: tuple[int, ...], settings: RankSettings
) -> Sinks:
    if not tally:
        return Sinks(False, np.nan, np.nan, (), exempt)
    statistics = tally.compute()
    multiple, share = _drawn(statistics["first"]["mean"], settings)
    types = statistics["types"]
    tokens = []
    for token, mean, count in zip(types["key"], types["mean"], types["count"], strict=True):
        drawn, heads = _drawn(mean, settings)
        if heads >= settings.sink_share and count.max() >= OCCURRENCES:
            tokens.append(SinkType(int(token), _spelled(model, int(token)), drawn, heads))
    tokens.sort(key=lambda each: (-each.multiple, each.id))
    return Sinks(bool(share >= settings.sink_share), multiple, share, tuple(tokens), exempt)


def _drawn(mean: np.ndarray, settings: RankSettings) -> tuple[float, float]:
    """Mean over the heads, and the share of them in which it is enough; NaN if not seen."""
    finite = mean[np.isfinite(mean)]
    if not len(finite):
        return np.nan, np.nan
    return float(finite.mean()), float((finite >= settings.sink_multiple).mean())


def _spelled(model: CapturedModel, token: int) -> str:
    tokenizer: Any = model.tokenizer
    return token_names(tokenizer, [token])[0]


class SinkObserver:
    """Sees what every token receives in one batch, in multiples of even attention."""

    def __init__(self, batch: Batch, kind: Kind, exempt: tuple[int, ...]) -> None:
        queries, keys = Positions.for_kind(batch, kind)
        self._ids = key_ids(batch, kind)
        self._queries = (queries.category >= 0).float()
        self._keys = keys.category >= 0
        self._judged = _free(keys.category, exempt)
        self._first = first_tokens(keys.category)
        self._seen: dict[int, Float[Tensor, "batch head key"]] = {}

    def visit(self, record: LayerRecord) -> None:
        """Look at one layer; one number per token and head is kept of it."""
        visible = self._keys[:, None] if record.visible is None else record.visible
        even = visible.sum(-1) * self._queries
        received = even[:, None, None] @ gated_weight(record.weight, record.gate).float()
        times = self._queries[:, None] @ visible.expand(-1, self._queries.shape[1], -1).float()
        self._seen[record.site.layer] = received[:, :, 0] / times

    def tally(self) -> Tally:
        """Multiples of even attention, [layer, head], of first tokens and by type of the others."""
        layers = [self._seen[layer] for layer in sorted(self._seen)]
        drawn = np.moveaxis(stacked(layers), 3, 1)  # batch key layer head
        first, others = (
            (self._judged & where).cpu().numpy() for where in (self._first, ~self._first)
        )
        firsts, types = Moments(drawn.shape[2:]), Grouped(Moments(drawn.shape[2:]))
        firsts.update(drawn[first])
        types.update(self._ids.cpu().numpy()[others], drawn[others])
        return Tally({"first": firsts, "types": types})


def first_tokens(category: Int64[Tensor, "batch key"]) -> Bool[Tensor, "batch key"]:
    """The first token of every text, wherever padding is."""
    present = category >= 0
    is_first: Bool[Tensor, "batch key"] = present & (present.cumsum(1) == 1)
    return is_first


def _free(
    category: Int64[Tensor, "batch key"], exempt: tuple[int, ...]
) -> Bool[Tensor, "batch key"]:
    """Tokens that may become sinks: no padding, and of no category that is kept."""
    return (category >= 0) & ~torch.isin(category, torch.tensor(exempt, device=category.device))
