"""What a folder of data promises by the names in it."""

from pathlib import Path

import pytest

from headlight.errors import CorpusError
from headlight.papers.sources import Sources


def made(folder: Path, *names: str) -> Path:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    return folder


def test_folders_are_known_by_their_names(tmp_path: Path) -> None:
    folder = made(
        tmp_path,
        "wikipedia_b/x.txt",
        "wikipedia_a/x.txt",
        "ud_english/en-ud-train.conllu.xz",
        "ud_english/en-ud-dev.conllu",
        "ud_english/en-ud-test.conllu",
        "ud_english/README.md",
        "ud_german/de-ud-test.conllu.gz",
        "my_coref/one.conll",
        "my_coref/LICENSE.txt",
        "glove.small/vectors.txt.xz",
        "something/else.txt",
    )
    found = Sources.found_in(folder)
    assert found.text == str(folder / "wikipedia_a")
    assert found.dependency == (
        str(folder / "ud_english/en-ud-dev.conllu"),
        str(folder / "ud_german/de-ud-test.conllu.gz"),
    )
    assert found.dependency_train == str(folder / "ud_english/en-ud-train.conllu.xz")
    assert found.coreference == (str(folder / "my_coref/one.conll"),)
    assert found.word_vectors == str(folder / "glove.small/vectors.txt.xz")


def test_a_training_part_is_never_evaluated(tmp_path: Path) -> None:
    found = Sources.found_in(made(tmp_path, "treebank/train.conllu", "treebank/held-out.conllu"))
    assert found.dependency == (str(tmp_path / "treebank/held-out.conllu"),)


def test_one_file_of_each_folder_of_sentence_pairs_is_read(tmp_path: Path) -> None:
    folder = made(
        tmp_path,
        "glue_mrpc/msr_paraphrase_train.txt",
        "glue_mrpc/msr_paraphrase_test.txt",
        "glue_mrpc/README.md",
        "CoLA/in_domain_dev.tsv",
        "CoLA/out_of_domain_dev.tsv",
        "CoLA/in_domain_train.tsv",
        "my-mnli/dev_matched.jsonl.xz",
        "my-mnli/dev_mismatched.jsonl.xz",
        "pairs_of_ours/everything.csv",
        "pairs_of_ours/everything.pdf",
        "chocolate/dev.tsv",
    )
    assert Sources.found_in(folder).pairs == tuple(
        str(folder / name)
        for name in (
            "CoLA/in_domain_dev.tsv",
            "glue_mrpc/msr_paraphrase_test.txt",
            "my-mnli/dev_matched.jsonl.xz",
            "pairs_of_ours/everything.csv",
        )
    )
    mine = Sources(pairs=("hf:glue:mrpc",))
    assert mine.or_else(Sources.found_in(folder)).pairs == ("hf:glue:mrpc",)


def test_pairs_for_training_are_better_than_none(tmp_path: Path) -> None:
    found = Sources.found_in(made(tmp_path, "mrpc/msr_paraphrase_train.txt"))
    assert found.pairs == (str(tmp_path / "mrpc/msr_paraphrase_train.txt"),)


def test_what_is_named_by_hand_goes_before_what_is_found(tmp_path: Path) -> None:
    found = Sources.found_in(
        made(tmp_path, "text/a.txt", "ud_x/x-train.conllu", "ud_x/x-dev.conllu", "a_coref/c.conll")
    )
    mine = Sources(dependency=("ptb.conll",))
    both = mine.or_else(found)
    assert both.dependency == ("ptb.conll",)
    assert both.dependency_train is None, "probes must not be trained on another treebank"
    assert both.text == found.text
    assert both.coreference == found.coreference


@pytest.mark.parametrize("content", [(), ("readme/x.txt",)])
def test_a_folder_without_a_known_name_is_refused(tmp_path: Path, content: tuple[str, ...]) -> None:
    with pytest.raises(CorpusError, match="whose name says what it is"):
        Sources.found_in(made(tmp_path, *content))


def test_a_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="there is no folder"):
        Sources.found_in(tmp_path / "none")
