"""Table 2: which measures agree on the words that matter."""

import pandas
import xarray

from headlight.views.parts import Section
from headlight_papers.papers.exhibit_files import ExhibitWriter
from headlight_papers.papers.jain2019 import published
from headlight_papers.papers.jain2019.exhibit import exhibit
from headlight_papers.papers.jain2019.results import ENCODER_NAMES, PAIRS, load_all, notes_of
from headlight_papers.papers.reproduction import Reproduction


def frame_of(result: xarray.Dataset) -> pandas.DataFrame:
    """Return a row for each text, with τ and p of each pair, and its predicted class."""
    columns = {
        name: result[name].to_numpy()
        for name in ("predicted", "words", "largest", "permuted", "jsd")
    }
    for pair in PAIRS:
        columns[pair] = result["tau"].sel(pair=pair).to_numpy()
        columns[f"{pair}_p"] = result["p"].sel(pair=pair).to_numpy()
    return pandas.DataFrame(columns)


PAIR_NAMES = {name: ", ".join(pair) for name, pair in PAIRS.items()}
OF_WHAT = (
    "τ is Kendall's rank correlation of two measures over the words of a text: the weights of "
    "attention; the gradient |∂p/∂x · x| of each word, with attention held fixed; and how far the "
    "prediction moves when the word is left out. Significant is p ≤ 0.05 on a text."
)


@exhibit("table-2", "Table 2", title="Which measures agree on the words that matter")
def table_2(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """τ of attention, gradients and leaving out, with the share of significant ones."""
    results = load_all(reproduction)
    frames = {key: frame_of(result) for key, result in results.items()}
    table = pandas.DataFrame([_row(f"{t}, {ENCODER_NAMES[e]}", f) for (t, e), f in frames.items()])
    by_class = pandas.DataFrame(
        [
            _row(f"{title}, {ENCODER_NAMES[encoder]}: {name}", frame[frame.predicted == number])
            for (title, encoder), frame in frames.items()
            for number, name in enumerate(results[title, encoder]["class"].values)
        ]
    )
    beside = [
        {"model": f"{title}, {ENCODER_NAMES[encoder]}"}
        | {
            column: f"{getattr(released, pair).mean:.2f} / {frame[pair].mean():.2f}"
            for frame in [frames[title, encoder]]
            for pair, column in PAIR_NAMES.items()
        }
        for (title, encoder), released in published.RELEASED.items()
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


def _row(name: str, frame: pandas.DataFrame) -> dict[str, object]:
    row: dict[str, object] = {"model": name, "texts": len(frame)}
    for pair, column in PAIR_NAMES.items():
        tau = frame[pair].dropna()
        share = (frame[f"{pair}_p"].dropna() <= 0.05).mean()
        row[column] = f"{tau.mean():.2f} ± {tau.std():.2f}" if len(tau) > 1 else "–"
        row[f"significant ({column})"] = f"{share:.0%}" if len(tau) else "–"
    return row
