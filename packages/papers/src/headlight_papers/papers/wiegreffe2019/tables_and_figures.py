"""Tables 2 to 4, need, guides and adversaries; Figures 3 to 5, seeds and the JSD-TVD plane."""

from collections.abc import Iterator

import numpy as np
import pandas
import xarray

from headlight.views.parts import Section, Table
from headlight.views.parts.box_plots import boxes
from headlight_papers.intervals import mean_interval
from headlight_papers.papers.exhibit import ExhibitWriter, exhibits_of
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.papers.text_classifiers import LARGEST, PATIENCE, by_largest
from headlight_papers.papers.trained import LINE, PLANE, lambdas_of, points, with_line
from headlight_papers.papers.wiegreffe2019 import QUOTED, SOURCE, UNCHECKED
from headlight_papers.papers.wiegreffe2019.results import IN_CONTEXT, frames_of, load_all
from headlight_papers.training.text_classifier import Encoder

exhibit = exhibits_of(SOURCE, "labelled")

ENCODER_NAMES = {"lstm": "LSTM", "transformer": "Transformer", "average": "words alone"}
OF_WHAT = (
    "F1 is that of the second class on the test part. TVD is ½ Σ |Δp| over both classes, which is "
    "the difference of the probability of one; the paper's code has half of it. JSD is in nats, "
    "and at most ln 2 = 0.693."
)


def notes_of(reproduction: Reproduction) -> list[str]:
    """Return notes on how data and training differ from the paper's."""
    settings = reproduction.settings
    sizes = [
        f"{title} {' / '.join(str(int(count)) for count in result['texts'].values)} (mean length "
        f"{float(result['length'].sel(split='train')):.0f} words)"
        for title, result in load_all(reproduction).items()
    ]
    chosen = (
        "the paper's code chooses bases by the area on the test set and adversaries by their loss "
        "in training, and here both are chosen on the development part"
        if settings.selection == "dev"
        else "the best epoch was chosen on the test part itself"
    )
    return [
        f"Texts to train / for development / to test: {', '.join(sizes)}. Of each part at most "
        f"{settings.max_texts} were drawn, and texts of more than {settings.max_words} words left "
        "out; the paper has all, of larger sets.",
        f"Every model is trained for at most {settings.epochs} epochs, and stops when {PATIENCE} "
        f"have brought nothing; in the released code bases have 8 and adversaries up to 80. "
        f"{chosen[0].upper()}{chosen[1:]}.",
        "LSTM of 128 units in each direction, additive attention, Adam (amsgrad) at 0.001; word "
        "vectors of 100 numbers are trained, and begin with those of the file given, if any. There "
        "are no marks before and behind a text, so that every word can be attended to. The "
        "Transformer layer is ours.",
        "λ multiplies the mean KL(adversary ‖ base) of a text beside our TVD, so that ours is "
        "twice the paper's for the same balance. λ = 0 is the control: a second model taught by "
        "the base, free to attend as it likes.",
        f"Bases and models with attention given: {settings.repeats} seeds, ± half of a 95% "
        "interval (Student's t). Adversaries are single runs, taught by the base of the first "
        "seed, as in the paper.",
    ]


@exhibit("table-2", "Table 2 and Section 3.1", title="Whether attention is needed at all")
def table_2(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """F1 of bases, of models trained with uniform attention, and of bases into which it is put."""
    table = []
    for title, encoder, some in _in_context(frames_of(reproduction)):
        quoted = QUOTED.get(title) if encoder == "lstm" else None
        base, guided, uniform = (some[some.kind == kind] for kind in ("base", "guided", "uniform"))
        table.append(
            {
                "set": title,
                "encoder": ENCODER_NAMES[encoder],
                "base": str(mean_interval(base.f1)),
                "uniform, trained": str(mean_interval(guided.f1)),
                "uniform, put in": str(mean_interval(uniform.f1)),
                "accuracy of the base": str(mean_interval(base.accuracy)),
                "base, quoted": quoted.base if quoted else np.nan,
                "uniform, quoted": quoted.uniform if quoted else np.nan,
            }
        )
    return Section(
        explanation=f"{OF_WHAT} Where a model that is trained with frozen uniform attention is as "
        "good as one with attention of its own, the task does not need attention, and what is "
        "asked of it there says little.",
        tables=[_quoted(writer, pandas.DataFrame(table), "F1 with and without attention")],
        notes=notes_of(reproduction),
    )


def _in_context(rows: pandas.DataFrame) -> Iterator[tuple[str, Encoder, pandas.DataFrame]]:
    """Yield the models of every set and encoder that reads words in context."""
    for title in rows.set.unique():
        for encoder in IN_CONTEXT:
            yield title, encoder, rows[(rows.set == title) & (rows.encoder == encoder)]


@exhibit("table-3", "Table 3 and Section 3.4", title="Whether attention is of use to another model")
def table_3(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """F1 of models without context whose attention is given and frozen."""
    rows = frames_of(reproduction)
    rows = rows[rows.encoder == "average"]
    table = []
    for title in rows.set.unique():
        some = rows[rows.set == title]
        quoted = QUOTED.get(title)
        numbers = quoted.guided if quoted and quoted.guided else (np.nan,) * 4
        guides = [
            ("uniform", some[some.guide == "uniform"]),
            ("its own, trained", some[some.kind == "base"]),
            ("of the LSTM", some[some.guide == "base"]),
        ]
        misled = some[some.guide == "adversary"].groupby("weight")
        guides += [(f"of its adversary, λ = {one:g}", models) for one, models in misled]
        table += [
            {
                "set": title,
                "attention": name,
                "F1": str(mean_interval(models.f1)),
                "accuracy": str(mean_interval(models.accuracy)),
                "F1, quoted": numbers[place] if place < 3 else np.nan,
            }
            for place, (name, models) in enumerate(guides)
        ]
        if quoted and quoted.guided:
            table.append(
                {
                    "set": title,
                    "attention": f"of an adversary, the paper's λ = {quoted.weight:g}",
                    "F1": "–",
                    "accuracy": "–",
                    "F1, quoted": numbers[3],
                }
            )
    return Section(
        explanation=f"{OF_WHAT} A model that sees each word alone (an affine map and tanh) is "
        "trained with weights that are given and stay as they are. If those of the LSTM help it "
        "more than uniform ones, and as much as its own, attention carries information that does "
        "not depend on the model. Those of adversaries are a single run.",
        tables=[_quoted(writer, pandas.DataFrame(table), "F1 of models without context")],
        notes=notes_of(reproduction),
    )


@exhibit("table-4", "Section 4")
def table_4(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Models that predict the same and attend otherwise."""
    rows = frames_of(reproduction)
    table = []
    for title, encoder, some in _in_context(rows):
        taught = some[some.kind == "adversary"].groupby("weight")
        models = [("other seeds", some[some.kind == "seed"])]
        models += [(f"λ = {weight:g}", each) for weight, each in taught]
        table += [
            {
                "set": title,
                "encoder": ENCODER_NAMES[encoder],
                "model": name,
                **{key: float(models_of_kind[of].mean()) for key, of in SHOWN.items()},
            }
            for name, models_of_kind in models
            if len(models_of_kind)
        ]
    columns = ["set", "λ", "F1", "TVD", "our TVD", "JSD"]
    quoted = pandas.DataFrame(
        [
            (title, each.weight, each.f1, each.tvd, 2 * each.tvd, each.jsd)
            for title, each in QUOTED.items()
            if each.tvd is not None and title in set(rows.set)
        ],
        columns=columns,
    )
    tables = [writer.table(pandas.DataFrame(table), "Adversaries by λ", formats=FORMATS)]
    if len(quoted):
        caption = f"Of the paper ({UNCHECKED})"
        formats = {"λ": "g", **dict.fromkeys(columns[2:], ".3f")}
        tables.append(writer.table(quoted, caption, formats=formats, name="quoted"))
    return Section(
        explanation=f"{OF_WHAT} An adversary is trained to predict as the base does and to attend "
        "otherwise, by a loss of TVD minus λ times KL. What counts is the distance to the row of "
        "other seeds, which differ without being asked to, and to λ = 0.",
        tables=tables,
        notes=notes_of(reproduction),
    )


SHOWN = {
    "F1": "f1",
    "TVD": "tvd",
    "JSD": "jsd",
    "KL": "kl",
    "agreement": "agreement",
    "epochs": "epochs",
}
FORMATS = {"epochs": ".0f", **dict.fromkeys(("F1", "TVD", "JSD", "KL", "agreement"), ".3f")}


def _quoted(writer: ExhibitWriter, frame: pandas.DataFrame, caption: str) -> Table:
    """A table of which some columns are not ours."""
    columns = [name for name in frame.columns if name.endswith("quoted")]
    return writer.table(
        frame,
        caption,
        formats=dict.fromkeys(columns, ".3f"),
        note=f"The paper's numbers: {UNCHECKED}.",
    )


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
    """A row for each text: its largest weight, and how far others are from its attention."""
    of = result.sel(encoder_of=encoder)
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
    medians = groups[list(COLOURS)].median()
    medians.insert(0, "texts", groups.size())
    return medians.reset_index()


@exhibit("figure-5", "Figure 5")
def figure_5(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Attention moved against predictions moved."""
    rows, results = frames_of(reproduction), load_all(reproduction)
    texts = [
        {"kind": "texts", "set": title, "encoder": encoder}
        | {
            name: float(result[f"instance_{name}"].sel(encoder_of=encoder).mean())
            for name in ("tvd", "jsd")
        }
        for title, result in results.items()
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
