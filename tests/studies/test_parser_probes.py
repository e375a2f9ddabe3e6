"""The table of probes, from sentences to result."""

import json

import numpy as np
import pytest
import torch

from headlight.corpora import Sentence, WordVectors
from headlight.errors import ResultError, UnknownNameError, UsageError
from headlight.result import load, save
from headlight.studies.parser_probes.batches import ParserData
from headlight.studies.parser_probes.evaluation import evaluate, share
from headlight.studies.parser_probes.models import Attention
from headlight.studies.parser_probes.result import probe_table
from headlight.studies.parser_probes.row import Material
from headlight.studies.parser_probes.settings import BASELINES, PROBES, ProbeSettings
from headlight.studies.parser_probes.study import parse_probes
from headlight.studies.parser_probes.training import Recipe
from headlight.studies.parser_probes.weights import load_probe, save_probe
from headlight.studies.parser_probes.words import table, unknown_share
from headlight.studies.word_maps.plan import plan_study
from headlight.studies.word_maps.store import open_features
from studies.models import WORDS, subject

QUICK = Recipe(epochs=2, learning_rate=0.02)


def bank(sentences: int, seed: int) -> list[Sentence]:
    """Every word hangs on the next one, the last on the root, and punctuation on the first."""
    generator = np.random.default_rng(seed)
    found = []
    for number in range(sentences):
        length = int(generator.integers(2, 7))
        words = [*generator.choice(WORDS, size=length).tolist(), "."]
        heads = (*range(2, length + 1), 0, 1)
        relations = ("dep",) * (length - 1) + ("root", "punct")
        found.append(Sentence(f"bank:{number}", tuple(words), heads, relations))
    return found


TRAIN, TEST = bank(24, 0), bank(9, 1)


@pytest.fixture(scope="module")
def made():
    return subject("bert")


@pytest.fixture(scope="module")
def vectors():
    """Of some of the words: the others are unknown."""
    known = WORDS[:20]
    matrix = np.random.default_rng(0).normal(size=(len(known), 6)).astype(np.float32)
    return WordVectors({word: row for row, word in enumerate(known)}, matrix)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("probes")


@pytest.fixture(scope="module")
def result(made, vectors, folder):
    settings = ProbeSettings(recipe=QUICK, seeds=(0, 1))
    return parse_probes(TRAIN, TEST, made, settings, vectors=vectors, folder=folder, progress=False)


def test_there_is_a_row_for_each_probe_and_measure(result):
    measures = ["weight", "norm", "effective"]
    expected = [("right_branching", ""), ("distances_and_words", "")]
    expected += [(probe, measure) for probe in PROBES[2:] for measure in measures]
    assert list(zip(result.probe.values, result.measure.values, strict=True)) == expected
    assert result.sizes == {"row": 11, "metric": 3, "seed": 2}


def test_right_branching_is_right_about_this_bank(result):
    row = result.sel(row="right_branching")
    words = sum(len(each) - 1 for each in TEST)
    assert row.score.sel(metric="uuas").item() == 1
    # The last word before the punctuation hangs on the root, and is said to hang on the next.
    assert row.score.sel(metric="uas").item() == pytest.approx((words - len(TEST)) / words)
    assert row.parameters.item() == row.epochs.max().item() == 0


def test_scores_lie_within_their_intervals_and_are_means_over_seeds(result):
    assert ((result.low <= result.score) & (result.score <= result.high)).all()
    np.testing.assert_allclose(result.by_seed.mean("seed"), result.score)


def test_how_many_numbers_each_probe_learns(result):
    heads, dimensions = 8, 6
    parameters = dict(zip(result.row.values, result.parameters.values, strict=True))
    assert parameters["attention/norm"] == 2 * heads + 2
    both = 2 * heads * (2 * dimensions + 1) + 2
    assert parameters["attention_and_words/weight"] == both
    assert parameters["random_attention_and_words/effective"] == both
    assert parameters["distances_and_words"] == (8 + 2 * dimensions + 2) * 256


def test_it_says_what_it_was_made_from(result, made):
    about = result.attrs
    assert (about["model"], about["revision"], about["stage"]) == (made.name, "1", "probes")
    assert about["sentences"] == [24, 9]
    assert about["words"] == [sum(map(len, TRAIN)), sum(map(len, TEST))]
    assert json.loads(about["root"]) == ["begin", "end"]
    assert any("word_embeddings" in name for name in json.loads(about["kept_in_control"]))
    assert [each["examples"] for each in json.loads(about["left_out"])] == [24, 9]
    unknown = np.mean([word not in WORDS[:20] for each in TEST for word in each.words])
    assert json.loads(about["unknown_words"])[1] == pytest.approx(unknown)
    assert json.loads(about["settings"])["recipe"]["learning_rate"] == 0.02


def test_it_is_saved_and_read_and_made_a_table(result, tmp_path):
    save(result, tmp_path / "probes.nc")
    again = load(tmp_path / "probes.nc", stage="probes")
    assert again.equals(result)
    frame = probe_table(again)
    assert list(frame["probe"]) == list(result.probe.values)
    np.testing.assert_allclose(frame["UAS"], 100 * result.score.sel(metric="uas"))
    assert (frame["seconds"] >= 0).all()
    assert set(frame) >= {"UAS", "UAS, best tree", "UUAS", "low", "high", "parameters", "epochs"}


def test_the_same_again_from_the_maps_that_are_kept(result, made, vectors, folder, monkeypatch):
    monkeypatch.setattr(type(made), "run", lambda *_, **__: pytest.fail("the model ran again"))
    settings = ProbeSettings(recipe=QUICK, seeds=(0, 1))
    again = parse_probes(
        TRAIN, TEST, made, settings, vectors=vectors, folder=folder, progress=False
    )
    assert again.equals(result)


def test_trained_probes_are_kept_and_parse_as_they_did(result, folder):
    paths = sorted(path.name for path in (folder / "weights").iterdir())
    assert len(paths) == 2 * 10
    model, notes = load_probe(folder / "weights" / "attention-norm-1.safetensors")
    assert notes["row"] == "attention/norm"
    features = open_features(folder / "evaluation" / "model", "norm")
    counts = evaluate(model, ParserData(features.index, features))
    expected = result.by_seed.sel(row="attention/norm", seed=1, metric="uas").item()
    assert share(*counts.of("uas")) == expected


def test_without_a_folder_and_with_the_words_of_the_model(made):
    settings = ProbeSettings(
        probes=("attention_and_words",),
        measures=("weight",),
        recipe=QUICK,
        align_root="as_released",
    )
    result = parse_probes(TRAIN, TEST, made, settings, progress=False)
    assert list(result.row.values) == ["attention_and_words/weight"]
    assert result.parameters.item() == 2 * 8 * (2 * 32 + 1) + 2
    assert json.loads(result.attrs["unknown_words"]) == [0, 0]


def test_treebanks_and_vectors_from_files(made, tmp_path):
    def written(name, bank):
        lines = [
            "\n".join(
                f"{number + 1}\t{word}\t_\t_\t_\t_\t{head}\t{relation}\t_\t_"
                for number, (word, head, relation) in enumerate(
                    zip(each.words, each.heads, each.relations, strict=True)
                )
            )
            for each in bank
        ]
        path = tmp_path / name
        path.write_text("\n\n".join(lines) + "\n\n", encoding="utf-8")
        return path

    vectors = tmp_path / "vectors.txt"
    vectors.write_text("".join(f"{word} 0.5 {place}\n" for place, word in enumerate(WORDS)))
    settings = ProbeSettings(probes=PROBES[:2], recipe=QUICK)
    paths = written("train.conllu", TRAIN), written("test.conllu", TEST)
    result = parse_probes(*paths, made, settings, vectors=vectors, progress=False)
    assert result.attrs["corpus"].endswith("test.conllu")
    assert result.attrs["training_corpus"].endswith("train.conllu")
    assert result.attrs["vectors"] == str(vectors)
    dots = len(TEST) / sum(map(len, TEST))
    assert json.loads(result.attrs["unknown_words"])[1] == pytest.approx(dots)


def test_baselines_alone_need_no_attention(made, tmp_path):
    settings = ProbeSettings(probes=PROBES[:1])
    result = parse_probes(TRAIN, TEST, made, settings, folder=tmp_path, progress=False)
    assert list(result.row.values) == ["right_branching"]
    assert not list(tmp_path.rglob("*.maps"))


def test_each_probe_sees_what_it_should(folder, result):
    stores = {
        name: open_features(folder / "evaluation" / name, "weight") for name in ("model", "random")
    }
    index = stores["model"].index
    words = torch.zeros(len(index.vocabulary), 2)
    maps = {name: {"weight": store} for name, store in stores.items()}
    material = Material(index, words, maps["model"], maps["random"], "cpu")
    seen = {probe: material.data(probe, "" if probe in BASELINES else "weight") for probe in PROBES}
    assert {probe: data.features for probe, data in seen.items()} == {
        "right_branching": None,
        "distances_and_words": None,
        "random_attention_and_words": stores["random"],
        "attention": stores["model"],
        "attention_and_words": stores["model"],
    }
    assert [probe for probe, data in seen.items() if data.dimensions is None] == [
        "right_branching",
        "attention",
    ]
    assert stores["random"].signature["model"] != stores["model"].signature["model"]
    assert not torch.equal(stores["random"].maps([0]), stores["model"].maps([0]))


def test_vectors_of_words_by_hand(made):
    sentence = Sentence("one", ("Sea", "lake-hill", "sea"), (0, 1, 1))
    index = plan_study([sentence], made).index
    source = WordVectors({"sea": 0, "hill": 1}, np.array([[1, 2], [3, 4]], dtype=np.float32))
    found = table(index, source)
    assert found[index.word].tolist() == [[1, 2], [0, 0], [1, 2]]
    assert unknown_share(index, found) == pytest.approx(1 / 3)
    own = table(index, made)
    pieces = made.tokenizer("lake - hill", add_special_tokens=False).input_ids
    expected = made.transformer.get_input_embeddings().weight[pieces].mean(0)
    torch.testing.assert_close(own[index.word[1]], expected.detach())


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"probes": ("attentions",)}, UnknownNameError),
        ({"measures": ("nrom",)}, UnknownNameError),
        ({"align_root": "released"}, UnknownNameError),
        ({"symmetry": "sum"}, UnknownNameError),
        ({"probes": ()}, UsageError),
        ({"seeds": ()}, UsageError),
        ({"measures": ()}, UsageError),
    ],
    ids=str,
)
def test_what_cannot_be_is_refused(wrong, error):
    with pytest.raises(error):
        ProbeSettings(**wrong)


def test_a_file_that_holds_no_probe_is_refused(tmp_path):
    path = tmp_path / "probe.safetensors"
    with pytest.raises(ResultError, match="cannot be read"):
        load_probe(path)
    save_probe(Attention(3), path, options={"heads": 4}, notes={})
    with pytest.raises(ResultError, match="not a probe"):
        load_probe(path)
