"""Word vectors: both formats, what is kept, and what is refused."""

import gzip
import os
import tempfile
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from headlight.errors import CorpusError, HeadlightError
from headlight_words.corpora import UNKNOWN, read_word_vectors

GLOVE = "the 0.5 -1 2e-1\nThe 1 2 3\n. . . 4 5 6\n\u2028 .5 +7. 1E2\nthe 9 9 9\n"


def write(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_glove(tmp_path):
    vectors = read_word_vectors(write(tmp_path, "g.txt", GLOVE))
    assert vectors.words == {"the": 0, "The": 1, ". . .": 2, "\u2028": 3}
    assert vectors.dimensions == 3
    assert len(vectors) == 4
    assert vectors.matrix.dtype == np.float32
    np.testing.assert_array_equal(
        vectors.matrix,
        np.array([[0.5, -1, 0.2], [1, 2, 3], [4, 5, 6], [0.5, 7, 100]], dtype=np.float32),
    )


def test_word2vec(tmp_path):
    path = write(tmp_path, "w.txt", "3 2\n7 1 2 \r\nnew_york\t3 4\n\nthe 5 6")
    vectors = read_word_vectors(path)
    assert vectors.words == {"7": 0, "new_york": 1, "the": 2}
    assert vectors.matrix.tolist() == [[1, 2], [3, 4], [5, 6]]


def test_lookup(tmp_path):
    vectors = read_word_vectors(write(tmp_path, "g.txt", GLOVE))
    rows = vectors.lookup(["The", "cat", "THE", ". . ."])
    assert rows.dtype == np.int64
    assert rows.tolist() == [0, UNKNOWN, 0, 2]
    assert vectors.lookup([]).tolist() == []
    rows = vectors.rows(["The", "cat", ". . ."])
    assert rows.dtype == np.float32
    np.testing.assert_array_equal(rows, [vectors.matrix[0], [0, 0, 0], [4, 5, 6]])
    assert vectors.rows([]).shape == (0, 3)


def test_only_the_vocabulary_is_kept(tmp_path):
    path = write(tmp_path, "g.txt", GLOVE + "x nonsense 1 2\n")
    vectors = read_word_vectors(path, vocabulary={". . .", "The", "absent"})
    assert vectors.words == {"The": 0, ". . .": 1}
    assert vectors.matrix.tolist() == [[1, 2, 3], [4, 5, 6]]


@pytest.mark.slow
def test_what_is_not_kept_takes_no_memory(tmp_path):
    line = " ".join(["0.12345"] * 50)
    text = "".join(f"w{number} {line}\n" for number in range(4000))
    path = write(tmp_path, "g.txt", text)
    size = len(text)
    del text
    tracemalloc.start()
    try:
        vectors = read_word_vectors(path, vocabulary={"w5", "w3999"})
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert vectors.matrix.shape == (2, 50)
    assert peak < size / 10


def test_compressed_and_in_an_archive(tmp_path):
    compressed = write(tmp_path, "g.txt.gz", gzip.compress(GLOVE.encode()))
    archive = tmp_path / "g.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("g.txt", GLOVE)
    for path in (compressed, archive):
        assert len(read_word_vectors(str(path))) == 4
    with zipfile.ZipFile(archive, "a") as file:
        file.writestr("g2.txt", GLOVE)
    with pytest.raises(CorpusError, match=r"g\.zip/g2\.txt is not the only file in its archive"):
        read_word_vectors(archive)


@pytest.mark.parametrize(
    ("text", "line", "complaint"),
    [
        ("a 1 2\nb 1\n", 2, "1 numbers instead of 2"),
        ("a 1 2\nb\n", 2, "0 numbers instead of 2"),
        ("a 1 2\nb 1 2 3\n", 2, "3 numbers instead of 2"),
        ("a 1 2\nb 0.5 c 1 2\n", 2, "4 numbers instead of 2"),
        ("a\nb 1\n", 1, "0 numbers instead of at least 1"),
        ("2 2\na 1 2\nb 1 2 3\n", 3, "3 numbers instead of 2"),
        ("2 2\na 1 2\nb 1\n", 3, "1 numbers instead of 2"),
        ("3 2\na 1 2\nb 1 2\n", 1, "3 words are announced, but 2 follow"),
        ("1 2\na 1 2\nb 1 2\n", 1, "1 words are announced, but 2 follow"),
        ("a 1 2\nb 1 x\n", 2, "'x' is no number"),
        ("a 1 nan\n", 1, "'nan' is no number"),
        ("a 1 -inf\n", 1, "'-inf' is no number"),
        ("a 1 1_0\n", 1, "'1_0' is no number"),
        ("a 1 ٣\n", 1, "'٣' is no number"),
        ("a 1 1e39\n", 1, "'1e39' is no number, or too large"),
        ("a 1 1e999\n", 1, "'1e999' is no number, or too large"),
        ("a 1 e5\n", 1, "'e5' is no number"),
        (b"a 1\nb \xff\n", 2, "byte 3 of the line is not UTF-8"),
    ],
)
def test_what_is_wrong_is_named_by_file_and_line(tmp_path, text, line, complaint):
    path = write(tmp_path, "g.txt", text)
    with pytest.raises(CorpusError) as refusal:
        read_word_vectors(path)
    assert str(refusal.value).startswith(f"{path}:{line}: ")
    assert complaint in str(refusal.value)


def test_no_words_are_refused(tmp_path):
    with pytest.raises(CorpusError, match="holds no word; check the file"):
        read_word_vectors(write(tmp_path, "g.txt", "\n \n"))
    with pytest.raises(CorpusError, match="holds no word of the vocabulary"):
        read_word_vectors(write(tmp_path, "g.txt", GLOVE), vocabulary=set())
    write(tmp_path, "h.txt", GLOVE)
    with pytest.raises(CorpusError, match="stands for 2 files"):
        read_word_vectors(tmp_path)


@pytest.fixture(scope="module")
def folder():
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


junk = st.lists(
    st.one_of(
        st.binary(max_size=10),
        st.sampled_from([b"a 1 2\n", b"b 3 4\n", b"2 2\n", b" ", b"1", b"\n", b"nan", b"\t", b"e"]),
    ),
    max_size=8,
).map(b"".join)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(content=junk, suffix=st.sampled_from(["", ".gz", ".zip", ".tar"]))
def test_only_our_own_errors_escape(folder, content, suffix):
    path = write(folder, f"vectors{suffix}", content)
    try:
        vectors = read_word_vectors(path)
    except CorpusError:
        return
    assert vectors.matrix.shape == (len(vectors.words), vectors.dimensions)
    assert list(vectors.words.values()) == list(range(len(vectors)))
    assert np.isfinite(vectors.matrix).all()


word = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\n\r\t \0\ufeff"), min_size=1
)
number = st.floats(allow_nan=False, allow_infinity=False, width=32)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(
    table=st.integers(1, 5).flatmap(
        lambda d: st.dictionaries(
            word, st.lists(number, min_size=d, max_size=d), min_size=1, max_size=6
        )
    ),
)
def test_what_is_written_comes_back(folder, table):
    rows = [" ".join([key, *map(str, values)]) for key, values in table.items()]
    header = f"{len(rows)} {len(next(iter(table.values())))}"
    vectors = read_word_vectors(write(folder, "written", "\n".join([header, *rows])))
    assert list(vectors.words) == list(table)
    np.testing.assert_array_equal(vectors.matrix, np.array(list(table.values()), dtype=np.float32))


@pytest.mark.data
@pytest.mark.skipif("HEADLIGHT_DATA" not in os.environ, reason="HEADLIGHT_DATA is not set")
def test_real_vectors():
    folder = Path(os.environ["HEADLIGHT_DATA"]) / "glove_twitter_25d_12k"
    vectors = read_word_vectors(folder, vocabulary={"the", "cat", "dog", "sea"})
    assert vectors.matrix.shape == (4, 25)
    cat, dog, sea = vectors.matrix[vectors.lookup(["Cat", "dog", "sea"])]
    assert cosine(cat, dog) > cosine(cat, sea)


def cosine(a, b):
    return a @ b / np.linalg.norm(a) / np.linalg.norm(b)


@pytest.mark.parametrize(
    "text",
    [
        "5\n",
        "5 5\n",
        "5 1\n",
        "1 1\n5\n",
        "the 1\n2\n",
        "the 1\n\n2\n",
        "the 1 2 3\ncat 1\n",
        f"a {'9' * 5000}\n",
        "a -\n",
    ],
)
def test_word_vectors_of_too_few_or_strange_numbers(tmp_path, text):
    path = tmp_path / "vectors.txt"
    path.write_text(text)
    with pytest.raises(HeadlightError):
        read_word_vectors(path)
