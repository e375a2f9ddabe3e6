"""Every format, in every compression, and every kind of source."""

import bz2
import gzip
import io
import json
import lzma
import sys
import textwrap

import pytest
import zstandard

from headlight.corpora import FORMATS, CorpusCounts, Document, holds_a_text_a_line, open_corpus
from headlight.errors import CorpusError, HeadlightError

DOCUMENTS = [
    ("Rivers carry water.", "They meet the sea, slowly."),
    ("Ein Fluß trägt Wasser zu Tal.",),
    ("A line\u2028with a strange separator", "and \x0b one more", "“quoted”, with commas"),
]

COMPRESSIONS = {
    "": lambda content: content,
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".bz2": bz2.compress,
    ".zst": zstandard.ZstdCompressor().compress,
}


def wikipedia(documents):
    return "".join(
        f'<doc id="{number}" title="T">\nThe title\n\n' + "\n\n".join(paragraphs) + "\n</doc>\n"
        for number, paragraphs in enumerate(documents)
    )


def quoted(text):
    return '"' + text.replace('"', '""') + '"'


# How to write documents in each format, and how its paragraphs come back.
WRITERS = {
    "paragraphs": lambda documents: "\n\n".join("\n".join(d) for d in documents) + "\n",
    "lines": lambda documents: "\n".join(" ".join(d) for d in documents) + "\n",
    "raw": lambda documents: "\n\n".join("\n\t".join(d) for d in documents) + "\n",
    "wikipedia": wikipedia,
    "jsonl": lambda documents: "".join(json.dumps({"text": d, "id": 1}) + "\n" for d in documents),
    "csv": lambda documents: (
        "id,text\r\n" + "".join("1," + quoted("\n\n".join(d)) + "\r\n" for d in documents)
    ),
    "tsv": lambda documents: "text\tid\n" + "".join(" ".join(d) + "\t1\n" for d in documents),
}
ONE_PARAGRAPH = {"lines", "tsv"}


def expected(format):
    if format == "raw":
        return [(WRITERS["raw"](DOCUMENTS),)]
    return [(" ".join(d),) if format in ONE_PARAGRAPH else d for d in DOCUMENTS]


def paragraphs(corpus):
    return [document.paragraphs for document in corpus]


def test_every_format_is_tested():
    assert set(WRITERS) == set(FORMATS)


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("format", FORMATS)
def test_a_file_comes_back_as_it_was_written(tmp_path, format, compression):
    content = WRITERS[format](DOCUMENTS).encode()
    path = tmp_path / f"corpus.{format}{compression}"
    path.write_bytes(COMPRESSIONS[compression](content))
    corpus = open_corpus(path, format=format)
    assert paragraphs(corpus) == expected(format)
    assert paragraphs(corpus) == expected(format), "a corpus can be read again"
    assert corpus.source == str(path)


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize(
    ("name", "format"),
    [
        ("a.txt", "paragraphs"), ("a", "wikipedia"), ("wiki_00", "wikipedia"),
        ("a.jsonl", "jsonl"), ("A.NDJSON", "jsonl"), ("a.json", "jsonl"),
        ("a.csv", "csv"), ("a.tsv", "tsv"),
    ],
)  # fmt: skip
def test_the_format_is_guessed(tmp_path, name, format, compression):
    content = "\ufeff" + WRITERS[format](DOCUMENTS)
    path = tmp_path / (name + compression)
    path.write_bytes(COMPRESSIONS[compression](content.encode()))
    assert paragraphs(open_corpus(str(path))) == expected(format)


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("format", ["paragraphs", "wikipedia", "jsonl"])
def test_standard_input_is_read_once(monkeypatch, format, compression):
    content = COMPRESSIONS[compression](WRITERS[format](DOCUMENTS).encode())
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    corpus = open_corpus("-", format="jsonl" if format == "jsonl" else None)
    assert corpus.source == "standard input"
    assert paragraphs(corpus) == expected(format)
    with pytest.raises(CorpusError, match="only once"):
        list(corpus)


def test_names_say_file_and_line(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("\nx\ny\n\n\nz\n")
    assert list(open_corpus(path)) == [
        Document(f"{path}:2", ("x", "y")),
        Document(f"{path}:6", ("z",)),
    ]
    table = tmp_path / "a.csv"
    table.write_text('text\n"one\ntwo"\n\nthree\n')
    assert list(open_corpus(table)) == [
        Document(f"{table}:2", ("one\ntwo",)),
        Document(f"{table}:5", ("three",)),
    ]


def test_windows_line_breaks_are_stripped(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"x\r\ny\r\n\r\nz\r\n")
    assert paragraphs(open_corpus(path)) == [("x", "y"), ("z",)]


def test_wikipedia_joins_the_lines_of_a_paragraph_and_drops_the_title(tmp_path):
    path = tmp_path / "wiki"
    path.write_text(
        '<doc id="1" title="T">\nT\n\nfirst\nstill first\n\n\nsecond\n\n</doc>\n\n'
        '<doc id="2" title="Empty">\nEmpty\n\n</doc>\n<doc id="3">\n</doc>\n'
    )
    assert list(open_corpus(path)) == [Document(f"{path}:1", ("first still first", "second"))]


def test_jsonl_strings_and_lists(tmp_path):
    path = tmp_path / "a.jsonl"
    rows = [{"b": "x\n\n y\nz "}, {"b": ["p", " ", "q"]}, {"b": ""}, {"b": None}, {"b": []}]
    path.write_text("\n".join(map(json.dumps, rows)) + "\n\n")
    assert paragraphs(open_corpus(path)) == [("x", " y\nz"), ("p", "q")]
    assert paragraphs(open_corpus(path, column="b")) == [("x", " y\nz"), ("p", "q")]


@pytest.mark.parametrize(
    ("name", "content", "texts", "counts"),
    [
        ("a.jsonl", '{"text": "a"}\n\n{"text": null}\n{"text": " "}\n', 1, {"blank": 2}),
        ("a.csv", 'text,id\na,1\n"",2\n\n', 1, {"blank": 1}),
        ("a.tsv", "text\tid\na\t1\n\t2\n \t \n", 1, {"blank": 2}),
        ("wiki", "<doc id='1'>\nT\n</doc>\n<doc id='2'>\nT\n\nx\n</doc>\n", 1, {"blank": 1}),
        ("a.txt", "a\nb\n\nc\n\nd\ne\nf\n", 3, {"joined_lines": 5}),
        ("a.py", "def f():\n    return 1\n", 1, {}),
    ],
)
def test_what_is_left_out_or_joined_is_counted(tmp_path, name, content, texts, counts):
    (tmp_path / name).write_text(content)
    corpus = open_corpus(tmp_path / name)
    assert (len(list(corpus)), corpus.counts) == (texts, CorpusCounts(**counts))
    strings = open_corpus(["a", "", "b"])
    assert (len(list(strings)), strings.counts.blank) == (2, 1)


def test_a_program_is_one_text_as_it_is(tmp_path):
    code = "\ndef f(x):\r\n\tif x:\n\t\treturn x\n\n\telse:\n\t\treturn 0\n\n"
    path = tmp_path / "code.py"
    path.write_bytes(code.encode())
    (tmp_path / "empty.py").write_text(" \n")
    corpus = open_corpus(f"{tmp_path}/*.py")
    assert list(corpus) == [Document(f"{path}:1", (code,))]
    assert corpus.counts == CorpusCounts(blank=1)


def test_paragraphs_of_a_string_keep_their_indentation(tmp_path):
    code = "\n \n\tif x:\n\t\treturn x\n\n\telse:\n\t\treturn 0\n"
    paragraphs = ("\tif x:\n\t\treturn x", "\telse:\n\t\treturn 0")
    (tmp_path / "code.jsonl").write_text(json.dumps({"text": code}))
    (document,) = open_corpus(tmp_path / "code.jsonl")
    assert document.paragraphs == paragraphs
    (document,) = open_corpus([code])
    assert document.paragraphs == paragraphs


def test_raw_files_are_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr("headlight.corpora.lines.DOCUMENT_LIMIT", 10)
    (tmp_path / "a.py").write_text("x = 1\n" * 2)
    assert "a.py: the file is longer than 10" in complaint(tmp_path / "a.py", format="raw")


def test_tabs_separate_and_quotation_marks_do_not_quote(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text('id\ttext\n1\t"unbalanced\n2\tplain\n')
    assert paragraphs(open_corpus(path)) == [('"unbalanced',), ("plain",)]


def test_long_fields_are_read(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("text\n" + "x" * 300_000 + "\n")
    assert paragraphs(open_corpus(path)) == [("x" * 300_000,)]


def test_a_folder_is_read_in_order_without_hidden_files_and_companions(tmp_path):
    (tmp_path / "b").mkdir()
    (tmp_path / ".hidden").mkdir()
    for name in ("c.txt", "a.txt", "b/x.jsonl", "b/.y.txt", ".hidden/z.txt"):
        text = json.dumps({"text": name}) if name.endswith("jsonl") else name
        (tmp_path / name).write_text(text)
    for name in ("README.md", "NOTICE.txt", "LICENSE", "b/Manifest.tsv"):
        (tmp_path / name).write_text("not a text")
    assert paragraphs(open_corpus(tmp_path)) == [("a.txt",), ("b/x.jsonl",), ("c.txt",)]


def test_patterns(tmp_path):
    (tmp_path / "deep" / "er").mkdir(parents=True)
    for name in ("2.txt", "1.txt", "x[1].txt", "deep/er/3.txt"):
        (tmp_path / name).write_text(name)
    assert paragraphs(open_corpus(f"{tmp_path}/?.txt")) == [("1.txt",), ("2.txt",)]
    assert paragraphs(open_corpus(f"{tmp_path}/**/3.txt")) == [("deep/er/3.txt",)]
    assert paragraphs(open_corpus(f"{tmp_path}/de*")) == [("deep/er/3.txt",)]
    assert paragraphs(open_corpus(f"{tmp_path}/x[1].txt")) == [("x[1].txt",)]


def test_several_frames_and_members_are_one_file(tmp_path):
    halves = [b"one\n", b"two\n"]
    for suffix in (".gz", ".xz", ".bz2", ".zst"):
        path = tmp_path / f"a.txt{suffix}"
        path.write_bytes(b"".join(COMPRESSIONS[suffix](half) for half in halves))
        assert paragraphs(open_corpus(path)) == [("one", "two")]


def test_strings_in_memory():
    corpus = open_corpus(["a\n\nb", " ", "c"])
    assert list(corpus) == [Document("text 0", ("a", "b")), Document("text 2", ("c",))]
    assert len(list(corpus)) == 2
    once = open_corpus(iter(["a"]))
    assert len(list(once)) == 1
    with pytest.raises(CorpusError, match="only once"):
        list(once)


def test_reading_begins_before_the_file_ends(tmp_path):
    """One document is read of a file whose rest is broken."""
    path = tmp_path / "a.txt"
    path.write_bytes(b"good\n\n" + b"\xff\n")
    documents = iter(open_corpus(path))
    assert next(documents).paragraphs == ("good",)
    with pytest.raises(CorpusError, match=r"a\.txt:3: byte 1 .* UTF-8.*iconv"):
        next(documents)


# ---------------------------------------------------------------- refusals


def complaint(source, **options):
    with pytest.raises(HeadlightError) as caught:
        list(open_corpus(source, **options))
    return f"{type(caught.value).__name__}: {caught.value}"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", "Caf\xe9\n".encode("latin-1"), r"a\.txt:1: byte 4 of the line is not UTF-8"),
        ("a.txt", "text".encode("utf-16"), r"a\.txt:1: .* UTF-16, not UTF-8.*iconv -f UTF-16"),
        ("a.txt", "text\n".encode("utf-16-be"), r"a\.txt:1: .* UTF-16, not UTF-8"),
        ("a.txt", "text".encode("utf-32"), r"a\.txt:1: .*iconv -f UTF-32"),
        ("a.txt", b"ab\n\0\1\2\n", r"a\.txt:2: the file holds binary data"),
        ("a.txt", b"", "holds no text"),
        ("a.txt", b" \n\n\t\n", "holds no text"),
        ("a.txt", b"\xef\xbb\xbf", "holds no text"),
        ("a.txt.gz", b"no archive", "cannot be read beyond line 0"),
        ("a.txt.xz", b"no archive", "cannot be read beyond line 0"),
        ("a.txt.bz2", b"no archive", "cannot be read beyond line 0"),
        ("a.txt.zst", b"no archive", "cannot be read beyond line 0"),
        ("a.csv", b"id,body\n1,x\n", r"a\.csv:1: there is no column 'text'.*'id', 'body'"),
        ("a.csv", b'text\n"open\n', r"a\.csv:2: the table is malformed"),
        ("a.csv", b'text\n"open\nb\nc\n', r"a\.csv:2: .*end of data at line 4"),
        ("a.csv", b'text\na\n"open\nb\n"c",d\n', r"a\.csv:3: .* at line 5"),
        ("a.csv", b'text,b\n"a\nb","c\nd"e\n', r"a\.csv:3: .* at line 4"),
        ("a.csv", b'text,b\n5" a,"c"d\n', r"a\.csv:2: the table is malformed \(',' expected"),
        ("a.csv", b"id,text\n1\n", r"a\.csv:2: the row has 1 fields, and should have 2; complete"),
        ("a.csv", b"text,id\nOne.\n", r"a\.csv:2: the row has 1 fields, and should have 2"),
        ("a.csv", b"text,id\nThe dog, it ran.,a\n", r"a\.csv:2: the row has 3 .*quotation marks"),
        ("a.csv", b"text\nA.\nThe dog, it ran.\n", r"a\.csv:3: the row has 2 .* should have 1"),
        ("a.tsv", b"text\nThe dog\tit ran.\n", r"a\.tsv:2: the row has 2 .*take tabs out"),
        ("a.csv", b"text;label\nDer Hund, er lief.;a\n", r"a\.csv:1: .* semicolons and no commas"),
        ("a.csv", b"sep=;\ntext;label\nx;y\n", r"a\.csv:1: the header has semicolons"),
        ("a.csv", b"text\tid\nThe dog, it ran.\t1\n", r"a\.csv:1: .* tabs and no commas"),
        ("a.tsv", b"text,id\nx,1\n", r"a\.tsv:1: the header has commas and no tabs"),
        ("a.csv", b"text,text\nx,y\n", r"a\.csv:1: the header has 'text' twice"),
        ("a.jsonl", b'{"text": "a", "text": "b"}\n', r"a\.jsonl:1: .*key 'text' is there twice"),
        ("a.json", b'{\n "text": "a"\n}\n', r"a\.json:1: the line is not JSON .*jq -c"),
        ("a.json", b'["a",\n {"text": 3}]\n', r"a\.json:2\[1\]: .* not int"),
        ("a.json", b'["a",\n {"b": "b",\n 3]', r"a\.json:2\[1\]: .* is not JSON"),
        ("a.json", b'["a",\n\n {"b": "b"},', r"a\.json:3\[2\]: the array is cut short"),
        ("a.json", b'["a" "b"]', r"a\.json:1\[0\]: behind this element"),
        ("a.json", b'["a"]\n["b"]', r"a\.json:2: the file goes on behind its array"),
        ("a.json", b'[{"role": "user", "content": "a"}]', r"a\.json:1\[0\]: here is a chat"),
        ("a.json", b"[]", "holds no text"),
        ("a.csv", b"text\n", "holds no text"),
        ("a.jsonl", b'{"text": "x"}\n{"text": \n', r"a\.jsonl:2: the line is not JSON"),
        ("a.jsonl", b"[1]\n", r"a\.jsonl:1\[0\]: .* must be a JSON object .* not int"),
        ("a.jsonl", b"[" * 100_000, r"a\.jsonl:1\[0\]: the element is not JSON"),
        ("a.jsonl", b'{"a": 1, "b": 2}\n', r"a\.jsonl:1: there is no column 'text'.*'a', 'b'"),
        ("a.jsonl", b"{}\n", r"a\.jsonl:1: there is no column 'text'.*none"),
        ("a.jsonl", b'{"text": 3}\n', r"a\.jsonl:1: .* not int"),
        ("a.jsonl", b'{"text": ["a", 3]}\n', r"a\.jsonl:1: .* not list"),
        ("a.jsonl", b'{"text": "\\ud800"}\n', r"a\.jsonl:1: .* surrogate"),
        ("wiki", b"<doc id='1'>\nT\n\nx\n", r"wiki:1: .* no </doc>"),
        ("wiki", b"<doc id='1'>\nT\nx\n<doc id='2'>\n</doc>\n", r"wiki:1: .* no </doc>"),
        ("wiki", b"<doc id='1'>\nT\nx\n</doc>\nstray\n", r"wiki:5: there is text outside"),
    ],
)  # fmt: skip
def test_bad_files_are_refused_with_place_and_reason(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(CorpusError, match=message):
        list(open_corpus(path))


@pytest.mark.parametrize("compression", [".gz", ".xz", ".bz2", ".zst"])
def test_a_truncated_archive_is_no_shorter_text(tmp_path, compression):
    text = "".join(f"line {number}\n\n" for number in range(2000))
    whole = COMPRESSIONS[compression](text.encode())
    path = tmp_path / f"a.txt{compression}"
    path.write_bytes(whole[:-5])
    with pytest.raises(CorpusError, match="damaged, cut short"):
        list(open_corpus(path))


def test_lines_and_documents_are_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr("headlight.corpora.lines.LINE_LIMIT", 10)
    monkeypatch.setattr("headlight.corpora.documents.DOCUMENT_LIMIT", 30)
    path = tmp_path / "a.txt"
    path.write_text("123456789\n1234567890\n")
    assert "a.txt:2: the line is longer than 10 bytes" in complaint(path)
    path.write_text("12345678\n" * 4)
    assert "a.txt:1: the document that begins here is longer than 30" in complaint(path)
    assert len(list(open_corpus(path, format="lines"))) == 4


def test_sources_that_are_not_there(tmp_path, monkeypatch):
    (tmp_path / "empty").mkdir()
    assert complaint(tmp_path / "no").startswith("CorpusError: there is no file or folder")
    assert complaint(f"{tmp_path}/*.txt").startswith("CorpusError: there is no file or folder")
    assert "empty holds no text files" in complaint(tmp_path / "empty")
    assert complaint("a\0b").startswith("CorpusError")
    assert complaint("x" * 5000).startswith("CorpusError")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    assert complaint("-") == (
        "CorpusError: standard input holds no text; nothing can be said about it."
    )
    assert complaint([]).startswith("CorpusError: strings in memory holds no text")


def test_a_file_that_may_not_be_read(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    path.write_text("x")

    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("headlight.files.os.open", refuse)
    assert "a.txt cannot be read: you may not read it" in complaint(path)


def test_wrong_requests(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("x")
    assert "Did you mean 'jsonl'" in complaint(path, format="jsnl")
    assert complaint(path, column="text").startswith("UsageError")
    assert complaint(path, format="lines", column="text").startswith("UsageError")
    assert complaint(["x"], format="lines").startswith("UsageError")
    assert complaint(iter([3])).startswith("CorpusError: text 0")
    assert complaint("hf:x", format="csv").startswith("UsageError")


SENTENCES = [f"The river {'carries its water ' * (n % 7)}to the sea." for n in range(1500)]
BARE = [f"the mill by the {'old ' * (n % 9)}river is empty" for n in range(40)]
WRAPPED = textwrap.wrap(" ".join(SENTENCES), 72)


@pytest.mark.parametrize(
    ("lines", "by_line"),
    [
        (SENTENCES, True),
        ([*SENTENCES, "", ""], True),  # at the end a blank line separates nothing
        (BARE, True),  # without punctuation, and of all lengths
        (["the sea is full"] * 40, True),  # too short to be wrapped
        (SENTENCES[:19], False),  # few
        (WRAPPED, False),
        ([*SENTENCES[:10], "", *SENTENCES[10:]], False),  # documents, a sentence a line
        (["<doc id='1'>", *SENTENCES], False),
        ([], False),
    ],
)
def test_texts_one_a_line(tmp_path, lines, by_line):
    path = tmp_path / "some.txt"
    path.write_text("".join(f"{line}\n" for line in lines))
    assert holds_a_text_a_line(path) is by_line


def test_texts_one_a_line_are_in_one_plain_file(tmp_path):
    text = "".join(f"{line}\n" for line in SENTENCES)
    packed = tmp_path / "packed.txt.gz"
    packed.write_bytes(gzip.compress(text.encode()))
    assert holds_a_text_a_line(str(packed))
    folder = tmp_path / "folder"
    folder.mkdir()
    for name in ("a.txt", "b.txt"):  # a folder of files is one of documents
        (folder / name).write_text(text)
    (tmp_path / "table.csv").write_text(text)
    (tmp_path / "binary.txt").write_bytes(b"\0" * 50)
    others = [folder, tmp_path / "table.csv", tmp_path / "binary.txt", tmp_path / "nothing.txt"]
    for other in (*others, "-", "hf:imdb", SENTENCES):
        assert not holds_a_text_a_line(other), other
