"""The table of probes, from sentences to result."""

import json

import numpy as np
import pytest
import torch

from headlight.corpora import Sentence
from headlight.engine.folder import RunFolder
from headlight.errors import RunError, UnknownNameError, UsageError
from headlight.result import RESULT, load, save
from headlight.result.estimate import with_ends
from headlight_words.corpora import WordVectors, open_treebank
from headlight_words.studies.parser_probes import BASELINES, PROBES, ParserProbeSettings
from headlight_words.studies.parser_probes.batches import unknown_share, vector_table
from headlight_words.studies.parser_probes.evaluation import ProbeTrainer, TrainingData
from headlight_words.studies.parser_probes.models import TrainingSettings
from headlight_words.studies.parser_probes.study import run as run_study, split_treebank
from headlight_words.studies.parser_probes.word_map_store import open_word_maps
from headlight_words.studies.parser_probes.word_maps import plan_word_maps
from open_folders import opening
from studies import models
from studies.models import WORDS

run = opening(run_study)

QUICK = TrainingSettings(epochs=2, learning_rate=0.02)


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
    return models.model("bert")


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
    settings = ParserProbeSettings(training=QUICK, seeds=(0, 1), processes=1)
    return run(
        TEST,
        made,
        settings,
        train=TRAIN,
        vectors=vectors,
        folder=RunFolder(path=folder),
        progress=False,
    )


@pytest.mark.slow
def test_there_is_a_row_for_each_probe_and_measure(result):
    measures = ["weight", "norm", "effective"]
    expected = [("right_branching", ""), ("distances_and_words", "")]
    expected += [(probe, measure) for probe in PROBES[2:] for measure in measures]
    assert list(zip(result.probe.values, result.measure.values, strict=True)) == expected
    assert result.sizes == {"row": 11, "metric": 3, "seed": 2, "slot": 32}


@pytest.mark.slow
def test_right_branching_is_right_about_this_bank(result):
    row = result.sel(row="right_branching")
    words = sum(len(each) - 1 for each in TEST)
    assert row.score.sel(metric="uuas").item() == 1
    # The last word before the punctuation hangs on the root, and is said to hang on the next.
    assert row.score.sel(metric="uas").item() == pytest.approx((words - len(TEST)) / words)
    assert row.parameters.item() == row.epochs.max().item() == 0


def test_scores_lie_within_their_intervals_and_are_means_over_seeds(result):
    ended = with_ends(result, "score")
    assert ((ended.score_low <= result.score) & (result.score <= ended.score_high)).all()
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
    assert (about["model"], about["revision"], about["stage"]) == (made.name, "1", "parser_probes")
    assert about["sentences"] == [24, 9]
    assert about["words"] == [sum(map(len, TRAIN)), sum(map(len, TEST))]
    assert json.loads(about["root"]) == ["begin", "end"]
    assert any("word_embeddings" in name for name in json.loads(about["kept_in_control"]))
    assert [each["examples"] for each in json.loads(about["left_out"])] == [24, 9]
    unknown = np.mean([word not in WORDS[:20] for each in TEST for word in each.words])
    assert json.loads(about["unknown_words"])[1] == pytest.approx(unknown)
    assert json.loads(about["settings"])["training"]["learning_rate"] == 0.02
    assert "seconds" not in about, "two runs have the same bits"


def test_it_is_saved_and_read(result, tmp_path):
    save(result, tmp_path / "probes.nc")
    again = load(tmp_path / "probes.nc", stage="parser_probes")
    assert again.equals(result)


@pytest.mark.slow
def test_a_finished_result_is_used_again_and_so_are_the_maps_that_are_kept(
    result, made, vectors, folder, monkeypatch
):
    monkeypatch.setattr(type(made), "run", lambda *_, **__: pytest.fail("the model ran again"))
    settings = ParserProbeSettings(training=QUICK, seeds=(0, 1), processes=1)
    given = {"train": TRAIN, "vectors": vectors, "progress": False}
    with pytest.raises(UsageError, match="holds a run already"):
        run(TEST, made, settings, folder=RunFolder(path=folder), **given)
    resumed = RunFolder(path=folder, resume=True)
    assert run(TEST, made, settings, folder=resumed, **given).equals(result)
    with pytest.raises(RunError, match="other settings \\(training\\)"):
        run(TEST, made, ParserProbeSettings(seeds=(0, 1), processes=1), folder=resumed, **given)
    (folder / RESULT).unlink()
    assert run(TEST, made, settings, folder=resumed, **given).equals(result)


@pytest.mark.long
def test_two_processes_give_the_same_numbers_and_what_is_finished_is_not_trained_again(
    made, vectors, tmp_path, result, monkeypatch
):
    """The second time one row is missing."""
    settings = ParserProbeSettings(training=QUICK, seeds=(0, 1), processes=2)
    place = RunFolder(path=tmp_path, resume=True)
    given = {"train": TRAIN, "vectors": vectors, "folder": place, "progress": False}
    assert run(TEST, made, settings, **given).equals(result)
    (tmp_path / RESULT).unlink()
    next(tmp_path.glob("rows/*/attention-norm.safetensors")).unlink()
    trained = []
    really = ProbeTrainer.run
    monkeypatch.setattr(
        ProbeTrainer, "run", lambda self, job: trained.append(job.name) or really(self, job)
    )
    assert run(TEST, made, settings.replace(processes=1), **given).equals(result)
    assert trained == ["attention-norm"]


@pytest.mark.slow
def test_maps_of_something_else_are_removed_where_a_run_is_overwritten(made, tmp_path):
    settings = ParserProbeSettings(probes=("attention",), measures=("weight",), training=QUICK)
    given = {"train": TRAIN, "progress": False}
    run(TEST, made, settings, folder=RunFolder(path=tmp_path), **given)
    other = settings.replace(queries="first")
    (tmp_path / RESULT).unlink()
    with pytest.raises(RunError, match="queries"):
        run(TEST, made, other, folder=RunFolder(path=tmp_path), **given)
    run(TEST, made, other, folder=RunFolder(path=tmp_path, overwrite=True), **given)


def test_without_a_training_treebank_every_tenth_sentence_is_parsed(made):
    settings = ParserProbeSettings(probes=PROBES[:1], max_examples=20)
    result = run(TRAIN, made, settings, progress=False)
    assert result.attrs["sentences"] == [18, 2]
    parsed = list(split_treebank(open_treebank(TRAIN).take(20))[1])
    assert parsed == [TRAIN[9], TRAIN[19]]
    words = sum(len(each) - 1 for each in parsed)
    expected = sum(len(each) - 2 for each in parsed) / words
    assert result.score.sel(metric="uas").item() == pytest.approx(expected)
    with pytest.raises(UsageError, match="read more than once"):
        run(iter(TRAIN), made, settings, progress=False)


def test_all_variables_say_what_they_are(result):
    assert all(each.attrs["long_name"] for each in result.data_vars.values())


def test_without_a_folder_and_with_the_words_of_the_model(made):
    settings = ParserProbeSettings(
        probes=("attention_and_words",),
        measures=("weight",),
        training=QUICK,
        align_root="as_released",
    )
    result = run(TEST, made, settings, train=TRAIN, progress=False)
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
    settings = ParserProbeSettings(
        probes=PROBES[:2],
        training=QUICK,
        processes=1,
        train=str(written("train.conllu", TRAIN)),
        word_vectors=str(vectors),
    )
    result = run(written("test.conllu", TEST), made, settings, progress=False)
    assert result.attrs["corpus"].endswith("test.conllu")
    assert result.attrs["training_corpus"].endswith("train.conllu")
    assert result.attrs["vectors"] == str(vectors)
    dots = len(TEST) / sum(map(len, TEST))
    assert json.loads(result.attrs["unknown_words"])[1] == pytest.approx(dots)


def test_baselines_alone_need_no_attention(made, tmp_path):
    settings = ParserProbeSettings(probes=PROBES[:1])
    result = run(TEST, made, settings, train=TRAIN, folder=RunFolder(path=tmp_path), progress=False)
    assert list(result.row.values) == ["right_branching"]
    assert not list(tmp_path.rglob("*.maps"))


def test_each_probe_sees_what_it_should(folder, result):
    stores = {
        name: open_word_maps(folder / "evaluation" / name, "weight") for name in ("model", "random")
    }
    index = stores["model"].index
    words = torch.zeros(len(index.vocabulary), 2)
    maps = {name: {"weight": store} for name, store in stores.items()}
    material = TrainingData(index, words, maps["model"], maps["random"], "cpu")
    seen = {probe: material.data(probe, "" if probe in BASELINES else "weight") for probe in PROBES}
    assert {probe: data.word_maps for probe, data in seen.items()} == {
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
    index = plan_word_maps([sentence], made).index
    source = WordVectors({"sea": 0, "hill": 1}, np.array([[1, 2], [3, 4]], dtype=np.float32))
    found = vector_table(index, source)
    assert found[index.word].tolist() == [[1, 2], [0, 0], [1, 2]]
    assert unknown_share(index, found) == pytest.approx(1 / 3)
    own = vector_table(index, made)
    pieces = made.tokenizer("lake - hill", add_special_tokens=False).input_ids
    expected = made.transformer.get_input_embeddings().weight[pieces].mean(0)
    torch.testing.assert_close(own[index.word[1]], expected.detach())


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"probes": ("attentions",)}, UnknownNameError),
        ({"measures": ("nrom",)}, UnknownNameError),
        ({"align_root": "released"}, UnknownNameError),
        ({"probes": ()}, UsageError),
        ({"seeds": ()}, UsageError),
        ({"measures": ()}, UsageError),
    ],
    ids=str,
)
@pytest.mark.usefixtures("unchecked")
def test_what_cannot_be_is_refused(wrong, error):
    with pytest.raises(error):
        ParserProbeSettings(**wrong)
