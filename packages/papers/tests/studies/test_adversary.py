"""Models with the same predictions and other attention: loops, seeds, files and processes."""

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
import xarray
from hypothesis import given, settings as hypothesis_settings, strategies as st
from transformers import BertForMaskedLM, BertForTokenClassification
from typer.testing import CliRunner

import headlight
from definitions import attention_distance
from example_data import SOURCES, tiny_classifier, tiny_model, write
from headlight.capture import CapturedModel, load_model
from headlight.catalogue import find_study
from headlight.cli.program import app
from headlight.engine.folder import RunFolder
from headlight.errors import CorpusError, HeadlightError, MissingHeadError, ModelError, UsageError
from headlight.observations.positions import Texts
from headlight_papers.classifiers.scores import macro_f1, span_f1
from headlight_papers.studies.adversary.page import growth
from headlight_papers.studies.adversary.students import StudentTrainer
from open_folders import opening
from studies.classifiers import classifier, labelled, tagged
from studies.intervals import agrees
from studies.models import model, texts, tokenizer
from tiny_models import randomise

QUICK: dict[str, Any] = {
    "start": "base", "lambdas": [0.3], "repeats": 1, "epochs": 2, "batch_size": 8,
    "learning_rate": 3e-3, "processes": 1, "progress": False,
}  # fmt: skip
TAGS = ("O", "B-X", "I-X")


def tagger() -> CapturedModel:
    """A BERT that gives tags in the scheme IOB2."""
    config = model("bert").transformer.config
    config.id2label, config.label2id = dict(enumerate(TAGS)), {tag: n for n, tag in enumerate(TAGS)}
    network = BertForTokenClassification(config).eval()
    with torch.no_grad():
        randomise(network, torch.Generator().manual_seed(3))
    return CapturedModel(network, tokenizer("bert"), "tagger", "1")


def sentences(count: int) -> list[tuple[list[str], list[str]]]:
    found = []
    for text in texts(count, longest=9):
        words = re.findall(r"\w+", text)
        found.append((words, [TAGS[min(at, 2)] for at in range(len(words))]))
    return found


def other(kind: str) -> CapturedModel:
    """A classifier of another architecture."""
    sizes = {
        "gpt2": {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 40},
        "distilbert": {"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 16},
    }[kind]
    chosen = tokenizer("bert")
    config = transformers.AutoConfig.for_model(
        kind, vocab_size=len(chosen), pad_token_id=0, num_labels=2, **sizes
    )
    config.id2label, config.label2id = {0: "bad", 1: "good"}, {"bad": 0, "good": 1}
    network = transformers.AutoModelForSequenceClassification.from_config(config).eval()
    with torch.no_grad():
        randomise(network, torch.Generator().manual_seed(3))
    return CapturedModel(network, chosen, kind, "1")


def of_kind(result: xarray.Dataset, kind: str, weight: float | None = None) -> xarray.Dataset:
    frame = result["kind"].values == kind
    if weight is not None:
        frame = frame & (result["weight"].values == weight)
    return result.isel(run=np.flatnonzero(frame))


# What is measured


@pytest.mark.slow
def test_numbers_are_those_of_the_model_that_is_kept(tmp_path: Path) -> None:
    """By loops over texts, heads and rows, with attention as transformers hands it out."""
    teacher = classifier()
    held_out = labelled(7)
    result = headlight.adversary(
        labelled(16), model=teacher, out=tmp_path / "run", keep_models=True, layers=[1],
        heads=[0, 2], held_out=str(_written(tmp_path / "held.tsv", held_out)), **QUICK,
    )  # fmt: skip
    own = BertForSequence(tmp_path / "run" / "models" / "adversary-0-0.3")
    base = BertForSequence(teacher.transformer, teacher.tokenizer)
    cell = of_kind(result, "adversary", 0.3).isel(run=0)
    expected: dict[str, list[Any]] = {name: [] for name in ("accuracy", "nll", "taught", "tvd")}
    far: dict[str, list[Any]] = {"kl": [], "jsd": []}
    for text, label in held_out:
        (p, one), (q, two) = own(text), base(text)
        gold = ("bad", "good").index(label)
        expected["accuracy"].append(np.argmax(p) == gold)
        expected["nll"].append(-math.log(p[gold]))
        expected["taught"].append(-math.log(p[np.argmax(q)]))
        expected["tvd"].append(sum(abs(a - b) for a, b in zip(p, q, strict=True)) / 2)
        for name in far:
            heads = [
                np.mean(
                    [
                        attention_distance(list(a), list(b), name)
                        for a, b in zip(one[1][head], two[1][head], strict=True)
                    ]
                )
                for head in (0, 2)
            ]
            far[name].append(heads)
    for name, values in expected.items():
        found = cell["taught_nll" if name == "taught" else name]
        assert float(found) == pytest.approx(np.mean(values), rel=1e-4)
        agrees(cell, found.name, np.array(values, float), np.ones(len(values)))
    for name, values in far.items():
        by_head = np.mean(values, axis=0)
        np.testing.assert_allclose(cell[f"head_{name}"].values[0], by_head, rtol=1e-3)
        assert float(cell[name]) == pytest.approx(by_head.mean(), rel=1e-3)
        agrees(cell, name, np.mean(values, axis=1), np.ones(len(values)))


def BertForSequence(network: Any, tokens: Any = None) -> Any:  # noqa: N802
    """Probabilities and attention of one text, by eager attention."""
    if isinstance(network, Path):
        tokens = transformers.AutoTokenizer.from_pretrained(network)
        network = transformers.AutoModelForSequenceClassification.from_pretrained(network)
    network = type(network)(network.config).eval().double(), network.state_dict()
    eager, weights = network
    eager.load_state_dict(weights)
    eager.set_attn_implementation("eager")

    def prediction(text: str) -> tuple[np.ndarray, list[np.ndarray]]:
        ids = tokens(text, return_tensors="pt")["input_ids"]
        with torch.no_grad():
            found = eager(input_ids=ids, output_attentions=True)
        attention = [each[0].numpy() for each in found.attentions]
        return found.logits[0].softmax(-1).numpy(), attention

    return prediction


def _written(path: Path, rows: list[tuple[str, str]]) -> Path:
    path.write_text("\n".join(["text\tlabel", *("\t".join(row) for row in rows)]), encoding="utf-8")
    return path


@hypothesis_settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=12))
def test_macro_f1_is_its_definition(predictions: list[tuple[int, int]]) -> None:
    counts = np.zeros((1, 9))
    for gold, found in predictions:
        counts[0, gold * 3 + found] += 1
    each = []
    for name in range(3):
        right = sum(gold == found == name for gold, found in predictions)
        whole = sum(gold == name for gold, _ in predictions) + sum(
            one == name for _, one in predictions
        )
        if whole:
            each.append(2 * right / whole)
    assert macro_f1(counts).item() == pytest.approx(np.mean(each))


def test_f1_of_spans() -> None:
    np.testing.assert_allclose(span_f1(np.array([[2.0, 3.0, 5.0], [0, 0, 0]])), [0.5, np.nan])


def test_rows_of_texts_of_different_lengths() -> None:
    real = torch.tensor([[True, True, True], [True, True, False]])
    read = Texts(real, torch.zeros(2, 3).long(), np.zeros((2, 3), dtype=np.int64), (1, 2))
    assert read.rows("all").equal(real)
    assert read.rows("first").int().tolist() == [[1, 0, 0], [1, 0, 0]]
    assert read.rows("last").int().tolist() == [[0, 0, 1], [0, 1, 0]]


@pytest.mark.slow
def test_the_base_is_itself_and_uniform_attention_is_uniform() -> None:
    teacher = classifier()
    result = headlight.adversary(labelled(12), model=teacher, **QUICK)
    base, even = (of_kind(result, kind).isel(run=0) for kind in ("base", "uniform"))
    for name in ("tvd", "kl", "jsd"):
        assert float(base[name]) == pytest.approx(0, abs=1e-12)
        assert float(even[name]) > 0.01
    assert float(base.agreement) == 1


@pytest.mark.slow
def test_uniform_attention_is_that_of_the_study_of_permutation(tmp_path: Path) -> None:
    teacher = classifier()
    place = _written(tmp_path / "held.tsv", labelled(6))
    for more in ({}, {"keep_special": True}, {"rows": "first"}):
        result = headlight.adversary(
            labelled(12), model=teacher, held_out=str(place), **QUICK, **more
        )
        alone = headlight.permutation(
            place, model=teacher, changes=["uniform"], by=["all"], progress=False,
            **more,
        )  # fmt: skip
        found = of_kind(result, "uniform").isel(run=0)
        assert float(found.tvd) == pytest.approx(float(alone.tvd[0]), abs=1e-6)
        assert float(found.accuracy) == pytest.approx(float(alone.accuracy[0]))


# Training


@pytest.mark.slow
@pytest.mark.parametrize(
    ("made", "data"),
    [
        (classifier, labelled),
        (tagger, sentences),
        (lambda: other("distilbert"), labelled),
        (lambda: other("gpt2"), labelled),
    ],
    ids=["bert", "tagger", "distilbert", "gpt2"],
)
def test_any_classifier_can_be_told_to_attend_elsewhere(made: Any, data: Any) -> None:
    teacher = made()
    before = {name: each.clone() for name, each in teacher.transformer.state_dict().items()}
    result = headlight.adversary(data(20), model=teacher, **QUICK | {"lambdas": [3.0], "epochs": 4})
    near, far = (of_kind(result, "adversary", one) for one in (0.0, 3.0))
    assert float(far.kl[0]) > 2 * float(near.kl[0])
    assert float(far.jsd[0]) > float(near.jsd[0])
    for name in ("accuracy", "f1", "nll", "tvd", "kl", "jsd"):
        assert np.isfinite(result[name].values).all()
    for name, each in teacher.transformer.state_dict().items():
        assert torch.equal(each, before[name])
    assert all(each.requires_grad for each in teacher.transformer.parameters())
    assert not any(each.grad is not None for each in teacher.transformer.parameters())


@pytest.mark.slow
def test_without_lambda_a_student_learns_its_teacher() -> None:
    teacher = classifier()
    more = {"start": "scratch", "lambdas": [], "epochs": 25, "learning_rate": 1e-2}
    result = headlight.adversary(labelled(40), model=teacher, **QUICK | more)
    student = of_kind(result, "adversary", 0.0).isel(run=0)
    assert float(student.loss[-1]) < 0.3 * float(student.loss[0])
    assert float(student.agreement) > 0.7


@pytest.mark.slow
@pytest.mark.parametrize("more", [{"predictions": "tvd"}, {"distance": "jsd"}, {"rows": "last"}])
def test_other_losses(more: dict[str, Any]) -> None:
    result = headlight.adversary(
        labelled(16), model=classifier(), **QUICK | {"lambdas": [5.0], "epochs": 4} | more
    )
    near, far = (of_kind(result, "adversary", one) for one in (0.0, 5.0))
    assert float(far.jsd[0]) > float(near.jsd[0])


@pytest.mark.slow
def test_a_seed_gives_the_same_bits_and_another_does_not() -> None:
    one, again, two = (
        headlight.adversary(labelled(14), model=classifier(), **QUICK, seed=seed)
        for seed in (0, 0, 1)
    )
    xarray.testing.assert_identical(one.drop_attrs(), again.drop_attrs())
    assert not np.array_equal(one.loss.values, two.loss.values, equal_nan=True)


@pytest.mark.long
def test_two_processes_give_the_same_bits(tmp_path: Path) -> None:
    place = tiny_classifier(tmp_path / "classifier")
    write(tmp_path)
    one, two = (
        headlight.adversary(
            tmp_path / SOURCES["labelled"], model=place, **QUICK | {"processes": processes}
        )
        for processes in (1, 2)
    )
    xarray.testing.assert_identical(one.drop_attrs(), two.drop_attrs())


@pytest.mark.slow
def test_students_begin_where_they_are_told_to(tmp_path: Path) -> None:
    """With the checkpoint's weights and a head that the seed makes."""
    place, before = tiny_classifier(tmp_path / "classifier"), tmp_path / "before"
    before.mkdir()
    tiny_model(before)
    kept = BertForMaskedLM.from_pretrained(before).bert.state_dict()
    begun = []

    def noted(trainer: StudentTrainer, student: CapturedModel, *_: object) -> list[float]:
        begun.append({n: each.clone() for n, each in student.transformer.state_dict().items()})
        return [0.0] * trainer.selection.settings.epochs

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(StudentTrainer, "epochs", noted)
        write(tmp_path)
        headlight.adversary(
            tmp_path / SOURCES["labelled"], model=place,
            **QUICK | {"start": str(before), "repeats": 2},
        )  # fmt: skip
    for name, each in kept.items():
        if "pooler" not in name:
            assert all(torch.equal(weights[f"bert.{name}"], each) for weights in begun)
    heads = [weights["classifier.weight"] for weights in begun]
    assert torch.equal(heads[0], heads[2])  # of one seed, two λ
    assert not torch.equal(heads[0], heads[1])


# Runs


@pytest.mark.slow
def test_finished_students_are_not_trained_again(tmp_path: Path, monkeypatch: Any) -> None:
    trained = []
    run = StudentTrainer.run

    def noted(trainer: StudentTrainer, job: Any) -> None:
        trained.append(job.name)
        run(trainer, job)

    monkeypatch.setattr(StudentTrainer, "run", noted)
    study = find_study("adversary")
    given_ = {name: value for name, value in QUICK.items() if name != "progress"}

    def result_of(resume: bool = True, **more: Any) -> xarray.Dataset:
        folder = RunFolder(path=tmp_path, resume=resume, overwrite=not resume)
        settings = study.settings.from_mapping(given_ | more)
        return opening(study.run)(
            labelled(12), classifier(), settings, folder=folder, progress=False
        )

    first = result_of()
    assert trained == ["adversary-0-0.0", "adversary-0-0.3", "seed-0"]
    assert first.identical(result_of())
    assert len(trained) == 3
    (tmp_path / "result.nc").unlink()
    more = result_of(lambdas=[0.3, 0.6])
    assert trained[3:] == ["adversary-0-0.6"]
    for one in (0.0, 0.3):
        same = (of_kind(each, "adversary", one).drop_attrs() for each in (first, more))
        xarray.testing.assert_identical(*same)
    result_of(resume=False)
    assert len(trained) == 7


@pytest.mark.slow
def test_the_command_and_its_report(tmp_path: Path) -> None:
    write(tmp_path)
    place = tiny_classifier(tmp_path / "classifier")
    out = tmp_path / "run"
    words = [
        "adversary", str(tmp_path / SOURCES["labelled"]), "--model", str(place), "--start", "base",
        "--lambdas", "0.1,1", "--repeats", "1", "--epochs", "1", "--processes", "1", "--out",
        str(out), "--keep-models",
    ]  # fmt: skip
    found = CliRunner().invoke(app, words)
    assert found.exit_code == 0, found.output
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "KL is said to level off if it grows by less than 10%" in page
    assert "ln 2" in page
    assert "faithful" not in page
    result = headlight.open(out)
    assert {"models", "runs", "heads"} <= set(result.headlight.tables)
    kept = load_model(out / "models" / "adversary-0-1.0", head="classification")
    assert kept.tokenizer is not None
    assert sorted(result["weight"].values[1:4]) == [0.0, 0.1, 1.0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kl", "says"),
    [
        ((0.1, 3.0, 3.1), "it levels off"),
        ((0.1, 1.0, 3.1), "it does not level off"),
        ((0.1, 3.0, 3.31), "it is inconclusive whether it levels off"),
        ((2.0, 2.1, 2.2), "KL hardly moves"),
        ((2.0, 2.1, 4.01), "it is inconclusive whether KL moves"),
    ],
)
def test_whether_kl_levels_off_is_said_by_its_rule(kl: Any, says: str) -> None:
    result = headlight.adversary(labelled(10), model=classifier(), **QUICK)
    one = of_kind(result, "adversary").isel(run=[0, 1, 1])
    one = one.assign_coords(weight=("run", [0.0, 0.1, 1.0])).assign(kl=("run", list(kl)))
    seeds = [one.assign(kl=one["kl"] + change) for change in (-0.001, 0.001)]
    found, alone = (
        growth(rows) for rows in (xarray.concat(seeds, "run", data_vars="minimal"), one)
    )
    assert says in found
    assert "it is inconclusive whether KL moves" in alone
    assert "nothing is said" in growth(one.isel(run=[0, 1]))


# What is refused


@pytest.mark.parametrize(
    ("data", "settings", "kind", "says"),
    [
        (
            labelled(6),
            {"start": None},
            UsageError,
            "before fine-tuning, scratch for random weights, or base",
        ),
        (labelled(6), {"start": "nowhere/at/all"}, ModelError, "no folder 'nowhere/at/all'"),
        ([("a sea", "good")] * 6, {}, CorpusError, "are of the class 'good'; give texts of at"),
        ([("a sea", "ugly")] * 6, {}, CorpusError, "'ugly' is none of the classes"),
        ([("", "good")] * 6, {}, CorpusError, "holds only blanks; complete the line"),
        (labelled(6), {"heads": [7]}, UsageError, "no head 7: heads are 0 to 3"),
        (labelled(6), {"keep_models": True}, UsageError, "in a folder of this machine"),
        (labelled(6), {"lambdas": [-1.0]}, UsageError, "lambdas"),
    ],
)
def test_wrong_requests(
    data: Any, settings: dict[str, Any], kind: type[HeadlightError], says: str
) -> None:
    with pytest.raises(kind, match=says):
        headlight.adversary(data, model=classifier(), **QUICK | settings)


def test_other_models_are_refused(tmp_path: Path) -> None:
    with pytest.raises(MissingHeadError, match="has no classification head"):
        headlight.adversary(labelled(6), model=model("bert"), **QUICK)
    with pytest.raises(UsageError, match="no tag that begins a span, such as B-NP"):
        headlight.adversary(tagged(6), model=classifier(tokens=True), **QUICK)
    place = tmp_path / "gpt2"
    other("gpt2").transformer.save_pretrained(place)
    with pytest.raises(ModelError, match=r"is no start of classifier.*scratch, or base\."):
        headlight.adversary(labelled(6), model=classifier(), **QUICK | {"start": str(place)})
