"""What all corpora have in common, whatever their elements are."""

import gzip
import tarfile
from importlib.util import find_spec
from itertools import islice

import numpy as np
import pytest

from headlight.corpora import (
    Document,
    Sentence,
    SentencePair,
    TaggedSentence,
    open_corpus,
    open_sentence_pairs,
    open_tagged,
)
from headlight.errors import CorpusError, UsageError

COREFERENCE = "#begin document (d); part 0\n{}#end document\n"
MENTION = "d\t0\t0\tIt\tPRP\t-\t-\t-\t-\t-\t-\t{}\n\n"

# How each kind is opened, a file of it with the elements 0 to 4, and what it holds first.
KINDS = {
    "text": (open_corpus, "a.txt", "".join(f"text {n}\n\n" for n in range(5))),
    "pairs": (
        open_sentence_pairs,
        "a.tsv",
        "sentence1\tsentence2\n" + "".join(f"a{n}\tb{n}\n" for n in range(5)),
    ),
    "tagged": (open_tagged, "a.conll", "".join(f"w{n} NN\n\n" for n in range(5))),
}
IN_MEMORY = {
    "text": ["a", "b", "c"],
    "pairs": [SentencePair("p", word, None, None) for word in "abc"],
    "tagged": [TaggedSentence("s", (word,), tags=("NN",)) for word in "abc"],
}
NOTHING = {"text": "text", "treebank": "sentence", "coreference": "mention", "pairs": "sentence",
           "tagged": "sentence"}  # fmt: skip
if find_spec("headlight_words"):
    from headlight_words.corpora import CoreferenceDocument, open_coreference, open_treebank

    trees = "".join(f"w{n} 0-root\n\n" for n in range(5))
    KINDS["treebank"] = (open_treebank, "a.dp", trees)
    IN_MEMORY["treebank"] = [Sentence("s", (word,), (0,)) for word in "abc"]
    documents = "".join(COREFERENCE.format(MENTION.format("(1)")) for _ in range(5))
    KINDS["coreference"] = (open_coreference, "a.conll", documents)
    IN_MEMORY["coreference"] = [CoreferenceDocument(name, (), ()) for name in "abc"]


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@pytest.fixture
def corpus(kind, tmp_path):
    opening, name, text = KINDS[kind]
    (tmp_path / name).write_text(text)
    return opening(tmp_path / name)


def test_a_corpus_says_its_kind_and_source_and_is_read_again(corpus, kind, tmp_path):
    assert corpus.kind == kind
    assert corpus.source == str(tmp_path / KINDS[kind][1])
    everything = list(corpus)
    assert len(everything) == 5
    assert list(corpus) == everything
    assert corpus.skipped == 0
    assert not corpus.once


def test_the_first_of_a_corpus_are_a_corpus(corpus, kind):
    first = corpus.take(3)
    assert list(first) == list(first) == list(corpus)[:3]
    assert (first.kind, first.source) == (kind, corpus.source)
    assert list(first.take(2)) == list(corpus)[:2]
    assert list(corpus.take(1).take(4)) == list(corpus)[:1]
    assert list(corpus.take(9)) == list(corpus)
    assert corpus.take(None) is corpus
    assert len(list(corpus)) == 5, "the corpus itself stays as it is"
    with pytest.raises(UsageError, match="at least 1, not 0"):
        corpus.take(0)


def test_no_more_is_read_than_the_first_need(kind, tmp_path):
    opening, name, text = KINDS[kind]
    path = tmp_path / f"{name}.gz"
    path.write_bytes(gzip.compress(text.encode())[:-8])  # the end would be refused
    assert len(list(opening(path).take(1))) == 1
    with pytest.raises(CorpusError, match="cut short"):
        list(opening(path))


def test_a_file_that_changes_while_it_is_read_is_refused(kind, tmp_path):
    """What was read of it would be of two versions; the first that are taken are of one."""
    opening, name, text = KINDS[kind]
    path = tmp_path / name
    for changed in (text + text, text[: len(text) // 2]):
        path.write_text(text)
        elements = iter(opening(path))
        next(elements)
        path.write_text(changed)
        with pytest.raises(CorpusError, match="has changed while it was read"):
            list(elements)
        path.write_text(text)
        first = iter(opening(path).take(1))
        next(first)
        path.write_text(changed)
        assert not list(first)


def test_a_file_that_is_removed_while_it_is_read_is_read_to_its_end(kind, tmp_path):
    opening, name, text = KINDS[kind]
    (tmp_path / name).write_text(text)
    whole, elements = list(opening(tmp_path / name)), iter(opening(tmp_path / name))
    first = next(elements)
    (tmp_path / name).unlink()
    assert [first, *elements] == whole


def test_a_corpus_of_nothing_is_refused_while_it_is_read(kind, tmp_path):
    opening, name, _ = KINDS[kind]
    (tmp_path / name).write_text("\n")
    for corpus in (opening(tmp_path / name), opening(tmp_path / name).take(2)):
        with pytest.raises(CorpusError, match=f"{name} holds no {NOTHING[kind]}"):
            list(corpus)


def test_elements_in_memory_are_a_corpus_too(kind):
    opening, given = KINDS[kind][0], IN_MEMORY[kind]
    corpus = opening(given)
    assert corpus.kind == kind
    assert len(list(corpus)) == len(list(corpus)) == 3
    assert list(corpus.take(2)) == list(corpus)[:2]
    assert opening(corpus) is corpus, "what is open stays as it is"
    with pytest.raises(UsageError, match="only files have a format"):
        opening(
            given, format={"pairs": "tsv", "text": "lines", "tagged": "columns"}.get(kind, "conllu")
        )
    with pytest.raises(CorpusError, match="holds no"):
        list(opening([]))


def test_an_iterator_is_read_once_also_by_its_first(kind):
    opening, given = KINDS[kind][0], IN_MEMORY[kind]
    corpus = opening(iter(given))
    assert corpus.once
    assert corpus.take(2).once
    assert len(list(corpus.take(2))) == 2
    with pytest.raises(CorpusError, match="only once"):
        list(corpus)


def test_a_corpus_of_another_kind_is_refused(corpus, kind):
    for other, (opening, _, _) in KINDS.items():
        if other != kind:
            with pytest.raises(UsageError, match=r"a\..* is a corpus of .* are needed"):
                opening(corpus)


@pytest.mark.words
def test_what_is_skipped_is_counted_by_each_iteration(tmp_path):
    path = tmp_path / "a.dp"
    path.write_text("good 0-root\n\nbad 9-root\n\ngood 0-root\n\nbad 9-root\n\n")
    treebank = open_treebank(path, invalid="skip")
    first = treebank.take(2)
    assert [len(list(treebank)), treebank.skipped] == [2, 2]
    assert [len(list(first)), first.skipped] == [2, 1]
    one, two = iter(treebank), iter(treebank)
    next(two)
    list(one)
    assert treebank.skipped == 0, "that of the latest iteration, which has met none yet"
    list(two)
    assert treebank.skipped == 2


def test_texts_are_documents_from_archives_too(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("one\n\ntwo\n")
    (tmp_path / "in" / "b.jsonl").write_text('{"text": "three"}\n')
    with tarfile.open(tmp_path / "texts.tar.gz", "w:gz") as archive:
        for name in ("a.txt", "b.jsonl"):
            archive.add(tmp_path / "in" / name, f"in/{name}")
    path = f"{tmp_path}/texts.tar.gz/in"
    assert list(islice(open_corpus(tmp_path / "texts.tar.gz"), 9)) == [
        Document(f"{path}/a.txt:1", ("one",)),
        Document(f"{path}/a.txt:3", ("two",)),
        Document(f"{path}/b.jsonl:1", ("three",)),
    ]


@pytest.mark.words
def test_what_is_no_element_is_refused_in_one_sentence() -> None:
    # The types of iterators are not checked beforehand, as those of lists are in these tests.
    with pytest.raises(UsageError, match="sentences are needed, of class Sentence, and 'The cat'"):
        list(open_treebank(iter(["The cat"])))


@pytest.mark.words
def test_what_is_no_document_with_coreference_is_refused_in_one_sentence() -> None:
    with pytest.raises(UsageError, match="documents are needed, of class CoreferenceDocument"):
        list(open_coreference(iter(["The cat"])))


def test_the_share_that_the_first_elements_are_of(corpus):
    whole = corpus.share_of(5)
    assert whole == 1
    shares = [corpus.share_of(number) for number in range(1, 5)]
    for number, share in enumerate(shares, 1):
        assert number / 5 <= share < 1  # a header, or what is read ahead, come on top
    assert np.diff(shares) == pytest.approx(np.diff(shares)[0])  # all are equally long
    assert corpus.share_of(9) == 1
    assert corpus.take(2).share_of(2) == shares[1]


def test_the_share_of_several_files_is_that_of_their_bytes(tmp_path):
    (tmp_path / "a.txt").write_text("one\n\ntwo\n\n")
    (tmp_path / "b.txt").write_text("x" * 78 + "\n\n" + "y" * 8 + "\n\n")
    corpus = open_corpus(tmp_path)
    assert [corpus.share_of(number) for number in (1, 2, 3, 4)] == [0.05, 0.1, 0.9, 1]


@pytest.mark.parametrize("number", [1, 3])
def test_the_share_of_what_is_in_memory(kind, number):
    elements = IN_MEMORY[kind]
    corpus = KINDS[kind][0](elements)
    assert corpus.share_of(number) == number / 3
    assert KINDS[kind][0](iter(elements)).share_of(number) is None


@pytest.mark.slow
def test_of_packed_files_the_share_is_known_where_they_are_large(tmp_path):
    draw = np.random.default_rng(0)
    texts = [f"{number} {draw.bytes(500).hex()}" for number in range(6000)]
    for name, number, known in (("small.txt.gz", 50, False), ("large.txt.gz", 6000, True)):
        with gzip.open(tmp_path / name, "wt") as file:
            file.write("\n\n".join(texts[:number]))
        share = open_corpus(tmp_path / name).share_of(number // 2)
        assert share == pytest.approx(0.5, abs=0.05) if known else share is None
    with tarfile.open(tmp_path / "all.tar", "w") as archive:
        for name in ("one.txt", "two.txt"):
            (tmp_path / name).write_text("\n\n".join(texts[:3000]))
            archive.add(tmp_path / name, name)
    assert open_corpus(tmp_path / "all.tar").share_of(4500) == pytest.approx(0.75, abs=0.05)
