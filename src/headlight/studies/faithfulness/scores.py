"""Scores of tokens by each map, and how they are computed."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import torch
from jaxtyping import Bool, Float, Float64, Int64
from torch import Tensor

from headlight.analysis.batch_runner import Texts
from headlight.analysis.layer_maps import input_maps
from headlight.analysis.word_importance import (
    AttentionImportance,
    Importance,
    PerToken,
    Words,
    by_word,
    share_of_rows,
)
from headlight.capture import AttentionSite, CapturedModel, attribute
from headlight.capture.decomposition import decompose
from headlight.capture.head_weights import input_times_gradient
from headlight.encode.batch import Batch
from headlight.measures.agreement import COEFFICIENTS, top_number, top_overlap
from headlight.settings.flow import FollowedMap
from headlight.studies.faithfulness import FaithfulnessSettings, LayerMeasure, Shares
from headlight.studies.faithfulness.erasure import (
    Target,
    of_targets,
    predicted_kind,
    prediction_rows,
)

SHARES: Mapping[Shares, tuple[float, ...]] = {
    "tenths": tuple(step / 10 for step in range(1, 10)),
    "eraser": (0.01, 0.05, 0.1, 0.2, 0.5),
}
"""As Modarressi et al. (2023) remove tokens, and as ERASER does (DeYoung et al. 2020)."""

OF_QUESTION = {
    "removal": ("comprehensiveness", "normalised", "sufficiency"),
    "flips": ("first_flip", "share_to_flip"),
}
"""Scores of an order; a correlation is called as the map that others are compared with."""

OF_PAIRS = ("correlation", "significant", "overlap")

Order = Int64[np.ndarray, " _"]
"""The tokens of a text, the most important first."""

Prediction = Callable[[Words], tuple[float, bool]]
"""The probability of the target without some tokens, and whether it is still the largest."""

Lost = Float64[np.ndarray, "end share"]
"""Drop in the probability without a share of the tokens: the most important, the least."""


def order_of(importance: Importance) -> Order:
    """Return the tokens, the most important first; of equal ones that which comes first."""
    order: Order = np.argsort(-importance, kind="stable")
    return order


def removals(order: Order, shares: Shares) -> Iterator[tuple[Words, Words]]:
    """Yield which tokens are removed by share: the most important, and those at the other end.

    Tenths are rounded to the nearest number of tokens, halves up, and are at least one; the same
    number is removed from the other end.  Shares of ERASER are rounded up, and the other end is all
    but the most important.
    """
    tokens = list(map(int, order))
    for share in SHARES[shares]:
        if shares == "eraser":
            number = math.ceil(share * len(tokens) - 1e-9)
            rest = tokens[number:]
        else:
            number = max(1, int(share * len(tokens) + 0.5 + 1e-9))
            rest = tokens[-number:]
        yield frozenset(tokens[:number]), frozenset(rest)


def removed_sets(order: Order, shares: Shares) -> Iterator[Words]:
    """Yield all that `lost` and `flips` remove of a text."""
    yield frozenset()
    yield frozenset(map(int, order[:1]))
    for ends in removals(order, shares):
        yield from ends


def lost(order: Order, shares: Shares, without: Prediction) -> Lost:
    """Return what the probability of the target loses as its tokens are removed."""
    whole, _ = without(frozenset())
    ends = [[whole - without(end)[0] for end in each] for each in removals(order, shares)]
    return np.array(ends).T


def flips(order: Order, shares: Shares, without: Prediction) -> Float64[np.ndarray, "score"]:
    """Return whether the prediction changes without the first token, and the least such share.

    Source: Serrano and Smith (2019); the share is 1 where the prediction never changes.
    """
    first = not without(frozenset(map(int, order[:1])))[1]
    changed = [
        share
        for share, (most, _) in zip(SHARES[shares], removals(order, shares), strict=True)
        if not without(most)[1]
    ]
    return np.array([float(first), min(changed, default=1.0)])


def scores_of_removal(by_map: Mapping[str, Sequence[Lost]]) -> Float64[np.ndarray, "score map"]:
    """Return comprehensiveness, its normalised form and sufficiency of each map on one text.

    Comprehensiveness is the mean over shares of what is lost without the most important tokens, and
    sufficiency that at the other end (the lower the better).  Normalised is
    (comprehensiveness − low) / (high − low), where low and high are the least and the most that any
    known order loses: those of all maps, random ones, and all of these backward; NaN where they are
    the same.

    Args:
        by_map: what is lost by the orders of each map; several of the random one.

    Source: DeYoung et al. (2020), Section 4; Edin et al. (2025), who take for the bounds all orders
        or those of a beam search.
    """
    means = {name: np.array(orders).mean(-1) for name, orders in by_map.items()}  # order, end
    all_means = np.concatenate([each.ravel() for each in means.values()])
    low, high = all_means.min(), all_means.max()
    width = high - low if high > low else np.nan
    mean = np.array([each.mean(0) for each in means.values()])  # map, end
    return np.stack([mean[:, 0], (mean[:, 0] - low) / width, mean[:, 1]])


def pair_scores(
    by_map: Mapping[str, Sequence[Importance]],
    coefficient: Literal["spearman", "kendall"],
    *,
    signed: bool,
) -> Float64[np.ndarray, "statistic map other"]:
    """Return `OF_PAIRS` of each two maps on one text; NaN of one with itself.

    Args:
        by_map: what each token is given; several times by the random one, whose mean is taken.
        coefficient: of correlation.
        signed: whether signs count.

    Source: Jain and Wallace (2019), Section 4.1.
    """
    values = [[each if signed else np.abs(each) for each in rows] for rows in by_map.values()]
    pairs = np.full((len(OF_PAIRS), len(values), len(values)), np.nan)
    for one, first in enumerate(values):
        for other, second in enumerate(values[:one]):
            draws = [_compare(a, b, coefficient) for a in first for b in second]
            pairs[:, one, other] = pairs[:, other, one] = np.mean(draws, axis=0)
    return pairs


def _compare(first: Importance, second: Importance, coefficient: str) -> tuple[float, ...]:
    agreement = COEFFICIENTS[coefficient](first, second)
    overlap = top_overlap(first, second, top_number(len(first)))
    return agreement.value, agreement.significant, overlap


FOLLOWED = get_args(FollowedMap)
OF_LAYERS = get_args(LayerMeasure)


@dataclass(eq=False, repr=False)
class TokenMaps:
    """The maps of a batch of texts, but for what becomes of predictions without a token.

    Attributes:
        model: A classifier of texts, or a language model.
        examples: The texts.
        sites: The layers that are looked at.
        settings: Of the study.
    """

    model: CapturedModel
    examples: Sequence[Target]
    sites: Sequence[AttentionSite]
    settings: FaithfulnessSettings

    def __post_init__(self) -> None:
        self._batch = self.model.collate(self.examples)

    def found(self) -> dict[str, list[Importance]]:
        """Return what each map gives to each token that can be removed, by text."""
        maps: dict[str, PerToken] = {}
        names = self.settings.maps
        if of_layers := [name for name in names if name in OF_LAYERS]:
            maps |= self._of_layers(of_layers)
        if followed := [name for name in names if name in FOLLOWED]:
            maps |= self._followed(followed)
        if "attribution" in names:
            attribution = attribute(self.model, self._batch, kind=self.sites[0].kind)
            maps["attribution"] = share_of_rows(attribution.contribution[-1], self._rows)
        if "prediction" in names:
            maps["prediction"] = self._of_prediction()
        if "gradient_input" in names:
            with prediction_rows(self.model, self.examples) as rows:
                maps["gradient_input"] = input_times_gradient(
                    self.model,
                    self._batch,
                    lambda output: of_targets(rows(output).softmax(-1), self.examples),
                )
        return {
            name: [
                row[: example.tokens]
                for row, example in zip(by_word(values, self.examples), self.examples, strict=True)
            ]
            for name, values in maps.items()
        }

    def _of_layers(self, names: Sequence[str]) -> dict[str, PerToken]:
        """Return the means over heads of the last layer, or of those that the settings name."""
        last = max(self.sites, key=lambda site: site.layer)
        importance = AttentionImportance(self._rows, names)
        with self.model.capture([last] if self.settings.layers is None else self.sites) as recorder:
            recorder.visit = importance.visit
            self.model.run(self._batch)
        return importance.found()

    def _followed(self, names: Sequence[str]) -> dict[str, PerToken]:
        """The shares of the input tokens in the hidden tokens behind the last layer, by text."""
        shares = {name: torch.zeros(self._batch.input_ids.shape) for name in names}
        kind, last = self.sites[0].kind, max(site.layer for site in self.sites)
        rows = self._rows.cpu()
        for row, example in enumerate(self.examples):
            size = len(example.ids)
            by_method = input_maps(self.model, example, names, kind=kind, layers=[last])
            for name, maps in by_method.items():
                of_rows = share_of_rows(maps[-1:].float(), rows[row : row + 1, :size])
                shares[name][row, :size] = of_rows[0]
        return shares

    def _of_prediction(self) -> PerToken:
        """Return the contribution of each token's embedding to the target's logit, by text."""
        contributions = torch.zeros(self._batch.input_ids.shape)
        for row, example in enumerate(self.examples):
            text = self.model.collate([example])
            contributions[row, : len(example.ids)] = self._parts(text, example)
        return contributions

    def _parts(self, text: Batch, example: Target) -> Float[Tensor, " token"]:
        with self.model.running(text.names), prediction_rows(self.model, [example]) as rows:
            parts = decompose(
                self.model,
                self.model.inputs(text),
                lambda output: of_targets(rows(output), [example])[0],
                {"text": len(example.ids)},
            )
        return parts.token["text"].float()

    @property
    def _rows(self) -> Bool[Tensor, "batch query"]:
        """Return the mask of the rows of a map that explain the prediction."""
        texts = Texts.of(self._batch, self.examples, self.sites[0].kind)
        if self.settings.rows is not None:
            return texts.rows(self.settings.rows)
        if predicted_kind(self.model) == "class":
            return texts.rows("first" if self.sites[0].kind == "encoder" else "last")
        places = torch.tensor([each.place for each in self.examples], device=texts.queries.device)
        return torch.arange(texts.queries.shape[1], device=places.device) == places[:, None]
