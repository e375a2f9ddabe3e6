"""Table 3 and Section 5: probes on all heads together."""

from pathlib import Path

import pandas
import xarray

from headlight.findings.estimates import estimates
from headlight.views.parts import Comparison, Section
from headlight.views.parts.bar_charts import bars
from headlight_papers.papers.clark2019 import Settings, published
from headlight_papers.papers.clark2019.exhibit import exhibit
from headlight_papers.papers.clark2019.results import stem
from headlight_papers.papers.exhibit_files import ExhibitWriter
from headlight_papers.papers.notes import model_note
from headlight_papers.papers.reproduction import Reproduction
from headlight_words.corpora import open_treebank

METRICS = {"uas": "UAS", "uas_tree": "UAS, best tree", "uuas": "UUAS"}
NO_ATTENTION = "no attention"
LABELS = {
    "right_branching": "right-branching",
    "distances_and_words": "distances and words",
    "random_attention_and_words": "random attention and words",
    "attention": "attention",
    "attention_and_words": "attention and words",
}


@exhibit("table-3", "Table 3 and Section 5", "dependency", title="What heads know together")
def table_3(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Probes and what they are compared with."""
    table = load_probe_table(reproduction)
    numbers = ["UAS", "low", "high", "UAS, best tree", "UUAS"]
    ordered = dict.fromkeys(["probe", "measure", *numbers, *table.columns])
    table = table[list(ordered)].assign(probe=table["probe"].map(LABELS))
    marks = (table[["UAS", "low", "high"]] / 100).assign(
        probe=table["probe"], measure=table["measure"].replace("", NO_ATTENTION)
    )
    return Section(
        explanation="Parsers that see nothing but attention: each head has a weight, which in "
        "“attention and words” depends on the vectors of the two words. UAS is the share of words "
        "whose governor is found, punctuation left out. Beyond the paper: the best tree over the "
        "same scores, UUAS, and probes on other measures than the weight.",
        drawings=[
            writer.picture(
                bars(
                    marks,
                    "probe",
                    "UAS",
                    series="measure",
                    colours={NO_ATTENTION: "other"},
                    x_label="UAS",
                    percent=True,
                    limits=(0.0, 1.0),
                ),
                "UAS with 95% intervals, sentences resampled.",
                ", ".join(
                    f"{probe}{measure and f' ({measure})'} {uas:.0f}%"
                    for probe, measure, uas in table[["probe", "measure", "UAS"]].to_numpy()
                ),
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
    """Return a row for each probe and measure, shares in percent; low and high are of UAS."""
    result = load_probes(reproduction)
    shares = 100 * result["score"]
    uas = estimates(result, "score", ("row",), metric="uas")
    return pandas.DataFrame(
        {
            "probe": result["probe"].values,
            "measure": result["measure"].values,
            **{label: shares.sel(metric=name).values for name, label in METRICS.items()},
            "low": 100 * uas.low,
            "high": 100 * uas.high,
            "parameters": result["parameters"].values,
            "epochs": result["epochs"].mean("seed").values,
        }
    )


def load_probes(reproduction: Reproduction[Settings]) -> xarray.Dataset:
    """Load all probes on all measures of one forward pass."""
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


def _comparisons(table: pandas.DataFrame) -> list[Comparison]:
    """Compare with the rows of the paper, whose attention is the weight: here the first measure."""
    first = table.drop_duplicates("probe").set_index("probe")["UAS"]
    uuas = table[table["probe"] == LABELS["attention_and_words"]]["UUAS"]
    rows = []
    for name, number in published.TABLE_3.items():
        if name == "structural probe":
            ours = float(uuas.iloc[0]) if len(uuas) else None
            note = "the paper's is UUAS of a probe on hidden states; ours of attention and words"
            rows.append(Comparison("structural probe (UUAS)", number, ours, "%", note))
        else:
            our_score = float(first[name]) if name in first.index else None
            rows.append(Comparison(name, number, our_score, "%"))
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
