"""Sentence pairs, in every format that they are distributed in; all of the files are our own."""

import bz2
import gzip
import io
import json
import lzma
import zipfile
from itertools import islice
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings, strategies as st

from headlight.corpora import PAIR_FORMATS, open_sentence_pairs
from headlight.errors import CorpusError, UnknownNameError, UsageError

MRPC = (
    "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n"
    '1\t11\t12\tShe said "yes.\tYes, she said.\n'
    "0\t13\t14\tIt rained, he wrote.\tHe wrote \"it's 5' 3\n"
)
MRPC_PAIRS = [
    ('She said "yes.', "Yes, she said.", "1"),
    ("It rained, he wrote.", "He wrote \"it's 5' 3", "0"),
]
COLA = "ours\t1\t\tThe cat sleeps.\nours\t0\t*\tThe cat sleep.\n"
COLA_PAIRS = [("The cat sleeps.", None, "1"), ("The cat sleep.", None, "0")]
MNLI = [
    {"sentence1": "A cat sleeps.", "sentence2": "An animal rests.", "gold_label": "entailment",
     "genre": "fiction", "promptID": "7"},
    {"sentence1": "A cat sleeps.", "sentence2": "It is late.", "gold_label": "-",
     "genre": "fiction", "promptID": "8"},
]  # fmt: skip
MNLI_PAIRS = [
    ("A cat sleeps.", "An animal rests.", "entailment"),
    ("A cat sleeps.", "It is late.", None),
]
COMPRESSIONS = {
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".bz2": bz2.compress,
    ".zst": zstandard.ZstdCompressor().compress,
}


def written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return path


def read(source: "Path | str", **options: object) -> list[tuple[str, str | None, str | None]]:
    return [(p.first, p.second, p.label) for p in open_sentence_pairs(source, **options)]  # type: ignore[arg-type]


def jsonl(*rows: object) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def table(*rows: dict[str, str]) -> str:
    return "\n".join(["\t".join(rows[0]), *("\t".join(row.values()) for row in rows)]) + "\n"


@pytest.mark.parametrize(
    ("file", "text", "pairs"),
    [
        ("a.txt", MRPC, MRPC_PAIRS),
        ("a.tsv", MRPC, MRPC_PAIRS),
        ("a.tsv", COLA, COLA_PAIRS),
        ("a", COLA, COLA_PAIRS),
        ("a.jsonl", jsonl(*MNLI), MNLI_PAIRS),
        ("a.txt", jsonl(*MNLI), MNLI_PAIRS),
        ("a.tsv", table(*MNLI), MNLI_PAIRS),
        ("a.jsonl", jsonl({"sentence1": "a", "sentence2": "b", "label": 0}), [("a", "b", "0")]),
        ("a.jsonl", jsonl({"query": "rest", "document": "sleep", "label": 2}),
         [("sleep", "rest", "2")]),
        ("a.csv", 'premise,hypothesis\n"one, two","three\nfour"\n',
         [("one, two", "three\nfour", None)]),
    ],
)  # fmt: skip
def test_a_format_is_known_by_its_content(tmp_path, file, text, pairs):
    path = written(tmp_path / file, text)
    opened = open_sentence_pairs(path)
    assert [(p.first, p.second, p.label) for p in opened] == pairs


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("index\t#1 ID\t#2 ID\t#1 String\t#2 String\n0\t1\t2\tone\ttwo\n", [("one", "two", None)]),
        ("Sentence ID\tString\tAuthor\n7\tone\tme\n", [("one", None, None)]),
        ("index\tsentence\n0\tone\n", [("one", None, None)]),
        ("index\tquestion\tsentence\tlabel\n0\tone?\ttwo.\tentailment\n",
         [("one?", "two.", "entailment")]),
    ],
)  # fmt: skip
def test_test_sets_and_relatives_of_the_three(tmp_path, text, pairs):
    assert read(written(tmp_path / "test.tsv", text)) == pairs


def test_the_label_that_annotators_agreed_on_goes_before_that_of_the_first(tmp_path):
    rows = {"sentence1": "a", "sentence2": "b", "label": "neutral", "gold_label": "entailment"}
    assert read(written(tmp_path / "a.tsv", table(rows))) == [("a", "b", "entailment")]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize(
    ("file", "text", "pairs"),
    [("a.txt", MRPC, MRPC_PAIRS), ("a.tsv", COLA, COLA_PAIRS),
     ("a.jsonl", jsonl(*MNLI), MNLI_PAIRS)],
)  # fmt: skip
def test_byte_order_marks_line_ends_and_blank_lines(tmp_path, file, text, pairs, mark, end):
    changed = mark + text.replace("\n", end).removesuffix(end) + end * 3
    assert read(written(tmp_path / file, changed)) == pairs
    assert read(written(tmp_path / file, (mark + text.replace("\n", end)).rstrip())) == pairs


@pytest.mark.parametrize("suffix", COMPRESSIONS)
def test_compressed_files(tmp_path, suffix):
    path = tmp_path / f"a.jsonl{suffix}"
    path.write_bytes(COMPRESSIONS[suffix](jsonl(*MNLI).encode()))
    opened = open_sentence_pairs(path)
    assert [pair.second for pair in opened] == ["An animal rests.", "It is late."]


def test_an_archive_is_read_member_by_member(tmp_path):
    with zipfile.ZipFile(tmp_path / "public.zip", "w") as archive:
        archive.writestr("raw/in_domain_dev.tsv", COLA)
        archive.writestr("raw/README", "what this is")
        archive.writestr("raw/out_of_domain_dev.tsv", COLA)
    opened = open_sentence_pairs(tmp_path / "public.zip")
    names = [pair.name for pair in opened]
    assert len(names) == len(set(names)) == 4
    assert names[0].endswith("public.zip/raw/in_domain_dev.tsv:1")


def test_names_say_file_and_line_and_are_unique(tmp_path):
    written(tmp_path / "set" / "dev.tsv", COLA)
    written(tmp_path / "set" / "train.tsv", COLA)
    written(tmp_path / "set" / "README.md", "what this is")
    names = [pair.name for pair in open_sentence_pairs(tmp_path / "set")]
    assert names == [f"{tmp_path}/set/{part}.tsv:{line}" for part in ("dev", "train")
                     for line in (1, 2)]  # fmt: skip
    assert len(list(open_sentence_pairs(tmp_path / "set", split="dev"))) == 2
    assert len(list(open_sentence_pairs(f"{tmp_path}/set/*.tsv"))) == 4
    with pytest.raises(CorpusError, match=r"no file of .* has 'test' in its name"):
        open_sentence_pairs(tmp_path / "set", split="test")


def test_every_file_of_a_folder_has_columns_of_its_own(tmp_path):
    written(tmp_path / "a.txt", MRPC)
    written(tmp_path / "b.jsonl", jsonl(*MNLI))
    written(tmp_path / "c.tsv", COLA)
    assert read(tmp_path) == [*MRPC_PAIRS, *MNLI_PAIRS, *COLA_PAIRS]


def test_a_row_that_spans_lines_is_named_by_its_first(tmp_path):
    path = written(tmp_path / "a.csv", 'first,second\n"a\nb",c\nd,e\n')
    assert [pair.name for pair in open_sentence_pairs(path)] == [f"{path}:2", f"{path}:4"]


def test_they_can_be_iterated_again_and_by_halves(tmp_path):
    opened = open_sentence_pairs(written(tmp_path / "a.txt", MRPC))
    first = list(opened)
    assert [next(iter(opened)).name for _ in range(2)] == [first[0].name] * 2
    assert list(opened) == first


def test_a_file_is_read_line_by_line(tmp_path):
    """What comes before a broken line is there, and what comes after it is not looked at."""
    path = tmp_path / "a.tsv"
    path.write_bytes(COLA.encode() + b"\xff\n")
    stream = iter(open_sentence_pairs(path))
    assert [pair.label for pair in islice(stream, 2)] == ["1", "0"]
    with pytest.raises(CorpusError, match=r"a\.tsv:3: byte 1 of the line is not UTF-8"):
        next(stream)


@pytest.mark.parametrize(
    ("file", "text", "options", "message"),
    [
        ("a.txt", MRPC + "1\t2\t3\tonly one\n", {}, r"a\.txt:4: the row has 4 fields.*have 5"),
        ("a.txt", MRPC + "1\t2\t3\ta\tb\tc\n", {}, r"a\.txt:4: the row has 6 fields"),
        ("a.txt", MRPC + "1\t2\t3\ta\t \n", {}, r"a\.txt:4: '#2 String'.*holds only blanks"),
        ("a.tsv", COLA + "ours\t1\tsentence\n", {}, r"a\.tsv:3: the row has 3 fields.*have 4"),
        ("a.tsv", COLA + "ours\t2\t\tA cat.\n", {}, r"a\.tsv:3: the label.*must be 0 or 1.*'2'"),
        ("a.tsv", COLA + "ours\t1\t\t\n", {}, r"a\.tsv:3: 'sentence' must hold a sentence"),
        ("a.tsv", "one\ttwo\n", {}, r"a\.tsv:1: .* fits none of the formats of labelled .*mrpc"),
        ("a.tsv", "one\ttwo\n1\t2\n", {"columns": ["x"]},
         r"a\.tsv:2: there is no column 'x'.*'one'"),
        ("a.tsv", "one\ttwo\n1\t2\n", {"format": "tsv"}, r"a\.tsv:2: no column is known to hold"),
        ("a.tsv", COLA, {"format": "mrpc"}, r"a\.tsv:2: no column is known"),
        ("a.txt", MRPC, {"format": "cola"}, r"a\.txt:1: the row has 5 fields.*have 4"),
        ("a.jsonl", '{"sentence1": "a"}\n', {}, r"a\.jsonl:1: no column is known.*'sentence1'"),
        ("a.jsonl", jsonl(*MNLI) + '{"sentence1": "a"}\n', {},
         r"a\.jsonl:3: 'sentence2' must hold a sentence, and holds nothing"),
        ("a.jsonl", jsonl(*MNLI) + '{"sentence1": "a", "sentence2": 3}\n', {},
         r"a\.jsonl:3: 'sentence2' must hold a sentence, and holds int"),
        ("a.jsonl", jsonl(*MNLI) + '{"sentence1": "a",\n', {}, r"a\.jsonl:3: the line is not JSON"),
        ("a.jsonl", jsonl(*MNLI) + "[1]\n", {}, r"a\.jsonl:3: the line must be a JSON object"),
        ("a.jsonl", r'{"sentence1": "\ud800", "sentence2": "b"}' + "\n", {},
         r"a\.jsonl:1: the text holds half of a surrogate pair"),
        ("a.csv", 'first,second\n"a,b\n', {}, r"a\.csv:2: the table is malformed"),
        ("a.csv", "first,second\na,b,c\n", {}, r"a\.csv:2: the row has 3 fields"),
        ("a.tsv", "", {}, r"a\.tsv holds no sentence;"),
        ("a.tsv", "\n \n", {}, r"a\.tsv holds no sentence;"),
        ("a.tsv", "first\tsecond\n", {}, r"a\.tsv holds no sentence;"),
        ("a.jsonl", "", {}, r"a\.jsonl holds no sentence;"),
        ("a.csv", "", {}, r"a\.csv holds no sentence;"),
        ("a.tsv.gz", "no archive", {}, r"a\.tsv\.gz cannot be read"),
    ],
)  # fmt: skip
def test_what_is_broken_is_refused_with_file_and_line(tmp_path, file, text, options, message):
    with pytest.raises(CorpusError, match=message):
        read(written(tmp_path / file, text), **options)


def test_columns_of_ones_own(tmp_path):
    path = written(tmp_path / "a.tsv", "id\tleft\tright\tlabel\n1\tone\ttwo\tx\n")
    assert read(path, columns=["left", "right"]) == [("one", "two", "x")]
    assert read(path, columns=["right"]) == [("two", None, "x")]
    assert read(path, columns=["label", "left"]) == [("x", "one", None)]
    for wrong in ((), ("id", "left", "right")):
        with pytest.raises(UsageError, match="one column or two"):
            open_sentence_pairs(path, columns=wrong)


def test_unknown_formats_and_missing_files(tmp_path):
    with pytest.raises(UnknownNameError, match="Did you mean 'mrpc'"):
        open_sentence_pairs(tmp_path, format="mprc")
    with pytest.raises(CorpusError, match="there is no file or folder"):
        open_sentence_pairs(tmp_path / "none.tsv")


@pytest.mark.parametrize("format", PAIR_FORMATS)
def test_a_format_can_be_named(tmp_path, format):
    text = {"mrpc": MRPC, "cola": COLA, "mnli": jsonl(*MNLI), "jsonl": jsonl(*MNLI),
            "tsv": table(*MNLI), "csv": "first,second\na,b\n", "sst": "1 a b\n0 c\n",
            "ag_news": "a\tWorld\nb\tSports\n", "newsgroups": "From: me\n\na\n",
            "imdb": jsonl(*({"text": "a", "label": "pos"},) * 2)}[format]  # fmt: skip
    number = 1 if format in ("csv", "newsgroups") else 2
    assert len(read(written(tmp_path / "a.data", text), format=format)) == number


# Characters that some part of Python takes for the end of a line, quotes and blanks.
texts = st.text(st.sampled_from("ab\"',;\u2028\u0085\x0b\x0c\x1c é☃"), min_size=1).filter(str.strip)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(rows=st.lists(st.tuples(texts, texts), min_size=1, max_size=5))
def test_whatever_is_written_is_read_again(tmp_path_factory, rows):
    folder = tmp_path_factory.mktemp("pairs")
    expected = [(first.strip(), second.strip()) for first, second in rows]
    lines = "".join(f"1\t2\t3\t{first}\t{second}\n" for first, second in rows)
    tabs = written(folder / "a.txt", MRPC.split("\n")[0] + "\n" + lines)
    assert [row[:2] for row in read(tabs)] == expected
    objects = written(folder / "a.jsonl", jsonl(*({"first": a, "second": b} for a, b in rows)))
    assert [row[:2] for row in read(objects)] == expected


# Data sets through the library


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """A data set in a folder, laid out as glue's are; the library must not look elsewhere."""
    datasets = pytest.importorskip("datasets")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", True)
    datasets.disable_progress_bars()
    matched = [{"premise": "A cat sleeps.", "hypothesis": "It rests.", "label": 0, "idx": 0}]
    written(tmp_path / "mnli" / "train.jsonl", jsonl(*matched * 3))
    written(tmp_path / "mnli" / "validation.jsonl", jsonl(*matched * 2))
    written(tmp_path / "cola" / "test.jsonl", jsonl({"sentence": "A cat.", "label": -1}))
    return tmp_path


def test_a_data_set_of_the_library(hub):
    opened = open_sentence_pairs("hf:./mnli")
    assert [p.name for p in opened] == ["hf:./mnli[0]", "hf:./mnli[1]"]
    assert [p.name for p in opened] == ["hf:./mnli[0]", "hf:./mnli[1]"]
    assert read("hf:./mnli")[0] == ("A cat sleeps.", "It rests.", "0")
    assert len(read("hf:./mnli::train")) == len(read("hf:./mnli", split="train")) == 3
    assert read("hf:./mnli:::hypothesis")[0] == ("It rests.", None, "0")
    assert read("hf:./cola") == [("A cat.", None, None)]


def test_splits_of_matched_pairs_are_found(hub):
    datasets = pytest.importorskip("datasets")
    rows = datasets.Dataset.from_dict({"premise": ["a"], "hypothesis": ["b"], "label": [1]})
    datasets.DatasetDict(train=rows, validation_matched=rows.select([0, 0])).save_to_disk("saved")
    assert len(read("hf:./saved")) == 2


@pytest.mark.parametrize(
    ("source", "options", "error", "message"),
    [
        ("hf:./mnli", {"format": "mnli"}, UsageError, "has a format of its own"),
        ("hf:./mnli::train", {"split": "test"}, UsageError, "names a split already"),
        ("hf:./mnli", {"columns": ["text"]}, CorpusError, r"mnli\[0\]: there is no column 'text'"),
        ("hf:./mnli::dev", {}, CorpusError, "no split 'dev'"),
        ("hf:./none", {}, CorpusError, "there is no folder"),
        ("hf:", {}, UsageError, "hf:NAME"),
    ],
)
def test_what_a_data_set_lacks_is_named(hub, source, options, error, message):
    with pytest.raises(error, match=message):
        read(source, **options)


def test_an_archive_that_is_cut_short(tmp_path):
    buffer = io.BytesIO()
    with gzip.GzipFile(fileobj=buffer, mode="wb") as stream:
        stream.write(MRPC.encode() * 50)
    (tmp_path / "a.txt.gz").write_bytes(buffer.getvalue()[:-20])
    with pytest.raises(CorpusError, match=r"a\.txt\.gz cannot be read beyond line"):
        list(open_sentence_pairs(tmp_path / "a.txt.gz", format="mrpc"))
