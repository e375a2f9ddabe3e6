"""The page of mixing ratios."""

from collections.abc import Mapping
from typing import Any

import xarray as xr

from headlight.findings.answers.tokens import mixing
from headlight.views.parts import (
    By,
    Columns,
    Curve,
    Drawing,
    Section,
    Summary,
    categories,
    columns,
    curves,
    mean_of,
    rounded,
    settings_of,
)

findings = mixing
"""In words, which stand first."""

SCOPES = {
    "weight": "weights",
    "norm": "norms",
    "weight_residual": "weights, residual",
    "norm_residual": "norms, residual",
    "norm_residual_norm": "norms, residual, norm",
    "feed_forward_residual": "the same, feed-forward, residual",
    "feed_forward_residual_norm": "the same, feed-forward, residual, norm",
}
BY_SCOPE = By("scope", SCOPES)
STATES = {"masked": "masked", "given": "not masked"}
BANDS = {1: "1 to 9 times", 10: "10 to 99", 100: "100 to 999", 1000: "1,000 and more"}
PAPER = "Kobayashi et al. (2021)"


def summary(result: xr.Dataset) -> Summary:
    """The mean over layers of each scope."""
    scopes = map(str, result["scope"].values)
    return rounded({f"mixing_{name}": mean_of(result["mixing"].sel(scope=name)) for name in scopes})


def sections(result: xr.Dataset) -> list[Section]:
    """By layer, by category, by frequency, and of masks where there are any."""
    found = [_by_layer(result), _by_category(result), _by_frequency(result)]
    masked = result["by_state"].sel(state="masked").notnull().any()
    return [*found, _by_state(result)] if masked else found


def _by_layer(result: xr.Dataset) -> Section:
    asked = Curve(
        "mixing", panel="Mixing ratio", by=BY_SCOPE, interval=True, percent=True, limits=(0.0, 1.0)
    )
    table = columns(
        "layers",
        "Mixing ratio by layer",
        result,
        "layer",
        Columns("mixing", ".1%", by=BY_SCOPE),
    )
    tokens = columns(
        "intervals",
        "With intervals, and over single tokens",
        result,
        ("layer", BY_SCOPE),
        Columns("mixing", ".1%", "mixing", interval=True),
        Columns("token_mean", ".1%", "mean of tokens"),
        Columns("token_std", ".1%", "standard deviation"),
        Columns("token_min", ".1%", "smallest"),
        Columns("token_max", ".1%", "largest"),
    )
    return Section(
        "layers",
        "What a layer mixes into a token",
        "The mixing ratio is how long the vector is that other tokens give, as a share of that and "
        "of what the token gives itself: 0 keeps the token as it is, 1 replaces it by its context. "
        "Seen by weights or norms alone, attention mixes; the residual connection keeps the token, "
        "and so does the norm behind it where there is one. In the paper these are ATTN-W, ATTN-N, "
        f"ATTNRES-W, ATTNRES-N and ATTNRESLN-N. {_feed_forward(result)}Intervals: 95%, bootstrap "
        "over texts.",
        PAPER,
        [Drawing("layers", "", "Mixing ratios by layer.", curves(result, asked))],
        [table, tokens],
    )


def _feed_forward(result: xr.Dataset) -> str:
    """What is said of the feed-forward network, where it was looked through."""
    if result.sizes["scope"] < len(SCOPES):
        return ""
    return (
        "Through the feed-forward network each part has the share that its activations, as straight"
        f" lines ({str(settings_of(result)['slope']).replace('_', ' ')}), give it (Kobayashi et "
        "al. 2024); biases belong to no token. "
    )


def _by_category(result: xr.Dataset) -> Section:
    return _by_group(
        result,
        "category",
        categories(result, "category"),
        ("categories", "By category of tokens"),
        "The same for the tokens of each category.",
    )


def _by_frequency(result: xr.Dataset) -> Section:
    return _by_group(
        result,
        "frequency",
        BANDS,
        ("frequency", "By frequency"),
        "The same for tokens whose type occurs so often in the very corpus.",
    )


def _by_state(result: xr.Dataset) -> Section:
    return _by_group(
        result,
        "state",
        STATES,
        ("states", "Masks"),
        "The same for mask tokens, which have nothing of their own to keep but their position, and "
        "for all others but special ones.",
    )


def _by_group(
    result: xr.Dataset,
    group: str,
    names: Mapping[Any, str],
    called: tuple[str, str],
    explanation: str,
) -> Section:
    """The ratio with everything around the attention, by a group of tokens that there are."""
    name, title = called
    variable, by = f"by_{group}", By(group, names)
    last = str(result["scope"].values[-1])
    whole = result.sel(scope=last)
    there = [each for each in names if whole[variable].sel({group: each}).notnull().any()]
    seen = whole.sel({group: there})
    asked = Curve(variable, panel=SCOPES[last], by=by, interval=True, percent=True)
    table = columns(
        name,
        f"Mixing ratio, {title.lower()}: {SCOPES[last]}",
        seen,
        ("layer", by),
        Columns(variable, ".1%", "mixing", interval=True),
    )
    drawing = Drawing(name, "", f"Mixing ratios, {title.lower()}.", curves(seen, asked))
    return Section(name, title, explanation, PAPER, [drawing], [table])
