"""Figures 3 and 4, what seeds and adversaries change of attention; Figure 5, the JSD-TVD plane."""

import pandas
import xarray

from headlight.views.parts import Section, boxes
from headlight_papers.papers.exhibit import exhibit
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.papers.text_classifiers.data import LARGEST, by_largest
from headlight_papers.papers.trained import LINE, PLANE, lambdas_of, points, with_line
from headlight_papers.papers.wiegreffe2019.results import IN_CONTEXT, frames_of, load_all
from headlight_papers.papers.wiegreffe2019.tables import ENCODER_NAMES, OF_WHAT, SOURCE, notes_of
from headlight_papers.papers.writer import ExhibitWriter

COLOURS = {"seeds": "#0072b2", "adversary": "#d1500a"}


@exhibit(
    "figure-3",
    "How far attention differs from seed to seed, and in adversaries",
    f"{SOURCE}, Figures 3 and 4",
)
def figure_3(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """JSD to the base against its largest weight, for other seeds and for an adversary."""
    results = load_all(reproduction)
    weight = lambdas_of(reproduction)[-1]
    frames = [
        _texts(found, encoder, weight).assign(set=title, encoder=ENCODER_NAMES[encoder])
        for title, found in results.items()
        for encoder in IN_CONTEXT
    ]
    texts = pandas.concat(frames, ignore_index=True)
    texts["model"] = texts["set"] + ", " + texts["encoder"]
    far = [
        float(found["adversary_jsd"].sel({"lambda": weight}).mean()) for found in results.values()
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
        tables=[writer.table(_medians(texts), "Median JSD over texts", formats=FORMATS)],
        notes=notes_of(reproduction),
    )


FORMATS = {"texts": ".0f", "seeds": ".3f", "adversary": ".3f"}


def _texts(found: xarray.Dataset, encoder: str, weight: float) -> pandas.DataFrame:
    """A row for each text: its largest weight, and how far others are from its attention."""
    of = found.sel(encoder_of=encoder)
    return pandas.DataFrame(
        {
            LARGEST: by_largest(of["largest"].values),
            "seeds": of["seed_jsd"].values,
            "adversary": of["adversary_jsd"].sel({"lambda": weight}).values,
        }
    )


def _medians(texts: pandas.DataFrame) -> pandas.DataFrame:
    """A row for each model and column of the figure that has texts."""
    in_order = {
        name: pandas.Categorical(texts[name], texts[name].unique()) for name in ("set", "encoder")
    }
    groups = texts.assign(**in_order).groupby([*in_order, LARGEST], observed=True)
    found = groups[list(COLOURS)].median()
    found.insert(0, "texts", groups.size())
    return found.reset_index()


@exhibit("figure-5", "Attention moved against predictions moved", f"{SOURCE}, Figure 5")
def figure_5(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """JSD over TVD: adversaries by λ, other seeds, uniform attention, adversaries of texts."""
    rows, results = frames_of(reproduction), load_all(reproduction)
    texts = [
        {"kind": "texts", "set": title, "encoder": encoder, **_of_texts(found, encoder)}
        for title, found in results.items()
        for encoder in IN_CONTEXT
    ]
    taught = rows[rows.kind == "adversary"]
    picture = writer.curves(
        with_line(pandas.concat([rows, pandas.DataFrame(texts)]), "mean", ["set", "encoder"]),
        *(
            curve
            for title in results
            for encoder in IN_CONTEXT
            for curve in points(
                KINDS,
                f"{title}, {ENCODER_NAMES[encoder]}",
                {"set": title, "encoder": encoder},
                **PLANE,
            )
        ),
        caption="How far attention and predictions are from the base's of the first seed, as means "
        "over the texts of the test part. The line goes through the adversaries from λ = 0 on; the "
        "adversaries of single texts (Jain and Wallace 2019) keep the model and change its weights "
        "text by text.",
        alternative=f"Adversaries reach a JSD of {taught.jsd.max():.2f}; other seeds have "
        f"{rows[rows.kind == 'seed'].jsd.mean():.2f}.",
        columns=2,
    )
    columns = ["set", "encoder", "kind", "guide", "seed", "weight", "tvd", "jsd", "kl", "f1"]
    writer.keep(rows[columns], "models")
    return Section(
        explanation=f"{OF_WHAT} A point high up on the left attends otherwise and predicts the "
        "same. A steep line says that attention can be moved at no cost; one that leans to the "
        "right, that what a model attends to matters for what it predicts.",
        drawings=[picture],
        notes=notes_of(reproduction),
    )


KINDS = {
    LINE: "adversaries, by λ",
    "seed": "other seeds",
    "guided": "uniform, trained",
    "uniform": "uniform, put in",
    "texts": "of single texts",
}


def _of_texts(found: xarray.Dataset, encoder: str) -> dict[str, float]:
    """Return the mean distance of the adversaries of single texts."""
    of = found.sel(encoder_of=encoder)
    return {name: float(of[f"instance_{name}"].mean()) for name in ("tvd", "jsd")}
