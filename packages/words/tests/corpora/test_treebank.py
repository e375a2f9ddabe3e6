"""Treebanks: every format, every kind of file, everything that can be wrong in them."""

import bz2
import gzip
import io
import lzma
import os
import subprocess
import sys
import tarfile
import tempfile
import tracemalloc
import zipfile
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings, strategies as st

from headlight.corpora import Sentence
from headlight.errors import CorpusError, UnknownNameError
from headlight_words.corpora import TREEBANK_FORMATS, open_treebank
from headlight_words.corpora.trees import depths, fault

CONLLU = """\
# newdoc id = letter
# sent_id = 1
# text = I haven't
1\tI\tI\tPRON\tPRP\t_\t2\tnsubj\t2:nsubj\t_
2-3\thaven't\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No
2\thave\thave\tVERB\tVBP\t_\t0\troot\t0:root\t_
3\tn't\tnot\tPART\tRB\t_\t2\tadvmod\t2:advmod\t_
3.1\tgone\tgo\tVERB\tVBN\t_\t_\t_\t2:conj\t_

# sent_id = 2
0.1\tShe\tshe\tPRON\tPRP\t_\t_\t_\t_\t_
1\t#\t#\tSYM\t#\t_\t0\troot\t_\t_

# newdoc

# newdoc
1\tGo\tgo\tVERB\tVB\t_\t0\troot\t_\t_
"""

CONLLX = """\
1\tJohn\t_\tNN\tNNP\t_\t2\tnsubj\t_\t_
2\tsleeps\t_\tVB\tVBZ\t_\t0\tROOT\t_\t_
3\t.\t_\t.\t.\t_\t0\tpunct\t_\t_

"""

CONLL2009 = """\
1\tJohn\tjohn\tjohn\tNNP\tNNP\t_\t_\t2\t2\tSBJ\tSBJ\t_\t_
2\tsleeps\tsleep\tsleep\tVBZ\tVBZ\t_\t_\t0\t0\tROOT\tROOT\tY\tsleep.01
"""

COLUMNS = "#\t#\t2\n4\tCD\t0\n\nOh\tUH\t0\n"
WORDS = "well-known 2-amod\nman 0-nmod:of-old\n. 2-punct\n"


def write(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_conllu(tmp_path):
    path = write(tmp_path, "a.conllu", CONLLU)
    assert list(open_treebank(path)) == [
        Sentence(
            f"{path}:4", ("I", "have", "n't"), (2, 0, 2), ("nsubj", "root", "advmod"),
            ("PRON", "VERB", "PART"), ("PRP", "VBP", "RB"), "letter",
        ),
        Sentence(f"{path}:12", ("#",), (0,), ("root",), ("SYM",), ("#",), "letter"),
        Sentence(f"{path}:17", ("Go",), (0,), ("root",), ("VERB",), ("VB",), f"{path}:16"),
    ]  # fmt: skip


def test_a_document_ends_with_its_file(tmp_path):
    write(tmp_path, "a.conllu", CONLLU)
    write(tmp_path, "b.conllu", "1\tGo\tgo\tVERB\tVB\t_\t0\troot\t_\t_\n")
    assert list(open_treebank(tmp_path))[-1].document == ""


OLDER = {
    "conllx": (CONLLX, [
        Sentence("1", ("John", "sleeps", "."), (2, 0, 0), ("nsubj", "ROOT", "punct"), (),
                 ("NNP", "VBZ", ".")),
    ]),
    "conll2009": (CONLL2009, [
        Sentence("1", ("John", "sleeps"), (2, 0), ("SBJ", "ROOT"), (), ("NNP", "VBZ")),
    ]),
    "columns": (COLUMNS, [
        Sentence("1", ("#", "4"), (2, 0), (), (), ("#", "CD")),
        Sentence("4", ("Oh",), (0,), (), (), ("UH",)),
    ]),
    "words": (WORDS, [
        Sentence("1", ("well-known", "man", "."), (2, 0, 2), ("amod", "nmod:of-old", "punct")),
    ]),
}  # fmt: skip


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("format", OLDER)
def test_older_formats(tmp_path, format, named):
    text, expected = OLDER[format]
    path = write(tmp_path, "treebank", text)
    found = list(open_treebank(path, format=format if named else None))
    assert [sentence.name for sentence in found] == [f"{path}:{s.name}" for s in expected]
    assert [fields(sentence) for sentence in found] == [fields(s) for s in expected]


def fields(sentence):
    return (
        sentence.words, sentence.heads, sentence.relations, sentence.upos, sentence.xpos,
        sentence.document,
    )  # fmt: skip


def test_every_format_is_tested():
    assert {"conllu", *OLDER} == set(TREEBANK_FORMATS)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("the DT 2 det\ndog NN 0 root\n", ("the", "dog")),
        ("the\tDT\t2\tdet\ndog\tNN\t0\troot\n", ("the", "dog")),
        ("the   DT  2 \r\ndog NN 0\r\n\r\n", ("the", "dog")),
        ("New York\tNNP\t0\n", ("New York",)),  # a tab separates, a blank is part of the word
        ("1 CD 2\n# # 0\n", ("1", "#")),
        ("1\t2\t_\tCD\tCD\t_\t0\troot\n", ("2",)),  # eight columns of CoNLL-X
        ("# a comment\n1\tx\t_\tQQ\tQQ\t_\t0\troot\t_\t_\n", ("x",)),
    ],
)
def test_the_first_sentence_says_the_format(tmp_path, text, words):
    (sentence,) = open_treebank(write(tmp_path, "t", text))
    assert sentence.words == words


def test_universal_tags_are_told_from_others(tmp_path):
    universal = CONLLX.replace("\tNN\t", "\tPROPN\t").replace("VB\t", "VERB\t")
    (sentence,) = open_treebank(
        write(tmp_path, "u", universal.replace("\t.\t.", "\tPUNCT\t.")), format="conllx"
    )
    assert sentence.upos == ("PROPN", "VERB", "PUNCT")


def conllu(*rows):
    """Rows of number, word and head as CoNLL-U."""
    return "".join(f"{n}\t{w}\t_\tX\t_\t_\t{h}\tdep\t_\t_\n" for n, w, h in rows)


GOOD = conllu((1, "a", 2), (2, "b", 0))
BROKEN = {
    "columns, nine": ("conllu", "1\ta\t_\tX\t_\t_\t0\troot\t_\n", 1, "9 columns instead of 10"),
    "columns, blanks": ("conllu", "1 a _ X _ _ 0 root _ _\n", 1, "1 columns instead of 10"),
    "columns, range": ("conllu", "1-2\ta\n" + GOOD, 1, "2 columns instead of 10"),
    "columns, empty node": ("conllu", GOOD + "2.1\ta\n", 3, "2 columns instead of 10"),
    "gap": ("conllu", conllu((1, "a", 0), (3, "b", 1)), 2, "numbered '3' instead of 2"),
    "begins at 0": ("conllu", conllu((0, "a", 0)), 1, "numbered '0' instead of 1"),
    "not a number": ("conllu", conllu((1, "a", 0), ("x", "b", 1)), 2, "numbered 'x'"),
    "other digits": ("conllu", conllu(("１", "a", 0)), 1, "numbered '１'"),
    "head, no number": ("conllu", conllu((1, "a", 0), (2, "b", "_")), 2, "head '_' is not"),
    "head, negative": ("conllu", conllu((1, "a", 0), (2, "b", -1)), 2, "head '-1' is not"),
    "head, too large": ("conllu", conllu((1, "a", 0), (2, "b", 3)), 2, "head '3' is not"),
    "head, endless": ("conllu", conllu((1, "a", 0), (2, "b", "9" * 5000)), 2, "is not a number"),
    "itself": ("conllu", conllu((1, "a", 0), (2, "b", 2)), 2, "word 2 governs itself"),
    "cycle": (
        "conllu", conllu((1, "a", 0), (2, "b", 4), (3, "c", 2), (4, "d", 3)), 2, "governs itself",
    ),
    "no root": ("conllu", conllu((1, "a", 2), (2, "b", 1)), 1, "no word of the sentence is its"),
    "two roots": ("conllu", conllu((1, "a", 0), (2, "b", 0)), 2, "2 roots"),
    "empty word": ("conllu", conllu((1, "a", 0), (2, "", 1)), 2, "the word is empty"),
    "blank word": ("conllu", conllu((1, "a", 0), (2, "\xa0", 1)), 2, "the word is empty"),
    "range, nonsense": ("conllu", conllu(("1-x", "a", "_")) + GOOD, 1, "'1-x' is no range"),
    "range, backwards": ("conllu", conllu(("2-1", "a", "_")) + GOOD, 1, "'2-1' is no range"),
    "range, late": ("conllu", GOOD + conllu(("2-3", "a", "_")), 3, "not before its first word"),
    "range, overlap": (
        "conllu",
        conllu(("1-2", "x", "_"), (1, "a", 2), ("2-3", "y", "_"), (2, "b", 0), (3, "c", 2)),
        3, "not before its first word",
    ),
    "range, too long": ("conllu", conllu(("1-3", "x", "_")) + GOOD, 1, "after the last word"),
    "empty node, place": ("conllu", GOOD + conllu(("1.1", "x", "_")), 3, "empty node '1.1'"),
    "empty node, nonsense": ("conllu", GOOD + conllu(("2.x", "x", "_")), 3, "empty node '2.x'"),
    "conllx, cycle": ("conllx", CONLLX.replace("\t2\tn", "\t1\tn"), 1, "governs itself"),
    "conllx, no root": ("conllx", CONLLX.replace("\t0\t", "\t1\t"), 1, "no word of the"),
    "conllx, columns": ("conllx", CONLLX.replace("\tpunct\t_\t_", "\tpunct"), 3, "8 columns, but"),
    "conll2009, columns": ("conll2009", CONLLX, 1, "10 columns instead of at least 12"),
    "columns, two": ("columns", "a DT 0\nb DT\n", 2, "2 columns instead of 3 to 4"),
    "columns, mixed": ("columns", "a DT 0\nb DT 1 det\n", 2, "4 columns, but"),
    "columns, head": ("columns", "a DT 0\nb DT five\n", 2, "head 'five' is not"),
    "columns, no root": ("columns", "a DT 2\nb DT 1\n", 1, "no word of the sentence"),
    "words, no hyphen": ("words", "a 0-root\nb 1\n", 2, "'word head-relation'"),
    "words, no relation": ("words", "a 0-root\nb 1-\n", 2, "'word head-relation'"),
    "words, three": ("words", "a 0-root\nb c 1-det\n", 2, "'word head-relation'"),
    "words, head": ("words", "a 0-root\nb x-det\n", 2, "head 'x' is not"),
}  # fmt: skip
GOOD_IN = {"conllu": GOOD, **{format: text for format, (text, _) in OLDER.items()}}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_sentence_is_refused_by_file_and_line(tmp_path, case):
    format, text, line, complaint = BROKEN[case]
    before = GOOD_IN[format].rstrip("\n") + "\n\n"
    path = write(tmp_path, "broken", before + text)
    with pytest.raises(CorpusError) as refusal:
        list(open_treebank(path, format=format))
    message = str(refusal.value)
    assert message.startswith(f"{path}:{before.count(chr(10)) + line}: ")
    assert complaint in message
    assert "\n" not in message


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_sentence_is_skipped_whole_and_counted(tmp_path, case):
    format, text, _, _ = BROKEN[case]
    good = GOOD_IN[format].rstrip("\n") + "\n\n"
    path = write(tmp_path, "broken", good + text.rstrip("\n") + "\n\n" + good)
    treebank = open_treebank(path, format=format, invalid="skip")
    (expected, *_) = open_treebank(write(tmp_path, "good", good), format=format)
    found = list(treebank)
    assert treebank.skipped == 1
    assert len(found) == 2 * good.rstrip("\n").split("\n\n").__len__()
    assert found[0].words == expected.words
    assert list(treebank) == found
    assert treebank.skipped == 1, "each iteration counts anew"


def test_a_comment_breaks_no_sentence_and_is_no_sentence(tmp_path):
    treebank = open_treebank(write(tmp_path, "a.conllu", "# alone\n\n" + GOOD), invalid="skip")
    assert len(list(treebank)) == 1
    assert treebank.skipped == 0


@pytest.mark.parametrize(
    ("content", "invalid", "complaint"),
    [
        ("", "refuse", "holds no sentence"),
        ("\n \n", "refuse", "holds no sentence"),
        ("# nothing\n", "refuse", "holds no sentence"),
        (conllu((1, "a", 1)), "skip", "all 1 sentences of .* are invalid"),
        (b"1\t\xff", "skip", "a.conllu:1: byte 3 of the line is not UTF-8"),
        (b"\x00", "skip", "binary data"),
    ],
)
def test_a_file_without_sentences_is_refused(tmp_path, content, invalid, complaint):
    with pytest.raises(CorpusError, match=complaint):
        list(open_treebank(write(tmp_path, "a.conllu", content), invalid=invalid))


def test_text_is_no_treebank(tmp_path):
    path = write(tmp_path, "t.txt", "It was a bright cold day in April .\n")
    with pytest.raises(CorpusError, match=r"t\.txt:1: the first sentence is in none of the"):
        list(open_treebank(path))


def test_unknown_names(tmp_path):
    path = write(tmp_path, "a.conllu", GOOD)
    with pytest.raises(UnknownNameError, match="no treebank format is called 'conll-u'"):
        open_treebank(path, format="conll-u")
    with pytest.raises(UnknownNameError, match="'ignore'"):
        open_treebank(path, invalid="ignore")
    with pytest.raises(CorpusError, match="there is no file or folder"):
        open_treebank(tmp_path / "none")


# Archives and compression.

COMPRESSIONS = {
    "": bytes,
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".bz2": bz2.compress,
    ".zst": zstandard.ZstdCompressor().compress,
}
SHORT = {".tgz": ".gz", ".txz": ".xz", ".tbz2": ".bz2", ".tzst": ".zst"}
MEMBERS = {
    "./bank/b.conllu": conllu((1, "b", 0)),
    "bank/a.conllu": conllu((1, "a", 0)),
    "bank/.hidden": "junk",
    "bank/README.md": "junk",
    "bank/LICENSE-texts.txt": "junk",
    "../outside.conllu": "junk",
    "c.dp": "c NN 0\n",
}


def tar(members=MEMBERS):
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        folder = tarfile.TarInfo("bank")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
        link = tarfile.TarInfo("bank/link.conllu")
        link.type = tarfile.SYMTYPE
        link.linkname = "/etc/passwd"
        archive.addfile(link)
        for name, text in members.items():
            member = tarfile.TarInfo(name)
            content = text if isinstance(text, bytes) else text.encode()
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return stream.getvalue()


def zipped(members=MEMBERS):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bank/", "")
        for name, text in members.items():
            archive.writestr(name, text)
    return stream.getvalue()


ARCHIVES = {
    **{".tar" + suffix: (tar, compress) for suffix, compress in COMPRESSIONS.items()},
    **{short: (tar, COMPRESSIONS[suffix]) for short, suffix in SHORT.items()},
    ".zip": (zipped, bytes),
}


@pytest.mark.parametrize("suffix", COMPRESSIONS)
def test_a_compressed_file(tmp_path, suffix):
    path = write(tmp_path, f"a.conllu{suffix}", COMPRESSIONS[suffix](CONLLU.encode()))
    assert [len(sentence) for sentence in open_treebank(path)] == [3, 1, 1]


@pytest.mark.parametrize("suffix", ARCHIVES)
def test_an_archive_is_read_member_by_member(tmp_path, suffix):
    pack, compress = ARCHIVES[suffix]
    path = write(tmp_path, f"bank{suffix}", compress(pack()))
    treebank = open_treebank(path)
    for _ in range(2):
        found = [(sentence.words, sentence.name) for sentence in treebank]
        assert [words for words, _ in found] == [("b",), ("a",), ("c",)]
        assert found[1][1] == f"{path}/bank/a.conllu:1"
    assert list(tmp_path.iterdir()) == [path], "nothing is unpacked"


@pytest.mark.parametrize("pack", [tar, zipped])
def test_a_compressed_member(tmp_path, pack):
    content = pack({"a.conllu.xz": lzma.compress(GOOD.encode())})
    path = write(tmp_path, "bank.tar" if pack is tar else "bank.zip", content)
    assert [sentence.words for sentence in open_treebank(path)] == [("a", "b")]


def test_a_second_archive_behind_the_first_is_not_lost(tmp_path):
    content = tar({"a.conllu": GOOD})
    assert len(list(open_treebank(write(tmp_path, "a.tar", content + bytes(512))))) == 1
    path = write(tmp_path, "b.tar", content + content)
    with pytest.raises(CorpusError, match="something follows the end of the archive"):
        list(open_treebank(path))


@pytest.mark.parametrize("suffix", ARCHIVES)
def test_a_truncated_archive_is_never_a_shorter_one(tmp_path, suffix):
    pack, compress = ARCHIVES[suffix]
    whole = compress(pack())
    # Of the zeros that end a plain tar file all but the first block may be missing.
    end = len(whole.rstrip(b"\0")) if suffix == ".tar" else len(whole)
    for length in sorted({0, 1, 5, 512, *range(0, end, max(1, end // 40)), end - 1}):
        if length >= end:
            continue
        path = write(tmp_path, f"bank{suffix}", whole[:length])
        with pytest.raises(CorpusError):
            list(open_treebank(path))


def test_a_damaged_header_is_not_the_end_of_the_archive(tmp_path):
    content = bytearray(tar())
    second = content.index(b"bank/a.conllu")
    content[second + 148 : second + 156] = b"garbage!"  # where its check sum stands
    path = write(tmp_path, "bank.tar", bytes(content))
    with pytest.raises(CorpusError, match=r"the archive .*bank\.tar cannot be read"):
        list(open_treebank(path))


def test_an_endless_name_is_not_read_into_memory(tmp_path):
    header = tarfile.TarInfo("././@LongLink")
    header.type = tarfile.GNUTYPE_LONGNAME
    header.size = 2**33
    content = header.tobuf(tarfile.GNU_FORMAT)
    path = write(tmp_path, "bank.tar", content + bytes(10240))
    with pytest.raises(CorpusError, match="a name of 8,589,934,592 bytes"):
        list(open_treebank(path))


def test_an_encrypted_archive_is_refused(tmp_path):
    content = bytearray(zipped({"a.conllu": GOOD}))
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        start = content.rindex(signature)
        content[start + offset] |= 1
    path = write(tmp_path, "bank.zip", bytes(content))
    with pytest.raises(CorpusError, match="encrypted"):
        list(open_treebank(path))


def test_an_archive_without_texts_is_refused(tmp_path):
    for name, content in (("a.tar", tar({})), ("a.zip", zipped({"README": "x"}))):
        with pytest.raises(CorpusError, match="holds no text files"):
            list(open_treebank(write(tmp_path, name, content)))


@pytest.mark.slow
def test_a_large_archive_is_read_in_little_memory(tmp_path):
    text = "\n".join(conllu((1, "x" * 1000, 0)) for _ in range(4000))
    path = write(tmp_path, "bank.tar.gz", gzip.compress(tar({"a.conllu": text})))
    size = len(text)
    del text
    tracemalloc.start()
    try:
        count = sum(1 for _ in open_treebank(path))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert count == 4000
    assert peak < size / 4


# Trees.


def naive_fault(heads, one_root):
    """Whether any word cannot be walked up to a root in as many steps as there are words."""
    for word in range(len(heads)):
        for _ in heads:
            if heads[word] == 0:
                break
            word = heads[word] - 1
        if heads[word] != 0:
            return True
    return one_root and heads.count(0) != 1


any_heads = st.integers(1, 7).flatmap(
    lambda n: st.lists(st.integers(0, n), min_size=n, max_size=n)
)  # fmt: skip


@pytest.mark.slow
@settings(max_examples=500, deadline=None)
@given(heads=any_heads, one_root=st.booleans())
def test_faults_of_trees(heads, one_root):
    found = fault(heads, one_root=one_root)
    assert (found is not None) == naive_fault(heads, one_root)
    if found is None:
        walks = []
        for word in range(len(heads)):
            steps = 0
            while heads[word] != 0:
                word, steps = heads[word] - 1, steps + 1
            walks.append(steps)
        assert depths(heads) == walks


def test_a_long_chain_is_no_problem():
    heads = list(range(100_000))
    assert fault(heads, one_root=True) is None
    assert depths(heads) == heads
    assert fault([100_000, *heads[2:], 0, 1], one_root=False) is not None


@pytest.fixture(scope="module")
def folder():
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


word = st.text(
    st.characters(exclude_categories=["Cs", "Cc", "Zs", "Zl", "Zp"]), min_size=1, max_size=5
).filter(lambda text: text.strip())
trees = any_heads.filter(lambda heads: not naive_fault(heads, True))
sentences = st.lists(
    trees.flatmap(
        lambda heads: st.tuples(
            st.lists(word, min_size=len(heads), max_size=len(heads)), st.just(heads)
        )
    ),
    min_size=1,
    max_size=4,
)

ROWS = {
    "conllu": lambda n, w, h: f"{n}\t{w}\t_\tX\tT\t_\t{h}\tr-{h}\t_\t_",
    "conllx": lambda n, w, h: f"{n}\t{w}\t_\tX\tT\t_\t{h}\tr-{h}\t_\t_",
    "conll2009": lambda n, w, h: f"{n}\t{w}\t_\t_\tT\t_\t_\t_\t{h}\t_\tr-{h}\t_\t_\t_",
    "columns": lambda n, w, h: f"{w} T {h} r-{h}",
    "words": lambda n, w, h: f"{w} {h}-r-{h}",
}


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(bank=sentences, format=st.sampled_from(sorted(ROWS)))
def test_what_is_written_comes_back(folder, bank, format):
    text = "\n\n".join(
        "\n".join(ROWS[format](n, w, h) for n, (w, h) in enumerate(zip(*s, strict=True), 1))
        for s in bank
    )
    path = write(folder, "written", text)
    found = list(open_treebank(path, format=format))
    assert [(list(s.words), list(s.heads)) for s in found] == bank
    assert [s.relations for s in found] == [tuple(f"r-{h}" for h in heads) for _, heads in bank]


HINTS = [
    b"1\ta\t_\tX\t_\t_\t0\troot\t_\t_\n", b"2\tb\t_\tX\t_\t_\t1\tdep\t_\t_\n", b"1-2\t", b"2.1\t",
    b"# newdoc id = x\n", b"a DT 0\n", b"a 0-root\n", b"\n", b"\n\n", b"\t", b"_", b"0", b"1",
    b"\x1f\x8b\x08\x00", b"PK\x03\x04", b"\0" * 512, b"ustar\x00", b"\xef\xbb\xbf",
]  # fmt: skip
junk = st.lists(
    st.one_of(st.binary(max_size=20), st.sampled_from(HINTS), st.text(max_size=9).map(
        lambda text: text.encode("utf-8", "surrogatepass"))), max_size=12,
).map(b"".join)  # fmt: skip


def check_that_only_our_errors_escape(path, format, invalid):
    try:
        found = list(open_treebank(path, format=format, invalid=invalid))
    except CorpusError:
        return
    for sentence in found:
        assert len(sentence.words) == len(sentence.heads) > 0
        assert not naive_fault(list(sentence.heads), one_root=False)
        assert all(text.strip() for text in sentence.words)


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(
    content=junk,
    format=st.sampled_from([None, *TREEBANK_FORMATS]),
    suffix=st.sampled_from(["", ".conllu", ".gz", ".tar", ".tar.xz", ".zip"]),
    invalid=st.sampled_from(["refuse", "skip"]),
)
def test_only_our_own_errors_escape(folder, content, format, suffix, invalid):
    check_that_only_our_errors_escape(write(folder, f"file{suffix}", content), format, invalid)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(suffix=st.sampled_from([".tar", ".zip", ".tar.gz"]), data=st.data())
def test_only_our_own_errors_escape_from_damaged_archives(folder, suffix, data):
    pack, compress = ARCHIVES[suffix]
    content = bytearray(compress(pack()))
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    check_that_only_our_errors_escape(write(folder, f"file{suffix}", bytes(content)), None, "skip")


def test_the_formats_are_described():
    page = (Path(__file__).parents[4] / "docs" / "corpora.md").read_text(encoding="utf-8")
    for format in TREEBANK_FORMATS:
        assert f"| `{format}` |" in page.split("### Treebanks")[1].split("### ")[0]


# The real treebanks, where they are.


COUNT = """
import sys
from headlight_words.corpora import open_treebank
for source in sys.argv[1:]:
    lengths = [len(sentence) for sentence in open_treebank(source)]
    print(len(lengths), sum(lengths))
"""
REAL = {
    "ud_english_ewt/*train*": (12544, 204577),
    "ud_english_ewt/*dev*": (2001, 25147),
    "ud_english_gum/*dev*": (1022, 18432),
    "ud_english_gum": (1022 + 7531, 18432 + 131192),
    "wsj_nltk_dep": (3227, 77972),
}


@pytest.mark.data
@pytest.mark.skipif("HEADLIGHT_DATA" not in os.environ, reason="HEADLIGHT_DATA is not set")
def test_real_treebanks():
    # In a process of its own, where no annotation is checked at each of millions of calls.
    sources = [str(Path(os.environ["HEADLIGHT_DATA"]) / source) for source in REAL]
    run = subprocess.run(
        [sys.executable, "-c", COUNT, *sources], capture_output=True, text=True, check=True
    )
    counts = [tuple(map(int, line.split())) for line in run.stdout.splitlines()]
    assert counts == list(REAL.values())
