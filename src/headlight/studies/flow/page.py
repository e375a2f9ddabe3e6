"""The page of what hidden tokens come from."""

import xarray as xr

from headlight.findings.answers import tokens
from headlight.findings.wording import listed
from headlight.settings.flow import METHODS
from headlight.views.parts import (
    By,
    Columns,
    Curve,
    Drawing,
    Map,
    Section,
    Summary,
    categories,
    columns,
    curves,
    maps,
    rounded,
)

findings = tokens.flow
"""In words, which stand first."""

NAMES = {name: method.label for name, method in METHODS.items()}
BY_METHOD = By("map", NAMES, heading="method")
TOKENS = {"all": "all tokens", "first": "the first token", "last": "the last token"}
BY_TOKEN = By("token", TOKENS)


def summary(result: xr.Dataset) -> Summary:
    """The own share after the last layer, by each method."""
    last = result["own"].sel(token="all").isel(layer=-1)
    return rounded({f"own_{name}": float(last.sel(map=name)) for name in result["map"].values})


def sections(result: xr.Dataset) -> list[Section]:
    """By layer, by kind of input token, by distance, and whether methods agree."""
    return [_by_layer(result), _by_category(result), _by_distance(result), _agreement(result)]


def _by_layer(result: xr.Dataset) -> Section:
    whole = result.sel(token="all")
    both = [
        Curve(name, panel=panel, by=BY_METHOD, interval=True, percent=True)
        for name, panel in (("own", "From the token itself"), ("first", "From the first token"))
    ]
    tables = [
        columns(
            "own",
            "Share of the token itself after each layer, all tokens",
            whole,
            "layer",
            Columns("own", ".1%", by=BY_METHOD),
        ),
        columns(
            "first",
            "Share of the first token after each layer, all tokens",
            whole,
            "layer",
            Columns("first", ".1%", by=BY_METHOD),
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
        f"{_at_the_end(result)}Intervals: 95%, over documents or texts.",
        "",
        [Drawing("layers", "", "Shares by layer, a line for each method.", curves(whole, *both))],
        tables,
    )


def _at_the_end(result: xr.Dataset) -> str:
    """Say where the last layer ends, where methods of both kinds are compared."""
    through_all = [METHODS[str(name)].layer_map is None for name in result["map"].values]
    if all(through_all) or not any(through_all):
        return ""
    names = [NAMES[str(name)] for name in result["map"].values[through_all]]
    return (
        "In models with a norm behind the last layer (GPT-2, Llama) "
        f"{listed(names)} {'is' if len(names) == 1 else 'are'} of the vector behind that norm, "
        "and products of layers of the vector before it. "
    )


def _by_category(result: xr.Dataset) -> Section:
    names = categories(result, "category")
    last = result.isel(layer=-1)
    there = [each for each in names if last["by_category"].sel(category=each).notnull().any()]
    seen = last.sel(category=there)
    # A decoder's first token, which most attend to, is a kind of its own; its category has it too.
    first = [Columns("first", ".1%", "first token")] * (result.attrs.get("kind") == "decoder")
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
                seen,
                (BY_TOKEN, BY_METHOD),
                *first,
                Columns("by_category", ".1%", by=By("category", names)),
            )
        ],
    )


def _by_distance(result: xr.Dataset) -> Section:
    last = result.isel(layer=-1)
    there = [
        each
        for each in last["distance"].values
        if last["by_distance"].sel(distance=each).notnull().any()
    ]
    seen = last.sel(distance=there)
    asked = Curve(
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
        [Drawing("distances", "", "Shares by distance.", curves(seen, asked))],
        [
            columns(
                "distances",
                "Share of the input tokens at a distance, all tokens",
                seen.sel(token="all"),
                (BY_METHOD,),
                Columns("by_distance", ".1%", by="distance"),
            )
        ],
    )


def _agreement(result: xr.Dataset) -> Section:
    last = result.isel(layer=-1)
    asked = Map(
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
        [Drawing("agreement", "", "A map of methods by methods.", maps(last, asked))],
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
