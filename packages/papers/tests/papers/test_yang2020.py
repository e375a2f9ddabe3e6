"""The command `reproduce yang2020`, on a few sentences of our own."""

import shutil
from pathlib import Path

import numpy as np
import pandas
import pytest
import scipy.stats
import torch

from frozen_paper_runs import CHUNKS, PAPER_RUNS, PaperMaterial
from headlight.result import load
from headlight_papers.intervals import mean_interval
from headlight_papers.papers import find_paper
from headlight_papers.papers.exhibit_needs import NEEDS
from headlight_papers.papers.settings import RESULTS
from headlight_papers.papers.sources import Sources
from headlight_papers.papers.yang2020.rankings import rank_agreement
from headlight_papers.papers.yang2020.table_1_adversaries import shown_weights
from headlight_papers.papers.yang2020.tagger_training import MODELS, TaggerTrainer
from papers.material import reproduced

EXHIBITS = find_paper("yang2020").exhibits
SMALL = PAPER_RUNS["yang2020"].options


def conll(count: int, tag: str = "") -> str:
    """Ends of one sentence, as CoNLL-2000 has them."""
    blocks = []
    for number in range(count):
        rows = CHUNKS[number % 5 :]
        blocks.append("\n".join(f"{word} {pos} {tag or chunk}" for word, pos, chunk in rows))
    return "\n\n".join(blocks) + "\n"


@pytest.fixture(scope="module")
def data(material: PaperMaterial) -> Path:
    return material.tagged


@pytest.fixture(scope="module")
def out(material: PaperMaterial) -> Path:
    return material.reproduction("yang2020")


# What is said without a model


def test_exhibits_are_listed(headlight):
    code, said, _ = headlight("reproduce", "yang2020", "--list")
    assert code == 0
    assert [line.split()[0] for line in said.splitlines()] == [spec.name for spec in EXHIBITS]
    assert said.count("(needs tagged") == len(EXHIBITS)


@pytest.mark.parametrize(
    ("arguments", "part", "code"),
    [
        (
            ["--model", "bert-base-uncased"],
            "yang2020 trains models of its own and does not take --model",
            2,
        ),
        (["--compare", "other"], "does not take --compare, an option of brunner2020", 2),
        (["--tagged", "none.txt"], "there is no file or folder none.txt", 1),
        (["--tagged", "few.txt"], "few.txt holds 6 sentences, and to be split it needs", 1),
        (["--tagged", "plain.txt"], "no tag that begins a span, such as B-NP", 1),
        (["--tagged", "few.txt", "--word-vectors", "none.vec"], "none.vec", 1),
        (["--lambdas", "-1"], "--lambdas must be at least 0", 2),
        (["--repeats", "0"], "--repeats", 2),
        (["--selection", "train"], "train", 2),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_requests_are_one_sentence(headlight, monkeypatch, tmp_path, arguments, part, code):
    monkeypatch.chdir(tmp_path)
    Path("few.txt").write_text(conll(6))
    Path("plain.txt").write_text(conll(60, tag="NN"))
    assert part in headlight.refused("reproduce", "yang2020", *arguments, code=code)


def test_without_tagged_sentences_the_page_says_so(headlight, tmp_path):
    code, _, complained = headlight("reproduce", "yang2020", "--out", tmp_path / "out")
    assert code == 0
    assert complained.count("left out") == len(EXHIBITS)
    assert NEEDS["tagged"].missing in (tmp_path / "out" / "index.html").read_text()


def test_without_labelled_texts_classifiers_are_left_out(headlight, data, tmp_path):
    tagged = ("--tagged", data / "conll2000" / "train.txt", "--only", "exclusivity")
    code, _, complained = headlight("reproduce", "yang2020", *tagged, "--out", tmp_path / "out")
    assert code == 0
    assert "left out" in complained
    assert NEEDS["labelled"].missing in (tmp_path / "out" / "index.html").read_text()


def test_the_training_file_of_the_folder_is_read(data):
    found = Sources.found_in(data)
    assert found.tagged == str(data / "conll2000" / "train.txt")
    assert found.word_vectors == str(data / "glove" / "vectors.txt")


# What is made


@pytest.mark.parametrize("spec", EXHIBITS, ids=lambda spec: spec.name)
@pytest.mark.slow
def test_every_exhibit_is_a_section_with_files_of_its_own(out, spec):
    page = (out / "index.html").read_text()
    assert f'id="{spec.name}"' in page
    suffixes = ("svg", "png") if spec.name.startswith("figure") else ("csv",)
    for suffix in suffixes:
        assert (out / f"{spec.name}.{suffix}").stat().st_size


@pytest.mark.slow
def test_the_page_names_data_and_differences(out):
    page = (out / "index.html").read_text()
    for words in ("train.txt", "vectors.txt", "48 to train, 6 for development and 6 to test",
                  "models of the paper, trained here", "a 95% interval"):  # fmt: skip
        assert words in page


@pytest.mark.slow
def test_the_result_has_a_row_for_every_model(out):
    sweep = load(out / RESULTS / "sweep.nc", stage="sweep")
    rows = sweep[["kind", "seed", "weight"]].to_dataframe()
    assert list(rows[rows.kind == "adversary"].weight) == [0.0, 0.1, 0.0, 0.1]  # 0 is always there
    assert (rows.kind == "base").sum() == 2
    assert (rows.kind == "seed").sum() == 1  # the pair of both, once
    assert (rows.kind == "uniform").sum() == 2
    base = sweep.isel(run=0)
    assert np.isnan(base["kl"]).all()
    assert np.isfinite(base["f1"]).all()
    others = sweep.isel(run=slice(2, None))
    assert np.isfinite(others["kl"]).all()
    assert (others["jsd"] <= np.log(2)).all()
    assert ((others["tvd"] >= 0) & (others["tvd"] <= 1)).all()
    guided = load(out / RESULTS / "guided.nc", stage="guided")
    assert sorted(set(guided["guide"].values)) == ["adversary", "base", "identity", "uniform"]
    of_base = guided.isel(run=int(np.flatnonzero(guided["guide"] == "base")[0]))
    np.testing.assert_allclose(of_base["jsd"], 0, atol=1e-6)


@pytest.mark.slow
def test_what_is_finished_is_not_trained_again(headlight, monkeypatch, out, data, tmp_path):
    """Not even where a result is gone, or more is asked for, but for what is new."""
    trained = []
    run = TaggerTrainer.run

    def noted(trainer, job):
        trained.append(job)
        run(trainer, job)

    monkeypatch.setattr(TaggerTrainer, "run", noted)
    copy = tmp_path / "copy"
    shutil.copytree(out, copy)
    (copy / RESULTS / "sweep.nc").unlink()
    more = ["--lambdas", "0.1,0.5", *SMALL[2:], "--only", "table-1", "--resume"]
    code, _, complained = headlight("reproduce", "yang2020", "--data", data, "--out", copy, *more)
    assert code == 0, complained
    assert {job.name for job in trained} == {"adversary-0-0.5", "adversary-1-0.5"}
    assert len(list((copy / RESULTS / MODELS).glob("base-*"))) == 2


@pytest.mark.slow
def test_models_that_somebody_has_removed_are_trained_again(out, data, tmp_path):
    """Those that guide, before those that are guided."""
    copy = tmp_path / "copy"
    shutil.copytree(out, copy)
    shutil.rmtree(copy / RESULTS / MODELS)
    (copy / RESULTS / "guided.nc").unlink()
    reproduced("yang2020", "--data", data, "--out", copy, *SMALL, "--only", "table-2", "--resume")
    assert (copy / "table-2.csv").read_bytes() == (out / "table-2.csv").read_bytes()
    names = {path.stem for path in (copy / RESULTS / MODELS).glob("*.safetensors")}
    assert "adversary-0-0.0" not in names
    assert {"base-0", "adversary-1-0.1", "guided-0-0.1-adversary"} <= names


# Numbers


def test_an_interval_by_hand():
    found = mean_interval(pandas.Series([0.8, 0.9, 1.0]))
    assert found.mean == pytest.approx(0.9)
    assert found.half == pytest.approx(4.302653 * 0.1 / 3**0.5, rel=1e-5)
    assert str(found) == "0.900 ± 0.248"
    assert str(mean_interval(pandas.Series([0.5]))) == "0.500"


def test_zero_stands_below_on_a_logarithmic_axis():
    np.testing.assert_allclose(shown_weights(np.array([0.0, 0.1, 1.0])), [0.1 / 10**0.5, 0.1, 1])
    np.testing.assert_allclose(shown_weights(np.array([0.0])), [1.0])


# Rankings


def test_rankings_of_words_by_loops():
    """ρ is that of scipy, of the words alone; equal weights share a rank."""
    generator = torch.Generator().manual_seed(0)
    one, other = torch.rand(2, 3, 7, generator=generator, dtype=torch.float64)
    other[0] = one[0]
    other[1] = 0.2
    one[2, 1] = one[2, 3]
    keys = torch.tensor([True] * 5 + [False] * 2)
    rho, same = rank_agreement(one, other, keys)
    assert rho[0] == pytest.approx(1)
    assert rho[1].isnan()
    assert rho[2] == pytest.approx(scipy.stats.spearmanr(one[2, :5], other[2, :5]).statistic)
    expected = [
        bool(first[:5].argmax() == second[:5].argmax())
        for first, second in zip(one, other, strict=True)
    ]
    assert same.tolist() == expected


@pytest.mark.slow
def test_rankings_are_of_adversaries_beside_base_and_smaller_lambda(out):
    found = load(out / RESULTS / "rankings.nc", stage="rankings").mean("head").to_dataframe()
    counts = found.groupby("of").size().to_dict()
    assert counts == {"its base": 4, "the λ before": 2, "another seed": 1}
    assert found.rho.between(-1, 1).all()
    assert found.same.between(0, 1).all()
