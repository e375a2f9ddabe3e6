"""Study of the origin of hidden tokens over a corpus, by method, and of what layers mix."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import numpy as np
import torch
import xarray
from jaxtyping import Float, Float64, Int64
from scipy.stats import rankdata
from torch import Tensor

from headlight.analysis.batch_runner import Texts, array, moments, units_of
from headlight.analysis.layer_maps import METHODS, input_maps
from headlight.analysis.plan import Pass, StudyPlan
from headlight.analysis.text_study import TextStudy
from headlight.analysis.variables import Variable, described, long_names, with_slots
from headlight.capture import AttentionSite, LayerRecord, MaskedLanguageModel, Objective
from headlight.capture.backward import frozen
from headlight.capture.network import through_feed_forward
from headlight.capture.residual_stream import followed
from headlight.encode import Encoded, Examples
from headlight.encode.batch import Batch
from headlight.encode.texts import count_types
from headlight.errors import UsageError, setting
from headlight.measures.whole_layer import (
    BEHIND_FEED_FORWARD,
    SCOPES,
    mixing_ratios,
    parts_of_block,
    ratios_behind_feed_forward,
)
from headlight.reduce import Accumulator, Moments, Slots, Tally
from headlight.settings.flow import Slope
from headlight.studies.flow import FlowSettings
from headlight.vocabulary import CATEGORIES

BANDS = (1, 10, 100, 1000)
"""The least number of times that types of a band of frequency occur in the corpus."""

STATES = ("masked", "given")
"""Whether the mask token stands in place of a token."""

OTHER = CATEGORIES.index("other")
SPECIAL = [CATEGORIES.index(name) for name in ("cls", "sep")]
NONE = -1
"""In the place of the id of a mask token that there is not."""

OF_TOKENS = {"mean": "mean", "std": "std", "min": "minimum", "max": "maximum"}
"""Statistics over single tokens."""

MIXING_AXES = {
    "mixing": ("scope", "layer"),
    "mixing_by_category": ("scope", "category", "layer"),
    "mixing_by_frequency": ("scope", "frequency", "layer"),
    "mixing_by_state": ("scope", "state", "layer"),
}


def masked(plan: StudyPlan[Encoded], rate: float, seed: int) -> Examples:
    """Return the texts with masks, as many in each as `MaskedLanguageModel` says.

    Raises:
        UsageError: there is no mask token.
    """
    chosen = MaskedLanguageModel.of(
        plan.model.tokenizer, rate=rate, mask_share=1.0, random_share=0.0, seed=seed
    )

    def mask(example: Encoded) -> Encoded:
        hidden, _ = chosen.hide(np.array(example.ids, np.int64))
        categories = np.where(hidden == chosen.mask_id, OTHER, example.categories)
        return replace(example, ids=tuple(hidden.tolist()), categories=tuple(categories.tolist()))

    assert isinstance(plan.examples, Examples)  # noqa: S101 - made of texts
    return plan.examples.changed(mask)


def count_of_types(plan: StudyPlan[Encoded]) -> Int64[np.ndarray, " type"]:
    """Return how often every type occurs in the examples that will be looked at.

    Raises:
        UsageError: of cross-attention, or the corpus cannot be read again.
    """
    if any(site.kind == "cross" for site in plan.sites):
        raise UsageError(
            "in cross-attention the residual belongs to no key, so there is no mixing ratio; "
            f"choose the encoder or the decoder ({setting('kind=')})."
        )
    tokenizer: Any = plan.model.tokenizer
    target = plan.kind == "decoder" and plan.model.has_decoder_inputs
    examples = islice(plan.examples, plan.max_examples)
    return count_types(examples, len(tokenizer), target=target)


@dataclass(eq=False, repr=False)
class MixingObserver:
    """One number for each token, scope and layer of a batch.

    Attributes:
        texts: of the batch.
        counts: how often every type occurs in the corpus.
        mask: the id of the mask token; None where there is none.
    """

    texts: Texts
    counts: Int64[np.ndarray, " type"]
    mask: int | None
    _ratios: dict[int, Tensor] = field(default_factory=dict, init=False)

    def visit(self, record: LayerRecord) -> None:
        """Keep a number for each scope and token."""
        self.keep(record.site.layer, mixing_ratios(record))

    def keep(self, layer: int, ratios: Float[Tensor, "scope batch query"]) -> None:
        """Keep those of a layer."""
        self._ratios[layer] = ratios

    def rows(self) -> dict[str, Float64[np.ndarray, "batch *axes"]]:
        """Return the means over the tokens of each text, by the names of `MIXING_AXES`."""
        ratios, category = self._of_tokens(), self.texts.category
        band = np.searchsorted(BANDS, self.counts[self.texts.ids], "right") - 1
        valid = category >= 0
        hidden = valid & (self.texts.ids == (NONE if self.mask is None else self.mask))
        states = np.stack([hidden, valid & ~hidden & ~np.isin(category, SPECIAL)], -1)
        return {
            "mixing": _means(ratios, valid[..., None])[..., 0],
            "mixing_by_category": _means(ratios, category[..., None] == np.arange(len(CATEGORIES))),
            "mixing_by_frequency": _means(
                ratios, (valid & ~hidden)[..., None] & (band[..., None] == np.arange(len(BANDS)))
            ),
            "mixing_by_state": _means(ratios, states),
        }

    def tokens(self) -> Moments:
        """Return the moments over single tokens, by scope and layer."""
        return moments(np.moveaxis(self._of_tokens(), (2, 3), (0, 1))[self.texts.category >= 0])

    def _of_tokens(self) -> Float64[np.ndarray, "scope layer batch query"]:
        return array(torch.stack([self._ratios[layer] for layer in sorted(self._ratios)], 1))


def visit_behind_feed_forward(
    observer: MixingObserver, plan: StudyPlan[Encoded], batch: Batch, slope: Slope
) -> None:
    """Run the model, and let an observer keep the ratios behind the feed-forward network as well.

    What others give to each token is one tangent of the network and what the token gives itself
    another, so the batch runs twice side by side.

    Args:
        observer: keeps the ratios.
        plan: whose model and layers they are.
        batch: that is looked at.
        slope: of activations.
    """
    model, texts = plan.model, len(batch.lengths)
    network: Any = model.transformer
    before: dict[AttentionSite, Tensor] = {}

    def begin(record: LayerRecord) -> None:
        before[record.site] = mixing_ratios(record)[:, :texts]
        others, own = parts_of_block(record)
        give(record.site, torch.cat([others[:texts], own[texts:]]))

    def end(site: AttentionSite, parts: Float[Tensor, "copy token d_model"]) -> None:
        behind = followed(model.residuals[site]).feed_forward
        norm = None if behind is None else behind.norm
        after = ratios_behind_feed_forward(parts[:texts], parts[texts:], norm)
        observer.keep(site.layer, torch.cat([before.pop(site), after]))

    copies = batch.repeated(2)
    with (
        through_feed_forward(model, plan.sites, end, slope) as give,
        model.capture(plan.sites, residual=True) as recorder,
        model.running(copies.names),
        frozen(network),
        torch.no_grad(),
    ):
        recorder.visit = begin
        network(**model.inputs(copies))


def _means(
    ratios: Float64[np.ndarray, "scope layer batch query"], members: np.ndarray
) -> Float64[np.ndarray, "batch scope *group_layer"]:
    """Means over the tokens of each group in each text; NaN where there are none."""
    has_ratio = ~np.isnan(ratios)
    membership = members.astype(np.float64)
    sums = np.einsum("mlbq,bqg->bmlg", np.where(has_ratio, ratios, 0.0), membership)
    counts = np.einsum("mlbq,bqg->bmlg", has_ratio.astype(np.float64), membership)
    means = sums / np.where(counts > 0, counts, np.nan)
    return means if members.shape[-1] == 1 else np.moveaxis(means, 3, 2)


DISTANCES = (0, 1, 2, 4, 8, 16, 32, 64, 128)
"""The least distance of a band, in tokens."""

TOKENS = ("all", "first", "last")
"""Tokens whose vectors are looked at: the mean over all tokens of a text, or one of them."""

COMPARED = 3
"""The order of input tokens is compared where there are as many of them, or more."""

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


class FlowStudy(TextStudy[FlowSettings]):
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
    behind it (`headlight.measures.whole_layer.SCOPES`); with ``mixing_feed_forward`` also behind
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

    def prepare(self) -> None:
        """Mask tokens, and count types for mixing ratios."""
        settings = self.settings
        if settings.masks:
            examples = masked(self.plan, settings.masks, settings.seed)
            self.plan = replace(self.plan, examples=examples)
        self._counts = count_of_types(self.plan) if settings.mixes else None

    def choose_pass(self, objective: Objective | None) -> Pass:
        """The residual is looked at, and verified, where a method needs it."""
        needs = {METHODS[name].layer_map for name in self.settings.followed}
        residual = self.settings.mixes or bool(needs - {None, "weight", "merged_norm"})
        return Pass(residual=residual)

    def observe(
        self, plan: StudyPlan[Encoded], batch: Batch, examples: Sequence[Encoded]
    ) -> "FlowObserver":
        """Follow tokens in each text by itself, and look at mixing ratios in the whole batch."""
        if self._counts is None:
            return FlowObserver(plan, examples, self.settings)
        mask = getattr(plan.model.tokenizer, "mask_token_id", None)
        ratios = MixingObserver(Texts.of(batch, examples, plan.kind), self._counts, mask)
        if "mixing_feed_forward" not in self.settings.methods:
            return MixingFlowObserver(plan, examples, self.settings, ratios)
        visit_behind_feed_forward(ratios, plan, batch, self.settings.slope)
        return FlowObserver(plan, examples, self.settings, ratios)

    def dataset(self, plan: StudyPlan[Encoded], tally: Tally) -> xarray.Dataset:
        """Means with intervals."""
        sums = tally.compute()
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
        return described(variables, coordinates, VARIABLES)


run = FlowStudy.run


class FlowObserver:
    """Sees the shares of all input tokens in all hidden tokens of each text.

    Args:
        plan: which layers of which model.
        examples: the texts.
        settings: which methods.
        ratios: those of the batch, where mixing ratios are looked at.
    """

    def __init__(
        self,
        plan: StudyPlan[Encoded],
        examples: Sequence[Encoded],
        settings: FlowSettings,
        ratios: MixingObserver | None = None,
    ) -> None:
        self._examples, self._settings, self._ratios = examples, settings, ratios
        self._rows: dict[str, list[Any]] = {name: [] for name in AXES if settings.followed}
        for example in examples if settings.followed else ():
            by_method = input_maps(
                plan.model, example, settings.followed, kind=plan.kind, layers=plan.layers
            )
            maps = np.stack([by_method[name].numpy() for name in settings.followed])
            for name, row in of_text(maps, example, causal=plan.kind == "decoder").items():
                self._rows[name].append(row)

    def tally(self) -> Tally:
        """Means over texts, and over single tokens."""
        rows = {name: np.stack(of_texts) for name, of_texts in self._rows.items()}
        if self._ratios is not None:
            rows |= self._ratios.rows()
        units = units_of(self._examples)
        members: dict[str, Accumulator] = {name: Slots.of(units, row) for name, row in rows.items()}
        if self._ratios is not None:
            members["tokens"] = self._ratios.tokens()
        return Tally(members)


class MixingFlowObserver(FlowObserver):
    """Sees mixing ratios in the pass of the batch as well."""

    def visit(self, record: LayerRecord) -> None:
        """Look at the mixing ratios of one layer."""
        assert self._ratios is not None  # noqa: S101 - it is made with them
        self._ratios.visit(record)


def of_text(maps: Maps, example: Encoded, *, causal: bool) -> dict[str, np.ndarray]:
    """Return the numbers of one text; NaN for categories and distances that it lacks."""
    places = np.arange(maps.shape[-1])
    far = np.abs(places[:, None] - places)
    band = np.searchsorted(DISTANCES, far, "right") - 1
    category = np.array(example.categories)
    own = maps.diagonal(axis1=2, axis2=3)
    of_category = np.stack([maps[..., category == code].sum(-1) for code in range(len(CATEGORIES))])
    of_band = np.stack([(maps * (band == each)).sum(-1) for each in range(len(DISTANCES))])
    occurs = [(category == code).any() for code in range(len(CATEGORIES))]
    of_category[~np.array(occurs)] = np.nan
    of_band[[not (band == each).any() for each in range(len(DISTANCES))]] = np.nan
    return {
        "own": _of_tokens(own),
        "first": _of_tokens(maps[..., 0]),
        "by_category": _of_tokens(np.moveaxis(of_category, 0, 1)),
        "by_distance": _of_tokens(np.moveaxis(of_band, 0, 1)),
        "agreement": agreement(maps, causal=causal),
    }


def _of_tokens(shares: np.ndarray) -> np.ndarray:
    """Return the mean over tokens, along the last axis, and the first and the last of them."""
    return np.stack([shares.mean(-1), shares[..., 0], shares[..., -1]])


def agreement(maps: Maps, *, causal: bool) -> Float64[np.ndarray, "method other layer"]:
    """Spearman's rank correlation, mean over the tokens; NaN where it is of none.

    Args:
        maps: the shares.
        causal: whether tokens come from no later ones, which then are not compared.
    """
    methods, layers, tokens = maps.shape[:3]
    correlations = np.full((methods, methods, layers, tokens), np.nan)
    for query in range(tokens):
        keys = query + 1 if causal else tokens
        if keys < COMPARED:
            continue
        ranks = rankdata(maps[:, :, query, :keys], axis=-1) - (keys + 1) / 2
        length = np.linalg.norm(ranks, axis=-1, keepdims=True)
        unit = np.where(length > 0, ranks / np.where(length > 0, length, 1), np.nan)
        correlations[..., query] = np.einsum("alk,blk->abl", unit, unit)
    defined = ~np.isnan(correlations)
    counts = defined.sum(-1)
    mean = np.where(defined, correlations, 0).sum(-1) / np.where(counts > 0, counts, 1)
    return np.where(counts > 0, mean, np.nan)
