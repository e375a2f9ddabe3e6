"""Mixing ratios over a corpus: by layer, by category of tokens, and by how frequent they are."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import numpy as np
import torch
import xarray
from jaxtyping import Float, Float64, Int64
from torch import Tensor

from headlight.analysis.batch_texts import Texts
from headlight.analysis.plan import Pass, StudyPlan
from headlight.analysis.positions import array, moments
from headlight.analysis.text_study import TextStudy
from headlight.analysis.variables import BOUNDS, Variable, described, long_names
from headlight.capture import (
    AttentionSite,
    LayerRecord,
    MaskedLanguageModel,
    Objective,
)
from headlight.capture.backward import frozen
from headlight.capture.linear_network.feed_forward import through_feed_forward
from headlight.capture.residual import followed
from headlight.encode import Encoded, Examples
from headlight.encode.batch import Batch
from headlight.encode.examples import count_types
from headlight.errors import UsageError
from headlight.measures.mixing import (
    BEHIND_FEED_FORWARD,
    SCOPES,
    mixing_ratios,
    parts_of_block,
    ratios_behind_feed_forward,
)
from headlight.reduce import ResampledMean, Tally
from headlight.settings.slopes import Slope
from headlight.studies.mixing import MixingSettings
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

VARIABLES = long_names(
    {
        "mixing": Variable(
            "mixing ratio, mean over texts of the mean over tokens", interval="share"
        ),
        "by_category": Variable("mixing ratio of tokens of one category", interval="share"),
        "by_frequency": Variable(
            "mixing ratio of tokens by how often their type occurs in the corpus", interval="share"
        ),
        "by_state": Variable(
            "mixing ratio of mask tokens, and of all others that are not special", interval="share"
        ),
        "token_mean": Variable("mixing ratio, mean over all tokens"),
        "token_std": Variable("standard deviation of the mixing ratio over tokens"),
        "token_min": Variable("smallest mixing ratio of a token"),
        "token_max": Variable("largest mixing ratio of a token"),
    }
)


class MixingStudy(TextStudy[MixingSettings]):
    """How much of what a layer puts out for a token comes from other tokens.

    ``mixing[scope, layer]`` is the mixing ratio, between 0 and 1: the length of what the other
    tokens give, over that and the length of what the token gives itself.  Scopes are attention
    weights and norms, alone, with the residual connection, and for norms with the norm behind it
    (`headlight.measures.mixing.SCOPES`); where it is asked for, also behind the feed-forward
    network, without and with the norm that follows.  ``by_category`` and ``by_frequency`` are the
    same for some tokens, and ``by_state`` for mask tokens and for the others but special ones; a
    mask token is of the category ``other``, and of no frequency.  A text counts once; intervals are
    from resampled texts.  ``token_mean``, ``token_std``, ``token_min`` and ``token_max`` are over
    single tokens.

    Raises:
        UsageError: cross-attention is asked for, where the residual belongs to no key; or the
            corpus cannot be read again; or tokens are to be masked, and there is no mask token.
        UnsupportedModelError: what a layer does with the output of its attention could not be
            followed.

    Source: Kobayashi et al. (2021, 2024).
    """

    name = "mixing"
    title = "Mixing ratios"
    settings_class = MixingSettings

    def prepare(self) -> None:
        """Types are counted, tokens masked, and what has no mixing ratio is refused."""
        settings = self.settings
        if any(site.kind == "cross" for site in self.plan.sites):
            raise UsageError(
                "in cross-attention the residual belongs to no key, so there is no mixing ratio; "
                "choose the encoder or the decoder (--kind)."
            )
        if settings.masks:
            self.plan = replace(self.plan, examples=self._masked())
        if settings.feed_forward and self.plan.all_kinds:
            raise UsageError(
                "with the feed-forward network one kind of attention is looked at; choose the "
                "encoder or the decoder (--kind)."
            )
        parts = self.plan.by_kind()
        self._counts = {kind: self._count(part) for kind, part in parts.items()}

    def choose_pass(self, objective: Objective | None) -> Pass:
        """The model runs forward, and the residual is looked at."""
        return Pass(objective=objective, residual=True)

    def observe(
        self, plan: StudyPlan[Encoded], batch: Batch, examples: Sequence[Encoded]
    ) -> "MixingObserver | FeedForwardObserver":
        """Looks at one number for each token, scope and layer."""
        texts = Texts.of(batch, examples, plan.kind)
        asked = self.settings
        mask = getattr(plan.model.tokenizer, "mask_token_id", None)
        mask = NONE if mask is None else mask
        seen = MixingObserver(texts, self._counts[plan.kind], mask, asked.bootstrap, asked.seed)
        return FeedForwardObserver(plan, batch, asked.slope, seen) if asked.feed_forward else seen

    def dataset(self, plan: StudyPlan[Encoded], tally: Tally) -> xarray.Dataset:
        """Means with intervals."""
        found = tally.compute()
        axes = {
            "mixing": ("scope", "layer"),
            "by_category": ("scope", "category", "layer"),
            "by_frequency": ("scope", "frequency", "layer"),
            "by_state": ("scope", "state", "layer"),
        }
        variables: dict[str, Any] = {}
        for name, dims in axes.items():
            for bound, statistic in BOUNDS.items():
                variables[f"{name}{bound}"] = (dims, found[name][statistic])
        for name, statistic in OF_TOKENS.items():
            variables[f"token_{name}"] = (axes["mixing"], found["tokens"][statistic])
        coordinates = {
            "scope": [*SCOPES, *(BEHIND_FEED_FORWARD if self.settings.feed_forward else ())],
            "layer": plan.layers,
            "category": list(CATEGORIES),
            "frequency": list(BANDS),
            "state": list(STATES),
        }
        return described(variables, coordinates, VARIABLES)

    def _masked(self) -> Examples:
        """The same texts with masks, as many in each as `MaskedLanguageModel` says."""
        chosen = MaskedLanguageModel.of(
            self.model.tokenizer,
            rate=self.settings.masks,
            mask_share=1.0,
            random_share=0.0,
            seed=self.settings.seed,
        )

        def mask(example: Encoded) -> Encoded:
            hidden, _ = chosen.hide(np.array(example.ids, np.int64))
            categories = np.where(hidden == chosen.mask_id, OTHER, example.categories)
            return replace(
                example, ids=tuple(hidden.tolist()), categories=tuple(categories.tolist())
            )

        examples = self.plan.examples
        assert isinstance(examples, Examples)  # noqa: S101 - made of texts
        return examples.changed(mask)

    def _count(self, plan: StudyPlan[Encoded]) -> Int64[np.ndarray, " type"]:
        tokenizer: Any = plan.model.tokenizer
        target = plan.kind == "decoder" and plan.model.has_decoder_inputs
        examples = islice(plan.examples, plan.max_examples)
        return count_types(examples, len(tokenizer), target=target)


run = MixingStudy.run


@dataclass(eq=False, repr=False)
class MixingObserver:
    """Sees the mixing ratios of all tokens of one batch.

    Attributes:
        texts: of the batch.
        counts: how often every type occurs in the corpus.
        mask: the id of the mask token.
        replicates: resamples of texts.
        seed: of them.
    """

    texts: Texts
    counts: Int64[np.ndarray, " type"]
    mask: int
    replicates: int
    seed: int
    _seen: dict[int, Tensor] = field(default_factory=dict, init=False)

    def visit(self, record: LayerRecord) -> None:
        """Keep a number for each scope and token."""
        self.keep(record.site.layer, mixing_ratios(record))

    def keep(self, layer: int, ratios: Float[Tensor, "scope batch query"]) -> None:
        """Those of a layer."""
        self._seen[layer] = ratios

    def tally(self) -> Tally:
        """Means over the tokens of each text, and all tokens."""
        layers = [self._seen[layer] for layer in sorted(self._seen)]
        ratios = array(torch.stack(layers, 1))  # scope layer batch query
        category = self.texts.category
        band = np.searchsorted(BANDS, self.counts[self.texts.ids], "right") - 1
        there = category >= 0
        masked = there & (self.texts.ids == self.mask)
        states = np.stack([masked, there & ~masked & ~np.isin(category, SPECIAL)], -1)
        keys = np.array(self.texts.text_ids)
        means = {
            "mixing": _means(ratios, there[..., None])[..., 0],
            "by_category": _means(ratios, category[..., None] == np.arange(len(CATEGORIES))),
            "by_frequency": _means(
                ratios, (there & ~masked)[..., None] & (band[..., None] == np.arange(len(BANDS)))
            ),
            "by_state": _means(ratios, states),
        }
        found: dict[str, Any] = {
            name: ResampledMean.of(keys, rows, replicates=self.replicates, seed=self.seed)
            for name, rows in means.items()
        }
        found["tokens"] = moments(np.moveaxis(ratios, (2, 3), (0, 1))[there])
        return Tally(found)


@dataclass(eq=False, repr=False)
class FeedForwardObserver:
    """The same through the feed-forward network, for which it runs the model itself.

    What others give to each token is one tangent of the network and what the token gives itself
    another, so the batch runs twice side by side.

    Attributes:
        plan: whose model and layers they are.
        batch: that is looked at.
        slope: of activations.
        seen: what is told of the ratios.
    """

    plan: StudyPlan[Encoded]
    batch: Batch
    slope: Slope
    seen: MixingObserver
    _before: dict[AttentionSite, Tensor] = field(default_factory=dict, init=False)

    def tally(self) -> Tally:
        """Means over the tokens of each text, and all tokens."""
        model, texts = self.plan.model, len(self.batch.lengths)
        network: Any = model.transformer

        def begin(record: LayerRecord) -> None:
            self._before[record.site] = mixing_ratios(record)[:, :texts]
            others, own = parts_of_block(record)
            give(record.site, torch.cat([others[:texts], own[texts:]]))

        def end(site: AttentionSite, parts: Float[Tensor, "copy token d_model"]) -> None:
            behind = followed(model.residuals[site]).feed_forward
            norm = None if behind is None else behind.norm
            after = ratios_behind_feed_forward(parts[:texts], parts[texts:], norm)
            self.seen.keep(site.layer, torch.cat([self._before.pop(site), after]))

        copies = self.batch.repeated(2)
        with (
            through_feed_forward(model, self.plan.sites, end, self.slope) as give,
            model.capture(self.plan.sites, residual=True) as recorder,
            model.running(copies.names),
            frozen(network),
            torch.no_grad(),
        ):
            recorder.visit = begin
            network(**model.inputs(copies))
        return self.seen.tally()


def _means(
    ratios: Float64[np.ndarray, "scope layer batch query"], members: np.ndarray
) -> Float64[np.ndarray, "batch scope *group_layer"]:
    """Means over the tokens of each group in each text; NaN where there are none."""
    known = ~np.isnan(ratios)
    taken = members.astype(np.float64)
    sums = np.einsum("mlbq,bqg->bmlg", np.where(known, ratios, 0.0), taken)
    counts = np.einsum("mlbq,bqg->bmlg", known.astype(np.float64), taken)
    means = sums / np.where(counts > 0, counts, np.nan)
    return means if members.shape[-1] == 1 else np.moveaxis(means, 3, 2)
