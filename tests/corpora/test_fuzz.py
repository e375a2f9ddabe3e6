"""Whatever the bytes are, a reader gives documents or refuses."""

import csv
import io
import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from headlight.corpora import FORMATS, open_corpus
from headlight.errors import HeadlightError

SUFFIXES = ["", ".gz", ".xz", ".bz2", ".zst"]
HINTS = [
    b"<doc id='1'>\n", b"</doc>", b'{"text": "', b'"}', b"text\n", b'"', b"\n", b"\n\n", b"\t",
    b"\x1f\x8b\x08\x00", b"\xfd7zXZ\x00", b"BZh91AY&SY", b"\x28\xb5\x2f\xfd", b"\xef\xbb\xbf",
]  # fmt: skip

junk = st.lists(
    st.one_of(st.binary(max_size=20), st.sampled_from(HINTS), st.text(max_size=9).map(
        lambda text: text.encode("utf-8", "surrogatepass"))), max_size=12,
).map(b"".join)  # fmt: skip


@pytest.fixture(scope="module")
def folder():
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def read(folder, content, format, suffix=""):
    path = folder / f"file{suffix}"
    path.write_bytes(content)
    return [document.paragraphs for document in open_corpus(path, format=format)]


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(content=junk, format=st.sampled_from([None, *FORMATS]), suffix=st.sampled_from(SUFFIXES))
def test_only_our_own_errors_escape(folder, content, format, suffix):
    try:
        documents = read(folder, content, format, suffix)
    except HeadlightError:
        return
    for paragraphs in documents:
        assert paragraphs
        for paragraph in paragraphs:
            assert paragraph == paragraph.strip() != ""
            paragraph.encode()


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(source=st.text(max_size=30))
def test_no_name_of_a_source_escapes(source, tmp_path_factory):
    if source.startswith("hf:") or source == "-":
        return
    try:
        open_corpus(str(tmp_path_factory.getbasetemp() / "nothing") + source)
    except HeadlightError:
        return


# A paragraph that plain text can hold: no line break, no NUL, nothing to strip.
paragraph = (
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\0\ufeff"), min_size=1)
    .map(str.strip)
    .filter(bool)
)
texts = st.lists(st.lists(paragraph, min_size=1, max_size=4).map(tuple), min_size=1, max_size=4)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(documents=texts)
def test_plain_text_comes_back(folder, documents):
    written = "\n\n".join("\n".join(paragraphs) for paragraphs in documents)
    assert read(folder, written.encode(), "paragraphs") == documents
    lines = [(paragraph,) for paragraphs in documents for paragraph in paragraphs]
    assert read(folder, written.encode(), "lines") == lines


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(documents=texts)
def test_json_comes_back(folder, documents):
    for ascii_only in (True, False):
        rows = (json.dumps({"text": p}, ensure_ascii=ascii_only) for p in documents)
        assert read(folder, "\n".join(rows).encode(), "jsonl") == documents


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(documents=texts)
def test_wikipedia_comes_back(folder, documents):
    markup = ("<doc ", "</doc>")
    documents = [tuple(p for p in d if not p.startswith(markup)) or ("x",) for d in documents]
    written = "".join(
        f'<doc id="{number}">\ntitle\n\n' + "\n\n".join(paragraphs) + "\n\n</doc>\n\n"
        for number, paragraphs in enumerate(documents)
    )
    assert read(folder, written.encode(), "wikipedia") == documents


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(documents=texts)
def test_tables_come_back(folder, documents):
    # A lone carriage return is a line break to the csv module, even when it is quoted back.
    fields = [paragraphs[0].replace("\r", " ") for paragraphs in documents]
    written = io.StringIO(newline="")
    csv.writer(written).writerows([["id", "text"], *([1, field] for field in fields)])
    assert read(folder, written.getvalue().encode(), "csv") == [(field,) for field in fields]
    fields = [" ".join(field.split()) for field in fields]
    table = "\n".join(["text", *fields])
    assert read(folder, table.encode(), "tsv") == [(field,) for field in fields]
