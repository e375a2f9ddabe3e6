"""Files that are not on this machine: the same documents, the same refusals."""

import gzip
import io
import sys
import tarfile
import zipfile

import fsspec
import pytest
import zstandard
from fsspec.registry import _registry
from upath import UPath

from headlight.corpora import open_corpus, open_sentence_pairs
from headlight.errors import CorpusError

TEXTS = {
    "c.txt": b"c\n",
    "a.txt": b"a1\n\na2\n",
    "b/x.jsonl": b'{"text": "b"}\n',
    "b/.y.txt": b"hidden",
    ".hidden/z.txt": b"hidden",
    "README.md": b"not a text",
    "b/LICENSE": b"not a text",
}
READ = ["a1", "a2", "b", "c"]


@pytest.fixture
def memory():
    """A store that is empty before and after."""
    system = fsspec.filesystem("memory")
    system.store.clear()
    system.pseudo_dirs[:] = [""]
    yield system
    system.store.clear()
    system.pseudo_dirs[:] = [""]


@pytest.fixture
def texts(memory):
    for name, content in TEXTS.items():
        memory.pipe(f"/texts/{name}", content)
    return memory


def zipped(files):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return stream.getvalue()


def tarred(files):
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return stream.getvalue()


def words(source, **options):
    return [document.paragraphs[0] for document in open_corpus(source, **options)]


def complaint(source):
    with pytest.raises(CorpusError) as caught:
        list(open_corpus(source))
    return str(caught.value)


def test_a_folder_is_read_in_order_without_hidden_files_and_companions(texts, tmp_path):
    corpus = open_corpus("memory://texts")
    assert [document.paragraphs[0] for document in corpus] == READ
    assert len(list(corpus)) == 4, "it can be read again"
    assert corpus.source == "memory://texts"
    for name, content in TEXTS.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    assert words(tmp_path) == READ, "as a folder of this machine is"


def test_names_say_file_and_line(texts):
    names = [document.name for document in open_corpus("memory://texts")]
    assert names == [
        "memory://texts/a.txt:1",
        "memory://texts/a.txt:3",
        "memory://texts/b/x.jsonl:1",
        "memory://texts/c.txt:1",
    ]


def test_patterns(texts):
    assert words("memory://texts/*.txt") == ["a1", "a2", "c"]
    assert words("memory://texts/**/*.jsonl") == ["b"]
    assert words("memory://texts/b*") == ["b"]
    assert words("memory://texts/b/.y*") == ["hidden"]
    assert words("memory://texts/.hidden/*") == ["hidden"]


@pytest.mark.parametrize(
    ("suffix", "compress"),
    [("", bytes), (".gz", gzip.compress), (".zst", zstandard.ZstdCompressor().compress)],
)
def test_compressed_files_and_their_truncation(memory, suffix, compress):
    text = "".join(f"line {number}\n\n" for number in range(2000)).encode()
    memory.pipe(f"/a.txt{suffix}", compress(text))
    assert len(words(f"memory://a.txt{suffix}")) == 2000
    if suffix:
        memory.pipe(f"/a.txt{suffix}", compress(text)[:-5])
        assert "damaged, cut short" in complaint(f"memory://a.txt{suffix}")


@pytest.mark.parametrize(("suffix", "pack"), [(".zip", zipped), (".tar", tarred)])
def test_archives_and_their_truncation(memory, suffix, pack):
    content = pack({"in/a.txt": b"one\n\ntwo\n", "in/README": b"no", "in/b.txt": b"three\n" * 500})
    memory.pipe(f"/a{suffix}", content)
    assert words(f"memory://a{suffix}") == ["one", "two", "three"]
    memory.pipe(f"/a{suffix}", content[: len(content.rstrip(b"\0")) - 5])
    assert "damaged, cut short" in complaint(f"memory://a{suffix}")


def test_members_of_an_archive_by_their_address(memory, tmp_path):
    content = zipped({"in/a.txt": b"one\n", "in/b.csv.gz": gzip.compress(b"text\ntwo\n")})
    memory.pipe("/a.zip", content)
    (tmp_path / "a.zip").write_bytes(content)
    for place in ("memory://a.zip", str(tmp_path / "a.zip")):
        assert words(f"zip://in/a.txt::{place}") == ["one"]
        assert words(f"zip://in/b.csv.gz::{place}") == ["two"]
        assert words(f"zip://in::{place}") == ["one", "two"]
        assert words(f"zip://in/*.txt::{place}") == ["one"]


def test_addresses_of_this_machine(tmp_path):
    (tmp_path / "a b.txt").write_text("x\n")
    assert words(f"file://{tmp_path}/a b.txt") == ["x"]
    assert words(f"file://{tmp_path}") == ["x"]
    assert words(f"file://{tmp_path}/*.txt") == ["x"]


def test_a_path_of_a_store_is_a_source(texts):
    assert words(UPath("memory://texts/c.txt")) == ["c"]


@pytest.mark.words
def test_documents_with_coreference(memory):
    from headlight_words.corpora import open_coreference

    row = b"d\t0\t0\tIt\tPRP\t-\t-\t-\t-\t-\t-\t(1)\n\n"
    memory.pipe("/a.conll", b"#begin document (d); part 0\n" + row + b"#end document\n")
    (document,) = open_coreference("memory://a.conll")
    assert [mention.chain for mention in document.mentions] == ["1"]


@pytest.mark.words
def test_annotated_corpora_and_vectors(memory):
    from headlight_words.corpora import open_treebank, read_word_vectors

    memory.pipe("/a.dp", b"good 0-root\n\nbad 9-root\n\n")
    treebank = open_treebank("memory://a.dp", invalid="skip")
    assert [sentence.words for sentence in treebank] == [("good",)]
    assert treebank.skipped == 1
    memory.pipe("/vectors.txt", b"the 1 2\ncat 3 4\n")
    assert read_word_vectors("memory://vectors.txt").words == {"the": 0, "cat": 1}


def test_pairs(memory):
    memory.pipe("/pairs/dev.tsv", b"sentence1\tsentence2\ngenre\tb\n")
    memory.pipe("/pairs/train.tsv", b"sentence1\tsentence2\na\tb\n")
    (pair,) = open_sentence_pairs("memory://pairs", split="train")
    assert (pair.first, pair.second, pair.name) == ("a", "b", "memory://pairs/train.tsv:2")


def test_what_is_not_there(texts):
    texts.makedirs("/empty")
    assert "there is no file or folder memory://none" in complaint("memory://none.txt")
    assert "there is no file or folder" in complaint("memory://none/*.txt")
    assert "empty holds no text files" in complaint("memory://empty")
    assert "floppy://a.txt cannot be used: " in complaint("floppy://a.txt")


def test_a_missing_driver_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "s3fs", None)
    assert "s3://bucket/a.txt cannot be used: Install s3fs" in complaint("s3://bucket/a.txt")


def test_a_connection_that_breaks_is_a_refusal(texts, monkeypatch):
    class Broken(io.RawIOBase):
        """The first line, and then whatever a driver raises."""

        begun = False

        def readable(self):
            return True

        def readinto(self, buffer):
            if self.begun:
                raise LookupError("the host has gone")
            self.begun = True
            buffer[:2] = b"a\n"
            return 2

    monkeypatch.setattr(type(texts), "_open", lambda *_, **__: Broken())
    assert complaint("memory://texts/a.txt") == (
        "memory://texts/a.txt cannot be read beyond line 1: the host has gone; "
        "the file is damaged, cut short, or not what its suffix says."
    )

    def refuse(*_, **__):
        raise LookupError("no such host")

    monkeypatch.setattr(type(texts), "_open", refuse)
    assert "memory://texts/a.txt cannot be read: no such host" in complaint("memory://texts/a.txt")
    monkeypatch.setattr(type(texts), "glob", refuse)
    assert "memory://*.txt cannot be read: no such host" in complaint("memory://*.txt")


def test_an_address_of_the_web_is_opened_and_never_listed(monkeypatch):
    pages = {
        "https://host/a.csv?key=1": b"text\none\n",
        "https://host/b.txt.gz": gzip.compress(b"two\n"),
    }

    class Web(fsspec.AbstractFileSystem):
        """To list a page is to download it; here it fails."""

        protocol = ("http", "https")

        @classmethod
        def _strip_protocol(cls, path):
            return path

        def _open(self, path, *_, **__):
            if path not in pages:
                raise FileNotFoundError(path)
            return io.BytesIO(pages[path])

    monkeypatch.setitem(_registry, "https", Web)
    assert words("https://host/a.csv?key=1") == ["one"]
    assert words("https://host/b.txt.gz") == ["two"]
    assert "https://host/none.txt cannot be read" in complaint("https://host/none.txt")
