"""Table 1, the sets and how well they are learnt, and Table 2, which measures agree."""

from collections.abc import Mapping

import pandas
import xarray

from headlight.views.parts import Comparison, Section
from headlight_papers.papers.exhibit import exhibit
from headlight_papers.papers.jain2019 import published
from headlight_papers.papers.jain2019.results import frame_of, load_all
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.papers.writer import ExhibitWriter
from headlight_papers.training.text_classifier import Encoder

SOURCE = "Jain and Wallace (2019)"
ENCODER_NAMES: dict[Encoder, str] = {
    "lstm": "BiLSTM",
    "average": "average",
    "transformer": "Transformer",
}
PAIR_NAMES = {
    "attention_gradient": "attention, gradient",
    "attention_left_out": "attention, left out",
    "gradient_left_out": "gradient, left out",
}
OF_WHAT = (
    "τ is Kendall's rank correlation of two measures over the words of a text: the weights of "
    "attention; the gradient |∂p/∂x · x| of each word, with attention held fixed; and how far the "
    "prediction moves when the word is left out. Significant is p ≤ 0.05 on a text."
)
Results = Mapping[tuple[str, Encoder], xarray.Dataset]


def notes_of(reproduction: Reproduction, results: Results) -> list[str]:
    """Return notes on how data and training differ from the paper's."""
    settings = reproduction.settings
    first = next(iter(results.values()))
    given = float(first["given"])
    vectors = (
        f"{given:.0%} of the words of the first set begin with the vectors given"
        if given
        else "all vectors of words begin at random"
    )
    chosen = "development" if settings.selection == "dev" else "test"
    return [
        "Other data, other split: the sets are those of the files given, split here, and published "
        "numbers are of the authors' sets. Directions can be compared, and not digits.",
        f"One model of each kind and set, of seed {settings.seed}, as in the paper; at most "
        f"{settings.epochs} epochs, the best by the area under the ROC curve on the {chosen} part. "
        f"Of the vectors of words, {vectors}, and are trained on; the released code has fastText "
        "(300) and GloVe (300).",
        f"Of each test part {settings.max_explained} texts at most, drawn, are looked at one by "
        f"one, the same for every encoder, and of {settings.max_adversaries} other attention is "
        "looked for; the paper has all. Texts that the released code leaves out by their length "
        f"are left out, and those of more than {settings.max_words} words.",
        "There are no marks before and behind a text, which the authors' models read and do not "
        "attend to. The encoder Transformer, one layer of four heads under the same attention, is "
        "ours.",
    ]


@exhibit("table-1", "The sets, and how well they are learnt", f"{SOURCE}, Table 1")
def table_1(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Sizes, lengths, and F1, accuracy and AUC of the models."""
    results = load_all(reproduction)
    sets = pandas.DataFrame(
        [
            _about_set(title, found)
            for (title, encoder), found in results.items()
            if encoder == "lstm"
        ]
    )
    models = pandas.DataFrame([_about_model(*key, found) for key, found in results.items()])
    compared = [
        Comparison(
            f"{title}, {ENCODER_NAMES[encoder]}",
            _released_f1(title, encoder),
            float(found["f1"]),
            note=_paper_f1(title, encoder),
            digits=3,
        )
        for (title, encoder), found in results.items()
        if (title, encoder) in published.RELEASED
    ]
    return Section(
        explanation="F1 is that of the second class. Published is the F1 of the authors' released "
        "results.",
        tables=[
            writer.table(sets, "Sets", formats={"words": ".0f"}, name="sets"),
            writer.table(models, "Models on the test part", formats=".3f"),
        ],
        comparisons=compared,
        notes=notes_of(reproduction, results),
    )


def _about_set(title: str, found: xarray.Dataset) -> dict[str, object]:
    counts = found["texts"]
    classes = " / ".join(map(str, counts["class"].values))
    by_part = {
        str(part): " / ".join(str(int(one)) for one in counts.sel(part=part).values)
        for part in counts["part"].values
    }
    return {
        "set": title,
        "classes": classes,
        **by_part,
        "words": float(found["length"].sel(part="train")),
        "vocabulary": int(found["vocabulary"]),
        "published, test": published.TEST_TEXTS.get(title, "–"),
    }


def _about_model(title: str, encoder: Encoder, found: xarray.Dataset) -> dict[str, object]:
    shown = {"F1": "f1", "accuracy": "accuracy", "AUC": "auc", "NLL": "nll"}
    return {
        "model": f"{title}, {ENCODER_NAMES[encoder]}",
        **{column: float(found[name]) for column, name in shown.items()},
    }


def _released_f1(title: str, encoder: Encoder) -> float:
    return published.RELEASED[title, encoder].f1


def _paper_f1(title: str, encoder: Encoder) -> str:
    return f"the paper prints {published.PAPER_F1[title]:.2f}" if encoder == "lstm" else ""


@exhibit("table-2", "Which measures agree on the words that matter", f"{SOURCE}, Table 2")
def table_2(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """τ of attention, gradients and leaving out, with the share of significant ones."""
    results = load_all(reproduction)
    frames = {key: frame_of(found) for key, found in results.items()}
    table = pandas.DataFrame([_row(f"{t}, {ENCODER_NAMES[e]}", f) for (t, e), f in frames.items()])
    by_class = pandas.DataFrame(
        [
            _row(f"{title}, {ENCODER_NAMES[encoder]}: {name}", frame[frame.predicted == number])
            for (title, encoder), frame in frames.items()
            for number, name in enumerate(results[title, encoder]["class"].values)
        ]
    )
    beside = [
        {
            "model": f"{title}, {ENCODER_NAMES[encoder]}",
            **_beside(known, frames[title, encoder]),
        }
        for (title, encoder), known in published.RELEASED.items()
        if (title, encoder) in frames
    ]
    tables = [writer.table(table, "Over texts: mean ± standard deviation of τ, share significant")]
    tables.append(writer.table(by_class, "By predicted class", name="classes"))
    if beside:
        caption = "Mean τ, released / ours (other data, other split)"
        tables.append(writer.table(pandas.DataFrame(beside), caption, name="released"))
    return Section(
        explanation=f"{OF_WHAT} Texts without a τ, where a measure is the same for all words, are "
        "left out.",
        tables=tables,
        notes=notes_of(reproduction, results),
    )


def _beside(known: published.Released, frame: pandas.DataFrame) -> dict[str, str]:
    return {
        column: f"{getattr(known, pair).mean:.2f} / {frame[pair].mean():.2f}"
        for pair, column in PAIR_NAMES.items()
    }


def _row(name: str, frame: pandas.DataFrame) -> dict[str, object]:
    row: dict[str, object] = {"model": name, "texts": len(frame)}
    for pair, column in PAIR_NAMES.items():
        tau = frame[pair].dropna()
        share = (frame[f"{pair}_p"].dropna() <= 0.05).mean()
        row[column] = f"{tau.mean():.2f} ± {tau.std():.2f}" if len(tau) > 1 else "–"
        row[f"significant ({column})"] = f"{share:.0%}" if len(tau) else "–"
    return row
