"""The figures of the report, each with a sentence that says how to read it and where it is from."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr
from markupsafe import Markup
from numpy.typing import NDArray

from headlight.findings import category_label, observed, share, surveyed
from headlight.views.colour import series_styles
from headlight.views.lengths import correlation_panel
from headlight.views.numbers import Format, percent_cell, two_decimals
from headlight.views.panel import Panel, Series, draw_panel, swatch
from headlight.views.scale import round_domain
from headlight.views.taken import taken_panels
from headlight.vocabulary import CATEGORIES, NEIGHBOURS, Measure

_Legend = dict[str, tuple[Markup, str]]


@dataclass(frozen=True, slots=True)
class Variant:
    """One of several sets of panels that a figure shows in turn."""

    name: str
    label: str
    panels: list[Markup]


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure: its question, how to read it, its source, its legend and its panels."""

    name: str
    title: str
    help: str
    source: str
    legend: list[tuple[Markup, str]]
    variants: list[Variant]


def takeaway(result: xr.Dataset) -> Figure | None:
    """From what is looked at to what counts; None where measures cannot be compared."""
    panels = taken_panels(result)
    if not panels:
        return None
    return Figure(
        "takeaway",
        "From what is looked at to what counts",
        "Each thin line is a head, the thick one the mean over heads. Lines that fall: such tokens "
        "are looked at, but little is moved from them, or little of it counts. The heads that "
        "change most are named.",
        "",
        [],
        _single(panels),
    )


def figures(result: xr.Dataset) -> list[Figure]:
    """The figures of a survey; one for which nothing was observed is left out.

    Layers that were not looked at have a gap.
    """
    result = result.reindex(layer=range(int(result["layer"].max()) + 1))
    drawn = [
        _categories(result),
        _neighbours(result),
        _entropy(result),
        _dispersion(result),
        _correlation(result),
    ]
    return [figure for figure in drawn if figure.variants]


def _categories(result: xr.Dataset) -> Figure:
    variants: list[Variant] = []
    legend: _Legend = {}
    for query in ("all", *CATEGORIES):
        by_measure = [(row, _category_series(result, row.name, query)) for row in surveyed(result)]
        if query == "all":
            legend = _legend([one for _, series in by_measure for one in series])
        marks = {name: float(_token_share(result)[i]) for i, name in enumerate(CATEGORIES)}
        panels = _measure_panels(by_measure, marks if query == "all" else {})
        if panels:
            variants.append(Variant(query, f"from {_attending(result, query)}", panels))
    return Figure(
        "categories",
        "What kind of token is attended to?",
        "Each dot is a head and each line the mean of a layer: the share that goes to each kind "
        "of token. Where a line falls from the first panel to the second, tokens are looked at "
        "but little is taken from them. Shares of effective attention add up to less than 100%: "
        "what is missing is weight that cannot reach the output of the head. Short marks at the "
        "right edge: the share of the tokens that are of that kind.",
        "After Clark et al. (2019), Figure 2; Kobayashi et al. (2020), Figure 3; "
        "Brunner et al. (2020), Figure 1b–c.",
        list(legend.values()),
        variants,
    )


def _attending(result: xr.Dataset, category: str) -> str:
    return category_label(result, category, attending=True)


def _category_series(result: xr.Dataset, measure: str, query: str) -> list[Series]:
    return [
        Series(
            name,
            f"to {category_label(result, name)}",
            share(result, measure, name, query),
            series_styles()[name].marker,
        )
        for name in CATEGORIES
    ]


def _neighbours(result: xr.Dataset) -> Figure:
    by_measure = [(row, _neighbour_series(result, row.name)) for row in surveyed(result)]
    return Figure(
        "neighbours",
        "Do heads look at their neighbours?",
        "The share that goes to the token before, to the token itself and to the token after; a "
        "dot near 100% is a head that does nothing else.",
        "After Clark et al. (2019), Section 3.1.",
        list(_legend([one for _, series in by_measure for one in series]).values()),
        _single(_measure_panels(by_measure, {})),
    )


def _neighbour_series(result: xr.Dataset, measure: str) -> list[Series]:
    return [
        Series(
            name,
            f"to the {name} token",
            observed(result, "neighbour", measure=measure, offset=offset),
            series_styles()[name].marker,
        )
        for name, offset in NEIGHBOURS.items()
    ]


def _entropy(result: xr.Dataset) -> Figure:
    panels: list[Markup] = []
    legend: _Legend = {}
    uniform = float(observed(result, "entropy_uniform", ()))
    for query in ("all", "cls"):
        series = [
            Series(
                row.name,
                row.short,
                observed(result, "entropy", measure=row.name, query_category=query),
                row.marker,
            )
            for row in surveyed(result)
        ]
        legend |= _legend(series)
        title = f"Entropy (nats) from {_attending(result, query)}"
        reference = (uniform, "uniform attention")
        domain = _domain(series, at_least=(0.0, uniform if np.isfinite(uniform) else 1.0))
        panels += _panel(title, series, domain, two_decimals, reference)
    return Figure(
        "entropy",
        "How broadly does attention spread?",
        "Entropy says how broadly a token attends: n nats are an even spread over eⁿ tokens, and 0 "
        "is one token. At the dashed line a head looks at all tokens alike.",
        "After Clark et al. (2019), Figure 4.",
        list(legend.values()),
        _single(panels),
    )


def _dispersion(result: xr.Dataset) -> Figure:
    heads = Series("norm", "‖f(x)‖, each head", observed(result, "vector_norm_cv"), "square")
    inputs = observed(result, "input_norm_cv", ("layer",))[:, None]
    cv = [heads, Series("weight", "‖x‖, input of the layer", inputs, "circle", dots=False)]
    panels = _panel("Coefficient of variation", cv, _domain(cv), two_decimals)
    lengths = [
        Series(
            name,
            f"‖f(x)‖ of {category_label(result, name)}",
            observed(result, "vector_norm_by_category", key_category=name),
            series_styles()[name].marker,
        )
        for name in CATEGORIES
    ]
    panels += _panel("Mean length ‖f(x)‖ by kind of token", lengths, _domain(lengths), _short)
    return Figure(
        "dispersion",
        "How much do the transformed vectors differ in length?",
        "f(x) is the vector that a head would move from a token at weight 1, ‖f(x)‖ its length, "
        "and CV the standard deviation of lengths over their mean. If all were alike (CV near 0), "
        "weights alone would tell what is moved; "
        "the more they vary, the more the norm corrects the weight.",
        "After Kobayashi et al. (2020), Tables 1 and 4 and Figure 4.",
        list(_legend([*cv, *lengths]).values()),
        _single(panels),
    )


def _correlation(result: xr.Dataset) -> Figure:
    panels = correlation_panel(result)
    heads = Series(
        "effective",
        "effective and raw, each head",
        observed(result, "effective_correlation_by_head"),
    )
    domain = _domain([heads], at_least=(0.0, 1.0))
    panels += _panel("Correlation by layer", [heads], domain, two_decimals)
    return Figure(
        "correlation",
        "How far is effective attention from the weight?",
        "Pearson correlation of effective and raw attention. Left: by length of the text, the "
        "band is one standard deviation over examples and the bars say how many there were; "
        "once a text is longer than a head is wide, the two differ.",
        "After Brunner et al. (2020), Figure 1a.",
        [],
        _single(panels),
    )


def _measure_panels(
    by_measure: Sequence[tuple[Measure, list[Series]]], marks: dict[str, float]
) -> list[Markup]:
    """A panel for each measure, all with the same range so that they can be compared."""
    everything = [one for _, series in by_measure for one in series]
    domain = _domain(everything, at_least=(0.0, 1.0))
    panels: list[Markup] = []
    for row, series in by_measure:
        panels += _panel(f"Share of {row.title} (%)", series, domain, percent_cell, None, marks)
    return panels


def _panel(
    title: str,
    series: Sequence[Series],
    domain: tuple[float, float],
    format: Format,
    reference: tuple[float, str] | None = None,
    marks: dict[str, float] | None = None,
) -> list[Markup]:
    """The panel in a list, which is empty when nothing was observed."""
    if not any(one.seen for one in series):
        return []
    return [draw_panel(Panel(title, series, domain, format, reference, marks or {}))]


def _domain(
    series: Sequence[Series], at_least: tuple[float, float] = (0.0, 0.0)
) -> tuple[float, float]:
    seen = [one.values[np.isfinite(one.values)] for one in series]
    values = np.concatenate([*seen, np.array(at_least)])
    return round_domain(float(values.min()), float(values.max()))


def _legend(series: Sequence[Series]) -> _Legend:
    return {
        one.name + one.label: (swatch(one.name, one.shape), one.label) for one in series if one.seen
    }


def _single(panels: list[Markup]) -> list[Variant]:
    return [Variant("all", "", panels)] if panels else []


def _token_share(result: xr.Dataset) -> NDArray[np.float64]:
    return np.array([token_share(result, name) for name in CATEGORIES])


def token_share(result: xr.Dataset, category: str) -> float:
    """The share of the tokens that are of a category, or NaN."""
    return float(observed(result, "token_share", (), key_category=category))


def _short(value: float) -> str:
    return f"{value:.3g}"
