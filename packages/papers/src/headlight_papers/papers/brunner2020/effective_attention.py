"""Section 3.5 and Appendix A.2: effective beside raw attention (Figures 1, 5 and 6)."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas
import xarray
from jaxtyping import Float

from headlight.views.parts import (
    By,
    Comparison,
    Curve,
    DensityPanel,
    Drawing,
    Map as HeatMap,
    Reference,
    Section,
    density,
)
from headlight_papers.papers.brunner2020 import published
from headlight_papers.papers.brunner2020.null_spaces import (
    PARAGRAPHS,
    bias_note,
    load_identifiability,
    load_survey,
    passage,
    value_bias,
)
from headlight_papers.papers.exhibit import ExhibitWriter, exhibits_of, frame_of, head_name, percent
from headlight_papers.papers.reproduction import (
    CATEGORIES,
    FROM,
    TO,
    Reproduction,
    model_note,
    text_notes,
)

exhibit = exhibits_of(published.SOURCE)

MEASURES = {"weight": "raw attention", "effective": "effective attention"}
MEASURE = By("measure", {name: title.capitalize() for name, title in MEASURES.items()})


@exhibit("figure-1", "Figure 1 and Section 3.5")
def figure_1(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Effective and raw attention."""
    identifiability, survey = load_identifiability(reproduction), load_survey(reproduction)
    share = survey["share"].sel(query_category="all")
    to_sep = share.sel(key_category="sep").mean("head")
    frame = _by_layer(
        {f"to {label}": share.sel(key_category=name) for name, label in CATEGORIES.items()}
    )
    return Section(
        explanation="First: Pearson's correlation of raw and effective attention by the length of "
        "the text, one value for all cells of all heads of a text, as points and as means by "
        "length. Then the share of raw attention that goes to a kind of token, and the same sum "
        "of effective attention, which is signed: a dot is a head, a line the mean of a layer.",
        drawings=[
            *_correlations(identifiability, writer),
            writer.curves(
                survey.sel(query_category="all", key_category=list(CATEGORIES)),
                Curve("share", panel="{measure}", by=(MEASURE, TO), percent=True),
                caption="Attention to kinds of tokens, raw (b) and effective (c), by layer.",
                alternative=_alternative(share),
                name="categories",
            ),
        ],
        tables=[writer.table(frame, "Means over the heads of a layer, in percent")],
        comparisons=[
            *_length_comparisons(identifiability),
            *(
                Comparison(
                    f"{name} to [SEP], largest mean of a layer",
                    None,
                    percent(float(to_sep.sel(measure=measure).max())),
                    "%",
                    "the peak of the middle layers is said to disappear in effective attention",
                )
                for measure, name in MEASURES.items()
            ),
        ],
        notes=[*text_notes(reproduction, survey), PARAGRAPHS, bias_note(reproduction)],
    )


def _correlations(result: xarray.Dataset, writer: ExhibitWriter) -> list[Drawing]:
    """Figure 1a; without a text that has a correlation there is none."""
    points = result["points"].values
    if len(points) < 2:
        return []
    fields = [str(name) for name in result["point_field"].values[:2]]
    writer.keep(pandas.DataFrame(points[:, :2], columns=fields), "points")
    cloud = DensityPanel.of(
        "(a) one point per text",
        points[:, 0],
        points[:, 1],
        x_label="tokens",
        y_label="correlation",
    )
    lengths, means = result["keys_mean"].values, result["effective_correlation"].values
    width = float(result["head_dim"].max())
    spoken = ", ".join(f"{n:.0f} tokens {r:.2f}" for n, r in zip(lengths, means, strict=True))
    return [
        writer.picture(
            partial(density, [cloud], counted="texts"),
            "Correlation of raw and effective attention.",
            spoken,
            "a",
        ),
        writer.curves(
            result,
            Curve(
                "effective_correlation",
                "mean ± σ",
                "by length",
                over="keys_mean",
                error="effective_correlation_std",
                x_label="tokens",
                y_label="correlation",
                references=[Reference(width, f"d_v = {width:.0f}", upright=True)],
                colour="effective",
                marked=True,
            ),
            caption="The same as means by length.",
            alternative=spoken,
            name="a-means",
        ),
    ]


def _length_comparisons(result: xarray.Dataset) -> list[Comparison]:
    width = int(result["head_dim"].max())
    short = result["effective_correlation"].where(result["keys_mean"] < width, drop=True)
    longest = result.isel(length=-1)
    return [
        Comparison(
            "correlation in texts of fewer tokens than d_v",
            published.SHORT_CORRELATION,
            float(short.mean()) if short.size else None,
            note=f"d_v is {published.HEAD_DIM} there and {width} here"
            + ("" if short.size else "; no text here has so few"),
            digits=3,
        ),
        Comparison(
            "correlation in the longest texts",
            None,
            float(longest["effective_correlation"]),
            note=f"{float(longest['keys_mean']):.0f} tokens on average",
            digits=3,
        ),
    ]


def _by_layer(columns: Mapping[str, xarray.DataArray]) -> pandas.DataFrame:
    """One row for each measure and layer, means over its heads, in percent."""
    means = {
        label: 100 * share.sel(measure=list(MEASURES)).mean("head")
        for label, share in columns.items()
    }
    frame = frame_of(means).rename(columns={"measure": "attention"})
    return frame.assign(attention=frame["attention"].map(MEASURES))


def _alternative(share: xarray.DataArray) -> str:
    means = share.mean(("head", "layer"))
    return "; ".join(
        f"{name}: "
        + ", ".join(
            f"{100 * float(means.sel(measure=measure, key_category=category)):.1f}% to {label}"
            for category, label in CATEGORIES.items()
        )
        for measure, name in MEASURES.items()
    )


@exhibit("figure-5", "Figure 5 and Appendix A.2")
def figure_5(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Attention to [SEP], effective and raw."""
    survey = load_survey(reproduction)
    share = survey["share"].sel(key_category="sep")
    from_to = FROM.names
    frame = _by_layer({label: share.sel(query_category=name) for name, label in from_to.items()})
    means = share.sel(query_category=list(from_to)).mean(("head", "layer"))
    ratio = means.sel(measure="effective") / means.sel(measure="weight")
    return Section(
        explanation="What goes to [SEP] from [SEP] itself and from all other tokens: (a) effective "
        "attention, signed, and (b) raw attention. A dot is a head, a line the mean of a layer.",
        drawings=[
            writer.curves(
                survey.sel(
                    key_category="sep",
                    query_category=list(from_to),
                    measure=["effective", "weight"],
                ),
                Curve("share", panel="{measure} to [SEP]", by=(MEASURE, FROM), percent=True),
                caption="Attention to [SEP] by layer, effective (a) and raw (b).",
                alternative="; ".join(
                    f"{label}: {float(ratio.sel(query_category=name)):.0%} of it is effective"
                    for name, label in from_to.items()
                ),
            )
        ],
        tables=[writer.table(frame, "Means over the heads of a layer, in percent")],
        comparisons=[
            Comparison(
                f"effective share of {label}",
                "most of it lies in the null space",
                percent(float(ratio.sel(query_category=name))),
                "%",
                "ratio of the means over all heads",
            )
            for name, label in from_to.items()
        ],
        notes=[*text_notes(reproduction, survey), bias_note(reproduction)],
    )


ROWS = 28
"""Rows that are shown."""
LINKS = 3
"""Links that are highlighted."""
NEAR = 2
"""Positions from a token up to which a link is near the diagonal."""

Map = Float[np.ndarray, "query key"]


@dataclass(frozen=True, eq=False)
class Example:
    """The attention of one head on one text."""

    layer: int
    head: int
    tokens: list[str]
    raw: Map
    effective: Map

    @property
    def parts(self) -> dict[str, Map]:
        """Raw attention, and the two that it is the sum of."""
        return {"Raw": self.raw, "Effective": self.effective, "Null": self.raw - self.effective}

    @property
    def shown(self) -> range:
        """Rows in the middle of the second text, as in the paper."""
        size = len(self.tokens)
        first = max(0, min(5 * size // 8 - ROWS // 2, size - ROWS))
        return range(first, min(size, first + ROWS))

    def links(self) -> list[tuple[int, int]]:
        """The strongest effective links shown away from the diagonal, strongest first."""
        far = np.abs(np.subtract.outer(np.arange(len(self.raw)), np.arange(len(self.raw)))) > NEAR
        rows = self.shown
        scores = np.where(far, self.effective, -np.inf)[rows.start : rows.stop]
        order = np.argsort(scores, axis=None)[::-1][:LINKS]
        places = (np.unravel_index(place, scores.shape) for place in order)
        return [(int(row) + rows.start, int(key)) for row, key in places]


@exhibit("figure-6", "Figure 6 and Appendix A.3")
def figure_6(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Raw, effective and null attention of one head."""
    example = load_example(reproduction)
    matrix, links = example.shown, example.links()
    name = head_name(example.layer, example.head)
    names = dict(enumerate(example.tokens))
    parts = xarray.Dataset(
        {"attention": (("part", "query", "key"), [*example.parts.values()])},
        coords={"part": list(example.parts), "query": list(names), "key": list(names)},
    )
    drawn = HeatMap(
        "attention",
        f"{{part}} attention of head {name}",
        by="part",
        rows=By("query", names),
        columns=By("key", names),
        scale="change",
        framed=[(row - matrix.start, key) for row, key in links],
        annotated=False,
    )
    table = pandas.DataFrame([_row(example, row, key) for row, key in links])
    special = set(reproduction.tokenizer.all_special_tokens)
    keys = [place for place, token in enumerate(example.tokens) if token in special]
    return Section(
        explanation="One head on a text of ours; for readability only some attending tokens are "
        "shown. Framed: the strongest effective links that are more than "
        f"{NEAR} tokens from the diagonal. Raw is effective and null attention together.",
        drawings=[
            writer.maps(
                parts.isel(query=list(matrix)),
                drawn,
                caption=f"Raw, effective and null attention of head {name}.",
                alternative="; ".join(
                    f"{row['query']} to {row['key']}" for row in table.to_dict("records")
                ),
                columns=1,
            )
        ],
        tables=[
            writer.table(
                table,
                "The framed links",
                formats=dict.fromkeys(("raw", "effective", "null"), ".3f"),
            )
        ],
        comparisons=[
            Comparison(
                f"{title.lower()} attention to [CLS] and [SEP], mean of the rows shown",
                None,
                100 * float(values[matrix.start : matrix.stop][:, keys].sum(1).mean()),
                "%",
                "in the paper's example it has vanished from effective attention",
            )
            for title, values in example.parts.items()
        ],
        notes=[
            model_note(reproduction),
            f"Head {name} is, in its layer, the one whose effective attention correlates least "
            "with its raw attention on this text; the paper does not say how it chose its head.",
            bias_note(reproduction),
        ],
    )


def load_example(reproduction: Reproduction) -> Example:
    """The head of the paper's layer whose effective attention differs most from the raw one.

    The text is ours: longer than the head is wide, or nothing would be in the null space.
    """
    model, kind = reproduction.model, reproduction.kind
    layer = min(published.EXAMPLE_LAYER, len(model.sites_of(kind))) - 1
    bias = value_bias(reproduction)
    reading = model.read(*passage(reproduction), kind=kind, layers=[layer], value_bias=bias)
    raw, effective = (
        one.squeeze("layer").values.astype(np.float64)
        for one in (reading.weight, reading.effective)
    )
    with np.errstate(invalid="ignore"):
        alike = [
            np.corrcoef(a.ravel(), b.ravel())[0, 1] for a, b in zip(raw, effective, strict=True)
        ]
    head = int(np.nanargmin(alike)) if np.isfinite(alike).any() else 0
    tokens = list(map(str, reading.weight["key_token"].values))
    return Example(layer, head, tokens, raw[head], effective[head])


def _row(example: Example, query: int, key: int) -> dict[str, object]:
    return {
        "query": example.tokens[query],
        "key": example.tokens[key],
        "apart": abs(query - key),
        **{name.lower(): float(values[query, key]) for name, values in example.parts.items()},
    }
