"""Sections of a survey on where attention goes: shares of tokens, by weight and by norm."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr

from headlight.catalogue import Statistic, statistic
from headlight.catalogue.statistics import KEY_CLASSES
from headlight.findings import Highlight, average, observed, out_of_reach, surveyed, unit_of_keys
from headlight.findings.phrases import listed
from headlight.findings.statistics import applies, measures_of, numbers_of, row_target
from headlight.findings.survey import HEAD_ANSWERS as SAID
from headlight.views.number_formats import percent_text
from headlight.views.parts import By, Curve, Drawing, Map, Section, curves, maps
from headlight.views.parts.result_facts import categories, mean_of
from headlight.views.pictures import Line, LinePanel, Reference, SlopePanel, lines, slopes
from headlight.vocabulary import CATEGORIES, NEIGHBOURS, head_name

OUT_OF_REACH = "out of reach"
"""Label of the weight that effective attention leaves out."""
MANY_HEADS = 100
"""Number of heads above which shares of one category of queries are shown as means over heads."""
NAMED = 3
"""Number of heads with the largest difference of weight and norm that are named in the picture of
all heads, besides those of the first findings."""
STANDS_OUT = 0.1
"""Change of share from which a head is named; also the share below which a token is left out."""


def by_measure(result: xr.Dataset) -> By:
    """Return the measures of heads that a survey holds, for curves and maps."""
    return By("measure", {row.name: row.short for row in surveyed(result)})


def _attending(result: xr.Dataset) -> dict[str, str]:
    """Return the occurring categories of attending tokens with names, all tokens first."""
    names = categories(result, "query_category")
    labels = {name: names[name] for name in ("all", *CATEGORIES) if name in names}
    occurring = [name for name in labels if has_numbers(result.sel(query_category=name), "share")]
    return {name: labels[name] for name in occurring or labels}


def has_numbers(result: xr.Dataset, *names: str) -> bool:
    """Return whether any of these variables has a number."""
    return any(name in result and bool(result[name].notnull().any()) for name in names)


class _Keys(NamedTuple):
    """Columns of a row: categories of keys, and in a decoder the first token."""

    variable: str
    dim: str
    labels: dict[str, str]

    @classmethod
    def from_result(cls, result: xr.Dataset) -> "_Keys":
        if "class_share" not in result:
            return cls("share", "key_category", categories(result))
        rows = [statistic(name) for name in KEY_CLASSES]
        occurring = [row for row in rows if _any_number(result, row)]
        labels = {row.name: row_target(result, row) for row in occurring}
        return cls("class_share", "key_class", labels)

    def shares(self, result: xr.Dataset, name: str) -> xr.DataArray:
        return result[self.variable].sel({self.dim: name}, drop=True)

    def prominent(self, result: xr.Dataset) -> dict[str, str]:
        """Return the columns that some head attends to; panels of others would be lines at 0."""
        most = {name: float(self.shares(result, name).max()) for name in self.labels}
        return {name: label for name, label in self.labels.items() if most[name] >= STANDS_OUT}


def _left_out(labels: Sequence[str]) -> str:
    if not labels:
        return ""
    return f" Left out, since no head gives {STANDS_OUT:.0%} there: {listed(list(labels))}."


def _any_number(result: xr.Dataset, row: Statistic) -> bool:
    return any(
        np.isfinite(numbers_of(result, row, m).value).any() for m in measures_of(result, row)
    )


def shares_section(result: xr.Dataset) -> Section:
    """Return the shares of each kind of token, by layer and measure."""
    keys = _Keys.from_result(result)
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
        if not has_numbers(selected, keys.variable):
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
                by=by_measure(result),
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
    drawn = keys.prominent(result.sel(query_category="all"))
    omitted = _left_out([label for name, label in keys.labels.items() if name not in drawn])
    return Section(
        "shares",
        "Where attention goes",
        "Each dot is a head and each line the mean of a layer: the share that goes to each kind "
        f"of {unit_of_keys(result)}, by each measure. Where the line of the norm lies below that "
        "of the weight, tokens are looked at but little is taken from them. Shares of effective "
        "attention add up to less than 100%: what is missing is weight that cannot reach the "
        f"output of the head.{first} "
        "The dashed line is the share of the tokens that are of that kind"
        f"{f': {token_shares}' if token_shares else ''}.{omitted}",
        "Clark et al. (2019), Figure 2; Kobayashi et al. (2020), Figure 3; "
        "Brunner et al. (2020), Figure 1b–c",
        drawings,
    )


def weight_to_norm_section(result: xr.Dataset, highlighted: Sequence[Highlight]) -> Section:
    """Return the section on shares by measure: heads with high weight and low norm on tokens."""
    rows = surveyed(result)
    layers, sizes = result["layer"].values.tolist(), range(result.sizes["head"])
    heads = [head_name(layer, head) for layer in layers for head in sizes]
    looked_at = [statistic(name) for name in KEY_CLASSES if name != "other"]
    if "class_share" not in result:
        looked_at = looked_at[1:]
    values = {
        target: np.stack([numbers_of(result, target, row.name).value.ravel() for row in rows])
        for target in looked_at
        if rows
    }
    # Categories that no head attends to have nothing to lose.
    lookers = [
        target
        for target, shares in values.items()
        if np.nan_to_num(shares).max(initial=0) >= STANDS_OUT
    ]
    panels = [
        SlopePanel(
            f"Share of {row_target(result, target)}", values[target], heads, STANDS_OUT, target.name
        )
        for target in lookers
    ]
    omitted = _left_out(
        [
            row_target(result, target)
            for target, shares in values.items()
            if target not in lookers and np.isfinite(shares).any()
        ]
    )
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
        f"change most are named.{omitted}",
        "Kobayashi et al. (2020), Section 4",
        [*weight_against_norm(result, highlighted), drawing] if panels and len(rows) > 1 else [],
    )


def weight_against_norm(result: xr.Dataset, highlighted: Sequence[Highlight]) -> list[Drawing]:
    """Return all heads by their weights and norms on one kind of token; none without both measures.

    It is the kind that the first finding is about, else that which loses or gains most.

    Args:
        result: Survey of one kind of attention.
        highlighted: Highlights of the survey; the heads of the first ones are named.
    """
    if not {"weight", "norm"} <= set(map(str, result["measure"].values)):
        return []
    shares = {
        row: [numbers_of(result, row, name).value.ravel() for name in ("weight", "norm")]
        for row in map(statistic, KEY_CLASSES)
        if row.name != "other" and applies(result, row)
    }
    shares = {row: pair for row, pair in shares.items() if np.isfinite(pair).all(axis=0).any()}
    if not shares:
        return []
    about = highlighted[0].question if highlighted else ""
    row = next(
        (target for target in shares if target.name == about),
        max(shares, key=lambda target: abs(np.nanmean(np.subtract(*shares[target])))),
    )
    weight, norm = (100 * share for share in shares[row])
    names = [
        head_name(int(layer), int(head))
        for layer in result["layer"].values
        for head in range(result.sizes["head"])
    ]
    apart = np.nan_to_num(np.abs(weight - norm))
    spoken_of = [
        names.index(head_name(highlight.layer, highlight.head))
        for highlight in highlighted[:SAID]
        if highlight.layer is not None and highlight.head is not None
    ]
    farthest = np.argsort(-apart, kind="stable")[:NAMED]
    named = {int(at): names[at] for at in (*spoken_of, *farthest)}
    what = row_target(result, row)
    most = float(np.nanmax([weight, norm]))
    panel = LinePanel(
        "",
        [
            Line("a head", weight, norm, joined=False, marked=True, heads=names, named=named),
            Line(
                "the same by both",
                np.array([0, most]),
                np.array([0, most]),
                colour="#8a929c",
                dashed=True,
            ),
        ],
        x_label=f"to {what}, % of its weight",
        y_label="… % of its norm",
    )
    caption = (
        f"Each dot is a head: how much of its weight goes to {what}, and of its norm. Below the "
        "dashed line a head looks there and takes less."
    )
    return [Drawing("weight_against_norm", caption, caption, lambda: lines([panel]))]


def matrices_section(result: xr.Dataset) -> Section:
    """Return shares from each category of query to each of key, means over heads."""
    parts, queries = _Keys.from_result(result), _attending(result)
    keys = parts.labels
    attending = By("from", queries)
    variables: dict[str, xr.DataArray] = {}
    all_maps = []

    def show(name: str, title: str, rows: list[list[float]], labels: Mapping[str, str]) -> None:
        coords = {"from": list(queries), f"to_{name}": list(labels)}
        variables[name] = xr.DataArray(np.array(rows), coords, ["from", f"to_{name}"])
        across = By(f"to_{name}", labels, "to")
        scale = name if name in by_measure(result).names else "green"
        all_maps.append(Map(name, title, (), attending, across, scale, (0, 1), ".1%"))

    for row in surveyed(result):
        here = result.sel(measure=row.name)
        by_key = {k: parts.shares(here, k) for k in keys}
        shares = [[mean_of(by_key[k].sel(query_category=q)) for k in keys] for q in queries]
        if row.name == "effective":
            lost = [float(average(out_of_reach(result, query))) for query in queries]
            shares = [[*kept, out] for kept, out in zip(shares, lost, strict=True)]
            show(row.name, row.title, shares, keys | {OUT_OF_REACH: OUT_OF_REACH})
        else:
            show(row.name, row.title, shares, keys)
    if has_numbers(result, "merged_share"):
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
    observed_maps = [drawn_map for drawn_map in all_maps if has_numbers(table, drawn_map.variable)]
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


def neighbours_section(result: xr.Dataset) -> Section:
    """Return the shares of the tokens before and after, by layer."""
    unit = unit_of_keys(result)
    rows = [row for row in map(statistic, NEIGHBOURS) if applies(result, row)]
    most = {row: float(result["neighbour"].sel(offset=row.labels["offset"]).max()) for row in rows}
    offsets = {
        row.labels["offset"]: f"Share of {row_target(result, row)}"
        for row in rows
        if most[row] >= STANDS_OUT
    }
    omitted = _left_out([row_target(result, row) for row in rows if most[row] < STANDS_OUT])
    by = (By("offset", offsets), by_measure(result))
    draw = curves(
        result.sel(offset=list(offsets)), Curve("neighbour", panel="{offset}", by=by, percent=True)
    )
    words = f"Shares of the {unit}s before and after, by layer."
    return Section(
        "neighbours",
        "Do heads look at their neighbours?",
        f"The share that goes to the {unit} before, to the {unit} itself"
        f"{f' and to the {unit} after' if 1 in offsets else ''}; a dot near 100% is a head that "
        f"does nothing else.{omitted}",
        "Clark et al. (2019), Section 3.1",
        [Drawing("neighbours", "", words, draw)] if offsets else [],
    )
