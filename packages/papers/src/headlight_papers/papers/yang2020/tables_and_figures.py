"""Tables 1 and 2, F1 by λ and with attention given; Figure 1 and the plane of JSD and TVD."""

from typing import Any

import numpy as np
import pandas
import xarray

from headlight.views.parts import Comparison, Curve, Reference, Section
from headlight_papers.intervals import mean_interval
from headlight_papers.papers import yang2020 as published
from headlight_papers.papers.exhibit import ExhibitWriter, exhibits_of
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.papers.trained import LINE, PLANE, points, with_line
from headlight_papers.papers.yang2020.results import (
    chosen_lambdas,
    frame_of,
    load_guided,
    load_sweep,
)
from headlight_papers.papers.yang2020.tagger import HEADS, WIDTH

exhibit = exhibits_of(published.SOURCE, "tagged")

COLUMNS = {
    "f1": "F1",
    "f1_lenient": "F1, conlleval",
    "nll": "NLL gold",
    "agreement": "agreement",
    "tvd": "TVD",
    "kl": "KL row",
    "kl_cell": "KL entry",
    "jsd": "JSD",
}
OF_WHAT = (
    "F1 is that of spans, strict IOB2; conlleval also lets a span begin with I-. Agreement, TVD "
    "and the divergences are between a model and its base, as means over the words of the test "
    "part: attention before dropout, without padding. KL of a row is KL(adversary ‖ base) in nats; "
    "KL of an entry is what the paper has, that of a row divided by its length. JSD is at most "
    "ln 2 = 0.693."
)


def notes_of(reproduction: Reproduction) -> list[str]:
    """Return notes on how data and training differ from the paper's."""
    attributes = load_sweep(reproduction).attrs
    settings = reproduction.settings
    train, dev, test = (attributes[f"sentences_{part}"] for part in ("train", "dev", "test"))
    vectors = "GloVe of the file given" if reproduction.sources.word_vectors else "no given vectors"
    chosen = (
        "the paper's code chooses on its test set, and here the development part was used"
        if settings.selection == "dev"
        else "as in the paper's code the best epoch was chosen on the test part itself"
    )
    return [
        f"Sentences: {train} to train, {dev} for development and {test} to test, split by "
        f"sentence; the paper has {published.SENTENCES['train']} and the official test set of "
        f"{published.SENTENCES['test']}. {chosen[0].upper()}{chosen[1:]}.",
        f"Input: {vectors}, frozen, and trained vectors of words and of their last one to four "
        "letters; the released code has frozen GloVe (200) and character n-grams (100), and the "
        "paper names neither. Batches of 32 sentences, those of the code 100; no sentence marks.",
        f"Taggers have one layer of {HEADS} heads, as in the paper, and a width of {WIDTH}; the "
        "paper names no width.",
        f"Every model is trained for {settings.epochs} epochs, adversaries from new weights, by "
        f"Adam with a rate that falls to 0; the released code has at most {published.EPOCHS} "
        "epochs with a falling rate, and the paper names none. Padding is neither a key nor part "
        "of a loss; in the released code it is both, and attention is compared after dropout.",
        "λ multiplies the mean KL of rows; the paper's multiplies a mean over entries, so that "
        f"ours times {attributes['row_length']:.1f}, the mean length of a row, is its λ. Table "
        "1 of the paper has an adversary of λ = 3, and its text calls it 2.5.",
        f"Over {settings.repeats} seeds, ± half of a 95% interval (Student's t). The adversaries "
        "of a seed are taught by the base of that seed. λ = 0 is the control: another model taught "
        "by the base, free to attend as it likes.",
    ]


@exhibit("table-1", "Table 1")
def table_1(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """F1 of the base and of adversaries."""
    sweep = load_sweep(reproduction)
    rows = frame_of(sweep)
    frame = by_model(rows, float(sweep.attrs["row_length"]))
    base = mean_interval(rows[rows.kind == "base"].f1)
    small, large = chosen_lambdas(reproduction)
    compared = [Comparison("original", published.ORIGINAL_F1, base.mean, note=f"{base}", digits=3)]
    for paper, ours in ((0.2, small), (3.0, large)):
        mean = mean_interval(_adversaries(rows, ours).f1)
        note = f"{mean}; λ = {ours:g} here"
        compared.append(
            Comparison(
                f"adversary, λ = {paper:g}", published.ADVERSARY_F1[paper], mean.mean, "", note, 3
            )
        )
    axes: dict[str, Any] = {
        "over": "shown",
        "error": "half",
        "x_label": "λ, times the mean KL of a row",
        "y_label": "F1",
        "references": [Reference(base.mean, "base")],
        "marked": True,
        "logarithmic": True,
    }
    picture = writer.curves(
        _by_lambda(rows),
        Curve("f1", "by λ", of={"zero": False}, **axes),
        Curve("f1", "λ = 0, at the left end", of={"zero": True}, joined=False, **axes),
        caption="F1 on the test part by λ; the band is a 95% interval over seeds.",
        alternative=f"F1 {frame['F1'].iloc[1]} at λ = 0, {frame['F1'].iloc[-2]} at the largest λ.",
    )
    return Section(
        explanation=f"{OF_WHAT} Other seed is the base of another seed beside each base; uniform "
        "is the base with uniform attention put in, for which it was not trained.",
        drawings=[picture],
        tables=[writer.table(frame, "Means over seeds on the test part")],
        comparisons=compared,
        notes=notes_of(reproduction),
    )


def by_model(rows: pandas.DataFrame, length: float) -> pandas.DataFrame:
    """A row for the base, for each λ, for another seed and for uniform attention."""
    parts = [("base", "", rows[rows.kind == "base"])]
    parts += [
        (f"λ = {one:g}", f"{one * length:.3g}", _adversaries(rows, one))
        for one in sorted(rows[rows.kind == "adversary"].weight.unique())
    ]
    parts += [
        ("other seed", "", rows[rows.kind == "seed"]),
        ("uniform", "", rows[rows.kind == "uniform"]),
    ]
    table = []
    for name, paper, some in parts:
        if len(some):
            numbers = {title: str(mean_interval(some[key])) for key, title in COLUMNS.items()}
            numbers = {
                key: "–" if text.startswith("nan") else text for key, text in numbers.items()
            }
            table.append({"model": name, "the paper's λ": paper, **numbers})
    return pandas.DataFrame(table)


def _by_lambda(rows: pandas.DataFrame) -> xarray.Dataset:
    """F1 with half of its interval; 0, which a logarithmic axis has not, stands at its left."""
    weights = np.array(sorted(rows[rows.kind == "adversary"].weight.unique()))
    intervals = [mean_interval(_adversaries(rows, one).f1) for one in weights]
    return xarray.Dataset(
        {
            "f1": ("weight", [one.mean for one in intervals]),
            "half": ("weight", [one.half for one in intervals]),
            "shown": ("weight", shown_weights(weights)),
            "zero": ("weight", weights == 0),
        }
    )


def shown_weights(weights: np.ndarray) -> np.ndarray:
    """Return the place of λ on a logarithmic axis: 0 half a decade below the smallest."""
    positive = weights[weights > 0]
    zero = positive.min() / 10**0.5 if len(positive) else 1.0
    return np.where(weights > 0, weights, zero)


def _adversaries(rows: pandas.DataFrame, weight: float) -> pandas.DataFrame:
    return rows[(rows.kind == "adversary") & (rows.weight == weight)]


@exhibit("table-2", "Table 2 and Section 4.3")
def table_2(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """F1 of models whose attention is given."""
    rows = frame_of(load_guided(reproduction))
    base = frame_of(load_sweep(reproduction))
    small, large = chosen_lambdas(reproduction)
    table = [
        {"attention": "its own, trained (the base)", "published": "", **_quality(base, "base")}
    ]
    wanted = [
        ("of the base", "base", np.nan, "0.90"),
        *(
            (f"of the adversary, λ = {one:g}", "adversary", one, published_f1)
            for one, published_f1 in {small: "0.90", large: "0.89"}.items()
        ),
        ("uniform", "uniform", np.nan, ""),
        ("each word to itself", "identity", np.nan, ""),
    ]
    for name, guide, weight, published_f1 in wanted:
        some = rows[(rows.guide == guide) & ((rows.weight == weight) | np.isnan(weight))]
        table.append({"attention": name, "published": published_f1, **_quality(some)})
    frame = pandas.DataFrame(table)
    return Section(
        explanation="A new model is trained on gold tags while attention comes from elsewhere: for "
        "each sentence the weights of a trained model, which stay as they are. In the released "
        "code nothing was frozen, so that the published rows are models with attention of their "
        "own. Uniform attention and each word's attention to itself are the controls: what guides "
        "is worth what it adds to these.",
        tables=[writer.table(frame, "Means over seeds on the test part")],
        notes=notes_of(reproduction),
    )


def _quality(rows: pandas.DataFrame, kind: str = "") -> dict[str, str]:
    some = rows[rows.kind == kind] if kind else rows
    columns = {"f1": "F1", "f1_lenient": "F1, conlleval", "nll": "NLL gold"}
    return {title: str(mean_interval(some[key])) for key, title in columns.items()}


MEDIAN = "median of a λ"


@exhibit("figure-1", "Figure 1")
def figure_1(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Predictions against the divergence of attention."""
    sweep = load_sweep(reproduction)
    rows = frame_of(sweep)
    rows = rows[rows.kind == "adversary"]
    base = frame_of(sweep)
    nll = float(base[base.kind == "base"].nll.median())
    panels = {
        "nll": ("NLL of gold tags, nats", [Reference(nll, "base")]),
        "agreement": ("agreement with the base", []),
        "tvd": ("TVD to the base", []),
    }
    medians = rows.groupby("weight")[["kl", "kl_cell", "jsd", "nll"]].median().reset_index()
    picture = writer.curves(
        with_line(rows, "median", of=["kl", *panels]),
        *(
            curve
            for y, (title, references) in panels.items()
            for curve in points(
                {"adversary": "one model", LINE: MEDIAN},
                title,
                x="kl",
                y=y,
                x_label="KL of a row, nats",
                references=references,
            )
        ),
        caption="Predictions of adversaries on the test part against how far their attention is "
        "from the base's: a dot for each model, and a line through the medians of each λ, from 0 "
        "on.",
        alternative=f"KL of a row from {medians.kl.min():.2f} to {medians.kl.max():.2f} nats; "
        f"NLL of gold tags from {medians.nll.min():.3f} to {medians.nll.max():.3f}.",
        columns=3,
    )
    frame = medians.set_axis(["λ", "KL row", "KL entry", "JSD", "NLL gold"], axis=1)
    writer.keep(rows.drop(columns=["kind", "guide", "part"], errors="ignore"), "models")
    return Section(
        explanation=f"{OF_WHAT} The paper reads its Figure 1, NLL over KL of an entry, as a "
        f"tolerance that is used up at {published.SAFE_POINT}; the log of the released code has an "
        f"NLL of {published.NLL_BELOW} at λ = 2.0 and {published.NLL_ABOVE} at 2.1. KL has an end, "
        "though: once every row attends to a key that the base hardly looks at, it cannot grow "
        "any more, and what λ adds from there shows as a vertical line.",
        drawings=[picture],
        tables=[writer.table(frame, "Medians over seeds by λ", formats=".3f")],
        notes=notes_of(reproduction),
    )


@exhibit("figure-5", "Figure 5, after Wiegreffe and Pinter (2019)")
def figure_5(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Attention moved against predictions moved."""
    rows = pandas.concat([frame_of(load_sweep(reproduction)), frame_of(load_guided(reproduction))])
    names = {
        "adversary": "adversaries",
        LINE: MEDIAN,
        "seed": "other seed",
        "uniform": "uniform, put in",
        "guided": "uniform, trained with",
    }
    drawn = rows[(rows.kind != "guided") | (rows.guide == "uniform")]
    picture = writer.curves(
        with_line(drawn, "median"),
        *points(names, **PLANE),
        caption="How far attention and predictions are from the base's on the test part: a point "
        "for each model; the line goes through the medians of the adversaries, from λ = 0 on.",
        alternative=f"Adversaries reach a JSD of {rows[rows.kind == 'adversary'].jsd.max():.2f}; "
        f"other seeds have {rows[rows.kind == 'seed'].jsd.mean():.2f}.",
    )
    model_rows = rows[["kind", "guide", "seed", "weight", "tvd", "jsd", "kl", "f1"]]
    writer.keep(model_rows.reset_index(drop=True), "models")
    return Section(
        explanation="A model high up on the left attends otherwise and predicts the same: its "
        "attention is not the only one that goes with these predictions. What counts is the "
        "distance to the other seeds, which differ without being asked to. The paper shows a "
        "screenshot of Wiegreffe and Pinter's figure for another model and task; this one is of "
        "the tagger.",
        drawings=[picture],
        notes=notes_of(reproduction),
    )
