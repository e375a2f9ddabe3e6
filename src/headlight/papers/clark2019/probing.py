"""Section 5: what all heads together know about syntax (Table 3)."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import pandas
import xarray

from headlight.analysis.folder import RunFolder
from headlight.corpora import Sentence, WordVectors, open_treebank, read_word_vectors
from headlight.papers.clark2019 import published
from headlight.papers.clark2019.results import stem
from headlight.papers.reproduction import Study, file_state
from headlight.papers.text import model_note
from headlight.papers.writer import ExhibitWriter
from headlight.studies.parser_probes.result import probe_table
from headlight.studies.parser_probes.settings import ParserProbeSettings
from headlight.studies.parser_probes.study import run
from headlight.views.exhibits import Comparison, Exhibit
from headlight.views.pictures import BarRow, Mark, bars

EVERY = 10
"""Without a training treebank every tenth sentence is evaluated, and the others train."""

LABELS = {
    "right_branching": "right-branching",
    "distances_and_words": "distances and words",
    "random_attention_and_words": "random attention and words",
    "attention": "attention",
    "attention_and_words": "attention and words",
}


@dataclass(frozen=True)
class Part:
    """Some sentences of a treebank, by their places; it can be iterated again."""

    treebank: Iterable[Sentence]
    source: str
    evaluated: bool

    def __iter__(self) -> Iterator[Sentence]:
        for place, sentence in enumerate(self.treebank):
            if (place % EVERY == EVERY - 1) == self.evaluated:
                yield sentence


@dataclass(frozen=True)
class First:
    """The first sentences of a treebank; it can be iterated again."""

    treebank: Iterable[Sentence]
    source: str
    number: int | None

    def __iter__(self) -> Iterator[Sentence]:
        return islice(self.treebank, self.number)


def table_3(study: Study, desk: ExhibitWriter) -> Exhibit:
    """Probes and what they are compared with."""
    result = probed(study)
    table = _readable(probe_table(result))
    numbers = ["UAS", "low", "high", "UAS, best tree", "UUAS"]
    return Exhibit(
        name="table-3",
        title="What heads know together",
        source="Clark et al. (2019), Table 3 and Section 5",
        explanation="Parsers that see nothing but attention: each head has a weight, which in "
        "“attention and words” depends on the vectors of the two words. UAS is the share of words "
        "whose governor is found, punctuation left out. Beyond the paper: the best tree over the "
        "same scores, UUAS, and probes on other measures than the weight.",
        pictures=[
            desk.picture(
                bars(_rows(table), x_label="UAS", percent=True, dots=True, limits=(0.0, 1.0)),
                "UAS with 95% intervals, sentences resampled.",
                ", ".join(f"{_row_label(row)} {row['UAS']:.0f}%" for _, row in table.iterrows()),
            )
        ],
        tables=[
            desk.table(
                table.drop(columns="seconds"),
                "All probes, in percent; the interval is that of UAS",
                formats={**dict.fromkeys(numbers, ".1f"), "epochs": ".0f", "parameters": ","},
            )
        ],
        comparisons=_compared(table),
        notes=_notes(study),
        files=desk.written,
    )


def probed(study: Study) -> xarray.Dataset:
    """All probes on all measures of one forward pass."""
    train, evaluation = parts(study)

    def make(place: Path) -> xarray.Dataset:
        return run(
            evaluation,
            study.model,
            ParserProbeSettings(measures=study.forward_measures, seeds=(study.options.seed,)),
            train=train,
            vectors=_vectors(study, (train, evaluation)),
            folder=RunFolder(path=place, resume=True),
            progress=study.progress,
        )

    sources = [study.sources.dependency_train, study.sources.dependency[0]]
    states = [file_state(source) for source in sources if source]
    vectors = study.sources.word_vectors
    return study.kept(
        "probes",
        "parser_probes",
        make,
        sources=states,
        vectors=file_state(vectors) if vectors else None,
    )


def parts(study: Study) -> tuple[First | Part, First | Part]:
    """What probes are trained on, and what they parse."""
    options, source = study.options, study.sources.dependency[0]
    first = First(open_treebank(source, invalid=options.broken), source, options.max_sentences)
    if study.sources.dependency_train is None:
        return Part(first, source, evaluated=False), Part(first, source, evaluated=True)
    training = study.sources.dependency_train
    treebank = open_treebank(training, invalid=options.broken)
    return First(treebank, training, options.max_sentences), first


def _vectors(study: Study, treebanks: Iterable[Iterable[Sentence]]) -> WordVectors | None:
    """The vectors of the words that occur; the file may hold millions of others."""
    if study.sources.word_vectors is None:
        return None
    words = {word for bank in treebanks for sentence in bank for word in sentence.words}
    known = words | {word.lower() for word in words}
    return read_word_vectors(study.sources.word_vectors, vocabulary=known)


def _readable(table: pandas.DataFrame) -> pandas.DataFrame:
    ordered = ["probe", "measure", "UAS", "low", "high", "UAS, best tree", "UUAS"]
    rest = [column for column in table.columns if column not in ordered]
    return table[ordered + rest].assign(probe=table["probe"].map(LABELS))


def _rows(table: pandas.DataFrame) -> list[BarRow]:
    """One row for each probe, with a mark for each measure."""
    rows: dict[str, list[Mark]] = {}
    for row in table.to_dict("records"):
        measure = str(row["measure"]) or "no attention"
        value, low, high = (float(row[key]) / 100 for key in ("UAS", "low", "high"))
        colour = str(row["measure"]) or "other"
        rows.setdefault(str(row["probe"]), []).append(Mark(measure, value, low, high, colour))
    return [BarRow(probe, marks) for probe, marks in rows.items()]


def _row_label(row: pandas.Series) -> str:
    return f"{row['probe']} ({row['measure']})" if row["measure"] else str(row["probe"])


def _compared(table: pandas.DataFrame) -> list[Comparison]:
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


def _notes(study: Study) -> list[str]:
    sources = study.sources
    trained = (
        f"Trained on {stem(sources.dependency_train)}, evaluated on {stem(sources.dependency[0])}"
        if sources.dependency_train
        else f"Trained on nine tenths of {stem(sources.dependency[0])} and evaluated on the rest"
    )
    vectors = Path(sources.word_vectors).name if sources.word_vectors else "the model's own"
    return [
        model_note(study),
        f"{trained}; the paper's treebank is the Penn Treebank (36,160 and 1,696 sentences).",
        f"Word vectors: {vectors}; the paper's are GloVe of 100 dimensions.",
        "Trained with early stopping on a tenth of the training sentences; the released code makes "
        "one pass, one sentence at a time, and gives each candidate the vector of the word after "
        "it by mistake, which is set right here.",
    ]
