"""Figures 3 and 4: how far attention differs from seed to seed, and in adversaries."""

import pandas
import xarray

from headlight.views.parts import Section
from headlight.views.parts.box_plots import boxes
from headlight_papers.papers.attention_comparison import LARGEST, by_largest
from headlight_papers.papers.exhibit_files import ExhibitWriter
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.papers.teacher_training import lambdas_of
from headlight_papers.papers.wiegreffe2019.exhibit import exhibit
from headlight_papers.papers.wiegreffe2019.notes import ENCODER_NAMES, OF_WHAT, notes_of
from headlight_papers.papers.wiegreffe2019.results import IN_CONTEXT, load_all

COLOURS = {"seeds": "#0072b2", "adversary": "#d1500a"}


@exhibit(
    "figure-3",
    "Figures 3 and 4",
    title="How far attention differs from seed to seed, and in adversaries",
)
def figure_3(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """JSD to the base against its largest weight, for other seeds and for an adversary."""
    results = load_all(reproduction)
    weight = lambdas_of(reproduction)[-1]
    frames = [
        _texts(result, encoder, weight).assign(set=title, encoder=ENCODER_NAMES[encoder])
        for title, result in results.items()
        for encoder in IN_CONTEXT
    ]
    texts = pandas.concat(frames, ignore_index=True)
    texts["model"] = texts["set"] + ", " + texts["encoder"]
    far = [
        float(result["adversary_jsd"].sel({"lambda": weight}).mean()) for result in results.values()
    ]
    picture = writer.picture(
        boxes(
            texts.melt(["model", LARGEST], list(COLOURS), "series", "jsd"),
            LARGEST,
            "jsd",
            panel="model",
            colours=COLOURS,
            names={"seeds": "other seeds", "adversary": f"adversary, λ = {weight:g}"},
            columns=2,
            x_label=LARGEST,
            y_label="JSD to the base",
            limits=(0.0, 0.7),
        ),
        "JSD of a text's attention to the base's by its largest weight there: the median over "
        f"other seeds, and the adversary of λ = {weight:g}. Lines are medians over texts, boxes "
        "quartiles, whiskers the 5th and the 95th percentile.",
        f"The adversary has a mean JSD from {min(far):.2f} to {max(far):.2f}.",
    )
    return Section(
        explanation=f"{OF_WHAT} Where attention is concentrated on one word and still is the same "
        "for other seeds, it is hardly a matter of chance; an adversary has to be further away "
        "than seeds are before it says anything against attention.",
        drawings=[picture],
        tables=[writer.table(_medians(texts), "Median JSD over texts", formats=MEDIAN_FORMATS)],
        notes=notes_of(reproduction),
    )


MEDIAN_FORMATS = {"texts": ".0f", "seeds": ".3f", "adversary": ".3f"}


def _texts(result: xarray.Dataset, encoder: str, weight: float) -> pandas.DataFrame:
    """Return for each text its largest weight, and the distance of others from its attention."""
    of_encoder = result.sel(encoder_of=encoder)
    return pandas.DataFrame(
        {
            LARGEST: by_largest(of_encoder["largest"].values),
            "seeds": of_encoder["seed_jsd"].values,
            "adversary": of_encoder["adversary_jsd"].sel({"lambda": weight}).values,
        }
    )


def _medians(texts: pandas.DataFrame) -> pandas.DataFrame:
    """Return a row for each model and column of the figure that has texts."""
    in_order = {
        name: pandas.Categorical(texts[name], texts[name].unique()) for name in ("set", "encoder")
    }
    groups = texts.assign(**in_order).groupby([*in_order, LARGEST], observed=True)
    medians = groups[list(COLOURS)].median()
    medians.insert(0, "texts", groups.size())
    return medians.reset_index()
