"""Study of the origin of hidden tokens over a corpus, by method."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import xarray
from jaxtyping import Float64
from scipy.stats import rankdata

from headlight.capture import LayerRecord, Objective
from headlight.encode import Encoded
from headlight.encode.batch import Batch
from headlight.engine.observer import Observer
from headlight.engine.plan import Pass, StudyPlan
from headlight.engine.state import State
from headlight.engine.study import CorpusStudy
from headlight.engine.text_plan import plan_text_study
from headlight.engine.text_sources import TextSource
from headlight.measures.mixing_ratio import BEHIND_FEED_FORWARD, SCOPES
from headlight.observations.positions import Texts
from headlight.observations.text_ids import units_of
from headlight.observations.variables import Variable, described, long_names, with_slots
from headlight.reduce import Accumulator, Slots, Tally
from headlight.settings.flow import METHODS
from headlight.studies.flow import FlowSettings
from headlight.studies.flow.masks import masked
from headlight.studies.flow.mixing_ratios import (
    BANDS,
    MIXING_AXES,
    OF_TOKENS,
    STATES,
    MixingObserver,
    count_of_types,
    visit_behind_feed_forward,
)
from headlight.token_flow.input_maps import input_maps
from headlight.vocabulary import CATEGORIES

DISTANCES = (0, 1, 2, 4, 8, 16, 32, 64, 128)
"""Smallest distance of each band, in tokens."""

TOKENS = ("all", "first", "last")
"""Tokens whose vectors are examined: the mean over all tokens of a text, or one of them."""

COMPARED = 3
"""Smallest number of input tokens whose order is compared."""

VARIABLES = long_names(
    {
        "mixing": Variable(
            "mixing ratio, mean over texts of the mean over tokens", interval="share"
        ),
        "mixing_by_category": Variable("mixing ratio of tokens of one category", interval="share"),
        "mixing_by_frequency": Variable(
            "mixing ratio of tokens by how often their type occurs in the corpus", interval="share"
        ),
        "mixing_by_state": Variable(
            "mixing ratio of mask tokens, and of all others that are not special", interval="share"
        ),
        "mixing_mean": Variable("mixing ratio, mean over all tokens"),
        "mixing_std": Variable("standard deviation of the mixing ratio over tokens"),
        "mixing_min": Variable("smallest mixing ratio of a token"),
        "mixing_max": Variable("largest mixing ratio of a token"),
        "own": Variable("share of the input token at the same place", interval="share"),
        "first": Variable("share of the first token of the text", interval="share"),
        "by_category": Variable("share of all input tokens of one category", interval="share"),
        "by_distance": Variable("share of all input tokens at a distance", interval="share"),
        "agreement": Variable(
            "rank correlation of the shares by two methods, mean over tokens",
            interval="correlation",
        ),
    }
)
AXES = {
    "own": ("token", "map", "layer"),
    "first": ("token", "map", "layer"),
    "by_category": ("token", "map", "category", "layer"),
    "by_distance": ("token", "map", "distance", "layer"),
    "agreement": ("map", "other", "layer"),
}

Maps = Float64[np.ndarray, "method layer query key"]


class FlowStudy(CorpusStudy[FlowSettings]):
    """Shares of the input tokens in each token after each layer.

    ``own[token, map, layer]`` is the share of the input token at the same place, ``first`` that of
    the first token of the text, ``by_category`` and ``by_distance`` those of all input tokens of
    a category and at a distance (the least of a band); for ``token`` all, the first or the last
    token of a text.  ``agreement[map, other, layer]`` is Spearman's rank correlation of the
    shares of input tokens, mean over the tokens that at least three are compared for.  A text
    counts once.

    ``mixing[scope, layer]`` is the mixing ratio of a layer, between 0 and 1: the length of what the
    other tokens give, over that and the length of what the token gives itself.  Scopes are
    attention weights and norms, alone, with the residual connection, and for norms with the norm
    behind it (`headlight.measures.mixing_ratio.SCOPES`); with ``mixing_feed_forward`` also behind
    the feed-forward network, without and with the norm that follows.  ``mixing_by_category`` and
    ``mixing_by_frequency`` are of some tokens, and ``mixing_by_state`` of mask tokens and of the
    others but special ones; a mask token is of the category ``other``, and of no frequency.
    ``mixing_mean``, ``mixing_std``, ``mixing_min`` and ``mixing_max`` are over single tokens.

    Raises:
        UsageError: cross-attention is asked for, or a length that the model does not take; or
            mixing ratios of a corpus that cannot be read again; or tokens are to be masked, and
            there is no mask token.
        UnsupportedModelError: a method cannot be used with this model.
    """

    name = "flow"
    title = "What hidden tokens come from"
    settings_class = FlowSettings

    def make_plan(self, source: TextSource, objective: Objective | None) -> StudyPlan[Encoded]:
        """Plan one pass, in which the residual is recorded and verified if a method needs it.

        Tokens are masked, and types are counted for mixing ratios, if the settings say so.
        """
        settings = self.settings
        # Only maps that include the residual connection need it recorded and verified.
        needs = {METHODS[name].layer_map for name in settings.followed}
        residual = settings.mixes or bool(needs - {None, "weight", "merged_norm"})
        passes = (Pass(residual=residual),)
        plan = plan_text_study(self.name, self.title, source, self.model, settings, passes=passes)
        if settings.masks:
            plan = replace(plan, examples=masked(plan, settings.masks, settings.seed))
        self._counts = count_of_types(plan) if settings.mixes else None
        return plan

    def observe(
        self, plan: StudyPlan[Encoded], batch: Batch, examples: Sequence[Encoded]
    ) -> "FlowObserver":
        """Return the observer that follows tokens text by text, and takes ratios batch by batch."""
        if self._counts is None:
            return FlowObserver(plan, examples, self.settings)
        mask = getattr(plan.model.tokenizer, "mask_token_id", None)
        ratios = MixingObserver(Texts.of(batch, examples, plan.kind), self._counts, mask)
        behind = "mixing_feed_forward" in self.settings.methods
        if behind:
            # With the feed-forward network, the model runs before the pass, on two copies of the
            # batch.
            visit_behind_feed_forward(ratios, plan, batch, self.settings.slope)
        return FlowObserver(plan, examples, self.settings, ratios, visits=not behind)

    def dataset(self, plan: StudyPlan[Encoded], state: State) -> xarray.Dataset:
        """Return means with intervals."""
        sums = state.tally.compute()
        variables: dict[str, Any] = {}
        for name, axes in (AXES | MIXING_AXES).items():
            if name in sums:
                variables |= with_slots(name, axes, sums[name]["mean"], sums[name])
        coordinates: dict[str, Any] = {"layer": plan.layers, "category": list(CATEGORIES)}
        methods = list(self.settings.followed)
        if methods:
            coordinates |= {"token": list(TOKENS), "map": methods, "other": methods}
            coordinates["distance"] = list(DISTANCES)
        if self.settings.mixes:
            for name, statistic in OF_TOKENS.items():
                variables[f"mixing_{name}"] = (MIXING_AXES["mixing"], sums["tokens"][statistic])
            behind = "mixing_feed_forward" in self.settings.methods
            coordinates["scope"] = [*SCOPES, *(BEHIND_FEED_FORWARD if behind else ())]
            coordinates |= {"frequency": list(BANDS), "state": list(STATES)}
        result = described(variables, coordinates, VARIABLES)
        return result.assign_attrs(last_layer=plan.model.sites_of(plan.kind)[-1].layer)


run = FlowStudy.run


class FlowObserver(Observer):
    """Observer of the shares of all input tokens in all hidden tokens of each text.

    Args:
        plan: Plan of the study.
        examples: Texts of the batch.
        settings: Settings of the study.
        ratios: Observer of the mixing ratios of the batch; None if they are not requested.
        visits: Whether mixing ratios are observed while the batch runs, rather than before.
    """

    def __init__(
        self,
        plan: StudyPlan[Encoded],
        examples: Sequence[Encoded],
        settings: FlowSettings,
        ratios: MixingObserver | None = None,
        *,
        visits: bool = False,
    ) -> None:
        self.wants_attention = visits
        self._examples, self._settings, self._ratios = examples, settings, ratios
        self._rows: dict[str, list[Any]] = {name: [] for name in AXES if settings.followed}
        for example in examples if settings.followed else ():
            by_method = input_maps(
                plan.model, example, settings.followed, kind=plan.kind, layers=plan.layers
            )
            maps = np.stack([by_method[name].numpy() for name in settings.followed])
            for name, row in of_text(maps, example, causal=plan.kind == "decoder").items():
                self._rows[name].append(row)

    def visit(self, record: LayerRecord) -> None:
        """Observe the mixing ratios of one layer."""
        assert self._ratios is not None  # noqa: S101 - else layers are not visited
        self._ratios.visit(record)

    def tally(self) -> Tally:
        """Return means over texts, and over single tokens."""
        rows = {name: np.stack(of_texts) for name, of_texts in self._rows.items()}
        if self._ratios is not None:
            rows |= self._ratios.rows()
        units = units_of(self._examples)
        members: dict[str, Accumulator] = {name: Slots.of(units, row) for name, row in rows.items()}
        if self._ratios is not None:
            members["tokens"] = self._ratios.tokens()
        return Tally(members)


def of_text(maps: Maps, example: Encoded, *, causal: bool) -> dict[str, np.ndarray]:
    """Return the numbers of one text; NaN for categories and distances that it lacks."""
    places = np.arange(maps.shape[-1])
    far = np.abs(places[:, None] - places)
    band = np.searchsorted(DISTANCES, far, "right") - 1
    category = np.array(example.categories)
    diagonal = maps.diagonal(axis1=2, axis2=3)
    of_category = np.stack([maps[..., category == code].sum(-1) for code in range(len(CATEGORIES))])
    of_band = np.stack([(maps * (band == number)).sum(-1) for number in range(len(DISTANCES))])
    # A category that a text lacks has no share; 0 would pull its mean over texts down.
    occurs = [(category == code).any() for code in range(len(CATEGORIES))]
    of_category[~np.array(occurs)] = np.nan
    of_band[[not (band == number).any() for number in range(len(DISTANCES))]] = np.nan
    return {
        "own": _stack_tokens(diagonal),
        "first": _stack_tokens(maps[..., 0]),
        "by_category": _stack_tokens(np.moveaxis(of_category, 0, 1)),
        "by_distance": _stack_tokens(np.moveaxis(of_band, 0, 1)),
        "agreement": agreement(maps, causal=causal),
    }


def _stack_tokens(shares: np.ndarray) -> np.ndarray:
    return np.stack([shares.mean(-1), shares[..., 0], shares[..., -1]])


def agreement(maps: Maps, *, causal: bool) -> Float64[np.ndarray, "method other layer"]:
    """Return Spearman's rank correlation, mean over tokens; NaN where it is defined for none.

    Args:
        maps: Shares of the input tokens, by method.
        causal: Whether tokens come from no later ones; later ones then are not compared.
    """
    methods, layers, tokens = maps.shape[:3]
    correlations = np.full((methods, methods, layers, tokens), np.nan)
    for query in range(tokens):
        keys = query + 1 if causal else tokens
        if keys < COMPARED:
            continue
        # Centred ranks: their cosine is Spearman's correlation.
        ranks = rankdata(maps[:, :, query, :keys], axis=-1) - (keys + 1) / 2
        length = np.linalg.norm(ranks, axis=-1, keepdims=True)
        # A constant row has no ranks to compare, and its correlation is undefined.
        unit = np.where(length > 0, ranks / np.where(length > 0, length, 1), np.nan)
        correlations[..., query] = np.einsum("alk,blk->abl", unit, unit)
    defined = ~np.isnan(correlations)
    counts = defined.sum(-1)
    mean = np.where(defined, correlations, 0).sum(-1) / np.where(counts > 0, counts, 1)
    return np.where(counts > 0, mean, np.nan)
