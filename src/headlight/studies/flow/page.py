"""Page of the flow study: the input tokens that hidden tokens come from."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from headlight.findings import flow
from headlight.findings.phrases import listed, percent, plural
from headlight.findings.what_was_read import what_was_read
from headlight.settings.flow import METHODS, foremost
from headlight.views.headline import BarList, Headline, value_bars
from headlight.views.parts import (
    By,
    Columns,
    Curve,
    Drawing,
    Map,
    Section,
    Summary,
    columns,
    curves,
    maps,
)
from headlight.views.parts.result_facts import categories, mean_of, rounded, settings_of
from headlight.views.sentences import sentences_of
from headlight.views.titles import Subject

findings = flow.flow
"""Findings in words, shown first."""

NAMES = {name: method.label for name, method in METHODS.items()}
BY_METHOD = By("map", NAMES, heading="method")
TOKENS = {"all": "all tokens", "first": "the first token", "last": "the last token"}
BY_TOKEN = By("token", TOKENS)
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
MIXING_PAPER = "Kobayashi et al. (2021)"


def summary(result: xr.Dataset) -> Summary:
    """Return each method's own share after the last layer, and mean mixing ratios over layers."""
    numbers: dict[str, float] = {}
    if "own" in result:
        last = result["own"].sel(token="all").isel(layer=-1)
        numbers |= {f"own_{name}": float(last.sel(map=name)) for name in result["map"].values}
    if "mixing" in result:
        ratios = result["mixing"]
        numbers |= {f"mixing_{scope}": mean_of(ratios.sel(scope=scope)) for scope in scopes(result)}
    return rounded(numbers)


def headline(result: xr.Dataset) -> Headline:
    """Return what is a token's own, and from where the rest comes; or how much layers mix in."""
    first = sentences_of(what_was_read(result).sentence)[:1]
    read = " ".join([f"{Subject.from_result(result)}.", *first])
    title = findings(result)[0]
    if "own" not in result:
        mixed = {
            label: mean_of(result["mixing"].sel(scope=scope))
            for label, scope in (
                ("attention and the residual connection", flow.WHOLE),
                ("attention alone", flow.ALONE),
            )
        }
        return Headline(
            title,
            read,
            [
                BarList(
                    "Taken from the context by a layer", value_bars(mixed, percent, series="norm")
                )
            ],
        )
    last = result.isel(layer=-1).sel(token="all")
    name = foremost(map(str, last["map"].values))
    own = {
        NAMES[method]: float(last["own"].sel(map=method))
        for method in sorted(map(str, last["map"].values), key=lambda method: method != name)
    }
    is_decoder = result.attrs.get("kind") == "decoder"
    note = "The first token counts by its distance, too." if is_decoder else ""
    pictures = [
        BarList(
            f"{flow.after(result)}: how much of a token is itself",
            value_bars(own, percent, series="norm"),
        ),
        BarList(
            f"From where the rest comes, by {NAMES[name]}",
            value_bars(_rest(last, name), percent, series="norm"),
            note,
        ),
    ]
    return Headline(title, read, pictures)


def _rest(last: xr.Dataset, name: str) -> dict[str, float]:
    """Return the shares of tokens by their distance, and in a decoder that of the first token."""
    shares, starts = last["by_distance"].sel(map=name), last["distance"].values.tolist()
    is_decoder = last.attrs.get("kind") == "decoder"
    rest = {"the first token": float(last["first"].sel(map=name))} if is_decoder else {}
    for least, after in zip(starts[1:], [*starts[2:], None], strict=True):
        if after is None:
            label = f"{least} or more tokens away"
        elif after - least == 1:
            label = f"{plural(least, 'token')} away"
        else:
            label = f"{least} to {after - 1} tokens away"
        if np.isfinite(share := float(shares.sel(distance=least))):
            rest[label] = share
    return rest


def scopes(result: xr.Dataset) -> list[str]:
    """Return the scopes of the mixing ratios in a result."""
    return list(map(str, result["scope"].values))


def sections(result: xr.Dataset) -> list[Section]:
    """Return the sections by layer, token and distance, on agreement, and on mixing ratios."""
    parts = []
    if "own" in result:
        parts += [
            _layers_section(result),
            _categories_section(result),
            _distances_section(result),
            _agreement(result),
        ]
    if "mixing" in result:
        parts += [_mixing_by_layer(result), *_mixing_by_groups(result)]
    return parts


def _mixing_by_groups(result: xr.Dataset) -> list[Section]:
    """Return the sections on groups of tokens; on masks where there are any."""
    groups: dict[str, tuple[Mapping[Any, str], str, str]] = {
        "category": (
            categories(result, "category"),
            "Mixing by category of tokens",
            "The same for the tokens of each category.",
        ),
        "frequency": (
            BANDS,
            "Mixing by frequency",
            "The same for tokens whose type occurs so often in the very corpus.",
        ),
        "state": (
            STATES,
            "Mixing of masks",
            "The same for mask tokens, which have nothing of their own to keep but their position, "
            "and for all others but special ones.",
        ),
    }
    if not result["mixing_by_state"].sel(state="masked").notnull().any():
        del groups["state"]
    return [_mixing_by_group(result, group, *about) for group, about in groups.items()]


def _layers_section(result: xr.Dataset) -> Section:
    whole = result.sel(token="all")
    both = [
        Curve(name, panel=panel, by=BY_METHOD, interval=True, percent=True)
        for name, panel in (("own", "From the token itself"), ("first", "From the first token"))
    ]
    tables = [
        *(
            columns(
                name,
                f"Share of {source} after each layer, all tokens",
                whole,
                "layer",
                Columns(name, ".1%", by=BY_METHOD),
            )
            for name, source in (("own", "the token itself"), ("first", "the first token"))
        ),
        columns(
            "intervals",
            "With intervals; and of the first and the last token of a text",
            result,
            (BY_TOKEN, BY_METHOD, "layer"),
            Columns("own", ".1%", "own", interval=True),
            Columns("first", ".1%", "first", interval=("first low", "first high")),
        ),
    ]
    return Section(
        "layers",
        "What stays of a token",
        "The share of a token after a layer that comes from the input token at its own place, and "
        "from the first token of the text, by each method. Each row of shares sums to 100%. "
        f"{_describe_end(result)}Intervals: 95%, over documents or texts.",
        "",
        [Drawing("layers", "", "Shares by layer, a line for each method.", curves(whole, *both))],
        tables,
    )


def _describe_end(result: xr.Dataset) -> str:
    """Describe which vector ends the last layer, if methods of both kinds are compared."""
    through_all = [METHODS[str(name)].layer_map is None for name in result["map"].values]
    if all(through_all) or not any(through_all):
        return ""
    names = [NAMES[str(name)] for name in result["map"].values[through_all]]
    return (
        "In models with a norm behind the last layer (GPT-2, Llama) "
        f"{listed(names)} {'is' if len(names) == 1 else 'are'} of the vector behind that norm, "
        "and products of layers of the vector before it. "
    )


def _categories_section(result: xr.Dataset) -> Section:
    names = categories(result, "category")
    last = result.isel(layer=-1)
    occurring = [
        category for category in names if last["by_category"].sel(category=category).notnull().any()
    ]
    selected = last.sel(category=occurring)
    shown = [Columns("by_category", ".1%", by=By("category", names))]
    # A decoder's first token, which most attend to, is a kind of its own; its category has it too.
    if result.attrs.get("kind") == "decoder":
        shown.insert(0, Columns("first", ".1%", "first token"))
    return Section(
        "categories",
        "From which kinds of tokens",
        f"After the last layer looked at ({int(last['layer'])}): the share of all input tokens of "
        "a category, for all tokens, the first (which predicts in encoders with [CLS]) and the "
        "last (which predicts in decoders).",
        "",
        [],
        [
            columns(
                "categories",
                "Share of the input tokens of each category",
                selected,
                (BY_TOKEN, BY_METHOD),
                *shown,
            )
        ],
    )


def _distances_section(result: xr.Dataset) -> Section:
    last = result.isel(layer=-1)
    occurring = [
        distance
        for distance in last["distance"].values
        if last["by_distance"].sel(distance=distance).notnull().any()
    ]
    selected = last.sel(distance=occurring)
    curve = Curve(
        "by_distance",
        panel="{token}",
        by=(BY_TOKEN, BY_METHOD),
        over="distance",
        interval=True,
        percent=True,
        x_label="distance, from",
    )
    return Section(
        "distances",
        "From how far",
        "After the last layer looked at: the share of all input tokens at a distance, in bands "
        "that begin at the numbers below.",
        "",
        [Drawing("distances", "", "Shares by distance.", curves(selected, curve))],
        [
            columns(
                "distances",
                "Share of the input tokens at a distance, all tokens",
                selected.sel(token="all"),
                (BY_METHOD,),
                Columns("by_distance", ".1%", by="distance"),
            )
        ],
    )


def _agreement(result: xr.Dataset) -> Section:
    last = result.isel(layer=-1)
    agreement_map = Map(
        "agreement",
        "Rank correlation",
        rows=BY_METHOD,
        columns=By("other", NAMES, heading="method"),
        limits=(0.0, 1.0),
        format=".2f",
    )
    return Section(
        "agreement",
        "Whether methods agree",
        "Spearman's rank correlation of the shares of all input tokens in one token, mean over "
        "tokens: 1 where two methods put input tokens into the same order, 0 where the orders have "
        "nothing to do with each other. The map is that after the last layer.",
        "",
        [Drawing("agreement", "", "A map of methods by methods.", maps(last, agreement_map))],
        [
            columns(
                "agreement",
                "Rank correlation after each layer",
                result,
                (BY_METHOD, By("other", NAMES, heading="and"), "layer"),
                Columns("agreement", ".3f", "correlation", interval=True),
            )
        ],
    )


def _mixing_by_layer(result: xr.Dataset) -> Section:
    curve = Curve(
        "mixing", panel="Mixing ratio", by=BY_SCOPE, interval=True, percent=True, limits=(0.0, 1.0)
    )
    table = columns(
        "mixing", "Mixing ratio by layer", result, "layer", Columns("mixing", ".1%", by=BY_SCOPE)
    )
    tokens = columns(
        "mixing_tokens",
        "With intervals, and over single tokens",
        result,
        ("layer", BY_SCOPE),
        Columns("mixing", ".1%", "mixing", interval=True),
        Columns("mixing_mean", ".1%", "mean of tokens"),
        Columns("mixing_std", ".1%", "standard deviation"),
        Columns("mixing_min", ".1%", "smallest"),
        Columns("mixing_max", ".1%", "largest"),
    )
    return Section(
        "mixing",
        "What a layer mixes into a token",
        "The mixing ratio is how long the vector is that other tokens give, as a share of that and "
        "of what the token gives itself: 0 keeps the token as it is, 1 replaces it by its context. "
        "Seen by weights or norms alone, attention mixes; the residual connection keeps the token, "
        "and so does the norm behind it where there is one. In the paper these are ATTN-W, ATTN-N, "
        f"ATTNRES-W, ATTNRES-N and ATTNRESLN-N. {_describe_feed_forward(result)}"
        "Intervals: 95%, over documents or texts.",
        MIXING_PAPER,
        [Drawing("mixing", "", "Mixing ratios by layer.", curves(result, curve))],
        [table, tokens],
    )


def _describe_feed_forward(result: xr.Dataset) -> str:
    """Return the sentences on the feed-forward network; empty where it was left out."""
    if result.sizes["scope"] < len(SCOPES):
        return ""
    return (
        "Through the feed-forward network each part has the share that its activations, as straight"
        f" lines ({str(settings_of(result)['slope']).replace('_', ' ')}), give it (Kobayashi et "
        "al. 2024); biases belong to no token. "
    )


def _mixing_by_group(
    result: xr.Dataset, group: str, names: Mapping[Any, str], title: str, explanation: str
) -> Section:
    """Return the section on the ratio of the widest scope, by occurring groups of tokens."""
    name = f"mixing_{group}"
    variable, by = f"mixing_by_{group}", By(group, names)
    last = str(result["scope"].values[-1])
    whole = result.sel(scope=last)
    occurring = [label for label in names if whole[variable].sel({group: label}).notnull().any()]
    selected = whole.sel({group: occurring})
    curve = Curve(variable, panel=SCOPES[last], by=by, interval=True, percent=True)
    table = columns(
        name,
        f"{title}: {SCOPES[last]}",
        selected,
        ("layer", by),
        Columns(variable, ".1%", "mixing", interval=True),
    )
    drawing = Drawing(name, "", f"{title}.", curves(selected, curve))
    return Section(name, title, explanation, MIXING_PAPER, [drawing], [table])
