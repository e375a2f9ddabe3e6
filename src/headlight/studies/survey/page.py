"""The survey: what weights, norms and effective attention say about every head."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from markupsafe import Markup
from numpy.typing import NDArray

from headlight.catalogue import Statistic, statistic, statistic_table
from headlight.catalogue.statistics import KEY_CLASSES
from headlight.findings import (
    Highlight,
    average,
    category_label,
    highlights,
    name_of,
    observed,
    out_of_reach,
    passage_of,
    surveyed,
    unit_of_keys,
)
from headlight.findings.head_answers import HEAD_ANSWERS as SAID, survey
from headlight.findings.head_ranking import FEWEST_TEXTS
from headlight.findings.statistics import (
    applies,
    measures_of,
    numbers_of,
    row_label,
    row_target,
    statistics_of,
)
from headlight.result.kinds import MULTI_KIND
from headlight.studies.survey.page_numbers import (
    chosen_sections,
    chosen_summary,
    heads_section,
    residual_section,
    token_section,
)
from headlight.views.colour import percent_text
from headlight.views.grid import anchor, head_grid
from headlight.views.parts import (
    By,
    Columns,
    Curve,
    Drawing,
    Map,
    Section,
    Summary,
    Table,
    categories,
    columns,
    curves,
    maps,
    mean_of,
    rounded,
)
from headlight.views.pictures import Line, LinePanel, Reference, SlopePanel, lines, slopes
from headlight.views.run_comparison import NO_PAGES, PassagePages, drawn_passage, strongest
from headlight.views.template import embedded, fragment
from headlight.vocabulary import CATEGORIES, NEIGHBOURS, NUMBERING, head_name

findings = survey
"""In words, which stand first."""

OUT_OF_REACH = "out of reach"
"""What the weight is called that effective attention leaves out."""
MANY_HEADS = 100
"""Above this many heads, shares of one kind of attending token are shown as means over heads."""
EVEN: dict[str, Any] = {"colour": "#8a929c", "dashed": True}
NAMED = 3
"""Heads whose weight and norm are farthest apart; they are named where all are drawn, beside those
of the first findings."""
FEWEST_LENGTHS = 4
"""Lengths of texts that make a curve."""
STANDS_OUT = 0.1
"""A head whose share changes by so much is named; a kind of token that gets less is left out."""


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
        _shares(result),
        _from_weight_to_norm(result, every),
        _matrices(result),
        _neighbours(result),
        _entropy(result),
        _dispersion(result),
        _correlation(result),
        _tables(result),
        residual_section(result),
        token_section(result),
        *chosen_sections(result),
    ]
    return [each for each in parts if each.drawings or each.tables or each.html]


def _measures(result: xr.Dataset) -> By:
    return By("measure", {row.name: row.short for row in surveyed(result)})


def _attending(result: xr.Dataset) -> dict[str, str]:
    """The kinds of attending tokens that there are, all together first, with their names."""
    names = categories(result, "query_category")
    labels = {name: names[name] for name in ("all", *CATEGORIES) if name in names}
    occurring = [name for name in labels if _seen(result.sel(query_category=name), "share")]
    return {name: labels[name] for name in occurring or labels}


def _seen(result: xr.Dataset, *names: str) -> bool:
    """Whether anything was observed of variables."""
    return any(name in result and bool(result[name].notnull().any()) for name in names)


def _highlights(result: xr.Dataset, every: Sequence[Highlight], pages: PassagePages) -> Section:
    examples = [_example(result, each, pages) for each in every]
    # The first stand on top of the page, unless it is one of several kinds of attention.
    on_top = 0 if MULTI_KIND in result.attrs else SAID
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
    place = highlight.layer, highlight.head
    name = "" if place[0] is None or place[1] is None else name_of(result, place[0], place[1])
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


class _Keys(NamedTuple):
    """Columns of a row: categories of keys; in a decoder the first token is one more."""

    variable: str
    dim: str
    labels: dict[str, str]

    @classmethod
    def of(cls, result: xr.Dataset) -> "_Keys":
        if "class_share" not in result:
            return cls("share", "key_category", categories(result))
        rows = [statistic(name) for name in KEY_CLASSES]
        occurring = [row for row in rows if _any_number(result, row)]
        labels = {row.name: row_target(result, row) for row in occurring}
        return cls("class_share", "key_class", labels)

    def shares(self, result: xr.Dataset, name: str) -> xr.DataArray:
        return result[self.variable].sel({self.dim: name}, drop=True)

    def prominent(self, result: xr.Dataset) -> dict[str, str]:
        """Return those that some head attends to; the panels of others would show a line at 0."""
        most = {name: float(self.shares(result, name).max()) for name in self.labels}
        return {name: label for name, label in self.labels.items() if most[name] >= STANDS_OUT}


def _any_number(result: xr.Dataset, row: Statistic) -> bool:
    return any(
        np.isfinite(numbers_of(result, row, m).value).any() for m in measures_of(result, row)
    )


def _shares(result: xr.Dataset) -> Section:
    keys = _Keys.of(result)
    of_tokens = {
        name: float(observed(result, "token_share", (), key_category=name))
        for name in categories(result)
    }
    token_shares = ", ".join(
        f"{percent_text(value)} are {categories(result)[name]}"
        for name, value in of_tokens.items()
        if value > 0
    )
    drawings = []
    for query in _attending(result):
        selected = result.sel(query_category=query)
        if not _seen(selected, keys.variable):
            continue
        label = f"from {_attending(result)[query]}"
        if query != "all" and result.sizes["layer"] * result.sizes["head"] > MANY_HEADS:
            selected = selected[[keys.variable]].mean("head")
        labels = keys.prominent(selected)
        by_category = {f"to_{name}": keys.shares(selected, name) for name in labels}
        share_curves = [
            Curve(
                f"to_{name}",
                panel=f"Share of {called}",
                by=_measures(result),
                percent=True,
                references=[Reference(of_tokens[name])]
                if query == "all" and name in of_tokens
                else [],
            )
            for name, called in labels.items()
        ]
        drawings.append(
            Drawing(
                "shares" if query == "all" else f"shares_from_{query}",
                "",
                f"Shares by layer and category, {label}.",
                curves(selected.assign(by_category), *share_curves),
                label,
            )
        )
    first = (
        " The first token, which most heads attend to for want of others, is a kind of its own; "
        "the other kinds are without it."
        if "first" in keys.labels
        else ""
    )
    return Section(
        "shares",
        "Where attention goes",
        "Each dot is a head and each line the mean of a layer: the share that goes to each kind "
        f"of {unit_of_keys(result)}, by each measure. Where the line of the norm lies below that "
        "of the weight, tokens are looked at but little is taken from them. Shares of effective "
        "attention add up to less than 100%: what is missing is weight that cannot reach the "
        f"output of the head.{first} "
        "The dashed line is the share of the tokens that are of that kind"
        f"{f': {token_shares}' if token_shares else ''}.",
        "Clark et al. (2019), Figure 2; Kobayashi et al. (2020), Figure 3; "
        "Brunner et al. (2020), Figure 1b–c",
        drawings,
    )


def _from_weight_to_norm(result: xr.Dataset, every: Sequence[Highlight]) -> Section:
    rows = surveyed(result)
    layers, sizes = result["layer"].values.tolist(), range(result.sizes["head"])
    heads = [head_name(layer, head) for layer in layers for head in sizes]
    looked_at = [statistic(name) for name in KEY_CLASSES if name != "other"]
    if "class_share" not in result:
        looked_at = looked_at[1:]
    values = {
        each: np.stack([numbers_of(result, each, row.name).value.ravel() for row in rows])
        for each in looked_at
        if rows
    }
    # Kinds of token that no head looks at have nothing to lose.
    panels = [
        SlopePanel(f"Share of {row_target(result, of)}", each, heads, STANDS_OUT, of.name)
        for of, each in values.items()
        if np.nan_to_num(each).max(initial=0.0) >= STANDS_OUT
    ]
    measures = [row.short for row in rows]
    means = "; ".join(
        f"{panel.title}: "
        + ", ".join(
            f"{measure} {percent_text(float(average(row)))}"
            for measure, row in zip(measures, panel.values, strict=True)
        )
        for panel in panels
    )
    drawing = Drawing(
        "from_weight_to_norm",
        "",
        f"From measure to measure, means over heads. {means}.",
        lambda: slopes(measures, panels),
    )
    return Section(
        "from-weight-to-norm",
        "From what is looked at to what counts",
        "Each thin line is a head, the thick one the mean over heads. Lines that fall: such tokens "
        "are looked at, but little is moved from them, or little of it counts. The heads that "
        "change most are named.",
        "Kobayashi et al. (2020), Section 4",
        [*_weight_against_norm(result, every), drawing] if panels and len(rows) > 1 else [],
    )


def _weight_against_norm(result: xr.Dataset, every: Sequence[Highlight]) -> list[Drawing]:
    """Return all heads by what they look at and what they take from there, where these differ.

    Of the kinds of attended token that one which loses or gains most; none without both measures.
    """
    if not {"weight", "norm"} <= set(map(str, result["measure"].values)):
        return []
    shares = {
        row: [numbers_of(result, row, name).value.ravel() for name in ("weight", "norm")]
        for row in map(statistic, KEY_CLASSES)
        if row.name != "other" and applies(result, row)
    }
    shares = {row: each for row, each in shares.items() if np.isfinite(each).all(axis=0).any()}
    if not shares:
        return []
    row = max(shares, key=lambda each: abs(np.nanmean(np.subtract(*shares[each]))))
    weight, norm = (100 * each for each in shares[row])
    names = [
        head_name(int(layer), int(head))
        for layer in result["layer"].values
        for head in range(result.sizes["head"])
    ]
    apart = np.nan_to_num(np.abs(weight - norm))
    spoken_of = [names.index(head_name(each.layer, each.head)) for each in every[:SAID]
                 if each.layer is not None and each.head is not None]  # fmt: skip
    farthest = np.argsort(-apart, kind="stable")[:NAMED]
    named = {int(at): names[at] for at in (*spoken_of, *farthest)}
    what = row_target(result, row)
    most = float(np.nanmax([weight, norm]))
    panel = LinePanel(
        "",
        [
            Line("a head", weight, norm, joined=False, marked=True, heads=names, named=named),
            Line("the same by both", np.array([0, most]), np.array([0, most]), **EVEN),
        ],
        x_label=f"to {what}, % of its weight",
        y_label="… % of its norm",
    )
    caption = (
        f"Each dot is a head: how much of its weight goes to {what}, and of its norm. Below the "
        "dashed line a head looks there and takes less."
    )
    return [Drawing("weight_against_norm", caption, caption, lambda: lines([panel]))]


def _matrices(result: xr.Dataset) -> Section:
    parts, queries = _Keys.of(result), _attending(result)
    keys = parts.labels
    attending = By("from", queries)
    variables: dict[str, xr.DataArray] = {}
    all_maps = []

    def show(name: str, title: str, rows: list[list[float]], labels: Mapping[str, str]) -> None:
        coords = {"from": list(queries), f"to_{name}": list(labels)}
        variables[name] = xr.DataArray(np.array(rows), coords, ["from", f"to_{name}"])
        across = By(f"to_{name}", labels, "to")
        scale = name if name in _measures(result).names else "green"
        all_maps.append(Map(name, title, (), attending, across, scale, (0, 1), ".1%"))

    for row in surveyed(result):
        here = result.sel(measure=row.name)
        by_key = {k: parts.shares(here, k) for k in keys}
        shares = [[mean_of(by_key[k].sel(query_category=q)) for k in keys] for q in queries]
        if row.name == "effective":
            lost = [float(average(out_of_reach(result, query))) for query in queries]
            shares = [[*each, out] for each, out in zip(shares, lost, strict=True)]
            show(row.name, row.title, shares, keys | {OUT_OF_REACH: OUT_OF_REACH})
        else:
            show(row.name, row.title, shares, keys)
    if _seen(result, "merged_share"):
        names = categories(result)
        chosen = {"query_category": list(queries), "key_category": list(names)}
        merged = result["merged_share"].sel(chosen).mean("layer")
        values = merged.transpose("query_category", "key_category").values.tolist()
        show("merged", "all heads together ‖Σαf(x)‖", values, names)
    cross = result.attrs.get("kind") == "cross"
    is_audio = unit_of_keys(result) == "frame"
    sides = (
        (" (pieces of the transcript)", " (frames)")
        if is_audio
        else (" (tokens of the target)", " (tokens of the source)")
    )
    rows, across = sides if cross else ("", "")
    table = xr.Dataset(variables)
    observed_maps = [each for each in all_maps if _seen(table, each.variable)]
    draw = maps(table, *observed_maps, columns=2)
    return Section(
        "matrices",
        "Which kind attends to which?",
        f"Rows attend{rows}, columns are attended to{across}; the numbers are percentages of a "
        "row, means over all layers and heads. The map of all heads together is of the norm of "
        "their sum (Σ). What is out of reach is weight that cannot change the output of the head; "
        "effective attention leaves it out, and so its shares add up to less than 100%.",
        "Clark et al. (2019), Section 3.2; Kobayashi et al. (2020)",
        [Drawing("matrices", "", "Shares by category of query and key.", draw)]
        if observed_maps
        else [],
    )


def _neighbours(result: xr.Dataset) -> Section:
    unit = unit_of_keys(result)
    rows = [statistic(name) for name in NEIGHBOURS]
    offsets = {row.labels["offset"]: f"Share of {row_target(result, row)}"
               for row in rows if applies(result, row)
               and float(result["neighbour"].sel(offset=row.labels["offset"]).max()) >= STANDS_OUT
               }  # fmt: skip
    by = (By("offset", offsets), _measures(result))
    draw = curves(
        result.sel(offset=list(offsets)), Curve("neighbour", panel="{offset}", by=by, percent=True)
    )
    words = f"Shares of the {unit}s before and after, by layer."
    return Section(
        "neighbours",
        "Do heads look at their neighbours?",
        f"The share that goes to the {unit} before, to the {unit} itself"
        f"{f' and to the {unit} after' if 1 in offsets else ''}; a dot near 100% is a head that "
        "does nothing else.",
        "Clark et al. (2019), Section 3.1",
        [Drawing("neighbours", "", words, draw)] if offsets else [],
    )


def _entropy(result: xr.Dataset) -> Section:
    uniform = float(observed(result, "entropy_uniform", ()))
    titles = {
        query: f"Entropy in nats, from {category_label(result, query, attending=True)}"
        for query in ("all", "cls")
        if query in result["query_category"].values
    }
    references = [Reference(uniform, "uniform attention")]
    by = (By("query_category", titles), _measures(result))
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
        [Drawing("entropy", "", "Entropies by layer.", draw)] if _seen(result, "entropy") else [],
    )


def _dispersion(result: xr.Dataset) -> Section:
    title = "Coefficient of variation"
    every = [
        Curve("vector_norm_cv", "‖f(x)‖, each head", title, colour="norm"),
        Curve("input_norm_cv", "‖x‖, input of the layer", title, colour="weight"),
    ]
    present = [each for each in every if _seen(result, each.variable)]
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
    if _seen(result, "effective_correlation_by_head"):
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
    heads, around = _heads(result), _half_widths(result)
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


def _half_widths(result: xr.Dataset) -> dict[str, list[float]]:
    """Return half the width of the intervals in the columns of `_heads`, where known."""
    low, high = (_heads(result, end) for end in ("low", "high"))
    if len(low) != len(_heads(result)):  # of one text, or of an earlier version
        return {}
    names = [name for name in low.columns if name in high.columns and name not in ("layer", "head")]
    return {name: ((high[name] - low[name]) / 2).tolist() for name in names}


def _heads(result: xr.Dataset, end: str = "value") -> pd.DataFrame:
    """A row for each head, of numbers or of one end of their intervals."""
    by_label: dict[str, NDArray[np.float64]] = {}
    statistics = [each for each in statistics_of(result, prominent=True) if each[0].per_measure]
    for measure in (row.name for row in surveyed(result)):
        for row, by in statistics:
            if measure in by:
                label = f"{measure} {row_label(result, row, short=True)}"
                by_label |= _column(label, row, getattr(by[measure], end))
    for row, by in statistics_of(result):
        if not row.per_measure and row.prominent:
            by_label |= _column(row_label(result, row, short=True), row, getattr(by[""], end))
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
