"""Ranks of weights, lengths and frequencies (Kobayashi et al. 2020, Sections 4.2 and 4.3)."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32, Float64, Int64
from torch import Tensor

from headlight.capture import AttentionSite
from headlight.encode import Encoded
from headlight.encode.texts import count_types
from headlight.engine.plan import StudyPlan
from headlight.errors import UsageError, setting
from headlight.observations.layer_arrays import array, stacked
from headlight.observations.positions import Texts
from headlight.observations.variables import Variable
from headlight.pool import membership
from headlight.reduce import Accumulator, Count, RankCorrelation, Sample, Tally
from headlight.reduce.rank_correlation import ERROR
from headlight.studies.survey import SurveySettings
from headlight.studies.survey.frequency_correlation import correlations, seen_with
from headlight.studies.survey.frequency_ranks import FrequencyRanks, Occurrences
from headlight.studies.survey.part import Outcome, Subject, Variables
from headlight.studies.survey.part_observer import PartObserver, SeenBlock
from headlight.studies.survey.rank_samples import PairSample, occurrence_sample
from headlight.studies.survey.sink_tokens import Sinks, find_sinks, looks_for_sinks
from headlight.studies.survey.text_means import means, number
from headlight.vocabulary import CATEGORIES

HEAD = ("layer", "head")
QUANTITIES = ("weight", "norm")
"""Quantities that a frequency is compared with, and the numbers of a pair: α, and ‖f(x)‖."""
FIELDS = ("rank", "weight", "norm", "token")


def _described(name: str, words: str) -> dict[str, Variable]:
    """Return the variables of a rank correlation, over all heads and by head."""
    description = f"Spearman's ρ of {words}, of binned values: off by {ERROR} at most"
    return {
        name: Variable(description),
        f"{name}_count": Variable(f"observations in ρ of {words}"),
        f"{name}_by_head": Variable(description),
    }


VARIABLES = {
    "group_total": Variable(
        "sum that keys of a category receive, sinks being one of their own", ""
    ),
    "vector_norm_by_category": Variable(
        "mean ‖f(x)‖ of the keys of a category", "", interval="positive"
    ),
    "token_count": Variable("tokens"),
    "pairs_sample": Variable("α and ‖f(x)‖ of pairs of positions, at random", ""),
    "frequency_sample": Variable("occurrences of tokens, at random", ""),
    **_described("weight_norm_spearman", "α and ‖f(x)‖"),
    **_described("frequency_spearman", "frequency rank and what a token receives"),
}
"""Variables of ranks; a ``key_group`` is a category of keys, or ``sink`` if sinks are sought."""


@dataclass(frozen=True)
class Known:
    """Statistics of the corpus that are needed before ranks are compared.

    Attributes:
        sinks: Attention sinks; None if none are sought.
        occurrences: Occurrences of the types of tokens.
    """

    sinks: Sinks | None
    occurrences: Occurrences

    @classmethod
    def from_corpus(cls, plan: StudyPlan[Encoded], settings: SurveySettings) -> "Known":
        """Read the corpus, and run the model over its beginning.

        Raises:
            CorpusError: the corpus cannot be read.
            UsageError: the keys are frames of sound or patches of pictures.
        """
        occurrences = _occurrences(plan, settings)
        wanted = looks_for_sinks(plan.kind, plan.model.tokenizer, settings)
        return cls(find_sinks(plan, settings) if wanted else None, occurrences)

    @property
    def groups(self) -> Sequence[str]:
        """Return the categories of tokens; sinks are a category of their own."""
        return CATEGORIES if self.sinks is None else (*CATEGORIES, "sink")

    def signature(self) -> dict[str, Any]:
        """Return the sinks and frequencies that the result depends on, as JSON."""
        return {
            "found_sinks": self.sinks.settings() if self.sinks else None,
            "frequency": self.occurrences.settings(),
        }


class RankObserver(PartObserver):
    """Observer of the correlations of weights with lengths, and of both with frequency, in a batch.

    No score of the size of the weights is formed: since ‖αf(x)‖ = α‖f(x)‖, a key receives in norm
    what it receives in weight, times its length.  Layers come in one block.

    A pair of positions counts if the query can see the key and neither is padding: under a causal
    mask every query with itself and what came before, in cross-attention every position of the
    decoder with every one of the encoder.  The amount that a token receives is the mean over the
    queries that can see it.

    Args:
        texts: Texts of the batch, with their positions.
        ranking: Occurrences of types in the whole corpus, and its sinks.
        sites: Attention modules that will be observed.
        pairs: Empty sample of pairs, by category.
        tokens: Empty sample of occurrences, with the numbers of `FIELDS` each.
        units: Number of the unit of the corpus that each text belongs to; by default each text is a
            unit.
    """

    on_device = ("_seen", "_members")
    wants_cells = True

    def __init__(
        self,
        texts: Texts,
        ranking: Known,
        sites: Sequence[AttentionSite],
        pairs: Sample,
        tokens: Sample,
        units: Int64[np.ndarray, " text"] | None = None,
    ) -> None:
        self._units = np.arange(len(texts.text_ids)) if units is None else units
        self._texts = texts if ranking.sinks is None else ranking.sinks.apart(texts)
        self._known, self._tokens = ranking, tokens
        groups = len(ranking.groups)
        self._present = self._texts.queries.float()
        self._members = membership(self._texts.keys, groups)
        self._ranks = PairRanks(self._texts, groups, sites)
        self._pairs = PairSample(self._texts, groups, sites, pairs)
        self._seen: dict[int, dict[str, Tensor]] = {}

    def note_block(self, block: SeenBlock) -> None:
        """Observe one layer; keep one number per token and head, and the ranks."""
        scores, record = block.scores, block.record
        weight, norm = scores.weight, scores.vector_norm
        received = (self._present[:, None, None] @ weight.float())[:, :, 0].to(norm.dtype)
        mean = received / self._present.sum(-1)[:, None, None]
        members = self._members.to(norm.dtype)
        numbers = {
            "category_norm": (norm @ members) / members.sum(1)[:, None],  # NaN where there is none
            "length": self._select_tokens(norm),
            "received": self._select_tokens(received / self._watching(record.visible)),
        }
        if self._known.sinks is not None:
            numbers["group_weight"], numbers["group_norm"] = mean @ members, (mean * norm) @ members
        self._seen[record.site.layer] = numbers
        for part in (self._ranks, self._pairs):
            part.see(record.site.layer, weight, norm, record.visible)

    def members(self) -> dict[str, Accumulator]:
        """Return the statistics of the batch."""
        layers = [self._seen[layer] for layer in sorted(self._seen)]
        rows = {name: stacked([layer[name] for layer in layers]) for name in layers[0]}
        frequency = self._correlate_frequency(rows.pop("received"), rows.pop("length"))
        tokens = Count((self._members.shape[2],))
        tokens.update(array(self._members.sum(1)))
        return {
            "ranks": self._ranks.correlation(),
            "pairs": self._pairs.collect(),
            **frequency,
            **self._average_texts(rows),
            "group_tokens": tokens,
        }

    def _average_texts(self, rows: dict[str, Float64[np.ndarray, "text layer *rest"]]) -> Tally:
        """Return means over texts, and their sums in blocks of the corpus."""
        members: dict[str, Accumulator] = {}
        for name, values in rows.items():
            members |= means(name, values, self._units)
        return Tally(members)

    def _correlate_frequency(
        self,
        received: Float64[np.ndarray, "token layer head"],
        norm: Float64[np.ndarray, "token layer head"],
    ) -> dict[str, Accumulator]:
        """Return correlations with the frequency of types, and a sample of occurrences."""
        occurrences = self._known.occurrences
        ids = self._texts.ids[self._texts.category >= 0]
        means = [np.nanmean(values, axis=(1, 2)) for values in (received, norm)]
        fields = np.stack([occurrences.ranks.look_up(ids), *means, ids], axis=-1)
        return {
            **seen_with(occurrences.twice_mid_rank[ids], received, norm),
            "occurrences": occurrence_sample(self._texts, fields, self._tokens),
        }

    def _select_tokens(
        self, per_key: Float[Tensor, "batch *head key"]
    ) -> Float[Tensor, "token *head"]:
        return per_key.movedim(-1, 1)[self._texts.keys >= 0]

    def _watching(
        self, visible: Bool[Tensor, "batch #query key"] | None
    ) -> Float[Tensor, "batch 1 key"]:
        """Return the number of queries that can see each key."""
        if visible is None:
            return self._present.sum(-1)[:, None, None].expand(-1, 1, self._members.shape[1])
        is_visible = visible.float().expand(-1, self._present.shape[1], -1)
        return self._present[:, None] @ is_visible


def observe(subject: Subject) -> PartObserver:
    """Return the observer of a batch, with empty samples."""
    ranking, settings, kind = subject.known["ranks"], subject.settings, subject.plan.kind
    # Under a causal mask about half of all pairs cannot be seen, so twice as many are drawn.
    drawn = settings.sample * (2 if kind == "decoder" else 1)
    return RankObserver(
        Texts.of(*subject.texts),
        ranking,
        subject.plan.sites,
        Sample(drawn, len(QUANTITIES), len(ranking.groups), seed=settings.seed),
        Sample(settings.sample, len(FIELDS), seed=settings.seed),
        subject.units,
    )


def ranks(outcome: Outcome) -> Variables:
    """Return the variables of ranks; nothing if ranks were not compared."""
    if "group_tokens" not in outcome.tally:
        return {}
    statistics, ranking = outcome.statistics, outcome.known["ranks"]
    of_pairs, by_key = outcome.tally["ranks"], (*HEAD, "key_group")
    assert isinstance(of_pairs, RankCorrelation)  # noqa: S101 - so the observer makes it
    pooled = of_pairs.pooled((0, 1)).compute()
    variables: Variables = {
        "key_group": list(ranking.groups),
        "quantity": list(QUANTITIES),
        "field": list(FIELDS),
        **number("vector_norm_by_category", by_key, statistics, "category_norm"),
        "token_count": ("key_group", statistics["group_tokens"]["total"]),
        **_correlation("weight_norm_spearman", ("key_group",), pooled, statistics["ranks"]),
    }
    frequency_correlations = correlations(outcome.tally, ranking.occurrences)
    variables |= _correlation(
        "frequency_spearman",
        ("quantity",),
        frequency_correlations["frequency"],
        frequency_correlations["frequency_by_head"],
    )
    if "group_weight" in statistics:
        shape = statistics["group_weight"]["mean"].shape
        totals = np.full((len(outcome.measures), *shape), np.nan)
        for name in QUANTITIES:
            totals[outcome.measures.index(name)] = statistics[f"group_{name}"]["mean"]
        variables["group_total"] = (("measure", *by_key), totals)
    (occurred,) = statistics["occurrences"]["rows"]
    pairs = _visible(statistics["pairs"]["rows"], outcome.settings.sample)
    variables["pairs_sample"] = (("key_group", "sample", "quantity"), pairs)
    variables["frequency_sample"] = (("occurrence", "field"), occurred)
    return variables


def attributes(outcome: Outcome) -> dict[str, Any]:
    """Return the sinks and the source of frequencies that the result depends on."""
    if "group_tokens" not in outcome.tally:
        return {}
    ranking = outcome.known["ranks"]
    frequencies = ranking.occurrences
    return {
        "sinks": json.dumps(ranking.sinks.settings()) if ranking.sinks else None,
        "frequency_source": frequencies.ranks.source,
        "frequency_exclusions": frequencies.ranks.exclusions,
        "frequency_left_out": frequencies.left_out,
    }


def _correlation(
    name: str, dims: tuple[str, ...], whole: Mapping[str, Any], by_head: Mapping[str, Any]
) -> Variables:
    """Return the variables of Spearman's ρ: over all heads, with its count, and by head."""
    return {
        name: (dims, whole["correlation"]),
        f"{name}_count": (dims, whole["count"]),
        f"{name}_by_head": ((*HEAD, *dims), by_head["correlation"]),
    }


def _visible(
    rows: Float64[np.ndarray, "category drawn pair"], size: int
) -> Float64[np.ndarray, "category sample pair"]:
    """Drop the pairs that could not be seen: they were drawn before that was known."""
    visible_pairs = np.full((len(rows), size, rows.shape[2]), np.nan)
    for category, drawn in enumerate(rows):
        chosen = drawn[~np.isnan(drawn[:, 0])][:size]
        visible_pairs[category, : len(chosen)] = chosen
    return visible_pairs


def _occurrences(plan: StudyPlan[Encoded], settings: SurveySettings) -> Occurrences:
    """Count the occurrences of every type; refuse frames of sound and patches of pictures."""
    if plan.model.sees:
        raise UsageError(
            "ranks are compared with how often a token occurs, and patches of pictures are no "
            "tokens; leave ranks out of the numbers."
        )
    if plan.model.hears and plan.kind != "decoder":
        raise UsageError(
            "ranks are compared with how often a token occurs, and frames of sound are no tokens; "
            f"choose the decoder ({setting('kind=decoder')}), or leave ranks out of the numbers."
        )
    tokenizer: Any = plan.model.tokenizer
    rank_source, ranks = settings.frequency_ranks, None
    if rank_source == "ids":
        ranks = FrequencyRanks.of_ids(tokenizer)
    elif rank_source != "corpus":  # before the corpus, which may be long
        ranks = FrequencyRanks.read(rank_source, tokenizer)
    examples = islice(plan.examples, plan.max_examples)
    target = plan.kind == "decoder" and plan.model.has_decoder_inputs
    counts = count_types(examples, len(tokenizer), target=target)
    return Occurrences(ranks or FrequencyRanks.of_counts(counts), counts)


NOWHERE = -1
"""Entry of columns that are left out."""


class PairRanks:
    """Rank correlation of (α_ij, ‖f(x_j)‖) over all visible pairs of positions without padding.

    Args:
        texts: Texts of the batch, with their positions.
        categories: Number of categories of keys.
        sites: Attention modules that will be observed.
    """

    def __init__(self, texts: Texts, categories: int, sites: Sequence[AttentionSite]) -> None:
        layers, heads = len(sites), max(site.heads for site in sites)
        self._queries = texts.queries
        self._padded = not bool(texts.queries.all())
        self._category = texts.category[:, None]
        self._row = {layer: row for row, layer in enumerate(sorted(site.layer for site in sites))}
        self._ranks = RankCorrelation((layers, heads, categories))

    def see(
        self,
        layer: int,
        weight: Float[Tensor, "batch head query key"],
        norm: Float[Tensor, "batch head key"],
        visible: Bool[Tensor, "batch #query key"] | None,
    ) -> None:
        """Add the pairs of one layer; its weights are not kept."""
        columns = self._columns(weight, visible)
        lengths = norm.float().cpu().numpy()
        category = np.broadcast_to(self._category, lengths.shape)
        _, most, categories = self._ranks.shape
        head = self._row[layer] * most + np.arange(lengths.shape[1])[:, None]
        entries = np.where(category < 0, NOWHERE, head * categories + category)
        self._ranks.update(columns, lengths.ravel(), entries.ravel())

    def correlation(self) -> RankCorrelation:
        """Return the correlation, by layer, head and category."""
        return self._ranks

    def _columns(
        self,
        weight: Float[Tensor, "batch head query key"],
        visible: Bool[Tensor, "batch #query key"] | None,
    ) -> Float32[np.ndarray, "column query"]:
        """Return the weights by receiving key; NaN for pairs that do not exist or are masked."""
        received = weight.float().transpose(2, 3)
        if self._padded or (visible is not None and visible.shape[1] > 1):
            visible_pairs = self._queries[:, :, None]
            visible_pairs = visible_pairs if visible is None else visible_pairs & visible
            received = received.masked_fill(~visible_pairs.transpose(1, 2)[:, None], torch.nan)
        columns: Float32[np.ndarray, "column query"] = received.contiguous().cpu().numpy()
        return columns.reshape(-1, weight.shape[2])
