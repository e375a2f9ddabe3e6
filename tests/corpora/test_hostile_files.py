"""Files and folders that would keep a reader busy for ever, or are no text at all."""

import bz2
import gzip
import os
import threading
import zipfile
from importlib import import_module

import pytest

from headlight.corpora import open_corpus
from headlight.corpora.lines import BLANK_LIMIT
from headlight.errors import CorpusError, UsageError

needs_links = pytest.mark.skipif(os.name == "nt", reason="links need rights there")


@pytest.fixture
def folder(tmp_path):
    """A folder with a text, two links to itself and one to the folder above."""
    below = tmp_path / "below"
    below.mkdir()
    (below / "a.txt").write_text("text\n")
    for name, target in (("self", "."), ("again", "."), ("up", "..")):
        (below / name).symlink_to(target, target_is_directory=True)
    return tmp_path


def refusal(read):
    """Return the refusal; what hangs would hang the tests as well."""
    said = []

    def run():
        with pytest.raises(CorpusError) as found:
            list(read())
        said.append(str(found.value))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(timeout=60)
    assert said, "the reader hangs"
    return said[0]


@needs_links
@pytest.mark.parametrize("pattern", ["", "**/*.txt", "**/*.no", "*", "below/**"])
def test_links_that_lead_back(folder, pattern):
    said = refusal(lambda: open_corpus(str(folder / pattern) if pattern else folder))
    assert "leads back to a folder that it is in; remove the link" in said


@needs_links
def test_links_that_lead_elsewhere(tmp_path):
    texts = tmp_path / "texts"
    texts.mkdir()
    (texts / "a.txt").write_text("text\n")
    chosen = tmp_path / "chosen"
    chosen.mkdir()
    for name in ("one", "two"):
        (chosen / name).symlink_to(texts, target_is_directory=True)
    (chosen / "b.txt").symlink_to(texts / "a.txt")
    assert len(list(open_corpus(chosen))) == 3
    assert len(list(open_corpus(str(chosen / "**/*.txt")))) == 3


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
@pytest.mark.parametrize("pattern", ["", "pipe", "*", "**"])
def test_a_pipe_is_no_file(tmp_path, pattern):
    (tmp_path / "a.txt").write_text("text\n")
    os.mkfifo(tmp_path / "pipe")
    said = refusal(lambda: open_corpus(str(tmp_path / pattern)))
    assert "is a pipe or a device, which can be read only once" in said
    assert "standard input (-)" in said


@pytest.mark.parametrize("format", ["paragraphs", "lines", "wikipedia", "jsonl", "csv", "tsv"])
@pytest.mark.parametrize("line", [b"\n", b" \t\r\n"])
def test_nothing_but_line_breaks(tmp_path, monkeypatch, format, line):
    monkeypatch.setattr("headlight.corpora.lines.BLANK_LIMIT", 1000)
    path = tmp_path / "a.txt.bz2"
    header = b"text\n" if format in ("csv", "tsv") else b""
    path.write_bytes(bz2.compress(header + line * 5000))
    said = refusal(lambda: open_corpus(path, format=format))
    place = 1002 if header else 1001
    assert f"a.txt.bz2:{place}: more than 1,000 blank lines follow each other" in said


def test_blank_lines_are_counted_from_the_last_text(tmp_path, monkeypatch):
    monkeypatch.setattr("headlight.corpora.lines.BLANK_LIMIT", 10)
    (tmp_path / "a.txt").write_text(("\n" * 10).join(["text\n"] * 9))
    assert len(list(open_corpus(tmp_path / "a.txt"))) == 9
    assert BLANK_LIMIT >= 10**6


@pytest.mark.parametrize(
    ("name", "start", "part"),
    [
        ("a.pdf", b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", "is a PDF"),
        ("a.docx", b"PK\x03\x04\x14\x00\x06\x00", "is an office document such as .docx"),
        ("a.doc", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "is an office document such as .doc"),
        ("a.rtf", b"{\\rtf1\\ansi", "is an RTF document"),
    ],
)
@pytest.mark.parametrize(
    ("package", "read"),
    [
        ("headlight.corpora", "open_corpus"),
        pytest.param("headlight_words.corpora", "open_treebank", marks=pytest.mark.words),
        pytest.param("headlight_words.corpora", "read_word_vectors", marks=pytest.mark.words),
    ],
)
def test_documents_of_other_programs(tmp_path, name, start, part, package, read):
    (tmp_path / name).write_bytes(start)
    with pytest.raises(CorpusError) as refused:
        list(getattr(import_module(package), read)(tmp_path / name))
    assert part in str(refused.value)
    assert "; save it as plain text in UTF-8" in str(refused.value)


@pytest.mark.parametrize(
    ("start", "part"),
    [
        (b"\x89PNG\r\n\x1a\n", "is a picture, and holds no text"),
        (b"\xff\xd8\xff\xe0\x00\x10JFIF", "is a picture"),
        (b"GIF89a", "is a picture"),
        (b"RIFF\x24\x00\x00\x00WEBPVP8 ", "is a picture"),
        (b"RIFF\x24\x00\x00\x00WAVEfmt ", "is sound, .*model of speech"),
        (b"OggS\x00\x02", "is sound"),
        (b"PAR1\x15\x04", "is a Parquet table; write hf:parquet: before its path"),
        (b"ARROW1\0\0", "is an Arrow table; write hf:arrow: before its path"),
        (b"\xff\xff\xff\xff\xb0\0\0\0\x10\0\0\0", "is an Arrow table"),
        (b"SQLite format 3\0", "is an SQLite database; save it as JSON lines"),
        (b"\x93NUMPY\1\0v\0", "is an array of NumPy"),
        (b"\x40\1\0\0\0\0\0\0{" + b'"a":', "is weights of a model"),
        (b"\x80\4\x95", "is a pickle of Python"),
        (b"\x89HDF\r\n\x1a\n", "is a file of NetCDF or HDF5"),
        (b"ID3\4\0\0", "is sound, .*convert it to WAV"),
        (b"\xff\xfb\x90d", "is sound, .*convert it to WAV"),
        (b"\0\0\0\x20ftypisom", "is a film"),
        (gzip.compress(b"text", mtime=0), "is packed by gzip; give it a name that ends in .gz"),
        (bz2.compress(b"text"), "is packed by bzip2"),
        (b"\0" * 4, "holds binary data, and no text; leave it out"),
    ],
)
@pytest.mark.parametrize("name", ["a.bin", "a.csv", "a.jsonl"])
def test_pictures_sound_and_databases_are_named(tmp_path, name, start, part):
    (tmp_path / name).write_bytes(start)
    with pytest.raises(CorpusError, match=part):
        list(open_corpus(tmp_path / name))


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("a.docx", "an office document"), ("a.zip.bak", "a zip archive of another name"),
        ("a.xlsx", "a spreadsheet; save it as JSON lines or CSV"), ("a.epub", "an e-book"),
        ("A.PT", "a file of PyTorch, and holds no text"), ("a.npz", "arrays of NumPy"),
    ],
)  # fmt: skip
def test_what_a_zip_archive_is_says_its_suffix(tmp_path, name, part):
    (tmp_path / name).write_bytes(b"PK\x03\x04\x14\0")
    with pytest.raises(CorpusError, match=part):
        list(open_corpus(tmp_path / name))


MARKUP = {
    "a.html": "<p>Text.</p>",
    "a.txt": "<!DOCTYPE html>\n<html>",
    "page": " <HTML lang='en'>",
    "a.xml": "<text>Text.</text>",
    "feed": '<?xml version="1.0"?>\n',
    "a.ipynb": '{"cells": []}',
    "a.vtt": "WEBVTT\n\n00:01.000 --> 00:02.000\nText.",
    "A.SRT": "1\n00:00:01,000 --> 00:00:02,000\nText.",
    "a.eml": "From: a@b.c\n\nText.",
    "a.tex": "\\section{Text}",
    "a.md": "---\ntitle: T\n---\nText.",
}


@pytest.mark.parametrize("name", MARKUP)
def test_text_of_other_programs_is_read_as_it_is_where_that_is_said(tmp_path, name):
    path = tmp_path / name
    path.write_text(MARKUP[name])
    with pytest.raises(UsageError, match=r"give its text alone, or .* with format='raw'"):
        list(open_corpus(path))
    assert [each.paragraphs for each in open_corpus(path, format="raw")] == [(MARKUP[name],)]
    assert list(open_corpus(path, format="lines"))


def test_prose_of_markdown_is_text(tmp_path):
    (tmp_path / "a.md").write_text("# A title\n\n--- and prose\n")
    assert len(list(open_corpus(tmp_path / "a.md"))) == 2


def test_words_that_begin_like_sound_are_text(tmp_path):
    (tmp_path / "a.txt").write_text("RIFFS of rock\n")
    assert len(list(open_corpus(tmp_path / "a.txt"))) == 1


def test_a_document_of_another_program_in_an_archive(tmp_path):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("b.pdf", b"%PDF-1.7")
    with pytest.raises(CorpusError, match=r"a\.zip/b\.pdf is a PDF; save it as plain text"):
        list(open_corpus(path))
