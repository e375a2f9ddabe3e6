"""Where hidden tokens come from over a corpus, by method, and how far methods agree."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray
from jaxtyping import Float64
from scipy.stats import rankdata

from headlight.analysis.batch_texts import units_of
from headlight.analysis.flow import METHODS, input_maps
from headlight.analysis.plan import Pass, StudyPlan
from headlight.analysis.text_study import TextStudy
from headlight.analysis.variables import Variable, described, long_names, with_slots
from headlight.capture import Objective
from headlight.encode import Encoded
from headlight.encode.batch import Batch
from headlight.reduce import Slots, Tally
from headlight.studies.flow import FlowSettings
from headlight.vocabulary import CATEGORIES

DISTANCES = (0, 1, 2, 4, 8, 16, 32, 64, 128)
"""The least distance of a band, in tokens."""

TOKENS = ("all", "first", "last")
"""Whose vectors are looked at: the mean over all tokens of a text, or one of them."""

COMPARED = 3
"""The order of input tokens is compared where there are as many of them, or more."""

VARIABLES = long_names(
    {
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
    """How much of a token after each layer comes from which input tokens.

    ``own[token, map, layer]`` is the share of the input token at the same place, ``first`` that of
    the first token of the text, ``by_category`` and ``by_distance`` those of all input tokens of
    a category and at a distance (the least of a band); for ``token`` all, the first or the last
    token of a text.  ``agreement[map, other, layer]`` is Spearman's rank correlation of the
    shares of input tokens, mean over the tokens that at least three are compared for.  A text
    counts once.

    Raises:
        UsageError: cross-attention is asked for, or a length that the model does not take.
        UnsupportedModelError: a method cannot be used with this model.
    """

    name = "flow"
    title = "What hidden tokens come from"
    settings_class = FlowSettings

    def choose_pass(self, objective: Objective | None) -> Pass:
        """The residual is looked at, and verified, where a method needs it."""
        needs = {METHODS[name].layer_map for name in self.settings.methods}
        return Pass(residual=bool(needs - {None, "weight", "merged_norm"}))

    def observe(
        self, plan: StudyPlan[Encoded], batch: Batch, examples: Sequence[Encoded]
    ) -> "FlowObserver":
        """Runs each text by itself."""
        return FlowObserver(plan, examples, self.settings)

    def dataset(self, plan: StudyPlan[Encoded], tally: Tally) -> xarray.Dataset:
        """Means with intervals."""
        found = tally.compute()
        variables: dict[str, xarray.DataArray] = {}
        for name, axes in AXES.items():
            variables |= with_slots(name, axes, found[name]["mean"], found[name])
        methods = list(self.settings.methods)
        coordinates = {
            "token": list(TOKENS),
            "map": methods,
            "other": methods,
            "layer": plan.layers,
            "category": list(CATEGORIES),
            "distance": list(DISTANCES),
        }
        return described(variables, coordinates, VARIABLES)


run = FlowStudy.run


class FlowObserver:
    """Sees the shares of all input tokens in all hidden tokens of each text.

    Args:
        plan: which layers of which model.
        examples: the texts.
        settings: which methods.
    """

    def __init__(
        self, plan: StudyPlan[Encoded], examples: Sequence[Encoded], settings: FlowSettings
    ) -> None:
        rows: dict[str, list[Any]] = {name: [] for name in AXES}
        for example in examples:
            found = input_maps(
                plan.model, example, settings.methods, kind=plan.kind, layers=plan.layers
            )
            maps = np.stack([found[name].numpy() for name in settings.methods])
            for name, row in of_text(maps, example, causal=plan.kind == "decoder").items():
                rows[name].append(row)
        units = units_of(examples)
        self._found = {name: Slots.of(units, np.stack(row)) for name, row in rows.items()}

    def tally(self) -> Tally:
        """Means over texts."""
        return Tally(dict(self._found))


def of_text(maps: Maps, example: Encoded, *, causal: bool) -> dict[str, np.ndarray]:
    """What is said of one text; NaN of a category that it has not, and of a distance."""
    places = np.arange(maps.shape[-1])
    far = np.abs(places[:, None] - places)
    band = np.searchsorted(DISTANCES, far, "right") - 1
    category = np.array(example.categories)
    own = maps.diagonal(axis1=2, axis2=3)
    of_category = np.stack([maps[..., category == code].sum(-1) for code in range(len(CATEGORIES))])
    of_band = np.stack([(maps * (band == each)).sum(-1) for each in range(len(DISTANCES))])
    there = [(category == code).any() for code in range(len(CATEGORIES))]
    of_category[~np.array(there)] = np.nan
    of_band[[not (band == each).any() for each in range(len(DISTANCES))]] = np.nan
    return {
        "own": _of_tokens(own),
        "first": _of_tokens(maps[..., 0]),
        "by_category": _of_tokens(np.moveaxis(of_category, 0, 1)),
        "by_distance": _of_tokens(np.moveaxis(of_band, 0, 1)),
        "agreement": agreement(maps, causal=causal),
    }


def _of_tokens(shares: np.ndarray) -> np.ndarray:
    """Of all tokens, the first and the last, which are along the last axis."""
    return np.stack([shares.mean(-1), shares[..., 0], shares[..., -1]])


def agreement(maps: Maps, *, causal: bool) -> Float64[np.ndarray, "method other layer"]:
    """Spearman's rank correlation, mean over the tokens; NaN where it is of none.

    Args:
        maps: the shares.
        causal: whether tokens come from no later ones, which then are not compared.
    """
    methods, layers, tokens = maps.shape[:3]
    found = np.full((methods, methods, layers, tokens), np.nan)
    for query in range(tokens):
        keys = query + 1 if causal else tokens
        if keys < COMPARED:
            continue
        ranks = rankdata(maps[:, :, query, :keys], axis=-1) - (keys + 1) / 2
        length = np.linalg.norm(ranks, axis=-1, keepdims=True)
        unit = np.where(length > 0, ranks / np.where(length > 0, length, 1), np.nan)
        found[..., query] = np.einsum("alk,blk->abl", unit, unit)
    known = ~np.isnan(found)
    counts = known.sum(-1)
    mean = np.where(known, found, 0).sum(-1) / np.where(counts > 0, counts, 1)
    return np.where(counts > 0, mean, np.nan)
