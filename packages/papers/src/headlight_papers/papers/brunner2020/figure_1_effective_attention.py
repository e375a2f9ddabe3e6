"""Figure 1: effective beside raw attention."""

from functools import partial

import pandas
import xarray

from headlight.views.parts import (
    Comparison,
    Curve,
    DensityPanel,
    Drawing,
    Reference,
    Section,
    density,
)
from headlight_papers.papers.brunner2020 import published
from headlight_papers.papers.brunner2020.exhibit import exhibit
from headlight_papers.papers.brunner2020.null_space_results import (
    PARAGRAPHS,
    bias_note,
    load_identifiability,
    load_survey,
)
from headlight_papers.papers.brunner2020.raw_and_effective import MEASURE, MEASURES, means_by_layer
from headlight_papers.papers.exhibit_files import ExhibitWriter
from headlight_papers.papers.exhibit_tables import percent
from headlight_papers.papers.notes import text_notes
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.papers.token_categories import CATEGORIES, TO


@exhibit("figure-1", "Figure 1 and Section 3.5")
def figure_1(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Effective and raw attention."""
    identifiability, survey = load_identifiability(reproduction), load_survey(reproduction)
    share = survey["share"].sel(query_category="all")
    to_sep = share.sel(key_category="sep").mean("head")
    frame = means_by_layer(
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
    """Draw Figure 1a; nothing with fewer than two texts that have a correlation."""
    points = result["points"].values
    if len(points) < 2:
        return []
    fields = [str(name) for name in result["point_field"].values[:2]]
    writer.keep(pandas.DataFrame(points[:, :2], columns=fields), "points")
    cloud = DensityPanel.from_pairs(
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
