"""Labelled texts of the papers that train classifiers: found, read, filtered, split, numbered."""

import json
import os
import tarfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st

from headlight.errors import CorpusError, UsageError
from headlight_papers.papers.jain2019 import Settings as Jain2019Settings
from headlight_papers.papers.labelled_sets import (
    PARTS,
    SHARE,
    LabelledSet,
    LabelledText,
    read_labelled,
    words_of,
)
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.papers.sources import Sources
from headlight_papers.papers.text_data import (
    BATCH,
    PADDING,
    UNKNOWN,
    data_key,
    open_data,
    prepare_data,
)
from headlight_papers.papers.text_tasks import labelled_in, named_sets, task_of
from headlight_words.corpora import WordVectors

GOOD = "a warm and funny film indeed"
BAD = "a cold and tedious film , alas"


def table(path: Path, rows: list[tuple[str, str]]) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(["text\tlabel", *("\t".join(row) for row in rows)]) + "\n")
    return str(path)


def mixed(count: int) -> list[tuple[str, str]]:
    return [(f"{GOOD} number{at}" if at % 2 else BAD, "gb"[at % 2 == 0]) for at in range(count)]


def sst(path: Path, count: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{at % 2} {GOOD if at % 2 else BAD} .\n" for at in range(count)))


# Where they lie


def test_sets_are_found_by_name_in_the_papers_order(tmp_path):
    for name in ("20news_sports/a.tar.xz", "ag_news/dev.tsv", "ag_news/classes.txt", "imdb/t.jsonl",
                 "sst/trees_dev.txt", "labelled_mine/a.tsv", "wikipedia/a.txt"):  # fmt: skip
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    for part in ("train", "dev"):
        sst(tmp_path / "sst" / f"stsa.binary.{part}", 4)
    (tmp_path / "ag_news" / "README.md").write_text("")
    (tmp_path / "imdb" / "LICENSE.mine").write_text("")
    found = [str(Path(source).relative_to(tmp_path)) for source in labelled_in(tmp_path)]
    assert found == ["sst/stsa.binary.*", "imdb/t.jsonl", "ag_news/dev.tsv",
                     "20news_sports/a.tar.xz", "labelled_mine/a.tsv"]  # fmt: skip
    assert list(map(str, Sources.found_in(tmp_path).labelled)) == list(labelled_in(tmp_path))


def test_a_folder_of_folders_is_one_source(tmp_path):
    (tmp_path / "20news" / "rec.sport.hockey").mkdir(parents=True)
    assert labelled_in(tmp_path) == (str(tmp_path / "20news"),)


@pytest.mark.parametrize(
    ("source", "title"),
    [
        ("a/sst/stsa.binary.*", "SST"), ("hf:glue:sst2", "SST"), ("hf:stanfordnlp/imdb", "IMDb"),
        ("aclImdb", "IMDb"), ("hf:ag_news", "AG News"), ("20news-bydate-train.tar.xz", "20 News"),
        ("mine/films.tsv", "films"), ("hf:org/films:config", "films"),
    ],
)  # fmt: skip
def test_names(source, title):
    assert task_of(source).title == title


def test_two_sets_of_one_name_are_refused():
    assert list(named_sets(["hf:imdb", "mine.tsv"])) == ["IMDb", "mine"]
    with pytest.raises(UsageError, match=r"hf:imdb and imdb\.jsonl are both IMDb"):
        named_sets(["hf:imdb", "imdb.jsonl"])


# Words


@pytest.mark.parametrize(
    ("text", "marks", "words"),
    [
        ("It's A déjà-vu , 1980s!", False, "it's a déjà vu qqq"),
        ("It's A déjà-vu , 1980s!?", True, "it's a déjà - vu , qqq !?"),
        ("you 've 3.5", True, "you ' ve qqq . qqq"),
        ("...", False, ""),
    ],
)
def test_words(text, marks, words):
    assert " ".join(words_of(text, marks=marks)) == words


# Parts


def test_without_parts_a_tenth_each_is_held_out_of_each_class(tmp_path):
    source = table(tmp_path / "films.tsv", mixed(100))
    found = read_labelled(source)
    assert {part: len(found.parts[part]) for part in PARTS} == {"train": 80, "dev": 10, "test": 10}
    for part in PARTS:
        share = np.mean([text.label for text in found.parts[part]])
        assert share == pytest.approx(0.5)
    assert found.classes == ("b", "g")
    texts = [text.words for part in PARTS for text in found.parts[part] if text.label]
    assert len(texts) == 50
    again, other = read_labelled(source), read_labelled(source, seed=1)
    assert again == found
    assert other.parts["train"] != found.parts["train"]


def test_the_development_part_of_sst_is_the_test_where_there_is_none(tmp_path):
    for part, count in {"train": 60, "dev": 40}.items():
        sst(tmp_path / "sst" / f"stsa.binary.{part}", count)
    source = labelled_in(tmp_path)[0]
    found = read_labelled(source)
    assert {part: len(found.parts[part]) for part in PARTS} == {"train": 54, "dev": 6, "test": 40}
    assert found.classes == ("negative", "positive")
    sst(tmp_path / "sst" / "stsa.binary.test", 20)
    found = read_labelled(source)
    assert {part: len(found.parts[part]) for part in PARTS} == {"train": 60, "dev": 40, "test": 20}


@pytest.mark.slow
def test_splits_of_a_data_set(tmp_path, monkeypatch):
    datasets = pytest.importorskip("datasets")
    monkeypatch.chdir(tmp_path)
    datasets.disable_progress_bars()

    def rows(count, labels):
        return datasets.Dataset.from_dict({"sentence": [GOOD] * count, "label": labels})

    parts = {"train": rows(40, [0, 1] * 20), "validation": rows(20, [0, 1] * 10)}
    datasets.DatasetDict(**parts, test=rows(9, [-1] * 9)).save_to_disk("sst2")
    found = read_labelled("hf:./sst2")
    assert {part: len(found.parts[part]) for part in PARTS} == {"train": 36, "dev": 4, "test": 20}
    assert sum(map(len, read_labelled("hf:./sst2::train").parts.values())) == 40


@settings(max_examples=30, deadline=None)
@given(st.integers(15, 60), st.integers(15, 60), st.integers(0, 3))
def test_a_split_keeps_every_text_once(tmp_path_factory, first, second, seed):
    texts = [(f"word{'x' * at} alone", "a") for at in range(first)]
    texts += [(f"term{'x' * at} alone", "b") for at in range(second)]
    folder = tmp_path_factory.mktemp("films")
    found = read_labelled(table(folder / "films.tsv", texts), seed)
    assert Counter(each.words[0] for part in PARTS for each in found.parts[part]) == Counter(
        "qqq" if any(map(str.isdigit, text)) else text.split()[0] for text, _ in texts
    )
    for part in ("dev", "test"):
        assert abs(len(found.parts[part]) - (first + second) / SHARE) <= 1
        of_a = sum(not each.label for each in found.parts[part])
        assert abs(of_a - first / SHARE) <= 1


# Filters


def test_lengths_are_strict_as_in_the_released_code(tmp_path):
    rows = [f"{at % 2} {'good ' * length}film" for at in range(30) for length in (4, 5, 6)]
    path = tmp_path / "sst" / "a.txt"
    path.parent.mkdir()
    path.write_text("\n".join(rows) + "\n")  # five words and fewer are left out
    found = read_labelled(str(path))
    lengths = Counter(len(text.words) for part in PARTS for text in found.parts[part])
    assert lengths == {6: 30, 7: 30}
    shorter = read_labelled(str(path), max_words=6)
    assert {len(text.words) for part in PARTS for text in shorter.parts[part]} == {6}


def test_long_reviews_are_left_out(tmp_path):
    path = tmp_path / "imdb.jsonl"
    rows = [{"label": ("neg", "pos")[at % 2], "file": "1", "text": "good " * (399 + at % 4 // 2)}
            for at in range(80)]  # fmt: skip
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = read_labelled(str(path))
    assert sum(map(len, found.parts.values())) == 40
    assert found.classes == ("negative", "positive")


def test_of_news_two_classes_are_kept(tmp_path):
    names = ("World", "Sports", "Business", "Sci/Tech")
    path = tmp_path / "ag_news.tsv"
    path.write_text("".join(f"News , no. {at} .\t{names[at % 4]}\n" for at in range(120)))
    found = read_labelled(str(path))
    assert found.classes == ("World", "Business")
    assert Counter(text.label for part in PARTS for text in found.parts[part]) == {0: 30, 1: 30}
    assert found.parts["train"][0].words == ("news", ",", "no", ".", "qqq", ".")


def test_of_newsgroups_the_two_of_sports_are_kept(tmp_path):
    for group in ("rec.sport.hockey", "rec.sport.baseball", "sci.space"):
        (tmp_path / group).mkdir()
        for at in range(20):
            text = f"From: me@x.edu\n\nHe writes:\n> no\nthe {group[-4:]} game was so very good\n"
            (tmp_path / group / str(at)).write_text(text)
    with tarfile.open(tmp_path / "20news-train.tar.gz", "w:gz") as archive:
        for group in tmp_path.glob("*.*.*"):
            if group.is_dir():
                archive.add(group, f"20news/{group.name}")
    found = read_labelled(str(tmp_path / "20news-train.tar.gz"))
    assert found.classes == ("baseball", "hockey")
    assert sum(map(len, found.parts.values())) == 40
    words = {(text.words[1], text.label) for text in found.parts["train"]}
    assert words == {("ball", 0), ("ckey", 1)}


def test_a_part_can_be_capped(tmp_path):
    source = table(tmp_path / "films.tsv", mixed(200))
    found = read_labelled(source, max_texts=15)
    assert {part: len(found.parts[part]) for part in PARTS} == {"train": 15, "dev": 15, "test": 15}
    assert found == read_labelled(source, max_texts=15)
    assert {*found.parts["train"]} <= {*read_labelled(source).parts["train"]}


# What is refused


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([("good film", "g")] * 40, r"has the labels 'g', and the papers' models tell two classes"),
        ([("good film", "abc"[at % 3]) for at in range(40)], r"the labels 'a', 'b', 'c', and"),
        ([("good film", "-")] * 40, "has the labels none"),
        (mixed(20), r"holds 20 texts of its two classes .* at least 30; name a larger set"),
        ([("good", "ab"[at % 2]) for at in range(40)], "holds 0 texts"),
        (
            [("good film", "a" if at else "b") for at in range(40)],
            r"the \w+ part of .*films\.tsv has no text of the class 'b'",
        ),
    ],
)
def test_unfit_sets_are_one_sentence(tmp_path, rows, message):
    with pytest.raises(CorpusError, match=message) as refusal:
        read_labelled(table(tmp_path / "films.tsv", rows))
    assert str(refusal.value).count(". ") == 0


def test_pairs_and_finer_labels_are_refused(tmp_path):
    path = tmp_path / "pairs.tsv"
    path.write_text("sentence1\tsentence2\tlabel\n" + "one\tother\t1\n" * 40)
    with pytest.raises(CorpusError, match=r"pairs\.tsv:2: the row holds a pair of texts"):
        read_labelled(str(path))
    fine = tmp_path / "stsa.fine.txt"
    fine.write_text("".join(f"{at % 5} {GOOD} .\n" for at in range(100)))
    with pytest.raises(CorpusError, match=r"'0', '1', '2', '3', '4', .*\(negative and positive\)"):
        read_labelled(str(fine))


# Numbers


def labelled(*texts: str, frequency: int = 1) -> LabelledSet:
    made = [LabelledText(tuple(text.split()), at % 2) for at, text in enumerate(texts)]
    parts = {"train": made, "dev": made[:1], "test": made[1:]}
    return LabelledSet("mine", ("no", "yes"), parts, frequency)


def test_words_are_numbered_by_the_training_part():
    vectors = WordVectors({"b": 0, "c": 1}, np.array([[1, 2], [3, 4]], dtype=np.float32))
    data = prepare_data(labelled("a b", "b b c", "b", frequency=2), vectors)
    assert data.vocabulary == ("", "[unknown]", "b")
    (batch,) = data.parts["train"]
    assert batch.numbers.tolist() == [2, 0, 1]
    assert batch.words.tolist() == [[2, PADDING, PADDING], [UNKNOWN, 2, PADDING], [2, 2, UNKNOWN]]
    assert batch.real.tolist() == [[True, False, False], [True, True, False], [True, True, True]]
    assert batch.labels.tolist() == [0, 0, 1]
    assert data.vectors is not None
    assert data.vectors.tolist() == [[0, 0], [0, 0], [1, 2]]
    assert prepare_data(labelled("a b", "c")).vectors is None
    assert (data.count("train"), data.lengths("test").tolist()) == (3, [1, 3])
    assert data.labels("dev").tolist() == [0]


def test_batches_are_sorted_by_length():
    texts = [" ".join("w" * (at % 50 + 1)) for at in range(3 * BATCH + 5)]
    data = prepare_data(labelled(*texts))
    assert [len(batch.words) for batch in data.parts["train"]] == [BATCH, BATCH, BATCH, 5]
    lengths = data.lengths("train")
    assert torch.equal(lengths, lengths.sort().values)
    order = torch.cat([batch.numbers for batch in data.parts["train"]])
    assert sorted(order.tolist()) == [*range(len(texts))]
    assert [len(texts[at].split()) for at in order] == lengths.tolist()


def test_the_settings_of_a_reproduction_are_heeded(tmp_path):
    source = table(tmp_path / "films.tsv", mixed(60))
    (tmp_path / "glove.txt").write_text("film 1.0 2.0\n")
    sources = Sources(labelled=(source,), word_vectors=str(tmp_path / "glove.txt"))
    chosen = Jain2019Settings(max_texts=20, max_words=7)
    reproduction = Reproduction(None, None, sources, chosen, tmp_path / "out")
    data = open_data(reproduction, source)
    assert data.count("train") == 20
    assert int(data.lengths("train").max()) == 7
    assert data.vectors is not None
    key = data_key(reproduction, source)
    assert (key["max_texts"], key["max_words"]) == (20, 7)
    assert key == json.loads(json.dumps(key))


@pytest.mark.long
@pytest.mark.data
@pytest.mark.skipif("HEADLIGHT_DATA" not in os.environ, reason="HEADLIGHT_DATA is not set")
def test_the_shared_sets():
    found = named_sets(labelled_in(Path(os.environ["HEADLIGHT_DATA"])))
    counts = {
        title: tuple(len(read_labelled(source).parts[part]) for part in PARTS)
        for title, source in found.items()
    }
    assert counts == {
        "SST": (5725, 637, 822),
        "IMDb": (3487, 436, 436),
        "AG News": (4003, 501, 501),
        "20 News": (865, 109, 109),
    }
