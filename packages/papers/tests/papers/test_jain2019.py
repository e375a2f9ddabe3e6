"""The command `reproduce jain2019`, on a few texts of our own, and what it asks of each word."""

import shutil
from pathlib import Path

import numpy as np
import pandas
import pytest
import torch
from hypothesis import given, settings, strategies as st

from frozen_paper_runs import PAPER_RUNS, PaperMaterial
from headlight.measures import jensen_shannon
from headlight.measures.adversaries import AdversarySearch
from headlight.result import load
from headlight_papers.papers import find_paper
from headlight_papers.papers.exhibit_needs import NEEDS
from headlight_papers.papers.jain2019 import claims, published
from headlight_papers.papers.jain2019.figure_3_4_5_agreement import gain
from headlight_papers.papers.jain2019.histograms import outline
from headlight_papers.papers.jain2019.results import PAIRS
from headlight_papers.papers.settings import RESULTS
from headlight_papers.papers.text_classifiers import MODELS, ClassifierTrainer
from headlight_papers.papers.text_data import BATCH, drawn_from
from headlight_papers.training.text_classifier import TextBatch, TextClassifier
from headlight_papers.training.text_encoders import ENCODERS
from headlight_papers.training.text_predictor import (
    TextPredictor,
    adversaries,
    lost_words,
    permuted_change,
)

EXHIBITS = find_paper("jain2019").exhibits
GOOD = ["a", "warm", "and", "funny", "film", "with", "a", "heart"]
BAD = ["a", "cold", "and", "tedious", "film", "without", "an", "end"]
PREDICTOR = "headlight_papers.training.text_predictor"
SMALL = PAPER_RUNS["jain2019"].options


def table(path: Path, count: int = 60) -> str:
    """Pieces of two sentences."""
    rows = ["label\ttext"]
    for at in range(count):
        words = (GOOD, BAD)[at % 2]
        rows.append(f"{('good', 'bad')[at % 2]}\t{' '.join(words[at % 3 : 5 + at % 4])}")
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(rows) + "\n")
    return str(path)


@pytest.fixture(scope="module")
def data(material: PaperMaterial) -> Path:
    return material.films


@pytest.fixture(scope="module")
def out(material: PaperMaterial) -> Path:
    return material.reproduction("jain2019")


# The command


def test_exhibits_are_listed(headlight):
    code, said, _ = headlight("reproduce", "jain2019", "--list")
    assert code == 0
    assert [line.split()[0] for line in said.splitlines()] == [spec.name for spec in EXHIBITS]
    assert said.count("(needs labelled)") == len(EXHIBITS)


@pytest.mark.parametrize(
    ("arguments", "part", "code"),
    [
        (["--model", "bert"], "jain2019 trains models of its own and does not take --model", 2),
        (["--labelled", "none.tsv"], "there is no file or folder none.tsv", 1),
        (["--labelled", "films.tsv", "--labelled", "films.tsv"], "are both films", 2),
        (["--labelled", "few.tsv"], "few.tsv holds 6 texts", 1),
        (["--max-explained", "1"], "--max-explained must be at least 2", 2),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_requests_are_one_sentence(headlight, monkeypatch, tmp_path, arguments, part, code):
    monkeypatch.chdir(tmp_path)
    table(tmp_path / "films.tsv")
    table(tmp_path / "few.tsv", 6)
    assert part in headlight.refused("reproduce", "jain2019", *arguments, code=code)


def test_without_labelled_texts_the_page_says_so(headlight, tmp_path):
    code, _, complained = headlight("reproduce", "jain2019", "--out", tmp_path / "out")
    assert code == 0
    assert complained.count("left out") == len(EXHIBITS)
    assert NEEDS["labelled"].missing in (tmp_path / "out" / "index.html").read_text()


@pytest.mark.parametrize("spec", EXHIBITS, ids=lambda spec: spec.name)
@pytest.mark.slow
def test_every_exhibit_is_a_section_with_files_of_its_own(out, spec):
    page = (out / "index.html").read_text()
    assert f'id="{spec.name}"' in page
    suffix = "svg" if spec.name.startswith("figure") else "csv"
    assert all(path.stat().st_size for path in out.glob(f"{spec.name}*.{suffix}"))
    assert list(out.glob(f"{spec.name}*.{suffix}"))


@pytest.mark.slow
def test_the_page_names_data_and_differences(out):
    page = (out / "index.html").read_text()
    for words in ("SST", "Other data, other split", "models of the paper, trained here"):
        assert words in page


@pytest.mark.slow
def test_the_results_have_a_row_for_every_text(out):
    for encoder in ENCODERS:
        found = load(out / RESULTS / f"sst-{encoder}.nc", stage="jain2019")
        assert dict(found.sizes) == {"text": 6, "pair": 3, "part": 3, "class": 2}
        assert found["texts"].sum() == 100
        assert list(found["class"].values) == ["negative", "positive"]
        jsd = found["jsd"].dropna("text")
        assert len(jsd) == 2
        assert ((jsd >= 0) & (jsd <= np.log(2))).all()
        assert (found["moved"].dropna("text") <= 0.05).all()
        assert ((found["permuted"] >= 0) & (found["permuted"] <= 1)).all()
        defined = found["tau"].notnull()
        assert (abs(found["tau"].where(defined, 0)) <= 1).all()
        assert (found["p"].notnull() == defined).all()


@pytest.mark.slow
def test_what_is_finished_is_not_trained_again(headlight, monkeypatch, out, data, tmp_path):
    trained = []
    monkeypatch.setattr(ClassifierTrainer, "run", lambda trainer, job: trained.append(job))
    copy = tmp_path / "copy"
    shutil.copytree(out, copy)
    (copy / RESULTS / "sst-lstm.nc").unlink()
    arguments = ["--data", data, "--out", copy, *SMALL, "--only", "table-2", "--resume"]
    monkeypatch.setattr(f"{PREDICTOR}.RELEASED", AdversarySearch(steps=3))
    code, _, complained = headlight("reproduce", "jain2019", *arguments)
    assert code == 0, complained
    assert not trained
    assert len(list((copy / RESULTS / MODELS / "sst").glob("base-*"))) == len(ENCODERS)
    assert (copy / "table-2.csv").read_bytes() == (out / "table-2.csv").read_bytes()


# What is asked of each word


def batch_of(*lengths: int, seed: int = 0) -> TextBatch:
    generator = torch.Generator().manual_seed(seed)
    sizes = torch.tensor(lengths)
    real = torch.arange(max(lengths)) < sizes[:, None]
    words = torch.randint(1, 20, real.shape, generator=generator) * real
    return TextBatch(words, real, torch.zeros(len(lengths)).long(), torch.arange(len(lengths)))


def model_of(encoder: str, seed: int = 0) -> TextClassifier:
    torch.manual_seed(seed)
    model = TextClassifier.from_sizes(encoder, 20, 2)  # type: ignore[arg-type]
    with torch.no_grad():
        model.embedding.weight.mul_(10)
        model.output.weight.mul_(10)
    return model.eval()


@pytest.mark.parametrize("encoder", ENCODERS)
def test_leaving_a_word_out_is_reading_the_text_without_it(encoder, monkeypatch):
    monkeypatch.setattr(f"{PREDICTOR}.MOST_STATES", 9)
    model, batch = model_of(encoder), batch_of(1, 3, 5)
    found = lost_words(TextPredictor(model, batch))
    assert np.isnan(found[0]).all()
    for row, length in ((1, 3), (2, 5)):
        text = batch.words[row, :length].tolist()

        def probability(words: list[int]) -> float:
            with torch.no_grad():
                logits, _ = model(torch.tensor([words]), torch.ones(1, len(words)).bool())
            return float(logits.double().softmax(-1)[0, 1])

        for at in range(length):
            without = probability(text[:at] + text[at + 1 :])
            expected = abs(probability(text) - without)
            assert float(found[row][at]) == pytest.approx(expected, abs=1e-6)
        assert len(found[row]) == length


@pytest.mark.parametrize("encoder", ENCODERS)
def test_a_gradient_is_the_slope_of_a_word_while_attention_stays(encoder):
    model, batch = model_of(encoder).double(), batch_of(4, 2)
    found = TextPredictor(model, batch).gradient_input(1, attention_fixed=True).abs()
    embedded = model.embedding(batch.words).detach()
    with torch.no_grad():
        weight = model.attend(model.encode(embedded, batch.real), batch.real)

        def probability(embedded: torch.Tensor) -> torch.Tensor:
            return model.classify(model.encode(embedded, batch.real), weight).softmax(-1)[:, 1]

        step = 1e-6
        for row, length in enumerate((4, 2)):
            for at in range(length):
                above, below = embedded.clone(), embedded.clone()
                above[row, at] *= 1 + step
                below[row, at] *= 1 - step
                slope = (probability(above) - probability(below))[row] / (2 * step)
                assert float(found[row, at]) == pytest.approx(abs(float(slope)), abs=1e-7)
    assert not found[1, 2:].any()


def test_of_attention_the_gradient_does_not_speak():
    """Words alone: what is left is weight times what the word says, by hand."""
    model, batch = model_of("average").double(), batch_of(3)
    found = TextPredictor(model, batch).gradient_input(1, attention_fixed=True).abs()
    embedded = model.embedding(batch.words).detach()
    with torch.no_grad():
        states = model.encode(embedded, batch.real)
        weight = model.attend(states, batch.real)
        p = model.classify(states, weight).softmax(-1)[0, 1]
        direction = model.output.weight[1] - model.output.weight[0]
        inner = (1 - states[0] ** 2) * (embedded[0] @ model.encoder.map.weight.T)
        expected = (p * (1 - p) * weight[0] * (inner @ direction)).abs()
    torch.testing.assert_close(found[0], expected)


def test_permuting_moves_nothing_where_all_weights_are_alike():
    model, batch = model_of("average"), batch_of(5, 3)
    generator = torch.Generator().manual_seed(0)
    assert permuted_change(TextPredictor(model, batch), generator).max() > 1e-4
    with torch.no_grad():
        model.attention.weight.zero_()
    found = permuted_change(TextPredictor(model, batch), generator)
    np.testing.assert_allclose(found, 0, atol=1e-6)


def test_of_two_words_the_permutation_is_their_exchange():
    """It comes up in half of the cases, so that the median lies between nothing and it."""
    model, batch = model_of("average"), batch_of(2)
    with torch.no_grad():
        states = model.encode(model.embedding(batch.words), batch.real)
        weight = model.attend(states, batch.real)
        one, other = (
            model.classify(states, each).softmax(-1) for each in (weight, weight.flip(-1))
        )
    most = float((one - other).abs().sum() / 2)
    found = permuted_change(TextPredictor(model, batch), torch.Generator().manual_seed(1)).item()
    assert min(abs(found - each) for each in (0, most / 2, most)) < 1e-6


@pytest.mark.parametrize("encoder", ENCODERS)
def test_other_attention_leaves_the_prediction(encoder):
    model, batch = model_of(encoder), batch_of(6, 4, 1)
    search = AdversarySearch(steps=40)
    found = adversaries(TextPredictor(model, batch), torch.Generator().manual_seed(0), search)
    with torch.no_grad():
        states = model.encode(model.embedding(batch.words), batch.real)
        weight = model.attend(states, batch.real)
        base = model.classify(states, weight).softmax(-1)
        other = model.classify(states, found.weight[:, 0]).softmax(-1)
    assert ((base - other).abs().sum(-1) / 2 <= 0.05 + 1e-6).all()
    assert not found.weight[:, 0][~batch.real].any()
    torch.testing.assert_close(found.weight.sum(-1), torch.ones(3, 1))
    torch.testing.assert_close(found.jsd, jensen_shannon(found.weight[:, 0], weight), atol=1e-5,
                               rtol=1e-4)  # fmt: skip
    assert found.jsd[2] == 0  # of one word there is no other attention


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=40), st.integers(1, 50), st.integers(1, BATCH)
)
def test_drawn_texts_are_those_texts(lengths, count, size):
    lengths = sorted(lengths)
    whole = batch_of(*lengths)
    cut = len(lengths) // 2
    parts = [
        TextBatch(whole.words[rows], whole.real[rows], whole.labels[rows], whole.numbers[rows])
        for rows in (slice(0, cut), slice(cut, None))
    ]
    drawn = drawn_from([part for part in parts if len(part.words)], count, 0, size)
    numbers = torch.cat([batch.numbers for batch in drawn])
    assert len(numbers) == len({*numbers.tolist()}) == min(count, len(lengths))
    for batch in drawn:
        assert len(batch.words) <= size
        assert batch.real.any(0).all()
        for row, number in enumerate(batch.numbers.tolist()):
            text = batch.words[row][batch.real[row]]
            assert torch.equal(text, whole.words[number][whole.real[number]])


# Findings and pictures


def frames(lstm: list[float], average: list[float]) -> claims.Frames:
    """τ of attention with gradients, with leaving out, and of these two, by encoder."""

    def frame(taus: list[float], spread: float) -> pandas.DataFrame:
        noise = np.linspace(-spread, spread, 9)
        columns = {
            pair: tau + noise * (at + 1)
            for at, (pair, tau) in enumerate(zip(PAIRS, taus, strict=True))
        }
        return pandas.DataFrame(columns).assign(jsd=0.5 + noise, permuted=0.02 + noise, predicted=0)

    encoders = {"lstm": lstm, "average": average, "transformer": lstm}
    return {
        ("SST", encoder): frame(taus, 0.01 * number)
        for number, (encoder, taus) in enumerate(encoders.items(), 1)
    }


def test_the_paper_findings_hold_on_the_released_numbers():
    found = {}
    for encoder in ("lstm", "average"):
        known = published.RELEASED["SST", encoder]
        found[encoder] = [getattr(known, pair).mean for pair in PAIRS]
    judged = claims.judge_claims(frames(found["lstm"], found["average"]))
    assert [claim.answer for claim in judged] == [True] * 7
    assert judged[1].published == "SST 0.31 (released results)"
    turned = claims.judge_claims(frames(found["average"], found["lstm"]))
    assert [claim.answer for claim in turned[:4]] == [False] * 4


def test_released_numbers_are_named_by_what_they_hold():
    known = published.RELEASED["SST", "lstm"]
    assert (known.attention_gradient.mean, known.attention_left_out.mean) == (0.351, 0.291)
    assert (known.gradient_left_out.significant, known.jsd) == (0.91, (0.48, 0.49))
    assert len(published.RELEASED) == 8


def test_texts_without_a_correlation_are_left_out_of_a_difference():
    frame = pandas.DataFrame({pair: [0.1, np.nan, 0.3] for pair in PAIRS})
    assert gain(frame, "attention_gradient").tolist() == [0, 0]


def test_a_histogram_by_hand():
    heights = outline(pandas.Series([0.1, 0.2, 0.9, np.nan]), np.array([0, 0.5, 1]))
    np.testing.assert_allclose(heights, [2 / 3, 2 / 3, 1 / 3, 1 / 3])
    assert np.isnan(outline(pandas.Series([], dtype=float), np.array([0, 1.0]))).all()
