"""Tiny runs of the studies of papers and of all exhibits; `frozen_runs` has the others."""

import io
from collections.abc import Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas

import example_data
import frozen_runs
from frozen_numbers import Numbers, of_dataset, of_reproduction
from frozen_runs import StudyRun, labelled_run, sharpened, study_result
from headlight_papers.papers import NAMES, find_paper
from papers import material
from views.pages import with_pictures

TRAINED = {"repeats": 2, "epochs": 2, "processes": 1}
PLACES = ["all", "layer", "head"]
STUDY_RUNS: Mapping[str, StudyRun] = {
    "attribution": StudyRun("attribution", {"exact": 2, "attribution": {"directions": 2}}),
    "token_identity": StudyRun(
        "token_identity",
        {
            "across": True,
            "folds": 2,
            "losses": ["cosine"],
            "training": {"epochs": 2, "rates": [1e-3], "hidden": 4},
        },
    ),
    "token_identity-ridge": StudyRun(
        "token_identity",
        {"folds": 2, "maps": ["naive", "linear"], "losses": ["l2"], "solver": "ridge"},
    ),
    "permutation": labelled_run("permutation", shuffles=2, by=PLACES),
    "adversary": labelled_run("adversary", start="base", lambdas=[0.1], **TRAINED),
    "adversary-scratch": labelled_run("adversary", start="scratch", lambdas=[0.1], **TRAINED),
    "instance_adversary": labelled_run("instance_adversary", by=PLACES, steps=3),
    "guided": labelled_run("guided", **TRAINED),
}


@dataclass(frozen=True)
class PaperRun:
    """A paper's exhibits from little data.

    Attributes:
        paper: its name.
        data: the folder of `Material` that is given as ``--data``.
        model: the model of `Material`, if the paper loads one.
        options: the rest of the command.
    """

    paper: str
    data: str
    model: str | None
    options: tuple[object, ...]

    @property
    def exhibits(self) -> list[str]:
        """Names of the exhibits that are asked for."""
        names = dict(zip(self.options, self.options[1:], strict=False))
        asked = names.get("--only")
        return str(asked).split(",") if asked else [e.name for e in find_paper(self.paper).exhibits]


SECTION_5 = [spec.name for spec in find_paper("kobayashi2020").exhibits if "gold" in spec.needs]
OTHERS = [spec.name for spec in find_paper("kobayashi2020").exhibits if "gold" not in spec.needs]
PAPER_RUNS = {
    "clark2019": PaperRun(
        "clark2019", "texts", "sharp", ("--max-examples", 6, "--max-length", 48, "--processes", 1)
    ),
    "kobayashi2020": PaperRun(
        "kobayashi2020", "texts", "sharp",
        ("--max-examples", 6, "--max-length", 48, "--only", ",".join(OTHERS)),
    ),
    "kobayashi2020-alignment": PaperRun(
        "kobayashi2020", "translations", "translator",
        ("--samples", 2, "--max-gradients", 2, "--max-parallel", 0, "--only", ",".join(SECTION_5)),
    ),
    "brunner2020": PaperRun(
        "brunner2020", "texts", "long",
        ("--max-length", 32, "--max-examples", 4, "--max-pairs", 12, "--directions", 2,
         "--exact-pairs", 1, "--folds", 1, "--solver", "ridge"),
    ),
    "yang2020": PaperRun(
        "yang2020", "tagged", None,
        ("--lambdas", "0.1", "--epochs", 2, "--repeats", 2, "--processes", 1),
    ),
    "jain2019": PaperRun(
        "jain2019", "films", None,
        ("--epochs", 3, "--processes", 1, "--max-explained", 6, "--max-adversaries", 2),
    ),
    "wiegreffe2019": PaperRun(
        "wiegreffe2019", "films", None,
        ("--lambdas", "0.1", "--epochs", 3, "--repeats", 2, "--max-adversaries", 2,
         "--processes", 1),
    ),
    "kobayashi2021": PaperRun(
        "kobayashi2021", "texts", "sharp", ("--max-examples", 6, "--max-length", 48)
    ),
    **{
        name: PaperRun(name, "texts", "sharp", ("--max-examples", 4, "--max-length", 24))
        for name in ("abnar2020", "modarressi2022", "ferrando2022", "modarressi2023")
    },
}  # fmt: skip
RUNS = {**STUDY_RUNS, **PAPER_RUNS}
FROZEN = Path(__file__).parent / "frozen"
assert {run.paper for run in PAPER_RUNS.values()} == set(NAMES)

GOOD = ["a", "warm", "and", "funny", "film", "with", "a", "heart", "of", "gold", "that", "sings"]
BAD = ["a", "cold", "and", "tedious", "film", "without", "an", "end", "or", "a", "point"]
CHUNKS = [
    ("the", "DT", "B-NP"), ("old", "JJ", "I-NP"), ("mill", "NN", "I-NP"),
    ("grinds", "VB", "B-VP"), ("grain", "NN", "B-NP"), ("for", "IN", "B-PP"),
    ("42", "CD", "B-NP"), ("villages", "NN", "I-NP"),
]  # fmt: skip


class PaperMaterial(frozen_runs.Material):
    """Models and data for all runs, and what papers leave, each made when it is first asked for."""

    @cached_property
    def sharp(self) -> Path:
        """The model of the tests of papers, with attention that is far from uniform."""
        return self._shared("sharp", lambda to: sharpened(material.saved_model(to)))

    @cached_property
    def long(self) -> Path:
        """The same for longer texts."""
        return self._shared("long", lambda to: sharpened(material.saved_model(to, positions=160)))

    @cached_property
    def compared(self) -> Path:
        """A second model, which differs from `long` in its weights."""
        return self._shared(
            "compared", lambda to: sharpened(material.saved_model(to, positions=160), 15)
        )

    @cached_property
    def texts(self) -> Path:
        """Text, treebanks, coreference, word vectors and three sets of sentence pairs."""
        return self.new("texts", _write_texts)

    @cached_property
    def translations(self) -> Path:
        """Translations, gold links, those of other aligners, and more translations without."""
        return self.new("translations", _write_translations)

    @cached_property
    def tagged(self) -> Path:
        """Chunked sentences, word vectors, and the labelled texts of `films`."""
        return self.new("tagged", lambda to: (_write_tagged(to), write_films(to)))

    @cached_property
    def films(self) -> Path:
        """Labelled texts, some of which say the other class' words too."""
        return self.new("films", write_films)

    def reproduction(self, name: str) -> Path:
        """The files and the page of a run of `PAPER_RUNS`, made by the command."""
        return self._shared(f"out-{name}", lambda out: reproduce(PAPER_RUNS[name], self, out))


def _write_texts(folder: Path) -> None:
    material.folder_of_data(folder)
    pairs = pandas.read_csv(folder / "our_mrpc" / "dev.txt", sep="\t")
    columns = ["#1 String", "#2 String"]
    header = ["index", "sentence1", "sentence2", "gold_label"]
    labels = ("entailment", "neutral", "contradiction")
    rows = [
        [str(at), *row, labels[at % 3]] for at, row in enumerate(pairs[columns].values.tolist())
    ]
    (folder / "our_mnli").mkdir()
    text = "".join("\t".join(row) + "\n" for row in [header, *rows])
    (folder / "our_mnli" / "dev_matched.tsv").write_text(text, encoding="utf-8")


def _write_translations(folder: Path) -> None:
    for name in ("align_ours", "align_outputs/fast_align", "align_outputs/giza"):
        (folder / name).mkdir(parents=True)
    example_data.pairs_and_links(folder / "align_ours")
    for name, shift in (("fast_align", 0), ("giza", 1)):
        lines = [_shifted(links, shift) for _, _, links in example_data.TRANSLATIONS]
        path = folder / "align_outputs" / name / "align_ours.forward.pharaoh"
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    (folder / "parallel").mkdir()
    for side, language in enumerate(("de", "en")):
        lines = [each[side] for each in example_data.TRANSLATIONS] * 3
        path = folder / "parallel" / f"more.{language}"
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _write_tagged(folder: Path) -> None:
    (folder / "conll2000").mkdir()
    for name, count in (("train", 60), ("test", 30)):
        text = "\n\n".join("\n".join(map(" ".join, CHUNKS[at % 5 :])) for at in range(count))
        (folder / "conll2000" / f"{name}.txt").write_text(f"{text}\n", encoding="utf-8")
    (folder / "glove").mkdir()
    vectors = (f"{word} {place}.0 1.0\n" for place, (word, _, _) in enumerate(CHUNKS))
    (folder / "glove" / "vectors.txt").write_text("".join(vectors), encoding="utf-8")


def write_films(folder: Path) -> None:
    chosen = np.random.default_rng(0)
    (folder / "sst").mkdir()
    for part, count in (("train", 80), ("dev", 20)):
        rows = []
        for at in range(count):
            words = [str(w) for w in chosen.choice((BAD, GOOD)[at % 2], 6 + at % 5)]
            other = [str(w) for w in chosen.choice((GOOD, BAD)[at % 2], 2)]
            rows.append(f"{at % 2} {' '.join(words + other)}\n")
        path = folder / "sst" / f"stsa.binary.{part}"
        path.write_text("".join(rows), encoding="utf-8")


def _shifted(links: str, shift: int) -> str:
    """Pharaoh's links, from 0; all but the first one moved to the next target word but one."""
    pairs = [tuple(map(int, link.replace("p", "-").split("-"))) for link in links.split()]
    return " ".join(
        f"{i - 1}-{(j - 1 + shift * (at % 2)) % len(pairs)}" for at, (i, j) in enumerate(pairs)
    )


# ----------------------------------------------------------------------------- what is run


def numbers_of(name: str, material: PaperMaterial) -> Numbers:
    """Make the run of that name and collect its numbers.

    Args:
        name: of `RUNS`.
        material: what it reads.
    """
    if name in STUDY_RUNS:
        return of_dataset(study_result(STUDY_RUNS[name], material))
    return of_reproduction(material.reproduction(name), PAPER_RUNS[name].exhibits)


def reproduce(run: PaperRun, models: PaperMaterial, out: Path) -> None:
    """The files and the page of a paper, by the command."""
    loads = ["--model", getattr(models, run.model)] if run.model else []
    if run.paper == "brunner2020":
        loads += ["--compare", models.compared]
    data = getattr(models, run.data)
    with redirect_stdout(io.StringIO()), with_pictures():
        material.reproduced(run.paper, *loads, "--data", data, "--out", out, *run.options)
