"""Data sets through the ``datasets`` library, from local files only."""

import glob
import json
import sys

import pytest

from headlight.corpora import open_corpus, open_sentence_pairs
from headlight.corpora.hub import HubSource
from headlight.errors import CorpusError, UsageError

datasets = pytest.importorskip("datasets")


@pytest.fixture(autouse=True)
def local(tmp_path, monkeypatch):
    """Work in an empty folder; the library must not look for anything elsewhere."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", True)
    datasets.disable_progress_bars()
    folder = tmp_path / "reviews"
    folder.mkdir()
    for split, texts in {"train": ["one\n\ntwo", None, "three"], "test": ["four"]}.items():
        rows = (json.dumps({"text": text, "label": 1, "title": "t"}) for text in texts)
        (folder / f"{split}.jsonl").write_text("\n".join(rows))
    return tmp_path


def read(source, **options):
    return [(d.name, d.paragraphs) for d in open_corpus(source, **options)]


@pytest.mark.parametrize(
    ("source", "parts"),
    [
        ("hf:imdb", ("imdb", None, None, None)),
        ("hf:org/name:config", ("org/name", "config", None, None)),
        ("hf:imdb::test", ("imdb", None, "test", None)),
        ("hf:imdb:::body", ("imdb", None, None, "body")),
        ("hf:json:a/*.jsonl:train:text", ("json", "a/*.jsonl", "train", "text")),
    ],
)
def test_parts_are_told_apart_by_their_place(source, parts):
    assert HubSource.parse(source) == HubSource(*parts)


@pytest.mark.parametrize("source", ["hf:", "hf::a", "hf:a:b:c:d:e", "hf:a::train[:5]", "hf:json"])
def test_wrong_parts_are_refused_at_once(source):
    with pytest.raises(UsageError, match="hf:"):
        open_corpus(source)


def test_a_folder_of_files():
    assert read("hf:./reviews") == [
        ("hf:./reviews[0]", ("one", "two")),
        ("hf:./reviews[2]", ("three",)),
    ]
    assert read("hf:./reviews::test") == [("hf:./reviews::test[0]", ("four",))]
    assert [paragraphs for _, paragraphs in read("hf:./reviews:::title")] == [("t",)] * 3
    assert len(read("hf:./reviews", column="title")) == 3


def test_files_by_a_reader():
    assert [paragraphs for _, paragraphs in read("hf:json:reviews/te*.jsonl")] == [("four",)]


def test_saved_data_sets():
    saved = datasets.Dataset.from_dict({"body": ["a", "b"]})
    saved.save_to_disk("single")
    datasets.DatasetDict(validation=saved).save_to_disk("several")
    assert [paragraphs for _, paragraphs in read("hf:./single")] == [("a",), ("b",)]
    assert [paragraphs for _, paragraphs in read("hf:./several")] == [("a",), ("b",)]
    with pytest.raises(CorpusError, match="one split without a name"):
        read("hf:./single::train")


def test_a_saved_data_set_is_named_as_one():
    saved = datasets.Dataset.from_dict({"text": ["a"]})
    saved.save_to_disk("single")
    datasets.DatasetDict(validation=saved).save_to_disk("several")
    for name in ("single", "several"):
        for reader in (open_corpus, open_sentence_pairs):
            with pytest.raises(CorpusError, match=rf"save_to_disk .* write hf:\./{name},"):
                list(reader(name))
    with pytest.raises(CorpusError, match=r"\.arrow is an Arrow table; write hf:arrow: before"):
        list(open_corpus("single/*.arrow"))
    arrow = next(iter(glob.glob("single/*.arrow")))  # noqa: PTH207
    assert [paragraphs for _, paragraphs in read(f"hf:arrow:{arrow}")] == [("a",)]


def test_rows_of_null_are_counted():
    corpus = open_corpus("hf:./reviews")
    assert (len(list(corpus)), corpus.counts.blank) == (2, 1)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("hf:./reviews::dev", r"no split 'dev'.*'train', 'test'"),
        ("hf:./reviews:::body", r"no column 'body'.*'text', 'label', 'title'"),
        ("hf:./reviews:::label", r"reviews:::label\[0\]: the text must be a string"),
        ("hf:./reviews:large", r"reviews:large cannot be read: .*large.*NAME:CONFIG"),
        ("hf:./nothing", r"there is no folder \./nothing"),
        ("hf:json:nothing.jsonl", r"cannot be read: .*nothing\.jsonl"),
    ],
)
def test_what_is_missing_is_named(source, message):
    with pytest.raises(CorpusError, match=message):
        read(source)


def test_without_the_library_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(UsageError, match="pip install datasets"):
        read("hf:./reviews")
