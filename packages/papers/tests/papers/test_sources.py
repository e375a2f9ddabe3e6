"""What a folder of data promises by the names in it."""

from pathlib import Path

import pytest

from headlight.errors import CorpusError
from headlight_papers.papers.sources import Sources
from headlight_papers.papers.translations import languages_of, link_file_name


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


def test_translations_are_known_by_their_languages(tmp_path: Path) -> None:
    folder = made(
        tmp_path,
        "align_a/gold.talp",
        "align_b/gold.naacl",
        "align_b/gold.talp",
        "align_c/gold.talp",
        "align_outputs/giza/align_b.forward.pharaoh",
        "align_outputs/giza/align_b.union.pharaoh",
        "align_outputs/giza/align_bb.union.pharaoh",
        "align_outputs/fast/align_b.forward.pharaoh",
        "align_outputs/README.md",
        "parallel_x/talks/val.de.xz",
        "parallel_x/talks/val.en.xz",
        "parallel_x/web/train.de.xz",
        "parallel_x/web/train.en.xz",
        "parallel_x/alone/train.de",
    )
    texts = {
        "a/test.de": "ein haus",
        "b/test.de": "ein altes haus",
        "c/test.fr": "une vieille maison",
    }
    for name, text in texts.items():
        path = folder / f"align_{name}"
        path.write_text(text)
        path.with_name("test.en").write_text("a house")
    found = Sources.found_in(folder)
    place = folder / "align_b"
    assert found.translations == str(place / "test.de"), "that with most text"
    assert found.translations_target == str(place / "test.en")
    assert found.gold == str(place / "gold.naacl")
    outputs = folder / "align_outputs"
    assert found.links == tuple(
        str(outputs / name)
        for name in (
            "fast/align_b.forward.pharaoh",
            "giza/align_b.forward.pharaoh",
            "giza/align_b.union.pharaoh",
        )
    )
    assert found.parallel == str(folder / "parallel_x/web/train.de.xz")
    assert found.parallel_target == str(folder / "parallel_x/web/train.en.xz")
    folder.joinpath("align_b").rename(folder / "align_b_de-en")
    turned = Sources.found_in(folder, ("en", "de"))
    assert turned.translations == str(folder / "align_a/test.en"), "links of b are from de to en"
    french = Sources.found_in(folder, ("fr", "en"))
    assert french.translations == str(folder / "align_c/test.fr")
    assert (french.links, french.parallel) == ((), None)


def test_translations_named_by_hand_take_no_links_of_others(tmp_path: Path) -> None:
    folder = made(tmp_path, "align_a/test.de", "align_a/test.en", "align_a/gold.talp",
                  "align_o/align_a.x.pharaoh", "parallel/p.de", "parallel/p.en")  # fmt: skip
    found = Sources.found_in(folder)
    mine = Sources(translations="pairs.tsv", parallel="more.tsv").or_else(found)
    assert (mine.translations_target, mine.gold, mine.links) == (None, None, ())
    assert mine.parallel_target is None
    assert Sources(text="a.txt").or_else(found).links == found.links


@pytest.mark.parametrize(
    ("model", "languages"),
    [
        (None, ("de", "en")),
        ("bert-base-uncased", ("de", "en")),
        ("Helsinki-NLP/opus-mt-ro-en", ("ro", "en")),
        ("models/opus-mt-tc-big-ENG-deu", ("eng", "deu")),
        ("headlight-translator", ("de", "en")),
    ],
)
def test_the_name_of_a_model_says_what_it_translates(
    model: str | None, languages: tuple[str, str]
) -> None:
    assert languages_of(model) == languages


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("out/giza/set.forward.pharaoh0", ("giza", "forward")),
        ("out/giza.links", ("giza.links", "")),
        ("out/links", ("links", "")),
    ],
)
def test_the_name_of_a_file_of_links(path: str, name: tuple[str, str]) -> None:
    assert link_file_name(path) == name


def test_translations_and_links_must_fit_each_other(tmp_path: Path) -> None:
    for name, text in {
        "test.de": "ein haus\nja\n",
        "test.en": "a house\nyes\n",
        "gold.talp": "1-1 2-2\n1-1\n",
        "far.talp": "1-1 2-3\n1-1\n",
        "short.links": "0-0\n",
    }.items():
        (tmp_path / name).write_text(text)
    sides = {
        "translations": str(tmp_path / "test.de"),
        "translations_target": str(tmp_path / "test.en"),
    }
    fitting = Sources(**sides, gold=str(tmp_path / "gold.talp"))
    fitting.check({"gold"})
    assert fitting.aligned is not None
    assert fitting.aligned.words == [(["ein", "haus"], ["a", "house"]), (["ja"], ["yes"])]
    short = fitting.replace(links=(str(tmp_path / "short.links"),))
    short.check({"dependency"})
    with pytest.raises(CorpusError, match=r"short\.links"):
        short.check({"gold"})
    with pytest.raises(CorpusError, match=r"far\.talp"):
        Sources(**sides, gold=str(tmp_path / "far.talp")).check({"gold"})
    with pytest.raises(CorpusError, match=r"none\.tsv"):
        fitting.replace(parallel=str(tmp_path / "none.tsv")).check({"gold"})
    assert Sources(**sides).aligned is None
