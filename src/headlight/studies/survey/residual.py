"""Massive activations: how large the residual stream gets that enters each block.

Source: Sun et al. (2024), "Massive Activations in Large Language Models", Section 2.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from itertools import islice
from typing import Any, no_type_check

import numpy as np
import torch
from jaxtyping import Bool, Float, Float64, Int32, Int64
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
from headlight.measures.loops import compile_loop
from headlight.measures.norm import gated_weight
from headlight.reduce import Accumulator, Grouped, Moments, Strongest, Tally
from headlight.reduce.base import Array
from headlight.studies.survey import RankSettings
from headlight.studies.survey.part import (
    Outcome,
    PartObserver,
    SeenLayer,
    Variables,
    inputs_of,
    means,
    medians,
    number,
)
from headlight.studies.survey.passages import sides
from headlight.studies.survey.row_loops import MAGNITUDE
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
    """Observer of the input of each block, and of its attention; `members` holds one batch."""

    wants_stream = True

    def __init__(self, batch: Batch, examples: Sequence[Encoded], kind: Kind) -> None:
        ids, categories = sides(batch, kind)
        self._ids = ids[0]
        self._masks = [category >= 0 for category in categories]
        self._begins = [mask.int().argmax(1) for mask in self._masks]
        self._units = units_of(examples)
        self._ranks = np.array([rank_of(example, kind) for example in examples])
        self._sample = self._begins[0][:, None] + _spread(self._masks[0].sum(1))
        self._streams: dict[int, tuple[Tensor, ...]] = {}
        self._inputs: dict[int, tuple[Tensor, Tensor]] = {}

    def note_layer(self, layer: SeenLayer) -> None:
        """Keep of what enters a layer what its statistics are made of."""
        record, number = layer.record, layer.record.site.layer
        self._streams[number] = ()
        if record.stream is not None:
            stream = record.stream.detach()
            peak, length = _peaks(stream, self._masks[0]), single(stream).norm(dim=2)
            self._streams[number] = *peak, _medians(stream, self._sample), length
        if (inputs := inputs_of(record)) is not None:
            self._inputs[number] = _peaks(inputs.detach(), self._masks[1])

    def members(self) -> dict[str, Accumulator]:
        """Return the statistics of the batch, by name."""
        layers = [self._streams[layer] for layer in sorted(self._streams)]
        rows = np.full((len(self._ids), len(layers), 7), np.nan)
        for at, of_stream in enumerate(layers):
            if of_stream:
                rows[:, at] = self._of_stream(*of_stream)
        members = means("residual", rows[..., :4], self._units)
        members["residual_largest"] = self._largest(rows[..., 0], rows[..., 4:])
        if len(self._inputs) == len(layers):
            of_inputs = [self._of_inputs(*self._inputs[layer]) for layer in sorted(self._inputs)]
            rows = np.stack(of_inputs, 1)
            members |= means("activation", rows[..., :2], self._units)
            members["largest_activation"] = self._largest(rows[..., 0], rows[..., 2:])
        return members

    def _largest(self, score: Array, rows: Array) -> Strongest:
        """Return the row of the text with the highest score, by layer."""
        largest = Strongest(score.shape[1:], width=rows.shape[-1])
        largest.update(score, np.broadcast_to(self._ranks[:, None], score.shape), rows)
        return largest

    def _of_stream(
        self,
        place: Int64[Tensor, " batch"],
        size: Float[Tensor, "batch size"],
        median: Float[Tensor, " batch"],
        length: Float[Tensor, "batch token"],
    ) -> Float64[np.ndarray, "batch number"]:
        """Return the numbers of `BY_TEXT`; dimension, place and token of the largest entry."""
        texts, begin = torch.arange(len(size)), self._begins[0]
        largest, dimension = size.max(1)
        others = length.masked_fill(~self._masks[0], torch.nan)
        ratio = largest / median
        massive = (largest > MASSIVE) & (ratio >= MASSIVE_RATIO)
        beside = length[texts, begin] / torch.from_numpy(medians(others.numpy()))
        token = self._ids[texts, place]
        statistics = largest, ratio, massive, beside, dimension, place - begin, token
        return torch.stack([double(each) for each in statistics], 1).numpy()

    def _of_inputs(
        self, place: Int64[Tensor, " batch"], size: Float[Tensor, "batch size"]
    ) -> Float64[np.ndarray, "batch 4"]:
        """Return the largest entry: size, beside the median of its vector; dimension and place."""
        largest, dimension = size.max(1)
        ratio = largest / torch.from_numpy(medians(size.numpy()))
        statistics = largest, ratio, dimension, place - self._begins[1]
        return torch.stack([double(each) for each in statistics], 1).numpy()


Vectors = Float[Tensor, "batch position size"]


def _peaks(
    vectors: Vectors, mask: Bool[Tensor, "batch position"]
) -> tuple[Int64[Tensor, " batch"], Float[Tensor, "batch size"]]:
    """Return where the largest entry of each text is, in size, and the sizes of its vector.

    Args:
        vectors: of all positions.
        mask: those that count.
    """
    if (bits := _bits(vectors)) is None:
        highest = vectors.abs().amax(2)
    else:
        highest = torch.empty(vectors.shape[:2])
        _compiled()[0](bits, highest.numpy().view(np.int32))
    place = highest.masked_fill(~mask, -1).argmax(1)
    texts = torch.arange(len(vectors), device=vectors.device)
    return place, single(vectors[texts, place].abs())


def _medians(vectors: Vectors, sample: Int64[Tensor, "batch sampled"]) -> Float[Tensor, " batch"]:
    """Return the median entry of some vectors of each text, in size; of two the lower one."""
    if (bits := _bits(vectors)) is None:
        texts = torch.arange(len(vectors), device=vectors.device)[:, None]
        return single(vectors[texts, sample]).abs().flatten(1).median(1).values
    middle = torch.empty(len(vectors))
    _compiled()[1](bits, sample.numpy(), middle.numpy().view(np.int32))
    return middle


def _bits(vectors: Vectors) -> Int32[np.ndarray, "batch position size"] | None:
    """Return the bits of numbers that compiled loops can read; else None."""
    if vectors.device.type != "cpu" or vectors.dtype != torch.float32:
        return None
    bits: Int32[np.ndarray, "batch position size"] = vectors.contiguous().numpy().view(np.int32)
    return bits


@cache
def _compiled() -> tuple[Callable[..., Any], Callable[..., Any]]:
    return compile_loop(_find_peaks), compile_loop(_find_medians)


@no_type_check
def _find_peaks(bits, peaks):
    """The bits of the largest entry of each vector, in size: they are in the order of these."""
    for text in range(len(bits)):
        for position in range(bits.shape[1]):
            vector, peak = bits[text, position], np.int32(0)
            for place in range(len(vector)):
                peak = max(peak, np.int32(vector[place] & MAGNITUDE))
            peaks[text, position] = peak


@no_type_check
def _find_medians(bits, sample, medians):
    """The bits of the lower median of the sampled vectors of each text, in size.

    From the first bits on, entries are counted by some of their bits, and those are left that share
    them with the median.
    """
    size = bits.shape[2]
    entries, counts = np.empty(sample.shape[1] * size, np.int32), np.empty(1 << 11, np.int32)
    for text in range(len(bits)):
        for at in range(sample.shape[1]):
            vector, begin = bits[text, sample[text, at]], at * size
            for place in range(size):
                entries[begin + place] = np.int32(vector[place] & MAGNITUDE)
        left, rank = len(entries), (len(entries) - 1) // 2
        for shift in (20, 9, 0):
            counts[:] = 0
            for place in range(left):
                counts[(entries[place] >> shift) & 2047] += 1
            part = 0
            while rank >= counts[part]:
                rank -= counts[part]
                part += 1
            kept = 0
            for place in range(left):
                entry = entries[place]
                entries[kept] = entry
                kept += ((entry >> shift) & 2047) == part
            left = kept
        medians[text] = entries[0]


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
