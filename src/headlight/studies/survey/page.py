"""The survey: what weights, norms and effective attention say about every head."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import xarray as xr
from markupsafe import Markup
from numpy.typing import NDArray

from headlight.catalogue import Statistic, statistic, statistic_table
from headlight.findings import (
    Highlight,
    category_label,
    highlights,
    name_of,
    observed,
    passage_of,
    surveyed,
)
from headlight.findings.head_answers import HEAD_ANSWERS, survey
from headlight.findings.head_ranking import FEWEST_TEXTS
from headlight.findings.statistics import applies, numbers_of, row_label, statistics_of
from headlight.result.estimate import Estimate
from headlight.result.kinds import MULTI_KIND
from headlight.studies.survey.page_numbers import (
    chosen_sections,
    chosen_summary,
    heads_section,
    residual_section,
    token_section,
)
from headlight.studies.survey.page_shares import (
    by_measure,
    has_numbers,
    matrices_section,
    neighbours_section,
    shares_section,
    weight_to_norm_section,
)
from headlight.views.grid import anchor, head_grid
from headlight.views.parts import (
    By,
    Columns,
    Curve,
    Drawing,
    Section,
    Summary,
    Table,
    columns,
    curves,
    mean_of,
    rounded,
)
from headlight.views.pictures import Reference
from headlight.views.run_comparison import NO_PAGES, PassagePages, drawn_passage, strongest
from headlight.views.template import embedded, fragment
from headlight.vocabulary import NUMBERING

Numbers = tuple[str, Statistic, Estimate]
"""A label, the row that it stands for, and the numbers of all heads."""

findings = survey
"""In words, which stand first."""

FEWEST_LENGTHS = 4
"""Lengths of texts that make a curve."""


def summary(result: xr.Dataset) -> Summary:
    """Return the share of the first token or separators, and the mean entropy of weights."""
    shares_by_name: Summary = {}
    name = "first" if "class_share" in result else "sep"
    for measure in map(str, result["measure"].values):
        for each in (name, "entropy"):
            numbers = numbers_of(result, statistic(each), measure)
            shares_by_name[f"{measure}_to_{each}" if each == name else f"{measure}_{each}"] = (
                mean_of(numbers.value)
            )
    if "vector_norm_cv" in result:
        shares_by_name["vector_norm_cv"] = mean_of(result["vector_norm_cv"])
    if "effective_correlation_by_head" in result:
        shares_by_name["effective_correlation"] = mean_of(result["effective_correlation_by_head"])
    return rounded(shares_by_name | chosen_summary(result))


def sections(result: xr.Dataset, pages: PassagePages = NO_PAGES) -> list[Section]:
    """Return the sections: highlights, grid, shares by category, and differences of measures."""
    every = highlights(result)
    parts = [
        _highlights(result, every, pages),
        _grid(result, every),
        heads_section(result),
        shares_section(result),
        weight_to_norm_section(result, every),
        matrices_section(result),
        neighbours_section(result),
        _entropy(result),
        _dispersion(result),
        _correlation(result),
        _tables(result),
        residual_section(result),
        token_section(result),
        *chosen_sections(result),
    ]
    return [each for each in parts if each.drawings or each.tables or each.html]


def _highlights(result: xr.Dataset, every: Sequence[Highlight], pages: PassagePages) -> Section:
    examples = [_example(result, each, pages) for each in every]
    # The first stand on top of the page, unless it is one of several kinds of attention.
    on_top = 0 if MULTI_KIND in result.attrs else HEAD_ANSWERS
    below = [
        (each.text, each.kind, example)
        for each, example in zip(every[on_top:], examples[on_top:], strict=True)
        if each.kind != "inconclusive"
    ]
    return Section(
        "highlights",
        "What else stands out" if on_top else "What stands out",
        f"{NUMBERING} In a row of the corpus the framed token attends; the stronger the colour of "
        "a token, the more weight it gets, on one scale for all heads.",
        html=fragment("highlights.html", highlights=below) if below else Markup(),
        examples=examples[:on_top],
    )


def _example(result: xr.Dataset, highlight: Highlight, pages: PassagePages) -> Markup:
    """Return the head of a highlight as a link, its intervals, and a row of the corpus."""
    passage = _passage(result, highlight, pages)
    layer, head = highlight.layer, highlight.head
    name = "" if layer is None or head is None else name_of(result, layer, head)
    return fragment(
        "highlight.html", highlight=highlight, passage=passage, name=name, anchor=anchor(name)
    )


def _passage(
    result: xr.Dataset, highlight: Highlight, pages: PassagePages
) -> tuple[Markup, str, str] | None:
    """Return the passage of a highlight: its line, its caption, and its page."""
    if highlight.layer is None or highlight.head is None:
        return None
    passage = passage_of(result, highlight.kind, highlight.layer, highlight.head)
    if passage is None:
        return None
    kind = str(result.attrs.get("kind", ""))
    page = pages.get((kind, passage.rank), "")
    state = f"#h={highlight.layer}-{highlight.head}&q={passage.place}"
    drawn = drawn_passage(passage, own=kind != "cross")
    return drawn, strongest(passage), page and page + state


def _grid(result: xr.Dataset, every: Sequence[Highlight]) -> Section:
    grid = head_grid(result, every)
    kind = str(result.attrs.get("kind", ""))
    prefix = f"{kind}-" if MULTI_KIND in result.attrs else ""
    html = Markup()
    if grid:
        data = {
            "views": grid.views,
            "first": grid.first,
            "layers": result.sizes["layer"],
            "heads": result.sizes["head"],
            "measures": [row.name for row in surveyed(result)],
        }
        html = fragment("grid.html", grid=grid, p=prefix, kind=kind, data=embedded(data))
    return Section(
        "grid",
        "All heads at a glance",
        "Each square is a head. Choose one with the pointer or the arrow keys. The colours of a "
        "question keep their range from measure to measure, so that they can be compared.",
        html=html,
    )


def _entropy(result: xr.Dataset) -> Section:
    uniform = float(observed(result, "entropy_uniform", ()))
    titles = {
        query: f"Entropy in nats, from {category_label(result, query, attending=True)}"
        for query in ("all", "cls")
        if query in result["query_category"].values
    }
    references = [Reference(uniform, "uniform attention")]
    by = (By("query_category", titles), by_measure(result))
    draw = curves(
        result.sel(query_category=list(titles)),
        Curve("entropy", panel="{query_category}", by=by, references=references),
    )
    return Section(
        "entropy",
        "How broadly does attention spread?",
        "Entropy says how broadly a token attends: n nats are an even spread over eⁿ tokens, and 0 "
        "is one token. At the dashed line a head looks at all tokens alike.",
        "Clark et al. (2019), Figure 4",
        [Drawing("entropy", "", "Entropies by layer.", draw)]
        if has_numbers(result, "entropy")
        else [],
    )


def _dispersion(result: xr.Dataset) -> Section:
    title = "Coefficient of variation"
    every = [
        Curve("vector_norm_cv", "‖f(x)‖, each head", title, colour="norm"),
        Curve("input_norm_cv", "‖x‖, input of the layer", title, colour="weight"),
    ]
    present = [each for each in every if has_numbers(result, each.variable)]
    draw = curves(result, *present)
    return Section(
        "dispersion",
        "How much do the transformed vectors differ in length?",
        "f(x) is the vector that a head would move from a token at weight 1, ‖f(x)‖ its length, "
        "and CV the standard deviation of lengths over their mean. If all were alike (CV near 0), "
        "weights alone would tell what is moved; the more they vary, the more the norm corrects "
        "the weight.",
        "Kobayashi et al. (2020), Tables 1 and 4",
        [Drawing("dispersion", "", "Lengths of vectors by layer.", draw)] if present else [],
    )


def _correlation(result: xr.Dataset) -> Section:
    drawings = []
    counts = observed(result, "effective_correlation_count", ("length",))
    # One or two texts say nothing about their length, and few lengths are no curve.
    enough = np.flatnonzero(counts >= FEWEST_TEXTS)
    if len(enough) >= FEWEST_LENGTHS:
        drawn = result.isel(length=enough)
        by_length = curves(
            drawn,
            Curve(
                "effective_correlation",
                panel="Correlation by length of the text",
                over="length",
                error="effective_correlation_std",
                x_label="tokens in the text (from)",
                colour="effective",
                marked=True,
            ),
            Curve(
                "effective_correlation_count",
                panel="Examples of that length",
                over="length",
                x_label="tokens in the text (from)",
                marked=True,
            ),
        )
        words = "Correlation of effective and raw attention by length."
        drawings.append(Drawing("correlation_by_length", "", words, by_length))
    if has_numbers(result, "effective_correlation_by_head"):
        title = "Correlation by layer"
        curve = Curve("effective_correlation_by_head", panel=title, colour="effective")
        words = "Correlation of effective and raw attention by layer, a dot for each head."
        drawings.append(Drawing("correlation", "", words, curves(result, curve)))
    return Section(
        "correlation",
        "How far is effective attention from the weight?",
        "Pearson correlation of effective and raw attention. By length of the text, the band is "
        "one standard deviation over examples; once a text is longer than a head is wide, the two "
        "differ.",
        "Brunner et al. (2020), Figure 1a",
        drawings,
    )


def _tables(result: xr.Dataset) -> Section:
    numbers = _prominent(result)
    heads, around = _heads(result, numbers), _half_widths(result, numbers)
    layers = heads.groupby("layer", as_index=False).mean().drop(columns="head")
    shares = dict.fromkeys([name for name in heads.columns if name.endswith("%")], ".1f")
    tables = [
        Table("layers", "Means over heads", layers, shares),
        Table("heads", "All heads", heads, shares, around=around),
        _lengths(result),
        _whole_layers(result),
    ]
    return Section(
        "tables",
        "Tables",
        "Shares are percentages, entropies are in nats. Behind ± is half the interval "
        "of 95%: two heads of which these overlap are not told apart by these texts. A click on a "
        "column's name sorts by it.",
        tables=[table for table in tables if table is not None and len(table.frame)],
    )


def _lengths(result: xr.Dataset) -> Table | None:
    """Mean, σ and CV of ‖f(x)‖ and ‖x‖ (Kobayashi et al. 2020, Tables 1 and 4)."""
    rows = []
    for label, name, dims in (
        ("‖f(x)‖, over heads", "vector_norm", ("layer", "head")),
        ("‖x‖, over layers", "input_norm", ("layer",)),
    ):
        of = {end: observed(result, f"{name}_{end}", dims) for end in ("mean", "std", "cv")}
        if not np.isfinite(of["cv"]).any():
            continue
        ends = (observed(result, f"{name}_max", dims), observed(result, f"{name}_min", dims))
        rows.append(
            {
                "vector": label,
                "mean": mean_of(of["mean"]),
                "σ": mean_of(of["std"]),
                "CV": mean_of(of["cv"]),
                "largest CV": float(np.nanmax(of["cv"])),
                "largest in": _where(result, int(np.nanargmax(of["cv"])), dims),
                "smallest CV": float(np.nanmin(of["cv"])),
                "smallest in": _where(result, int(np.nanargmin(of["cv"])), dims),
                "longest": float(np.nanmax(ends[0], initial=-np.inf)),
                "shortest": float(np.nanmin(ends[1], initial=np.inf)),
            }
        )
    return Table("dispersion", "Dispersion of vector lengths", pd.DataFrame(rows)) if rows else None


def _where(result: xr.Dataset, place: int, dims: tuple[str, ...]) -> str:
    """The name of a layer or head by its place in an array."""
    row, *head = map(int, np.unravel_index(place, tuple(result.sizes[dim] for dim in dims)))
    return name_of(result, int(result["layer"].values[row]), *head)


def _whole_layers(result: xr.Dataset) -> Table:
    """Measures of a whole layer, which stand at the place of its first head, and ‖x‖."""
    by_label: dict[str, NDArray[np.float64]] = {}
    for measure in surveyed(result, per_head=False):
        for row in statistic_table():
            if row.prominent and row.per_measure and applies(result, row):
                label = f"{measure.short}: {row_label(result, row, short=True)}"
                by_label |= _column(label, row, numbers_of(result, row, measure.name).mean(1).value)
    for label, name in (("‖x‖ mean", "mean"), ("‖x‖ σ", "std"), ("‖x‖ CV", "cv")):
        by_label[label] = observed(result, f"input_norm_{name}", ("layer",))
    return _of_places(result, "layers_beside", "All layers: what heads have together", by_label)


def _of_places(
    result: xr.Dataset, name: str, caption: str, by_label: Mapping[str, NDArray[np.float64]]
) -> Table:
    """A row for each layer, or for each head; columns without any number are left out."""
    nonempty = {label: each for label, each in by_label.items() if np.isfinite(each).any()}
    dims = ("layer", "head")[: max((each.ndim for each in nonempty.values()), default=1)]
    data = xr.Dataset(
        {f"v{n}": (dims, each) for n, each in enumerate(nonempty.values())},
        {dim: result[dim] for dim in dims},
    )
    shown_columns = [
        Columns(f"v{n}", ".1f" if label.endswith("%") else "", label.replace("{", "{{"))
        for n, label in enumerate(nonempty)
    ]
    table = columns(name, caption, data, dims, *shown_columns)
    return table if shown_columns else Table(name, caption, pd.DataFrame())


def _half_widths(result: xr.Dataset, numbers: Sequence[Numbers]) -> dict[str, list[float]]:
    """Return half the width of the intervals in the columns of `_heads`, where known."""
    low, high = (_heads(result, numbers, end) for end in ("low", "high"))
    if len(low) != len(_heads(result, numbers)):  # of one text, or of an earlier version
        return {}
    names = [name for name in low.columns if name in high.columns and name not in ("layer", "head")]
    return {name: ((high[name] - low[name]) / 2).tolist() for name in names}


def _prominent(result: xr.Dataset) -> list[Numbers]:
    """Return the numbers of all heads that stand in tables, with their labels and rows."""
    statistics = statistics_of(result, prominent=True)
    return [
        (f"{measure.name} {row_label(result, row, short=True)}", row, by[measure.name])
        for measure in surveyed(result)
        for row, by in statistics
        if row.per_measure and measure.name in by
    ] + [
        (row_label(result, row, short=True), row, by[""])
        for row, by in statistics_of(result)
        if not row.per_measure and row.prominent
    ]


def _heads(result: xr.Dataset, numbers: Sequence[Numbers], end: str = "value") -> pd.DataFrame:
    """Return a row for each head, of numbers or of one end of their intervals."""
    by_label: dict[str, NDArray[np.float64]] = {}
    for label, row, estimate in numbers:
        by_label |= _column(label, row, getattr(estimate, end))
    places = pd.MultiIndex.from_product(
        [result["layer"].values, result["head"].values], names=["layer", "head"]
    )
    frame = pd.DataFrame({name: each.ravel() for name, each in by_label.items()}, places)
    # Without what was not observed, and the heads that a layer does not have.
    return frame.dropna(axis=0, how="all").dropna(axis=1, how="all").reset_index()


def _column(
    label: str, row: Statistic, values: NDArray[np.float64]
) -> dict[str, NDArray[np.float64]]:
    return {f"{label} %": 100 * values} if row.unit == "share" else {label: values}
