"""Attention sinks: types of tokens, and first tokens, that draw attention in every text."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from headlight.capture import CapturedModel, LayerRecord
from headlight.encode import Encoded, token_names
from headlight.encode.batch import Batch
from headlight.encode.token_categories import CLS, SEP
from headlight.engine.batch_runner import BatchRunner
from headlight.engine.batch_size import batch_tokens
from headlight.engine.observer import Observer
from headlight.engine.passes import measure_examples
from headlight.engine.plan import StudyPlan
from headlight.measures.gated_heads import gated_weight
from headlight.observations.layer_arrays import stacked
from headlight.observations.positions import Positions, Texts, key_ids
from headlight.reduce import Grouped, Moments, Tally
from headlight.studies.survey import RankSettings
from headlight.vocabulary import CATEGORIES, Kind

DOCUMENTS = 64
"""Number of examples, from the first, in which sinks are sought."""
OCCURRENCES = 4
"""Smallest number of occurrences in these examples for a type to be judged."""
SINK = len(CATEGORIES)
"""Number of the category of sinks, after those that every result has."""


@dataclass(frozen=True)
class SinkType:
    """Type of token that is a sink.

    Attributes:
        id: Id in the vocabulary.
        token: Name of the token.
        multiple: Attention to an occurrence as a multiple of even attention, mean over all heads.
        share: Share of the heads in which it receives at least the required multiple.
    """

    id: int
    token: str
    multiple: float
    share: float


@dataclass(frozen=True)
class Sinks:
    """Sinks of a model.

    Attributes:
        first: Whether the first token of a text is a sink, whatever its type.
        multiple: `SinkType.multiple` of the first token; NaN if it was not judged.
        share: `SinkType.share` of the first token; NaN if it was not judged.
        tokens: Types that are sinks at any other place, in order of falling multiple.
        kept: Categories whose tokens are never sinks.
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
        """Return the categories, with `SINK` in place of the category of sinks."""
        types = torch.tensor(
            [token.id for token in self.tokens], device=ids.device, dtype=ids.dtype
        )
        drawing = torch.isin(ids, types)
        if self.first:
            drawing |= first_tokens(category)
        return category.masked_fill(drawing & _free(category, self.kept), SINK)


def looks_for_sinks(kind: Kind, tokenizer: Any, settings: RankSettings) -> bool:
    """Return whether sinks are sought."""
    if settings.sinks != "auto":
        return settings.sinks == "on"
    return kind == "decoder" or len(kept_categories(tokenizer)) < 2


def kept_categories(tokenizer: Any) -> tuple[int, ...]:
    """Return the categories of class tokens and separators, if the tokenizer has such tokens.

    Results tell these apart already; a mere beginning or end of text (``<s>`` of Llama) may be a
    sink.
    """
    special_ids = {CLS: tokenizer.cls_token_id, SEP: tokenizer.sep_token_id}
    return tuple(category for category, token in special_ids.items() if token is not None)


def find_sinks(plan: StudyPlan[Encoded], settings: RankSettings) -> Sinks:
    """Look for sinks in the first examples of a plan, which is not run otherwise.

    A key's attention is measured in multiples of even attention: the mean over the queries that
    can see it of α times the number of keys that the query can see.  For a type, this is averaged
    over its occurrences head by head, except those at the beginning of a text, which are judged
    separately.

    Raises:
        CorpusError: the corpus cannot be read.
    """
    exempt = kept_categories(plan.model.tokenizer)

    def observer(batch: Batch, _: Sequence[Encoded]) -> SinkObserver:
        return SinkObserver(batch, plan.kind, exempt)

    runner: BatchRunner[Encoded] = BatchRunner(
        plan.model, plan.sites, observer, batch_tokens(plan.model, plan.settings)
    )
    number = min(DOCUMENTS, plan.max_examples or DOCUMENTS)
    state = measure_examples(islice(plan.examples, number), runner, {}, progress=False)
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
    tokens.sort(key=lambda kept: (-kept.multiple, kept.id))
    return Sinks(bool(share >= settings.sink_share), multiple, share, tuple(tokens), exempt)


def _drawn(mean: np.ndarray, settings: RankSettings) -> tuple[float, float]:
    """Return the mean over heads, and the share of heads with a sink; NaN if not seen."""
    finite = mean[np.isfinite(mean)]
    if not len(finite):
        return np.nan, np.nan
    return float(finite.mean()), float((finite >= settings.sink_multiple).mean())


def _spelled(model: CapturedModel, token: int) -> str:
    tokenizer: Any = model.tokenizer
    return token_names(tokenizer, [token])[0]


class SinkObserver(Observer):
    """Observer of the attention to every token of a batch, in multiples of even attention."""

    def __init__(self, batch: Batch, kind: Kind, exempt: tuple[int, ...]) -> None:
        queries, keys = Positions.for_kind(batch, kind)
        self._ids = key_ids(batch, kind)
        self._queries = (queries.category >= 0).float()
        self._keys = keys.category >= 0
        self._judged = _free(keys.category, exempt)
        self._first = first_tokens(keys.category)
        self._seen: dict[int, Float[Tensor, "batch head key"]] = {}

    def visit(self, record: LayerRecord) -> None:
        """Observe one layer; keep one number per token and head."""
        visible = self._keys[:, None] if record.visible is None else record.visible
        even = visible.sum(-1) * self._queries
        received = even[:, None, None] @ gated_weight(record.weight, record.gate).float()
        times = self._queries[:, None] @ visible.expand(-1, self._queries.shape[1], -1).float()
        self._seen[record.site.layer] = received[:, :, 0] / times

    def tally(self) -> Tally:
        """Return multiples of even attention, [layer, head], of first tokens and of other types."""
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
    """Return the mask of the first token of every text, wherever padding is."""
    present = category >= 0
    is_first: Bool[Tensor, "batch key"] = present & (present.cumsum(1) == 1)
    return is_first


def _free(
    category: Int64[Tensor, "batch key"], exempt: tuple[int, ...]
) -> Bool[Tensor, "batch key"]:
    return (category >= 0) & ~torch.isin(category, torch.tensor(exempt, device=category.device))
