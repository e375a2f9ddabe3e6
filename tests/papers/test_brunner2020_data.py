"""The sentence pairs of Brunner et al., and the second model that is compared."""

from pathlib import Path

import pytest

from headlight.errors import ModelError, UnknownNameError, UsageError
from headlight.papers.brunner2020.datasets import (
    main_set,
    pair_examples,
    pair_note,
    pair_sets,
    pair_source,
    pair_title,
)
from headlight.papers.plan import NEEDS, Plan
from headlight.papers.reproduction import Options, Study, open_study
from headlight.papers.sources import Sources
from papers.material import PAIRS, WORDS, folder_of_data, saved_model


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    return folder_of_data(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    return saved_model(tmp_path_factory.mktemp("models") / "tiny", head=False)


@pytest.fixture
def study(data, model, tmp_path) -> Study:
    options = Options(measures=("weight",), max_length=16, max_pairs=10)
    return open_study(model, Sources.found_in(data), options, tmp_path, compared=model)


def test_sets_come_in_the_order_of_the_paper(study, data):
    assert list(pair_sets(study)) == ["mrpc", "cola"]
    assert pair_source(study, "cola") == str(data / "our_cola" / "dev.tsv")
    with pytest.raises(UnknownNameError, match="cola, mrpc"):
        pair_source(study, "mnli")


def test_sets_of_one_name_are_told_apart(study, data, tmp_path):
    other = tmp_path / "other.csv"
    other.write_text("first,second\nthe cat,a dog\n")
    mrpc, cola = (str(data / name) for name in ("our_mrpc/dev.txt", "our_cola/dev.tsv"))
    study.sources = Sources(pairs=(str(other), cola, mrpc, cola))
    sets = pair_sets(study)
    assert list(sets.items()) == [
        ("mrpc", mrpc), ("cola", cola), ("cola-2", cola), ("pairs", str(other)),
    ]  # fmt: skip
    assert [pair_title(name) for name in sets] == ["MRPC", "CoLA", "CoLA (2)", "pairs"]
    assert main_set(study) == "mrpc"
    assert "none of the paper's sets" in pair_note(study, "pairs", 1, 7)


def test_the_first_pairs_are_read_again_and_again(study):
    examples = pair_examples(study, "mrpc")
    names = [example.name for example in examples]
    assert len(names) == 10 < PAIRS
    assert [example.name for example in examples] == names
    assert [example.name for example in pair_examples(study, "mrpc", limit=3)] == names[:3]
    assert len(list(pair_examples(study, "mrpc", limit=1000))) == PAIRS
    assert all(len(example.ids) <= 16 for example in examples)
    assert examples.counts.truncated == 10
    assert {max(example.segments) for example in examples} == {1}
    assert {max(example.segments) for example in pair_examples(study, "cola")} == {0}


def test_the_note_says_what_was_read_and_what_the_paper_reads(study):
    note = pair_note(study, "mrpc", 10, 160)
    assert "10 examples of dev.txt, 160 tokens, 16 on average, cut off after 16" in note
    assert "408 of 26 to 92 tokens, 58 on average" in note


def test_what_needs_pairs_or_a_second_model_says_so(study):
    plan = Plan("figure-13", "", lambda study, desk: None, needs=("pairs", "compared"))  # type: ignore[arg-type,return-value]
    assert plan.missing(study) is None
    assert Plan("figure-38", "", plan.make, ("cola",)).missing(study) is None
    assert Plan("figure-39", "", plan.make, ("mnli",)).missing(study) == NEEDS["mnli"]
    study.compared = None
    assert plan.missing(study) == NEEDS["compared"]
    study.sources = Sources()
    assert "--pairs" in str(plan.missing(study))
    with pytest.raises(UsageError, match="--pairs"):
        main_set(study)


def test_a_second_model_has_the_vocabulary_of_the_first(model, tmp_path):
    options, folder = Options(measures=("weight",)), tmp_path / "other"
    saved_model(folder, head=False)
    assert open_study(model, Sources(), options, tmp_path, compared=folder).compared is not None
    from transformers import BertTokenizerFast

    (folder / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]",
                                                 *reversed(WORDS)]))  # fmt: skip
    BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    with pytest.raises(UsageError, match=r"another vocabulary .* --compare"):
        open_study(model, Sources(), options, tmp_path, compared=folder)
    with pytest.raises(ModelError, match="nowhere"):
        open_study(model, Sources(), options, tmp_path, compared=tmp_path / "nowhere")
