"""Figure 2 and Section 3.2: attention to special tokens."""

import pandas
import xarray

from headlight.findings.thresholds import MOST
from headlight.views.parts import Comparison, Curve, Section
from headlight_papers.papers.clark2019 import published
from headlight_papers.papers.clark2019.exhibit import exhibit
from headlight_papers.papers.clark2019.measure_panels import MEASURE
from headlight_papers.papers.clark2019.results import load_survey
from headlight_papers.papers.exhibit_files import ExhibitWriter
from headlight_papers.papers.exhibit_tables import frame_of, in_words, percent
from headlight_papers.papers.notes import text_notes
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.papers.token_categories import CATEGORIES, FROM, TO


@exhibit("figure-2", "Figure 2 and Section 3.2")
def figure_2(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Attention to special tokens."""
    survey = load_survey(reproduction)
    weight = survey["share"].sel(measure=survey["measure"].values[0])
    within = weight.sel(query_category="sep", key_category="sep").mean("head")
    to_sep = weight.sel(query_category="all", key_category="sep").mean("head")
    return Section(
        explanation="Each dot is a head, each line the mean of a layer: the share that goes to "
        "[CLS], to [SEP], and to periods and commas; in the second picture the share that goes to "
        "[SEP] from [SEP] itself and from all other tokens. The other measures are asked the same, "
        "each as a share of its row's whole (effective attention is signed).",
        drawings=[
            writer.curves(
                survey.sel(query_category="all", key_category=list(CATEGORIES)),
                Curve("share", panel="Share of {measure}", by=(MEASURE, TO), percent=True),
                caption="Share of each measure that goes to a kind of token, by layer.",
                alternative=_alternative(weight),
                columns=2,
            ),
            writer.curves(
                survey.sel(key_category="sep", query_category=list(FROM.names)),
                Curve("share", panel="{measure} to [SEP]", by=(MEASURE, FROM), percent=True),
                caption="What goes to [SEP], from [SEP] itself and from all other tokens.",
                alternative=f"From [SEP] at most {float(within.max()):.0%} of the weight.",
                name="separators",
                columns=2,
            ),
        ],
        tables=[writer.table(_layers_table(survey), "Means over the heads of a layer, in percent")],
        comparisons=[
            Comparison(
                "attention from [SEP] that goes to [SEP], largest mean of a layer",
                f"> {published.SEP_TO_SEP}%",
                percent(float(within.max())),
                "%",
                "the paper says so of heads at [SEP], of no layer (Section 3.2)",
            ),
            Comparison(
                "layers that give more than half of their attention to [SEP]",
                "6-10",
                in_words([str(int(layer) + 1) for layer in to_sep["layer"][to_sep.values > MOST]]),
                note="by layer here: " + ", ".join(f"{mean:.0%}" for mean in to_sep.values),
            ),
        ],
        notes=text_notes(reproduction, survey),
    )


def _layers_table(survey: xarray.Dataset) -> pandas.DataFrame:
    """Return the lines of the figure, one row per measure and layer."""
    share = survey["share"].mean("head") * 100
    to_separators = share.sel(key_category="sep")
    return frame_of(
        {
            **{
                f"to {label}": share.sel(query_category="all", key_category=name)
                for name, label in CATEGORIES.items()
            },
            "[SEP] to [SEP]": to_separators.sel(query_category="sep"),
            "other to [SEP]": to_separators.sel(query_category="not_sep"),
        }
    )


def _alternative(share: xarray.DataArray) -> str:
    means = share.sel(query_category="all").mean("head")
    lines = (
        f"to {label} " + ", ".join(f"{100 * value:.0f}%" for value in means.sel(key_category=name))
        for name, label in CATEGORIES.items()
    )
    return f"Means by layer of the attention weight: {'; '.join(lines)}."
