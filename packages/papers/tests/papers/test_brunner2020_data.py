"""The sentence pairs of Brunner et al., and the second model that is compared."""

from pathlib import Path

import pytest
import xarray

from headlight.errors import ModelError, UnknownNameError, UsageError
from headlight_papers.papers.brunner2020 import Settings as Brunner2020Settings
from headlight_papers.papers.brunner2020.contribution_results import load_contributions
from headlight_papers.papers.brunner2020.figure_8_9_10_generalisation import load_across_layers
from headlight_papers.papers.brunner2020.identity_maps import EPOCHS, load_same_layer
from headlight_papers.papers.brunner2020.pair_sets import PairSet, find_pair_set, pair_sets
from headlight_papers.papers.brunner2020.paper import PAPER
from headlight_papers.papers.exhibit_needs import NEEDS
from headlight_papers.papers.reproduction import Reproduction, open_reproduction
from headlight_papers.papers.sources import Sources
from headlight_papers.studies.token_identity import MapTrainingSettings, TokenIdentitySettings
from headlight_papers.studies.token_identity.study import run as identify
from papers.material import PAIRS, WORDS, folder_of_data, saved_model


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    return folder_of_data(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    return saved_model(tmp_path_factory.mktemp("models") / "tiny", head=False)


@pytest.fixture
def reproduction(data, model, tmp_path) -> Reproduction:
    settings = Brunner2020Settings(max_length=16, max_pairs=10)
    return open_reproduction(model, Sources.found_in(data), settings, tmp_path, compared=model)


def test_sets_come_in_the_order_of_the_paper(reproduction, data):
    assert list(pair_sets(reproduction)) == ["mrpc", "cola"]
    assert find_pair_set(reproduction).name == "mrpc"
    assert find_pair_set(reproduction, "cola").source == str(data / "our_cola" / "dev.tsv")
    with pytest.raises(UnknownNameError, match="cola, mrpc"):
        find_pair_set(reproduction, "mnli")


def test_sets_of_one_name_are_told_apart(reproduction, data, tmp_path):
    other = tmp_path / "other.csv"
    other.write_text("first,second\nthe cat,a dog\n")
    mrpc, cola = (str(data / name) for name in ("our_mrpc/dev.txt", "our_cola/dev.tsv"))
    reproduction.sources = Sources(pairs=(str(other), cola, mrpc, cola))
    sets = pair_sets(reproduction)
    assert [(name, each.source, each.title) for name, each in sets.items()] == [
        ("mrpc", mrpc, "MRPC"), ("cola", cola, "CoLA"), ("cola-2", cola, "CoLA (2)"),
        ("pairs", str(other), "pairs"),
    ]  # fmt: skip
    assert {each.task for each in sets.values()} == {"mrpc", "cola", "pairs"}
    assert "none of the paper's sets" in sets["pairs"].note(1, 7)


def test_the_first_pairs_are_read_again_and_again(reproduction):
    chosen = find_pair_set(reproduction)
    assert (chosen.limit, chosen.length) == (10, 16)
    names = [pair.name for pair in chosen.pairs]
    assert len(names) == 10 < PAIRS
    assert [pair.name for pair in chosen.pairs] == names
    more = PairSet("mrpc", chosen.source, 1000, 16)
    assert len(list(more.pairs)) == PAIRS
    assert more.reads != chosen.reads
    assert all(pair.second is not None for pair in chosen.pairs)
    assert all(pair.second is None for pair in find_pair_set(reproduction, "cola").pairs)


@pytest.mark.slow
def test_pairs_are_cut_off(reproduction):
    found = load_contributions(reproduction, find_pair_set(reproduction))
    assert found.attrs["examples"] == found.attrs["truncated"] == 10
    assert found.attrs["tokens"] == 160


def test_the_note_says_what_was_read_and_what_the_paper_reads(reproduction):
    note = find_pair_set(reproduction).note(10, 160)
    assert "10 examples of dev.txt, 160 tokens, 16 on average, cut off after 16" in note
    assert "408 of 26 to 92 tokens, 58 on average" in note


def test_what_needs_pairs_or_a_second_model_says_so(reproduction):
    specs = {spec.name: spec for spec in PAPER.exhibits}
    assert specs["figure-13"].missing(reproduction) is None
    assert specs["figure-38"].missing(reproduction) is None
    assert specs["figure-39"].missing(reproduction) == NEEDS["mnli"].missing
    reproduction.compared = None
    assert specs["figure-13"].missing(reproduction) == NEEDS["compared"].missing
    reproduction.sources = Sources()
    assert "--pairs" in str(specs["figure-13"].missing(reproduction))
    with pytest.raises(UsageError, match="pairs="):
        find_pair_set(reproduction)


def test_a_second_model_has_the_vocabulary_of_the_first(model, tmp_path):
    settings, folder = Brunner2020Settings(), tmp_path / "other"
    saved_model(folder, head=False)
    assert (
        open_reproduction(model, Sources(), settings, tmp_path, compared=folder).compared
        is not None
    )
    from transformers import BertTokenizerFast

    (folder / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]",
                                                 *reversed(WORDS)]))  # fmt: skip
    BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    with pytest.raises(UsageError, match=r"another vocabulary .* compare="):
        open_reproduction(model, Sources(), settings, tmp_path, compared=folder)
    with pytest.raises(ModelError, match="nowhere"):
        open_reproduction(model, Sources(), settings, tmp_path, compared=tmp_path / "nowhere")


@pytest.mark.slow
def test_maps_of_the_same_layer_are_not_trained_again_for_all_layers(reproduction, monkeypatch):
    monkeypatch.setitem(EPOCHS, "linear", 2)
    reproduction.settings = reproduction.settings.replace(folds=2)
    pairs = find_pair_set(reproduction)
    same = load_same_layer(reproduction, pairs, "linear")

    def not_again(*given: object) -> None:
        raise AssertionError("a map is trained again")

    with monkeypatch.context() as patch:
        patch.setattr("headlight_papers.studies.token_identity.outcomes.fit", not_again)
        across = load_across_layers(reproduction, pairs, "linear", "l2")
    (rate,) = set(same["parameter"].sel(loss="l2").values.ravel().tolist())
    training = MapTrainingSettings(epochs=EPOCHS["linear"], precision="medium", rates=(rate,))
    settings = TokenIdentitySettings(
        maps=("linear",),
        losses=("l2",),
        across=True,
        folds=1,
        training=training,
        max_length=pairs.length,
    )
    alone = identify(pairs.pairs, reproduction.model, settings, progress=False)
    for name in ("rate", "rate_across", "train_rate", "epochs"):
        xarray.testing.assert_equal(across[name], alone[name])
    xarray.testing.assert_equal(across["rate"], same["rate"].sel(loss=["l2"]).isel(fold=[0]))


@pytest.mark.slow
def test_only_maps_of_the_first_set_are_tested_on_all_layers(reproduction):
    reproduction.settings = reproduction.settings.replace(folds=1, solver="ridge")
    found = load_same_layer(reproduction, find_pair_set(reproduction, "cola"), "linear")
    assert "rate_across" not in found
