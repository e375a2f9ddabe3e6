"""Sections of a survey that show numbers which were chosen: ranks, importance, null spaces."""

import gzip
import json
from base64 import b64encode
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from headlight.findings import name_of, observed, pieces_of, surveyed
from headlight.views.grid import anchor
from headlight.views.head_numbers import HeadDetails, all_heads, head_places
from headlight.views.parts import (
    By,
    Columns,
    Curve,
    Drawing,
    Figure,
    Map,
    Section,
    Summary,
    Table,
    categories,
    columns,
    curves,
    maps,
    mean_of,
)
from headlight.views.pictures import (
    DensityPanel,
    Line,
    LinePanel,
    density,
    lines,
    weight_and_length,
)
from headlight.views.template import fragment
from headlight.vocabulary import MASSIVE, MASSIVE_RATIO

KOBAYASHI, BRUNNER = "Kobayashi et al. (2020), {}", "Brunner et al. (2020), {}"
QUANTITY = By("quantity", {"weight": "α received", "norm": "‖f(x)‖"})
LENGTH = By("length", heading="length from")
CELLS = 40
"""Number of cells along each side of the picture of points."""


def chosen_sections(result: xr.Dataset) -> list[Section]:
    """Return the sections of the optional numbers that the survey has."""
    parts: list[Section] = []
    if "weight_norm_spearman" in result:
        parts += [_ranks(result), _frequency(result)]
    if "importance" in result:
        parts.append(_importance(result))
    if "null_dimension" in result:
        parts.append(_null_spaces(result))
    return parts


def chosen_summary(result: xr.Dataset) -> Summary:
    """Return Spearman's ρ, loss and gradients, and null spaces, where they were chosen."""
    numbers: Summary = {}
    if "weight_norm_spearman" in result:
        for name in categories(result, "key_group"):
            of = result["weight_norm_spearman"].sel(key_group=name)
            numbers[f"spearman_{name}"] = float(of)
    if "importance" in result:
        numbers["loss"] = float(result["loss"])
        numbers["predicted_tokens"] = int(result["predicted_tokens"])
        for name in categories(result, "importance_key"):
            of = result["importance"].sel(importance_query="all", importance_key=name)
            numbers[f"importance_{name}"] = mean_of(of)
    if "null_dimension" in result:
        numbers["null_dimension"] = mean_of(result["null_dimension"])
    return numbers


def _ranks(result: xr.Dataset) -> Section:
    names = categories(result, "key_group")
    category = By("key_group", names, "category")
    part = result.sel(key_group=list(names))
    title = "Spearman's ρ of α and ‖f(x)‖"
    draw = curves(part, Curve("weight_norm_spearman_by_head", panel=title, by=category))

    def draw_pairs() -> Figure:
        pairs = {label: _pairs(result, name) for name, label in names.items()}
        longest = max(float(rows[:, 1].max(initial=0.0)) for rows in pairs.values())
        return density(
            [weight_and_length(label, rows, longest) for label, rows in pairs.items() if rows.size]
        )

    drawings = [Drawing("correlations", "", "Correlations by layer and category.", draw)]
    if np.isfinite(result["pairs_sample"]).any():
        words = "Pairs of a weight and a length, drawn at random."
        drawings.append(Drawing("pairs", words, words, draw_pairs))
    lengths = Map("vector_norm_by_category", by=category, scale="norm", unit="‖f(x)‖")
    words = "Head maps of lengths."
    drawings.append(Drawing("lengths", "Mean ‖f(x)‖ by head.", words, maps(part, lengths)))
    return Section(
        "ranks",
        "Do weights and lengths go together?",
        "Spearman's ρ of α and ‖f(x)‖: in the picture within each head, in the table also over "
        "the pairs of all heads pooled, where heads of long and of short vectors are mixed. Below "
        "zero, a token that gets much weight offers a short vector, so that attention to it moves "
        "little. Where the two differ, it is heads that differ, and not the tokens within one.",
        KOBAYASHI.format("Table 2 and Figures 4 and 5"),
        drawings,
        [
            columns(
                "correlations",
                title,
                part,
                category,
                Columns("weight_norm_spearman", label="all heads pooled"),
                Columns("weight_norm_spearman_by_head", label="within a head, mean"),
                Columns("weight_norm_spearman_count", ",d", "pairs", whole=True),
                Columns("vector_norm_by_category", label="mean ‖f(x)‖", interval=True),
            )
        ],
    )


def _pairs(result: xr.Dataset, category: str) -> np.ndarray:
    """The sampled pairs of a category, [pair, (weight, norm)]; only weights above zero."""
    pairs = result["pairs_sample"].sel(key_group=category).transpose("sample", "quantity").values
    return np.asarray(pairs[np.isfinite(pairs).all(axis=1) & (pairs[:, 0] > 0)])


def _frequency(result: xr.Dataset) -> Section:
    title = "Spearman's ρ with the frequency rank"
    draw = curves(result, Curve("frequency_spearman_by_head", panel=title, by=QUANTITY))
    return Section(
        "frequency",
        "Frequent tokens",
        "The rank of a token by frequency (1 is the most frequent) against the weight that it "
        "receives and the length of its vector. Above zero, rare tokens get more.",
        KOBAYASHI.format("Figure 6"),
        [Drawing("frequency", "", "Correlations with frequency by layer.", draw)],
        [
            columns(
                "frequency",
                title,
                result,
                QUANTITY,
                Columns("frequency_spearman", label="Spearman's ρ"),
                Columns("frequency_spearman_count", ",d", "tokens", whole=True),
            )
        ],
    )


def _importance(survey: xr.Dataset) -> Section:
    result = survey.sel(importance_query="all")
    names = {
        key: label
        for key, label in categories(result, "importance_key").items()
        if result["importance"].sel(importance_key=key).notnull().any()
    }
    category = By("importance_key", names)
    selected = result.sel(importance_key=list(names))
    most = float(selected["importance"].max())
    draw = curves(
        selected,
        Curve(
            "importance", panel="{importance_key}", by=category, limits=(0.0, 1.05 * most or 1.0)
        ),
    )
    draw_heads = maps(selected, Map("importance", by=category, scale="gradient"))
    table = columns(
        "importance",
        "Means over heads, by category of the key",
        selected,
        "layer",
        Columns("importance", by=category),
    )
    return Section(
        "importance",
        "What attention the loss depends on",
        "The mean over all pairs of a query and a key of a category of |∂L/∂α|: how much the loss "
        "of the model would change with the weight. Unmasked are all tokens but the mask tokens; "
        "the other categories are parts of them. Compare shapes, not values: how the loss is "
        "scaled is a convention.",
        "Clark et al. (2019), Figure 3",
        [
            Drawing("importance", "", "Mean gradient by layer and category.", draw),
            Drawing("importance_heads", "By head.", "Maps of heads by category.", draw_heads),
        ],
        [table],
    )


def _null_spaces(result: xr.Dataset) -> Section:
    over = ("layer", "head")

    def draw() -> Figure:
        at = result["keys_mean"].values
        drawn = [
            Line(
                "null space of T",
                at,
                result["null_dimension"].mean(over).values,
                result["null_dimension_min"].min(over).values,
                result["null_dimension_max"].max(over).values,
                "effective",
                marked=True,
            ),
            Line("lower bound", at, result["bound"].mean("layer").values, dashed=True, marked=True),
        ]
        return lines([LinePanel("Null spaces", drawn, "tokens", "dimension")])

    def draw_points() -> Figure:
        length, correlation = result["points"].values.T
        low, high = float(length.min()), float(length.max())
        edges = np.linspace(low - 0.5, high + 0.5, min(CELLS, int(high - low) + 1) + 1)
        heights = np.linspace(min(0.0, float(correlation.min())), 1.0, CELLS + 1)
        counts, _, _ = np.histogram2d(length, correlation, bins=(edges, heights))
        panel = DensityPanel("", counts, edges, heights, "tokens", "correlation", "effective")
        return density([panel], counted="texts")

    whole = result[["rank_by_length"]].mean("length")
    of_heads = whole["rank_by_length"].values
    ranks = np.unique(of_heads[np.isfinite(of_heads)])
    drawings = []
    if result.sizes["length"] > 1:
        words = "Dimensions of null spaces by length."
        drawings.append(Drawing("null_spaces", "", words, draw))
    if len(ranks) > 1:
        title = "Rank of T, mean over lengths"
        drawn = Map("rank_by_length", title, scale="effective", format=".4g", unit="")
        drawings.append(Drawing("rank_heads", "", "Ranks of T by head.", maps(whole, drawn)))
    if result.sizes["length"] > 1 and len(result["points"]):
        words = "Correlation of raw and effective attention of texts, by length."
        drawings.append(Drawing("correlation_points", words, words, draw_points))
    same = f" The rank of T is {ranks[0]:.4g} in all heads." if len(ranks) == 1 else ""
    if result.sizes["length"] == 1:
        same += f" All texts are of one length, {float(result['keys_mean'].mean()):.4g} tokens."
    return Section(
        "null-spaces",
        "How much of attention cannot be seen in the output",
        "Attention weights can be changed within the left null space of T, the transformed "
        "values, without any change of the output. For texts longer than a head is wide, the null "
        "space is not empty: its dimension is the length less the rank of T, which is the head "
        "size at most. Rows keep their sum: of changes that leave the sum of a row at 1, which is "
        "one dimension less at most. The band is from the smallest to the largest of all heads and "
        f"texts. The correlation is that of the cells of raw and of effective attention.{same}",
        BRUNNER.format("Section 3.2 and Figure 1a"),
        drawings,
        [
            columns(
                "null_spaces",
                "By length of the text, means over heads",
                result,
                LENGTH,
                Columns("text_count", label="texts", whole=True),
                Columns("rank_by_length", ".4g", "rank of T"),
                Columns("null_dimension", ".4g", "null space"),
                Columns("bound", ".4g", "at least"),
                Columns("null_dimension_with_ones", ".4g", "null space, rows keep their sum"),
                Columns("bound_with_ones", ".4g", "at least, rows keep their sum"),
                Columns("effective_correlation", label="correlation"),
                Columns("effective_correlation_std", label="σ"),
            )
        ],
    )


def heads_section(result: xr.Dataset) -> Section:
    """All heads as points with axes that are chosen, and below it the one that was chosen."""
    places = head_places(result)
    if not places:
        return Section("each-head", "", "")
    of_heads = HeadDetails(result)
    details = [of_heads.of(layer, head) for layer, head in places]
    return Section(
        "each-head",
        "One head at a time",
        "What the head that is chosen does, with its rank among all heads, and where in the "
        "corpus. Its name is its address, behind a #.",
        html=fragment("heads.html", all=_packed(all_heads(result)), details=_packed(details)),
    )


def _packed(value: Any) -> str:
    """JSON as pages carry it, a fifth of its size."""
    text = json.dumps(value, separators=(",", ":"))
    return b64encode(gzip.compress(text.encode(), 6, mtime=0)).decode()


COLUMNS = {
    "residual_max": ("largest entry", 1, ".1f"),
    "residual_ratio": ("times the median", 1, ".0f"),
    "residual_massive": ("texts with a massive one %", 100, ".0f"),
    "residual_length": ("first token, times the median length", 1, ".1f"),
    "residual_highest": ("highest of the corpus", 1, ".1f"),
    "residual_dimension": ("dimension", 1, ".0f"),
    "residual_place": ("place", 1, ".0f"),
}


def residual_section(result: xr.Dataset) -> Section:
    """Return the section on the size of the residual stream; empty where that is not known."""
    if not np.isfinite(observed(result, "residual_max", ("layer",))).any():
        return Section("residual", "", "")
    any_massive = bool((observed(result, "residual_massive", ("layer",)) > 0).any())
    residual_curves = (
        Curve("residual_max", panel="Largest entry of a text, mean"),
        Curve("residual_length", panel="First token, times the median length"),
    )
    columns: dict[str, object] = {"layer": result["layer"].values}
    columns |= {
        label: factor * observed(result, name, ("layer",))
        for name, (label, factor, _) in COLUMNS.items()
    }
    if "residual_token" in result:
        columns["token"] = [piece.label for piece in pieces_of(result, "residual_token")]
    formats = {label: format for label, _, format in COLUMNS.values()}
    return Section(
        "residual",
        "How large does the residual stream get?",
        "The input of each block, before normalization. An entry is massive if it is above "
        f"{MASSIVE} in size and at least {MASSIVE_RATIO:,} times the median entry of the text: few "
        "dimensions of few tokens, mostly the first, which heads then attend to.",
        "Sun et al. (2024), Section 2",
        [Drawing("residual", "", "Sizes by layer.", curves(result, *residual_curves))]
        * any_massive,
        [Table("residual", "Largest entries, by layer", pd.DataFrame(columns), formats)],
    )


MOST_HEADS = 5
"""Heads that have a table."""
BY = 2
"""Measures that a table shows, the first of the survey."""


def token_section(result: xr.Dataset) -> Section:
    """The heads whose keys are least like the tokens of the corpus; nothing without tokens."""
    measures = [row for row in surveyed(result) if row.per_head][:BY]
    if "top_token" not in result or not measures:
        return Section("tokens", "", "")
    ranked = measures[-1].name
    divergence = observed(result, "token_divergence", side="key", measure=ranked)
    order = np.argsort(-np.nan_to_num(divergence, nan=-1).ravel(), kind="stable")[:MOST_HEADS]
    tables = []
    for place in order:
        layer, head = map(int, np.unravel_index(place, divergence.shape))
        if not divergence[layer, head] > 0:
            continue
        here = result.isel(layer=layer, head=head)
        columns: dict[str, object] = {}
        formats: dict[str, str] = {}
        for side, what in (("key", "attended to"), ("query", "attending")):
            for row in measures if side == "key" else measures[-1:]:
                part = here.sel(side=side, measure=row.name)
                label = f"{what}, {row.short}"
                columns[label] = _labels(part)
                columns[f"{label} %"] = 100 * observed(part, "top_token_share", ("top",))
                columns[f"{label} lift"] = observed(part, "top_token_lift", ("top",))
                formats |= {f"{label} %": ".1f", f"{label} lift": ".1f"}
        name = name_of(result, int(result["layer"].values[layer]), head)
        frame = pd.DataFrame(columns)
        frame = frame[(frame.iloc[:, ::3] != "").any(axis=1)]
        caption = f"Tokens of head {name}: {divergence[layer, head]:.2f} nats"
        tables.append(Table(f"tokens_{anchor(name)}", caption, frame, formats))
    covered = float(observed(result, "token_coverage", ("side",))[0])
    many = int(result.attrs["token_types"])
    scope = (
        ""
        if covered > 1 - 1e-12
        else f"Of the vocabulary the first {many:,} tokens that occur are looked at, which are "
        f"{covered:.1%} of the text. "
    )
    return Section(
        "tokens",
        "Which tokens do heads attend to?",
        "The heads whose attention is least like the text: what tokens get, summed over the whole "
        f"corpus, against how often they stand there, by {measures[-1].short} (Kullback–Leibler "
        "divergence). A lift of 3 is three times as much as their frequency. Tokens are in the "
        f"order of share × ln lift. {scope}What the first token of a text gets is left out; what a "
        "token gives is what goes neither to that nor to special tokens.",
        tables=tables,
    )


def _labels(part: xr.Dataset) -> list[str]:
    """The tokens as text; of two that are alike but for the blank before them, with that."""
    pieces = pieces_of(part, "top_token")
    alike = Counter(piece.label for piece in pieces)
    return [
        f"␣{piece.label}" if alike[piece.label] > 1 and piece.mark == " " else piece.label
        for piece in pieces
    ]
