"""Texts of one class each, and tagged sentences; all of the files are our own."""

import io
import tarfile
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from headlight.corpora import TaggedSentence, open_sentence_pairs, open_tagged
from headlight.corpora.labelled_formats import own_words
from headlight.errors import CorpusError, HeadlightError, UsageError

MESSAGE = """From: someone@somewhere.edu (Some One)
Subject: Re: goals
Lines: 9

In article <1@x> other@y.edu writes:
> Who won?
Another one writes:
: I forgot.
They did, on a soft ice
and a hard day.
--
Some One, Somewhere
"""
OWN = "They did, on a soft ice and a hard day."


def read(path: Path, **options: object) -> list[tuple[str, str | None]]:
    return [(each.first, each.label) for each in open_sentence_pairs(path, **options)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (b"1 a warm , funny film .\n0 d\xe9j\xe0 vu .\n\n",
         [("a warm , funny film .", "1"), ("déjà vu .", "0")]),
        (b'He said "no.\tSports\nStocks fell.\tBusiness\n',
         [('He said "no.', "Sports"), ("Stocks fell.", "Business")]),
        (b'{"label": "pos", "file": "0_9.txt", "text": "Good.<br /><br />Very."}\n',
         [("Good. Very.", "pos")]),
        (b"text\tlabel\nA film.\tbad\n", [("A film.", "bad")]),
        (b'{"text": "A film.", "label": 1}\n', [("A film.", "1")]),
    ],
)  # fmt: skip
def test_a_format_is_known_by_its_first_line(
    tmp_path: Path, text: bytes, found: list[tuple[str, str]]
) -> None:
    (tmp_path / "texts").write_bytes(text)
    assert read(tmp_path / "texts") == found


def test_the_column_of_labels_can_be_named(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("review,mood,label\nA film.,glad,7\n")
    assert read(path, columns=["review"], label="mood") == [("A film.", "glad")]
    with pytest.raises(CorpusError, match=r"a\.csv:2: there is no column 'moods'; .*'mood'"):
        read(path, columns=["review"], label="moods")


def test_texts_in_memory_are_tuples_that_end_in_a_label() -> None:
    pairs = list(open_sentence_pairs([("A film.", "bad"), ("One.", "Two.", 1)]))
    assert [(each.first, each.second, each.label) for each in pairs] == [
        ("A film.", None, "bad"),
        ("One.", "Two.", "1"),
    ]
    with pytest.raises(UsageError, match="pair 0 must be a text or two and a label, and 'A film"):
        list(open_sentence_pairs(["A film."]))
    with pytest.raises(CorpusError, match="pair 1: 'first' must hold a sentence"):
        list(open_sentence_pairs([("a", "b"), (" ", "b")]))


@pytest.mark.parametrize("breaks", ["\n", "\r\n", "\t"])
def test_of_a_message_only_what_its_author_wrote_is_kept(tmp_path: Path, breaks: str) -> None:
    path = tmp_path / "news" / "rec.sport.hockey" / "52550"
    path.parent.mkdir(parents=True)
    path.write_bytes(MESSAGE.replace("\n", breaks).encode("latin-1"))
    (path.parent / "52551").write_text("From: me\n\n> only this\n")  # passed over
    assert read(tmp_path / "news") == [(OWN, "rec.sport.hockey")]


def test_messages_in_an_archive_have_the_label_of_their_folder(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "news.tar.xz", "w:xz") as archive:
        for group in ("hockey", "baseball"):
            entry = tarfile.TarInfo(f"news/{group}/7")
            entry.size = len(MESSAGE)
            archive.addfile(entry, io.BytesIO(MESSAGE.encode()))
    assert read(tmp_path / "news.tar.xz") == [(OWN, "hockey"), (OWN, "baseball")]


def test_a_message_without_a_signature_stays_whole() -> None:
    assert own_words(["From: me", "", "one", "two"]) == "one two"
    assert own_words(["one", "two"]) == "one two"
    assert own_words([]) == ""


@pytest.mark.parametrize(
    ("format", "text", "message"),
    [
        ("sst", "1 good\n0\n", r"a:2: the line must be a label, a blank and a sentence"),
        ("ag_news", "a\tWorld\nb\n", r"a:2: the row has 1 fields, and should have a text and a"),
        ("imdb", '{"text": 3, "label": "pos"}\n', r"a:1: 'text' must hold a sentence"),
    ],
)
def test_a_line_without_text_or_label_is_refused(
    tmp_path: Path, format: str, text: str, message: str
) -> None:
    (tmp_path / "a").write_text(text)
    with pytest.raises(CorpusError, match=message):
        read(tmp_path / "a", format=format)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(content=st.lists(st.sampled_from([b"1 ", b"\t", b"World", b"\n", b"\xff", b"{}", b"a: "])))
@pytest.mark.parametrize("format", [None, "sst", "ag_news", "imdb", "newsgroups"])
def test_only_our_own_errors_escape(
    tmp_path_factory: pytest.TempPathFactory, format: str | None, content: list[bytes]
) -> None:
    path = tmp_path_factory.getbasetemp() / "junk"
    path.write_bytes(b"".join(content))
    try:
        assert all(text.strip() for text, _ in read(path, format=format))
    except HeadlightError:
        return


# Tags

CHUNKS = "-DOCSTART- -X- O\n\nHe PRP B-NP\nruns VBZ B-VP\n\nIt\tPRP\tB-NP\n"


def test_a_sentence_right_behind_the_beginning_of_a_document_is_read(tmp_path: Path) -> None:
    path = tmp_path / "train.txt"
    path.write_text("-DOCSTART- O\nHe B-NP\nruns B-VP\n\n-DOCSTART- O\n")
    assert list(open_tagged(path)) == [
        TaggedSentence(f"{path}:2", ("He", "runs"), tags=("B-NP", "B-VP"), document=f"{path}:1")
    ]


def test_messages_without_words_of_their_own_are_counted(tmp_path: Path) -> None:
    folder = tmp_path / "sci.space"
    folder.mkdir()
    (folder / "1").write_text("From: a\n\nA text of words.\n")
    (folder / "2").write_text("From: a\n\n> a quotation\n")
    corpus = open_sentence_pairs(tmp_path, format="newsgroups")
    assert (len(list(corpus)), corpus.counts.blank) == (1, 1)


def test_words_and_tags_are_columns(tmp_path: Path) -> None:
    path = tmp_path / "train.txt"
    path.write_text(CHUNKS)
    found = list(open_tagged(path))
    assert found == [
        TaggedSentence(f"{path}:3", ("He", "runs"), tags=("B-NP", "B-VP"), document=f"{path}:1"),
        TaggedSentence(f"{path}:6", ("It",), tags=("B-NP",), document=f"{path}:1"),
    ]
    assert [each.tags for each in open_tagged(path, columns=("1", "2"))] == [
        ("PRP", "VBZ"),
        ("PRP",),
    ]


def test_tagged_sentences_in_memory() -> None:
    (found,) = open_tagged([(["He", "runs"], ["B-NP", "B-VP"])])
    assert (found.words, found.tags) == (("He", "runs"), ("B-NP", "B-VP"))
    with pytest.raises(UsageError, match="sentence 0 must be its words and as many tags"):
        list(open_tagged([(["He"], ["B-NP", "B-VP"])]))


@pytest.mark.parametrize("columns", [("1",), ("0", "2"), ("a", "b"), (1, 2, 3)])
def test_columns_of_words_are_two_numbers(tmp_path: Path, columns: tuple[str | int, ...]) -> None:
    with pytest.raises(UsageError, match="two numbers from 1"):
        open_tagged(tmp_path, columns=columns)


def test_a_word_without_a_tag_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("He PRP\nruns\n")
    with pytest.raises(CorpusError, match=r"a\.txt:2: the line has 1 columns, and .* need 2"):
        list(open_tagged(path))
