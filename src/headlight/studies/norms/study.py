"""Norms of transformed vectors over a corpus (Kobayashi et al. 2020, Sections 4.1 to 4.3)."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
import xarray
from jaxtyping import Float64

from headlight.analysis.batch_texts import Texts, groups_of
from headlight.analysis.plan import StudyPlan
from headlight.analysis.text_study import TextStudy
from headlight.analysis.variables import (
    Variable,
    describe_dispersion,
    dispersion,
    long_names,
    of_mean,
    of_ratio,
)
from headlight.encode import Encoded
from headlight.encode.batch import Batch
from headlight.encode.examples import count_types
from headlight.errors import UsageError
from headlight.reduce import RankCorrelation, Sample, Tally
from headlight.reduce.rank_correlation import ERROR
from headlight.result import describe
from headlight.studies.norms import NormSettings
from headlight.studies.norms.frequency import FrequencyRanks, Occurrences
from headlight.studies.norms.observer import NormsObserver
from headlight.studies.norms.occurrences import correlations
from headlight.studies.norms.sinks import Sinks, find_sinks, looks_for_sinks
from headlight.vocabulary import CATEGORIES

HEAD = ("layer", "head")
QUANTITIES = ("weight", "norm")
"""What a frequency is compared with: α received, and ‖f(x)‖."""
PAIR = ("weight", "norm")
SAMPLED = ("key_category", "sample", "pair")
FIELDS = ("rank", "weight", "norm", "token")


def _described(name: str, words: str) -> dict[str, tuple[str, str]]:
    """Long names and units of a rank correlation, of all heads, by layer and by head."""
    return {
        f"{name}{part}{suffix}": (text, "1")
        for part in ("", "_by_layer", "_by_head")
        for suffix, text in (
            ("", f"Spearman's ρ of {words}, of binned values: off by {ERROR} at most"),
            ("_count", f"observations in ρ of {words}"),
        )
    }


VARIABLES = {
    **long_names(
        {
            "weight_total": Variable(
                "weight that keys of a category receive from a query", interval="share"
            ),
            "weighted_norm_total": Variable(
                "‖αf(x)‖ that keys of a category receive from a query", "", interval="positive"
            ),
            "weight_total_share": Variable("share of that of all keys", interval="share"),
            "weighted_norm_total_share": Variable("share of that of all keys", interval="share"),
            "vector_norm_by_category": Variable(
                "mean ‖f(x)‖ of the keys of a category", "", interval="positive"
            ),
            **describe_dispersion("vector_norm", "‖f(x)‖"),
            **describe_dispersion("input_norm", "‖x‖"),
        }
    ),
    "examples_by_category": ("examples with keys of a category", "1"),
    "token_count": ("tokens", "1"),
    "pairs_sample": ("α and ‖f(x)‖ of pairs of positions, at random", ""),
    "frequency_sample": ("occurrences of tokens, at random", ""),
    **_described("weight_norm_spearman", "α and ‖f(x)‖"),
    **_described("frequency_spearman", "frequency rank and what a token receives"),
}
"""Long name and unit of every variable; norms are in units of the model's hidden states."""


def dataset(
    tally: Tally,
    occurrences: Occurrences,
    layers: Sequence[int],
    categories: Sequence[str],
    *,
    sample: int,
) -> xarray.Dataset:
    """Named arrays of what a run has found.

    Args:
        tally: what the observers saw, merged.
        occurrences: how often the types of tokens occur.
        layers: the numbers of the layers, in increasing order.
        categories: the names of the categories of keys.
        sample: pairs of each category to give, at most, and occurrences.
    """
    found = tally.compute()
    by_key = (*HEAD, "key_category")
    variables: dict[str, Any] = {
        **of_mean("weight_total", by_key, found["weight"]),
        **of_mean("weighted_norm_total", by_key, found["weighted_norm"]),
        **of_ratio("weight_total_share", by_key, found["weight_share"]),
        **of_ratio("weighted_norm_total_share", by_key, found["weighted_norm_share"]),
        **of_mean("vector_norm_by_category", by_key, found["category_norm"]),
        "examples_by_category": ("key_category", found["category_norm"]["count"].max(axis=(0, 1))),
        "token_count": ("key_category", found["tokens"]["total"]),
    }
    ranks = tally["ranks"]
    assert isinstance(ranks, RankCorrelation)  # noqa: S101 - so the observer makes it
    parts = {
        "": (by_key[2:], ranks.pooled((0, 1)).compute()),
        "_by_layer": (by_key[::2], ranks.pooled(1).compute()),
        "_by_head": (by_key, found["ranks"]),
    }
    for part, (axes, pairs) in parts.items():
        variables |= _correlation(f"weight_norm_spearman{part}", axes, pairs)
    for name, statistics in correlations(tally, occurrences).items():
        dims = {"frequency": (), "frequency_by_layer": HEAD[:1], "frequency_by_head": HEAD}[name]
        full = name.replace("frequency", "frequency_spearman")
        variables |= _correlation(full, (*dims, "quantity"), statistics)
    (occurred,) = found["occurrences"]["rows"]
    variables["pairs_sample"] = (SAMPLED, _seen(found["pairs"]["rows"], sample))
    variables["frequency_sample"] = (("occurrence", "field"), occurred)
    variables |= dispersion("vector_norm", found, HEAD) | dispersion("input_norm", found, HEAD[:1])
    coordinates = {
        "layer": list(layers),
        "head": list(range(found["weight"]["mean"].shape[1])),
        "key_category": list(categories),
        "quantity": list(QUANTITIES),
        "pair": list(PAIR),
        "field": list(FIELDS),
    }
    return describe(xarray.Dataset(variables, coords=coordinates), VARIABLES)


def _correlation(name: str, dims: tuple[str, ...], found: dict[str, Any]) -> dict[str, Any]:
    """Spearman's ρ, and of how many pairs it is."""
    return {
        name: (dims, found["correlation"]),
        f"{name}_count": (dims, found["count"]),
    }


def _seen(
    rows: Float64[np.ndarray, "category drawn pair"], size: int
) -> Float64[np.ndarray, "category sample pair"]:
    """Without the pairs that could not be seen: they were drawn before that was known."""
    kept = np.full((len(rows), size, rows.shape[2]), np.nan)
    for category, drawn in enumerate(rows):
        chosen = drawn[~np.isnan(drawn[:, 0])][:size]
        kept[category, : len(chosen)] = chosen
    return kept


class NormsStudy(TextStudy[NormSettings]):
    """How long transformed vectors are, and how that goes together with weights and frequency.

    One pass of the model over the corpus, also for all kinds of attention; before it one for each
    kind that only tokenises, to count types, and, if sinks are looked for, another of the model
    over the beginning of the corpus.

    A pair of positions counts if the query can see the key and neither is padding: under a causal
    mask every query with itself and what came before, in cross-attention every position of the
    decoder with every one of the encoder.  What a token receives is the mean over the queries that
    can see it.

    Its statistics are those of the documentation of results.

    Raises:
        CorpusError: the corpus cannot be read again, or holds no example.
    """

    name = "norms"
    title = "Norms of transformed vectors"
    settings_class = NormSettings

    def prepare(self) -> None:
        """The corpus is read for what has to be known of it."""
        plan, settings = self.plan, self.settings
        self._known = {kind: _Known.of(part, settings) for kind, part in plan.by_kind().items()}
        depends = {str(kind): each.settings() for kind, each in self._known.items()}
        self.plan = replace(plan, options=depends if plan.all_kinds else depends[plan.kind])

    def observe(
        self, plan: StudyPlan[Encoded], batch: Batch, examples: Sequence[Encoded]
    ) -> NormsObserver:
        """Looks at the lengths of one kind of attention."""
        known, asked = self._known[plan.kind], self.settings
        texts = Texts.of(batch, examples, plan.kind)
        # Of all pairs of positions about half cannot be seen under a causal mask.
        drawn = asked.sample * (2 if plan.kind == "decoder" else 1)
        return NormsObserver(
            known.sinks.apart(texts) if known.sinks else texts,
            known.occurrences,
            len(known.categories),
            plan.sites,
            groups=groups_of(examples),
            pairs=Sample(drawn, len(PAIR), len(known.categories), seed=asked.seed),
            tokens=Sample(asked.sample, len(FIELDS), seed=asked.seed),
        )

    def dataset(self, plan: StudyPlan[Encoded], tally: Tally) -> xarray.Dataset:
        """Statistics of one kind of attention, and what had to be known for them."""
        known = self._known[plan.kind]
        occurrences = known.occurrences
        statistics = dataset(
            tally, occurrences, plan.layers, known.categories, sample=self.settings.sample
        )
        return statistics.assign_attrs(
            sinks=json.dumps(known.sinks.settings()) if known.sinks else None,
            frequency_source=occurrences.ranks.source,
            frequency_exclusions=occurrences.ranks.exclusions,
            frequency_left_out=occurrences.left_out,
        )


run = NormsStudy.run


@dataclass(frozen=True)
class _Known:
    """What has to be known of the corpus before its norms are looked at.

    Attributes:
        sinks: attention sinks; None where none are looked for.
        occurrences: how often the types of tokens occur.
    """

    sinks: Sinks | None
    occurrences: Occurrences

    @classmethod
    def of(cls, plan: StudyPlan[Encoded], settings: NormSettings) -> "_Known":
        """Found by going over the corpus, and with the model over its beginning."""
        occurrences = _occurrences(plan, settings)
        wanted = looks_for_sinks(plan.kind, plan.model.tokenizer, settings)
        return cls(find_sinks(plan, settings) if wanted else None, occurrences)

    @property
    def categories(self) -> Sequence[str]:
        """Of tokens; sinks are one of their own."""
        return CATEGORIES if self.sinks is None else (*CATEGORIES, "sink")

    def settings(self) -> dict[str, Any]:
        """What the result depends on of it, as JSON."""
        return {
            "found_sinks": self.sinks.settings() if self.sinks else None,
            "frequency": self.occurrences.settings(),
        }


def _occurrences(plan: StudyPlan[Encoded], settings: NormSettings) -> Occurrences:
    """How often every type occurs in the very examples that will be looked at.

    Raises:
        UsageError: frames of sound are attended to, which are no types.
    """
    if plan.model.hears and plan.kind != "decoder":
        raise UsageError(
            "norms are compared with how often a token occurs, and frames of sound are no tokens; "
            "choose the decoder (--kind decoder), or take a survey."
        )
    tokenizer: Any = plan.model.tokenizer
    given, exclusions = settings.frequency_ranks, settings.frequency_exclusions
    ranks = None
    if given == "ids":
        ranks = FrequencyRanks.of_ids(tokenizer, exclusions=exclusions or "paper")
    elif given != "corpus":  # before the corpus, which may be long
        ranks = FrequencyRanks.read(given, tokenizer, exclusions=exclusions or "none")
    examples = islice(plan.examples, plan.max_examples)
    target = plan.kind == "decoder" and plan.model.has_decoder_inputs
    counts = count_types(examples, len(tokenizer), target=target)
    if ranks is None:
        ranks = FrequencyRanks.of_counts(counts, tokenizer, exclusions=exclusions or "none")
    return Occurrences(ranks, counts)
