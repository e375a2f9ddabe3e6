"""Section 5: what all heads together know about syntax (Table 3)."""

from pathlib import Path

import pandas
import xarray

from headlight.corpora import open_treebank
from headlight.findings.estimates import estimates
from headlight.views.parts import Comparison, Section, bars
from headlight_papers.papers.clark2019 import published
from headlight_papers.papers.clark2019.results import stem
from headlight_papers.papers.clark2019.settings import Settings
from headlight_papers.papers.exhibit import exhibit
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.papers.text import model_note
from headlight_papers.papers.writer import ExhibitWriter

METRICS = {"uas": "UAS", "uas_tree": "UAS, best tree", "uuas": "UUAS"}
NO_ATTENTION = "no attention"
LABELS = {
    "right_branching": "right-branching",
    "distances_and_words": "distances and words",
    "random_attention_and_words": "random attention and words",
    "attention": "attention",
    "attention_and_words": "attention and words",
}


@exhibit(
    "table-3",
    "What heads know together",
    "Clark et al. (2019), Table 3 and Section 5",
    ("dependency",),
)
def table_3(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Probes and what they are compared with."""
    table = _readable(load_probe_table(reproduction))
    numbers = ["UAS", "low", "high", "UAS, best tree", "UUAS"]
    return Section(
        explanation="Parsers that see nothing but attention: each head has a weight, which in "
        "“attention and words” depends on the vectors of the two words. UAS is the share of words "
        "whose governor is found, punctuation left out. Beyond the paper: the best tree over the "
        "same scores, UUAS, and probes on other measures than the weight.",
        drawings=[
            writer.picture(
                bars(
                    _marks(table),
                    "probe",
                    "UAS",
                    series="measure",
                    colours={NO_ATTENTION: "other"},
                    x_label="UAS",
                    percent=True,
                    limits=(0.0, 1.0),
                ),
                "UAS with 95% intervals, sentences resampled.",
                ", ".join(f"{_row_label(row)} {row['UAS']:.0f}%" for _, row in table.iterrows()),
            )
        ],
        tables=[
            writer.table(
                table,
                "All probes, in percent; the interval is that of UAS",
                formats={**dict.fromkeys(numbers, ".1f"), "epochs": ".0f", "parameters": ","},
            )
        ],
        comparisons=_comparisons(table),
        notes=_notes(reproduction),
    )


def load_probe_table(reproduction: Reproduction[Settings]) -> pandas.DataFrame:
    """A line for each probe and measure, shares in percent; low and high are of UAS."""
    found = load_probes(reproduction)
    shares = 100 * found["score"]
    uas = estimates(found, "score", ("row",), metric="uas")
    return pandas.DataFrame(
        {
            "probe": found["probe"].values,
            "measure": found["measure"].values,
            **{label: shares.sel(metric=name).values for name, label in METRICS.items()},
            "low": 100 * uas.low,
            "high": 100 * uas.high,
            "parameters": found["parameters"].values,
            "epochs": found["epochs"].mean("seed").values,
        }
    )


def load_probes(reproduction: Reproduction[Settings]) -> xarray.Dataset:
    """All probes on all measures of one forward pass."""
    sources, chosen = reproduction.sources, reproduction.settings
    evaluation, train = (
        source and open_treebank(source, invalid=chosen.invalid)
        for source in (sources.dependency[0], sources.dependency_train)
    )
    return reproduction.run(
        "parser_probes",
        evaluation,
        reads=(
            [chosen.invalid],
            sources.dependency[0],
            sources.dependency_train,
            sources.word_vectors,
        ),
        name="probes",
        objects={"train": train},
        word_vectors=sources.word_vectors,
        max_examples=chosen.max_sentences,
        measures=reproduction.forward_measures,
        seeds=(chosen.seed,),
        processes=chosen.processes,
    )


def _readable(table: pandas.DataFrame) -> pandas.DataFrame:
    ordered = ["probe", "measure", "UAS", "low", "high", "UAS, best tree", "UUAS"]
    rest = [column for column in table.columns if column not in ordered]
    return table[ordered + rest].assign(probe=table["probe"].map(LABELS))


def _marks(table: pandas.DataFrame) -> pandas.DataFrame:
    """A mark for each probe and measure, as shares."""
    shares = table[["UAS", "low", "high"]] / 100
    return shares.assign(probe=table["probe"], measure=table["measure"].replace("", NO_ATTENTION))


def _row_label(row: pandas.Series) -> str:
    return f"{row['probe']} ({row['measure']})" if row["measure"] else str(row["probe"])


def _comparisons(table: pandas.DataFrame) -> list[Comparison]:
    """The rows of the paper, whose attention is the weight: here the first measure."""
    first = table.drop_duplicates("probe").set_index("probe")["UAS"]
    uuas = table[table["probe"] == LABELS["attention_and_words"]]["UUAS"]
    rows = []
    for name, number in published.TABLE_3.items():
        if name == "structural probe":
            ours = float(uuas.iloc[0]) if len(uuas) else None
            note = "the paper's is UUAS of a probe on hidden states; ours of attention and words"
            rows.append(Comparison("structural probe (UUAS)", number, ours, "%", note))
        else:
            found = float(first[name]) if name in first.index else None
            rows.append(Comparison(name, number, found, "%"))
    return rows


def _notes(reproduction: Reproduction) -> list[str]:
    sources = reproduction.sources
    trained = (
        f"Trained on {stem(sources.dependency_train)}, evaluated on {stem(sources.dependency[0])}"
        if sources.dependency_train
        else f"Trained on nine tenths of {stem(sources.dependency[0])} and evaluated on the rest"
    )
    vectors = Path(sources.word_vectors).name if sources.word_vectors else "the model's own"
    return [
        model_note(reproduction),
        f"{trained}; the paper's treebank is the Penn Treebank (36,160 and 1,696 sentences).",
        f"Word vectors: {vectors}; the paper's are GloVe of 100 dimensions.",
        "Trained with early stopping on a tenth of the training sentences; the released code makes "
        "one pass, one sentence at a time, and gives each candidate the vector of the word after "
        "it by mistake, which is set right here.",
    ]
